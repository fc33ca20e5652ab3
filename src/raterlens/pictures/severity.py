"""Severity against discrimination, over contours of the capability that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.layers import Axis, Layer, Line, Marks, Names, Overlay, Segments, Stroke, Text, rule
from raterlens.base.picture import Picture, plot
from raterlens.base.style import MARKS
from raterlens.base.text import counted
from raterlens.capability.index import Index
from raterlens.capability.yardstick import PERFECT
from raterlens.diagnostics.what_if import capability_of_categories
from raterlens.models.registry import MODELS
from raterlens.pictures.ranking import population_of, rater_rows

if TYPE_CHECKING:
    from raterlens.inference.result import Result

Function = Callable[[Array, Array], Array]
"""Capability of a discrimination and a severity."""

LEVELS = (0.3, 0.5, 0.7, 0.9)
"""Contours of capability; the bold third one separates capable raters."""

LEAST_SPAN = 1.5
"""Logits from the middle to the end of the axis at least, or small differences would look large."""

NAMED = 24
"""In panels up to this size every rater is named where there is room; in larger ones only those who need attention."""

MANY = 200
"""More points than this are drawn smaller."""

HEIGHT = 380
# Next to no noise: where the axis of discrimination relative to the perfect rater ends.
_STEEPEST = 1e3


def severity_data(fit: Result, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per rater with estimates: rater, eta, rho, kappa, label, status, kind, words. `rows` are `rater_rows`,
    where they are known."""
    rows = rater_rows(fit) if rows is None else rows
    return rows.filter(pl.col("eta").is_finite() & pl.col("rho").is_finite())


def capability_function(fit: Result) -> Function:
    """Capability on the fit's own yardstick, population and scale of scores."""
    if fit.calibration is None:
        return partial(capability_of_categories, fit.link)
    students = population_of(fit)
    perfect = fit.yardstick.reference == PERFECT
    index = Index(fit.calibration.curve(), students, perfect)
    slopes = np.append(0.0, np.geomspace(0.01, _STEEPEST, 60))
    of_slopes = index.rho(slopes, slopes)[0] if perfect else slopes

    def capability(rho: Array, eta: Array) -> Array:
        r, e = (part.ravel() for part in np.broadcast_arrays(rho, eta))
        if fit.sigma == 0 and not perfect:  # nobody discriminates: there is no yardstick to divide by
            return np.zeros(np.broadcast_shapes(rho.shape, eta.shape))
        a = np.interp(r, of_slopes, slopes) if perfect else r * fit.sigma
        kappa = index.kappa(a, e, np.full(len(a), fit.sigma))
        return np.asarray(kappa.reshape(np.broadcast_shapes(rho.shape, eta.shape)))

    return capability


def contours(
    capability: Function, reach: float, levels: Sequence[float] = LEVELS, top: float = 1.0
) -> pl.DataFrame:
    """Where capability equals each of `levels`: level, eta, rho, for severities from -reach to reach.

    At any severity capability rises with discrimination, so a contour is a function of severity. It ends at the edge of
    the plot, or where even the highest discrimination does not reach the level.
    """
    eta = np.linspace(-reach, reach, 129)
    rho = top * (1.0 - np.linspace(1.0, 0.0, 61) ** 1.5)  # finer towards 1, where capability may rise steeply
    heights = np.maximum.accumulate(capability(rho[:, None], eta[None, :]), axis=0)
    schema = {"level": pl.Float64, "eta": pl.Float64, "rho": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *(_contour(level, eta, rho, heights) for level in levels)])


def _contour(level: float, eta: Array, rho: Array, heights: Array) -> pl.DataFrame:
    best, top = heights[-1], float(rho[-1])
    reached = np.flatnonzero(best >= level)
    found = [(float(eta[j]), float(np.interp(level, heights[:, j], rho))) for j in reached]
    if len(reached) and (first := reached[0]) > 0:
        found.insert(
            0, (float(np.interp(level, best[first - 1 : first + 1], eta[first - 1 : first + 1])), top)
        )
    if len(reached) and (last := reached[-1]) < len(eta) - 1:
        found.append((float(np.interp(-level, -best[last : last + 2], eta[last : last + 2])), top))
    curve = np.array(found).reshape(-1, 2)
    return pl.DataFrame({"level": np.full(len(curve), level), "eta": curve[:, 0], "rho": curve[:, 1]})


