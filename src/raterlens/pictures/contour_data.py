"""Severity against discrimination, and the capability that follows from them: what a chart of it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.text import counted
from raterlens.capability.index import Index
from raterlens.capability.yardstick import PERFECT
from raterlens.diagnostics.capability_scale import Scale
from raterlens.models.registry import is_latent_class
from raterlens.pictures.label_placement import placed_names, severity_title
from raterlens.pictures.ranking import population_of, rater_rows
from raterlens.pictures.style import CAPABLE

if TYPE_CHECKING:
    from raterlens.inference.result import Result

Surface = Callable[[Array, Array], Array]
"""Capability of a discrimination and a severity."""

LEVELS = (0.3, 0.5, CAPABLE, 0.9)
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


def severity_data(fit: Result) -> pl.DataFrame:
    """One row per rater with estimates: rater, eta, rho, kappa, label, status, kind, words."""
    rows = rater_rows(fit)
    return rows.filter(pl.col("eta").is_finite() & pl.col("rho").is_finite())


def surface(fit: Result) -> Surface:
    """Capability on the fit's own yardstick, population and scale of scores."""
    if fit.calibration is None:
        return Scale.of(fit).capability
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
    capability: Surface, reach: float, levels: Sequence[float] = LEVELS, top: float = 1.0
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


def reach_of(points: pl.DataFrame) -> float:
    """How far the axis of severity extends to both sides."""
    farthest = float(np.abs(points["eta"].to_numpy()).max(initial=0.0))
    return float(np.ceil(2 * max(1.08 * farthest, LEAST_SPAN)) / 2)


def ends_of(points: pl.DataFrame) -> tuple[float, float]:
    """The lowest and the highest discrimination to be shown."""
    rho = points["rho"].to_numpy()
    return min(0.0, float(rho.min(initial=0.0))), max(1.0, float(rho.max(initial=0.0)))


def drawing_order(points: pl.DataFrame) -> pl.DataFrame:
    """Raters who need attention last, so that they are on top."""
    return points.sort(pl.col("status") == "attention", maintain_order=True)


def names(
    points: pl.DataFrame, curves: pl.DataFrame, reach: float, rho: tuple[float, float], width: float
) -> pl.DataFrame:
    """Of raters, where there is room in a plot of this width: not on a point, nor on a curve's level at its end."""
    wanting = pl.col("status") == "attention"
    named = points.filter(wanting | (pl.len() <= NAMED)).sort(~wanting, "kappa")
    at = (
        (pl.col("eta") / reach + 1) * 50,
        (rho[1] - pl.col("rho")) / (rho[1] - rho[0]) * 100,
    )
    # A level takes some 20 pixels to the right of its curve, and a dozen above.
    right = pl.DataFrame({"right": np.array([0.0, 10.0, 20.0]) * 2 * reach / width})
    above = pl.DataFrame({"above": np.array([0.0, 8.0]) * (rho[1] - rho[0]) / HEIGHT})
    ends = curves.group_by("level", maintain_order=True).last().select("eta", "rho")
    levels = ends.join(right, how="cross").join(above, how="cross")
    levels = levels.select(pl.col("eta") + pl.col("right"), pl.col("rho") + pl.col("above"))
    taken = pl.concat([points.select("eta", "rho"), levels])
    return placed_names(named, taken, at, width, HEIGHT)


def titles(fit: Result, width: int) -> tuple[str, str]:
    """Of the two axes."""
    title = "Distance from the best criterion, η" if is_latent_class(fit.model) else "Severity η"
    return severity_title(width, title), "Discrimination ρ"


def description(points: pl.DataFrame) -> str:
    """The chart in a sentence, for those who cannot see it."""
    wanting = points.filter(status="attention").height
    return (
        f"Severity against discrimination of {counted(points.height, 'rater')}, over curves of equal capability; "
        f"{counted(wanting, 'rater needs', 'raters need')} attention."
    )
