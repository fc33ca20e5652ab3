"""Severity against discrimination, over contours of the capability that follows from them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.charts.drawing import draw
from raterlens.charts.labels import place_labels
from raterlens.charts.marks import mark
from raterlens.diagnostics.scale import Scale
from raterlens.diagnostics.verdicts import CAPABLE

Array = NDArray[np.float64]

LEVELS = (0.3, 0.5, CAPABLE, 0.9)
"""Contours of capability; the third is the line for capable, drawn bolder."""

LEAST_SPAN = 1.5
"""Severities within 1.5 logits of each other would otherwise look far apart."""

NAMED = 24
"""Panels up to this size have every point named where there is room; larger ones only those in need of attention."""

MANY = 200
"""More points than this are drawn smaller."""

HEIGHT, WIDE, NARROW = 440, 800, 300
"""Size in pixels for which names are kept from overlapping: on a desk, and on a phone."""


class SeverityPlot(NamedTuple):
    """Plot data."""

    points: pl.DataFrame
    """rater, eta, rho, kappa, label, standing"""
    contours: pl.DataFrame
    """level, eta, rho: one curve a level, from lenient to severe; none for ordered scores"""
    reach: float
    """The axis of severity runs from -reach to reach."""


def severity_data(raters: pl.DataFrame, scale: Scale) -> SeverityPlot:
    """Points and contours from a table of raters with their verdict's `label` and `standing`."""
    points = raters.select("rater", "eta", "rho", "kappa", "label", "standing")
    points = points.filter(pl.col("eta").is_finite() & pl.col("rho").is_finite())
    farthest = float(points["eta"].abs().max() or 0.0) if points.height else 0.0  # type: ignore[arg-type]
    reach = float(np.ceil(2 * max(1.08 * farthest, LEAST_SPAN)) / 2)
    return SeverityPlot(points, contours(scale, reach, () if scale.ordered else LEVELS), reach)


def contours(scale: Scale, reach: float, levels: Sequence[float] = LEVELS) -> pl.DataFrame:
    """Where capability equals each of `levels`, for severities from -reach to reach.

    At any severity capability rises with discrimination, so a contour is a function of severity. It ends at
    the edge of the plot, or where even full discrimination falls short of the level.
    """
    eta = np.linspace(-reach, reach, 129)
    rho = 1.0 - np.linspace(1.0, 0.0, 61) ** 1.5  # finer towards 1, where capability may rise steeply
    surface = scale.capability(rho[:, None], eta[None, :])
    schema = {"level": pl.Float64, "eta": pl.Float64, "rho": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *(_contour(level, eta, rho, surface) for level in levels)])


def _contour(level: float, eta: Array, rho: Array, surface: Array) -> pl.DataFrame:
    best = surface[-1]
    reached = np.flatnonzero(best >= level)
    heights = [(float(eta[j]), float(np.interp(level, surface[:, j], rho))) for j in reached]
    if len(reached) and (first := reached[0]) > 0:
        heights.insert(
            0, (float(np.interp(level, best[first - 1 : first + 1], eta[first - 1 : first + 1])), 1.0)
        )
    if len(reached) and (last := reached[-1]) < len(eta) - 1:
        heights.append((float(np.interp(-level, -best[last : last + 2], eta[last : last + 2])), 1.0))
    curve = np.array(heights).reshape(-1, 2)
    return pl.DataFrame({"level": np.full(len(curve), level), "eta": curve[:, 0], "rho": curve[:, 1]})


def draw_severity(plot: SeverityPlot) -> str:
    """The chart as HTML with inline SVG; it stretches to the width it is given."""
    points = plot.points.with_columns(
        x=((pl.col("eta") / plot.reach + 1) * 50).round(2), y=((1 - pl.col("rho").clip(0, 1)) * 100).round(2)
    )
    rank = pl.col("standing") != "attention"
    named = points.filter(~rank | (pl.len() <= NAMED)).sort(rank, "kappa")
    everywhere = points.select("x", "y").to_numpy()
    anchors, names = named.select("x", "y").to_numpy(), named["rater"].to_list()
    labels = {
        size: place_labels(names, anchors, everywhere, width=width, height=HEIGHT)
        for size, width in (("wide", WIDE), ("narrow", NARROW))
    }
    curves = [
        _curve(level, part, plot.reach)
        for (level,), part in plot.contours.group_by("level", maintain_order=True)
    ]
    return draw(
        "severity.html",
        points=[
            row | {"mark": mark(row["label"])}
            for row in points.sort(rank, descending=True, maintain_order=True).iter_rows(named=True)
        ],
        labels=labels,
        many=points.height > MANY,
        curves=curves,
        height=HEIGHT,
        x_ticks=_ticks(plot.reach),
        y_ticks=[(0.0, 100), (0.25, 75), (0.5, 50), (0.75, 25), (1.0, 0)],
    )


def _curve(level: float, curve: pl.DataFrame, reach: float) -> dict[str, object]:
    """A contour's line, and where its level is written: where it leaves the frame above or to the right."""
    x = [_across(eta, reach) for eta in curve["eta"]]
    y = [_down(rho) for rho in curve["rho"]]
    ends = [{"x": x[i], "y": 0, "dx": 0, "dy": -6, "anchor": "middle"} for i in (0, -1) if y[i] == 0]
    if y[-1] > 0:
        ends.append({"x": 100, "y": y[-1], "dx": 5, "dy": 4, "anchor": "start"})
    return {
        "level": level,
        "line": "M" + " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True)),
        "roof": f"L{x[-1]:g},0 {x[0]:g},0z",
        "ends": ends,
        "bold": level == CAPABLE,
    }


def _across(eta: float, reach: float) -> float:
    return round((eta / reach + 1) * 50, 2)


def _down(rho: float) -> float:
    return round((1 - rho) * 100, 2)


def _ticks(reach: float) -> list[tuple[float, float]]:
    """Severities to write on the axis, and their place in percent."""
    step = next((s for s in (0.5, 1.0, 2.0, 5.0, 10.0) if reach / s <= 4), reach)
    values = np.arange(-np.floor(reach / step), np.floor(reach / step) + 1) * step
    return [(float(value), float((value / reach + 1) * 50)) for value in values]