def severity_limit(points: pl.DataFrame) -> float:
    """How far the axis of severity extends to both sides."""
    farthest = float(np.abs(points["eta"].to_numpy()).max(initial=0.0))
    return float(np.ceil(2 * max(1.08 * farthest, LEAST_SPAN)) / 2)


def discrimination_range(points: pl.DataFrame) -> tuple[float, float]:
    """The lowest and the highest discrimination to be shown."""
    rho = points["rho"].to_numpy()
    return min(0.0, float(rho.min(initial=0.0))), max(1.0, float(rho.max(initial=0.0)))


SEVERITY_ENDS = ("← lenient", "severe →")


def severity(fit: Result, *, rows: pl.DataFrame | None = None) -> Picture:
    """Severity against discrimination of every rater. Capability is constant along each curve; there are none where
    raters use the scale in their own ways, on which capability depends as well."""
    points = severity_data(fit, rows)
    reach, (floor, top) = severity_limit(points), discrimination_range(points)
    title = "Distance from the best criterion, η" if MODELS[fit.model].true_category else "Severity η"
    x = Axis(-reach, reach, title, (10, 6), ends=SEVERITY_ENDS)
    y = Axis(floor, 1.04 * top, "Discrimination ρ", (10, 10))
    wanting = pl.col("status") == "attention"
    on_top = points.sort(wanting, maintain_order=True)  # those who need attention are drawn last
    named = points.filter(wanting | (pl.len() <= NAMED)).sort(~wanting, "kappa")
    own_ways = fit.calibration is not None and fit.calibration.own_curves() is not None
    curves = [] if own_ways else _contours(contours(capability_function(fit), reach, top=top))
    layers: list[Layer] = [
        *curves,
        Marks(on_top, "eta", "rho", MARKS, 1.0 if points.height <= MANY else 0.61),
        Names(named, "eta", "rho"),
    ]
    return plot(
        x,
        y,
        layers,
        _description(points, curves="" if own_ways else ", over curves of equal capability"),
        HEIGHT,
        right=20,
    )


def severity_strip(fit: Result, description: str, rows: pl.DataFrame) -> Picture:
    """The severities of all raters on a line, in which a page's scripts mark one."""
    points = severity_data(fit, rows).with_columns(low=pl.lit(0.2), high=pl.lit(0.8))
    reach = severity_limit(points)
    x, y = Axis(-reach, reach, "Severity", (10, 6), ends=SEVERITY_ENDS), Axis(0.0, 1.0, labels=())
    layers: list[Layer] = [
        rule((x, y), Stroke("line"), y=0.5),
        Segments(points, "eta", "low", "eta", "high", Stroke("faint", 1.5)),
        Overlay('<circle class="now" r="6"/>'),
    ]
    return plot(x, y, layers, description, 44)


def _contours(curves: pl.DataFrame) -> list[Layer]:
    """Contours with their level at the right end."""
    ends = curves.group_by("level", maintain_order=True).last()
    ends = ends.with_columns(words=pl.col("level").map_elements(lambda level: f"{level:.1f}", pl.String))
    return [
        Line(curves, "eta", "rho", Stroke("accent", 1.0, opacity=0.75), by="level"),
        Text(ends, "eta", "rho", "words", "accent", 3, -4),
    ]


def _description(points: pl.DataFrame, curves: str) -> str:
    wanting = points.filter(status="attention").height
    return (
        f"Severity against discrimination of {counted(points.height, 'rater')}{curves}; "
        f"{counted(wanting, 'rater needs', 'raters need')} attention."
    )
