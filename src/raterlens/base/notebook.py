"""HTML for notebooks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from raterlens.base.text import number

if TYPE_CHECKING:
    from raterlens.base.picture import Picture

Point = tuple[str, float, float, float]
"""Label, value, and the ends of its interval (NaN where there is none)."""

_FRAME = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:44rem"
MOST = 20
"""Maximum number of rows shown."""


def shown(heading: str, *parts: str) -> str:
    """HTML for a notebook."""
    inside = "".join(parts)
    return f'<div style="{_FRAME}"><div style="font-weight:650;font-size:15px">{escape(heading)}</div>{inside}</div>'


def lines(texts: Iterable[str]) -> str:
    """One paragraph per text.

    Examples
    --------
    >>> lines(["<b>"])
    '<div>&lt;b&gt;</div>'
    """
    return "".join(f"<div>{escape(text)}</div>" for text in texts)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table of the first rows."""
    found = list(rows)
    head = "".join(
        f'<th style="text-align:left;padding:2px 12px 2px 0">{escape(name)}</th>' for name in columns
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:left;padding:2px 12px 2px 0">{escape(_cell(cell))}</td>' for cell in row
        )
        + "</tr>"
        for row in found[:MOST]
    )
    return f'<table style="border-collapse:collapse;font-size:13px"><tr>{head}</tr>{body}</table>{_rest(len(found))}'


def intervals(points: Sequence[Point], domain: tuple[float, float], title: str) -> str:
    """One row per point, with its interval; the domain widens to include every point."""
    # heavy, so not before it is needed
    import polars as pl

    from raterlens.base.layers import Axis, Text
    from raterlens.base.picture import interval_rows
    from raterlens.base.style import mark

    seen = [point for point in points[:MOST] if point[1] == point[1]]  # NaN has no place
    if not seen:
        return _rest(len(points))
    rows = pl.DataFrame(seen, schema=["name", "value", "low", "high"], orient="row")
    x = Axis(min(domain[0], *rows["value"]), max(domain[1], *rows["value"]), title, (5, 5), grid=True)
    rows = rows.with_columns(pl.col("low", "high").clip(x.low, x.high))
    texts = {"row": [place + 0.5 for place in range(len(seen))], "text": [number(point[1]) for point in seen]}
    beside = pl.DataFrame(texts).with_columns(end=pl.lit(x.high))
    picture = interval_rows(rows, ("name", "value", "low", "high"), mark("circle", "accent"), x, title)
    (panel,) = picture.panels
    numbers = Text(beside, "end", "row", "text", "soft", 8, 4)
    panel = replace(panel, layers=(*panel.layers, numbers))
    return framed(replace(picture, panels=(panel,), right=44), 560) + _rest(len(points))


def framed(picture: "Picture", width: int) -> str:
    """A picture on white paper: notebooks do not say whether they are dark."""
    from raterlens.base.style import PALETTE  # heavy, so not before it is needed

    colours = ";".join(f"--{role}:{colour.light}" for role, colour in PALETTE.items())
    return f'<div style="{colours};background:var(--paper);max-width:{width}px">{picture.svg(width)}</div>'


def _rest(n: int) -> str:
    return f"<div>and {n - MOST:,} more</div>" if n > MOST else ""


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else "" if value is None else str(value)
