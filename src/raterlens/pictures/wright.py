"""The Wright map: students, raters, items and further facets on one scale.

The scale is that of ability. With S = a_r theta - eta_r - delta_i + alpha, a student is at theta, a rater where S is 0
on an average item, (eta_r - alpha) / a_r, an item or level where it is 0 with an average rater, (delta_i - alpha) / a.
So a student who is level with a rater can expect half of the marks from it, whatever the slopes.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.layers import Axis, Bars, Layer, Marks, Segments, Stroke, Text
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import mark
from raterlens.base.text import counted, distinct, number, printable
from raterlens.models.registry import MODELS
from raterlens.pictures.rater_pictures import ability_calibration, with_words

if TYPE_CHECKING:
    from raterlens.inference.result import Result

HEIGHT = 440
STUDENTS, RATERS, ITEMS = "Students", "Raters", "Items"
FARTHEST = 6.0
"""Raters beyond it, whose scores hardly follow ability, have no place among the students."""
LINE = 13.0
"""Pixels between names."""

_BINS = 28


def wright_data(fit: Result) -> pl.DataFrame:
    """facet (Students, Raters, Items, and the name of each further facet), label, location."""
    why = "raters judge true categories, on a scale of their own"
    known = ability_calibration(fit, "wright", why, "severity")
    effects = known.effects
    slope, severity = effects["slope"], effects["severity"]
    raters, theta = fit.table("raters"), fit.table("students")["theta"].to_numpy()
    known_slope = np.where(slope > 0, slope, np.nan)
    if MODELS[fit.model].difficulty_on_ability_scale:
        average, shift, places = 1.0, 0.0, severity / known_slope
    else:
        # Marks have no middle that 0 could stand for: students are counted from the average one.
        average = float(known.unit * slope.mean()) or np.nan
        shift = fit.alpha if known.marks is None else 0.0
        places = (raters["eta"].to_numpy() - shift) / (known.unit * known_slope)
    placed = np.where(np.abs(places) <= FARTHEST, places, np.nan)
    parts = [
        _part(STUDENTS, fit.table("students")["student"], theta),
        _part(RATERS, raters["rater"], placed),
        _part(ITEMS, fit.table("items")["item"], (fit.table("items")["delta"].to_numpy() - shift) / average),
    ]
    if "facets" in fit.tables:
        for (name,), levels in fit.table("facets").group_by("facet", maintain_order=True):
            parts.append(_part(str(name), levels["level"], (levels["effect"].to_numpy() - shift) / average))
    return pl.concat(parts).filter(pl.col("location").is_finite())


def _part(facet: str, labels: pl.Series, location: Array) -> pl.DataFrame:
    names = labels.cast(pl.String) if facet == STUDENTS else distinct(labels)  # students are not named
    return pl.DataFrame({"label": names, "location": np.asarray(location, float)}).select(
        pl.lit(facet).alias("facet"), "label", "location"
    )


def histogram(rows: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """from, to, n: students by location, without empty bins."""
    edges = np.linspace(*span, _BINS + 1)
    count, _ = np.histogram(rows["location"].to_numpy(), edges)
    return pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n": count}).filter(pl.col("n") > 0)


def spread_names(rows: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """Rows with x and to (where the line to a name starts and ends) and at (the location of the name, a line apart)."""
    ordered = rows.sort("location")
    least = (span[1] - span[0]) * LINE / HEIGHT
    # Names that touch are spread around their common middle: less a line each, places only have to rise.
    lines = least * np.arange(rows.height)
    free = _rising(ordered["location"].to_numpy() - lines)
    at = np.clip(free, span[0], max(span[0], span[1] - lines[-1:].sum())) + lines
    return _described(ordered).with_columns(pl.Series("at", at), x=pl.lit(18.0), to=pl.lit(32.0))


def _rising(values: Array) -> Array:
    """The nearest values that never fall: those that do are pooled (SciPy's `isotonic_regression` takes 0.1 s to
    import)."""
    pools: list[tuple[float, int]] = []
    for value in values.tolist():
        total, n = value, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / n:
            before, more = pools.pop()
            total, n = total + before, n + more
        pools.append((total, n))
    return np.array([total / n for total, n in pools for _ in range(n)], np.float64)


def _dots(rows: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """Side by side within a line, as a histogram of dots."""
    step = (span[1] - span[0]) / 90
    line = (pl.col("location") / step).round()
    most = max(rows.group_by(line.alias("line")).len()["len"].to_list(), default=1)
    apart = min(5.0, 90.0 / most)
    return _described(rows.sort("location")).with_columns(x=10 + apart * pl.int_range(pl.len()).over(line))


def _described(rows: pl.DataFrame) -> pl.DataFrame:
    return with_words(rows, lambda row: f"{row['label']}: {number(row['location'])}")


_ROLES = ("severe", "extreme", "weak", "lenient")
_ROOM = 120.0
"""Pixels that a column of dots takes."""


def wright(fit: Result) -> Picture:
    """A histogram of students, next to raters (the more severe, the higher) and items (the harder, the higher)."""
    data = wright_data(fit)
    location = data["location"].to_numpy()
    low, high = (float(location.min()), float(location.max())) if len(location) else (0.0, 0.0)
    beyond = 0.03 * (high - low) + 0.1  # so that tick labels do not shift the titles
    y = Axis(low - beyond, high + beyond, "Ability θ", (10, 10), grid=True)
    parts = {str(name): rows for (name,), rows in data.group_by("facet", maintain_order=True)}
    said = [
        f"{counted(rows.height, facet.lower().removesuffix('s'))} from {number(rows['location'].to_numpy().min(), 1)} "
        f"to {number(rows['location'].to_numpy().max(), 1)}"
        for facet, rows in parts.items()
    ]
    students = histogram(parts.pop(STUDENTS, data.clear()), (y.low, y.high)).with_columns(start=pl.lit(0.0))
    n = max(len(parts), 1)  # where no score follows ability, only students have a place
    bars = with_words(
        students,
        lambda row: f"{counted(row['n'], 'student')} from {number(row['from'])} to {number(row['to'])}",
    )
    first = Panel(
        Axis(1.06 * float(bars["n"].to_numpy().max(initial=1)), 0.0, labels=()),  # it grows to the left
        y,
        (Bars(bars, "n", "from", "start", "to", "accent", 0.75, "words"),),
        STUDENTS,
        share=(0.3 / 0.7 * n, 0.22 / 0.78 * n),
    )
    columns = (
        Panel(
            Axis(0.0, _ROOM, labels=(), pixels=True), y, _column(rows, (y.low, y.high), role), printable(name)
        )
        for (name, rows), role in zip(parts.items(), cycle(_ROLES), strict=False)
    )
    description = f"Students, raters and items on one scale: {', '.join(said)}."
    return Picture((first, *columns), description, (HEIGHT, HEIGHT), columns=(n + 1, n + 1))


def _column(rows: pl.DataFrame, span: tuple[float, float], role: str) -> tuple[Layer, ...]:
    """Points with names that do not overlap, or dots side by side if there are too many to name."""
    dot = mark("circle", role)
    if rows.height * LINE > HEIGHT:
        return (Marks(_dots(rows, span), "x", "location", dot, 0.4),)
    data = spread_names(rows, span)
    lines = Segments(data, "x", "location", "to", "at", Stroke("faint", opacity=0.8))
    names = Text(data, "to", "at", "label", "ink", 4, 4, cut=True)
    return lines, Marks(data, "x", "location", dot, 0.75), names
