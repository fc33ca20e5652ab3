"""Severity against discrimination, over contours of the capability that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.capability.index import Index
from raterlens.capability.yardstick import NOISELESS
from raterlens.charts.label_placement import placed_names
from raterlens.charts.palette import light
from raterlens.charts.rater_marks import TOLD, kind_scales, population_of, rater_rows, with_verdicts
from raterlens.charts.theme import (
    DEFAULT_WIDTH,
    check_width,
    finished,
    outlined,
    severity_title,
    tooltips,
    values,
)
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.models.registry import is_latent_class
from raterlens.text import counted
from raterlens.types import Array

if TYPE_CHECKING:
    from raterlens.result.record import Result

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
# What axes take of the width.
_MARGIN = 90


def severity_data(fit: Result) -> pl.DataFrame:
    """One row per rater with estimates: rater, eta, rho, kappa, label, standing, kind, words."""
    rows = rater_rows(fit)
    return rows.filter(pl.col("eta").is_finite() & pl.col("rho").is_finite())


def surface(fit: Result) -> Surface:
    """Capability on the fit's own yardstick, population and scale of scores."""
    if fit.calibration is None:
        return Scale.of(fit).capability
    students = population_of(fit)
    noiseless = fit.yardstick.reference == NOISELESS
    index = Index(fit.calibration.curve(), students, noiseless)

    def capability(rho: Array, eta: Array) -> Array:
        r, e = (part.ravel() for part in np.broadcast_arrays(rho, eta))
        if fit.sigma == 0 and not noiseless:  # nobody discriminates: there is no yardstick to divide by
            return np.zeros(np.broadcast_shapes(rho.shape, eta.shape))
        a = r / np.sqrt(np.maximum(1 - r**2, 1e-9)) if noiseless else r * fit.sigma
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


def severity(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """Is a rater's capability limited by severity, or by discrimination?

    Capability is constant along each curve. Raters above the bold curve are capable. To get there, a rater beside it
    has to change severity, and a rater below it has to discriminate better.

    Parameters
    ----------
    fit
        Any fit. For latent class models severity is the distance of the criterion from the rater's best one.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.severity(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:38]
    'Severity against discrimination of 16 '
    """
    check_width(width)
    points = severity_data(fit)
    reach, rho = reach_of(points), points["rho"].to_numpy()
    top, floor = max(1.0, float(rho.max(initial=0.0))), min(0.0, float(rho.min(initial=0.0)))
    x = alt.Scale(domain=[-reach, reach], nice=False)
    y = alt.Scale(domain=[floor, 1.04 * top], nice=False)
    curves = contours(surface(fit), reach, top=top)
    across, up = _titles(fit, width)
    named = _names(points, reach, (floor, 1.04 * top), width)
    marks = (
        alt.Chart(values(with_verdicts(_drawing_order(points))))
        .mark_point(
            size=70 if points.height <= MANY else 26, opacity=1, strokeWidth=1.5, aria=points.height <= TOLD
        )
        .encode(
            x=alt.X(
                "eta:Q",
                title=across,
                scale=x,
                axis=alt.Axis(grid=False, tickCount=10 if width >= 480 else 6),
            ),
            y=alt.Y("rho:Q", title=up, scale=y, axis=alt.Axis(grid=False)),
            description="words:N",
            tooltip=_tooltip(),
            **kind_scales(points, width),
        )
    )
    texts = outlined(
        alt.Chart(values(named)).encode(x=alt.X("eta:Q", scale=x), y=alt.Y("rho:Q", scale=y), text="name:N")
    )
    words = (
        f"Severity against discrimination of {counted(points.height, 'rater')}, over curves of equal capability; "
        f"{counted(points.filter(standing='attention').height, 'rater needs', 'raters need')} attention."
    )
    return finished(_background(curves, x, y, top) + marks + texts, words, width=width, height=HEIGHT)


def _background(curves: pl.DataFrame, x: Any, y: Any, top: float) -> Any:
    """The region of capable raters, and contours with their level at the right end."""
    place = {"x": alt.X("eta:Q", scale=x), "y": alt.Y("rho:Q", scale=y)}
    accent = light("accent")
    inside = curves.filter(pl.col("level") == CAPABLE).with_columns(top=pl.lit(top))
    region = (
        alt.Chart(values(inside))
        .mark_area(color=accent, opacity=0.09, aria=False)
        .encode(**place, y2="top:Q")
    )
    weight = alt.condition(f"datum.level == {CAPABLE}", alt.value(2.2), alt.value(1))
    lines = (
        alt.Chart(values(curves))
        .mark_line(stroke=accent, opacity=0.75)
        .encode(**place, detail="level:N", strokeWidth=weight, order="eta:Q")
    )
    ends = curves.group_by("level", maintain_order=True).last()
    levels = (
        alt.Chart(
            values(ends.with_columns(level=pl.col("level").map_elements(lambda v: f"{v:.1f}", pl.String)))
        )
        .mark_text(color=accent, align="left", dx=3, dy=-4)
        .encode(**place, text="level:N")
    )
    return region + lines + levels


def _drawing_order(points: pl.DataFrame) -> pl.DataFrame:
    """Raters who need attention last, so that they are on top."""
    return points.sort(pl.col("standing") == "attention", maintain_order=True)


def _names(points: pl.DataFrame, reach: float, rho: tuple[float, float], width: int) -> pl.DataFrame:
    wanting = pl.col("standing") == "attention"
    named = points.filter(wanting | (pl.len() <= NAMED)).sort(~wanting, "kappa")
    at = (
        (pl.col("eta") / reach + 1) * 50,
        (rho[1] - pl.col("rho")) / (rho[1] - rho[0]) * 100,
    )
    return placed_names(named, points, at, width - _MARGIN, HEIGHT)


def _titles(fit: Result, width: int) -> tuple[str, str]:
    title = "Distance from the best criterion, η" if is_latent_class(fit.model) else "Severity η"
    return severity_title(width, title), "Discrimination ρ"


def _tooltip() -> list[alt.Tooltip]:
    texts = ("rater", "Rater"), ("label", "Verdict")
    return tooltips(*texts, eta="Severity", rho="Discrimination", kappa="Capability")
