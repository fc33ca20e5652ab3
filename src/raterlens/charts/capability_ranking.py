"""Capability of every rater with its interval, the most capable first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.charts.label_placement import placed_names
from raterlens.charts.palette import light
from raterlens.charts.rater_marks import TOLD, kind_scales, rater_rows, with_verdicts
from raterlens.charts.theme import DEFAULT_WIDTH, check_width, finished, outlined, tooltips, values
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.text import counted, number

if TYPE_CHECKING:
    from raterlens.result.record import Result

MOST_ROWS = 60
"""Up to this many raters have a line each; a larger panel is one ranked curve."""

ROW = 18
COMPACT = 340
TITLE = "Capability κ̄"


def capability_data(fit: Result) -> pl.DataFrame:
    """One row per rater, the most capable first: place (1 is the top), rater, n, kappa, kappa_low, kappa_high, label,
    standing, kind, words."""
    rows = rater_rows(fit).drop("rho", "eta").with_row_index("place", offset=1)
    return rows.with_columns(pl.col("place").cast(pl.Int64))


def capability(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """How capable is each rater, and how sure are we?

    Parameters
    ----------
    fit
        Any fit.
    width
        Width of the whole chart in pixels; 380 suits a phone. Panels of more than 60 raters are drawn as one ranked
        curve that highlights the raters who need attention.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.capability(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:24]
    'Capability of 16 raters,'
    """
    check_width(width)
    data = capability_data(fit)
    drawn = _rows(data, width) if data.height <= MOST_ROWS else _ranked(data, width)
    height = ROW * data.height if data.height <= MOST_ROWS else COMPACT
    return finished(drawn, _words(data), width=width, height=max(height, 60))


def _rows(data: pl.DataFrame, width: int) -> Any:
    y = alt.Y(
        "rater:N",
        sort=data["rater"].to_list(),
        title=None,
        axis=alt.Axis(
            labelLimit=int(0.34 * width),
            labelColor=light("ink"),
            ticks=False,
            domain=False,
            grid=False,
            labelPadding=8,
        ),
    )
    scale = alt.Scale(domain=_domain(data), nice=False)
    base = alt.Chart(values(with_verdicts(data)))
    rules = (
        base.transform_filter("isValid(datum.kappa_low) && isValid(datum.kappa_high)")
        .mark_rule(strokeWidth=3, opacity=0.45, strokeCap="round")
        .encode(
            y=y,
            x=alt.X("kappa_low:Q", scale=scale),
            x2="kappa_high:Q",
            stroke=kind_scales(data, width)["stroke"],
        )
    )
    points = base.mark_point(size=70, opacity=1, strokeWidth=1.5, aria=True).encode(
        y=y,
        x=alt.X("kappa:Q", title=_title(data), scale=scale, axis=_axis(width)),
        description="words:N",
        tooltip=_tooltip(),
        **kind_scales(data, width),
    )
    return _line(scale) + rules + points


def _ranked(data: pl.DataFrame, width: int) -> Any:
    """One thin line per rater: those who are fine form the curve, the others stand out."""
    n = data.height
    x = alt.X(
        "place:Q",
        title="Raters, the most capable first",
        scale=alt.Scale(domain=[0.5, n + 0.5], nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format=",d"),
    )
    scale = alt.Scale(domain=_domain(data), nice=False)
    y = alt.Y("kappa:Q", title=_title(data), scale=scale)
    base = alt.Chart(values(with_verdicts(data)))
    thin = max(0.6, min(3.0, 0.7 * width / n))
    rules = (
        base.transform_filter("isValid(datum.kappa_low) && isValid(datum.kappa_high)")
        .mark_rule(strokeWidth=thin, opacity=0.28 if n <= 600 else 0.16)
        .encode(
            x=x,
            y=alt.Y("kappa_low:Q", scale=scale),
            y2="kappa_high:Q",
            stroke=kind_scales(data, width)["stroke"],
        )
    )
    size = 26 if n <= 300 else 12
    points = base.mark_point(size=size, opacity=1, strokeWidth=1, aria=n <= TOLD).encode(
        x=x, y=y, description="words:N", tooltip=_tooltip(), **kind_scales(data, width)
    )
    return _line(scale, across=False) + rules + points + _lowest(data, x, scale, width)


def _lowest(data: pl.DataFrame, x: Any, scale: Any, width: int) -> Any:
    """Names of the least capable raters who need attention, where there is room."""
    wanting = data.filter(standing="attention").tail(6).reverse()
    low, high = _domain(data)
    at = pl.col("place") / data.height * 100, (high - pl.col("kappa")) / (high - low) * 100
    some = data.gather_every(max(1, data.height // 400))
    names = placed_names(wanting, some, at, width - 70, COMPACT)
    return outlined(alt.Chart(values(names)).encode(x=x, y=alt.Y("kappa:Q", scale=scale), text="name:N"))


def _line(scale: Any, *, across: bool = True) -> Any:
    """The line that separates capable raters."""
    where = {"x" if across else "y": (alt.X if across else alt.Y)("at:Q", scale=scale)}
    return (
        alt.Chart(values(pl.DataFrame({"at": [CAPABLE]})))
        .mark_rule(stroke=light("ink"), strokeDash=[4, 3], strokeWidth=1, opacity=0.75)
        .encode(**where)
    )


def _has_intervals(data: pl.DataFrame) -> bool:
    """Whether there are intervals; a fit can be made without."""
    return bool(data["kappa_low"].is_finite().any())


def _title(data: pl.DataFrame) -> str:
    return TITLE + " with 95 % interval" * _has_intervals(data)


def _domain(data: pl.DataFrame) -> list[float]:
    """From 0 to 1, unless a rater scores against ability or beats the yardstick."""
    reach = data.select("kappa", "kappa_low", "kappa_high").to_numpy()
    low, high = float(np.nanmin(reach, initial=0.0)), float(np.nanmax(reach, initial=1.0))
    return [0.0 if low >= 0 else np.floor(low * 5) / 5, 1.0 if high <= 1 else np.ceil(high * 5) / 5]


def _axis(width: int) -> alt.Axis:
    return alt.Axis(tickCount=5 if width < 480 else 10, format=".1f")


def _tooltip() -> list[alt.Tooltip]:
    texts = (("rater", "Rater"), ("label", "Verdict"), ("n", "Ratings"))
    return tooltips(*texts, kappa="Capability", kappa_low="from", kappa_high="to")


def _words(data: pl.DataFrame) -> str:
    known = data.filter(pl.col("kappa").is_finite())
    said = f"Capability of {counted(data.height, 'rater')}{', each with its 95 % interval' * _has_intervals(data)}"
    if known.height:
        first, last = known.row(0, named=True), known.row(-1, named=True)
        said += (
            f"; highest {first['rater']} with {number(first['kappa'])}, lowest {last['rater']} with "
            f"{number(last['kappa'])}"
        )
    return f"{said}."
