"""HTML for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape

from raterlens.base.text import number

Point = tuple[str, float, float, float]
"""Label, value, and the ends of its interval (NaN where there is none)."""

_FRAME = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:44rem"
_ROW, _LABELS, _PLOT = 18, 150, 330
_ACCENT = "#0072b2"
MOST = 20
"""Rows shown; the tables have all."""


def shown(heading: str, *parts: str) -> str:
    """What a notebook displays."""
    inside = "".join(parts)
    return f'<div style="{_FRAME}"><div style="font-weight:650;font-size:15px">{escape(heading)}</div>{inside}</div>'


def lines(texts: Iterable[str]) -> str:
    """A paragraph each.

    Examples
    --------
    >>> lines(["<b>"])
    '<div>&lt;b&gt;</div>'
    """
    return "".join(f"<div>{escape(text)}</div>" for text in texts)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The first rows."""
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
    """A line per point, with its interval."""
    low, high = domain
    drawn = [
        _drawn(place, point, low, high)
        for place, point in enumerate(points[:MOST])
        if point[1] == point[1]  # NaN has no place
    ]
    height = _ROW * min(len(points), MOST) + 4
    ends = (
        f'<text x="{_LABELS}" y="{height + 12}">{number(low, 1)}</text>'
        f'<text x="{_LABELS + _PLOT}" y="{height + 12}" text-anchor="end">{number(high, 1)}</text>'
        f'<text x="{_LABELS + _PLOT / 2}" y="{height + 12}" text-anchor="middle">{escape(title)}</text>'
    )
    frame = f'<path d="M{_LABELS} {height}h{_PLOT}" stroke="currentColor" opacity="0.4"/>'
    return (
        f'<svg viewBox="0 0 {_LABELS + _PLOT + 60} {height + 16}" width="{_LABELS + _PLOT + 60}" font-size="11" '
        f'fill="currentColor" role="img" aria-label="{escape(title)}" style="max-width:100%">'
        f"{frame}{''.join(drawn)}{ends}</svg>{_rest(len(points))}"
    )


def _drawn(place: int, point: Point, low: float, high: float) -> str:
    label, value, start, end = point
    y = _ROW * place + _ROW / 2 + 2

    def x(at: float) -> float:
        return _LABELS + _PLOT * min(max((at - low) / (high - low), 0.0), 1.0)

    known = start == start and end == end
    line = f'<path d="M{x(start):.1f} {y}H{x(end):.1f}" stroke="{_ACCENT}" stroke-width="3" opacity="0.4"/>'
    name = label if len(label) <= 22 else f"{label[:21]}…"
    return (
        f'<text x="{_LABELS - 8}" y="{y + 4}" text-anchor="end">{escape(name)}</text>{line * known}'
        f'<circle cx="{x(value):.1f}" cy="{y}" r="4" fill="{_ACCENT}"/>'
        f'<text x="{_LABELS + _PLOT + 8}" y="{y + 4}">{number(value)}</text>'
    )


def _rest(n: int) -> str:
    return f"<div>and {n - MOST:,} more</div>" if n > MOST else ""


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else "" if value is None else str(value)
