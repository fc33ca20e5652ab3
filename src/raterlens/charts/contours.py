"""Severity against discrimination, over contours of the capability that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.capability.index import Index
from raterlens.capability.yardstick import NOISELESS, students_of
from raterlens.charts.label_placement import placed_names
from raterlens.charts.palette import light
from raterlens.charts.rater_marks import LATENT, TOLD, kind_scales, rater_rows, with_verdicts
from raterlens.charts.theme import DESK, check_width, finished, rimmed, values
from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.text import counted
from raterlens.types import Array

if TYPE_CHECKING:
    from raterlens.result.record import Result

Surface = Callable[[Array, Array], Array]
"""Capability of a discrimination and a severity."""

LEVELS = (0.3, 0.5, CAPABLE, 0.9)
"""Contours of capability; the third is the line for capable, drawn bolder."""

LEAST_SPAN = 1.5
"""Severities within 1.5 logits of each other would otherwise look far apart."""

NAMED = 24
"""Panels up to this size have every point named where there is room; larger ones only those in need of attention."""

MANY = 200
"""More points than this are drawn smaller."""

HEIGHT = 380
# What axes take of the width.
_MARGIN = 90


def severity_data(fit: Result) -> pl.DataFrame:
    """A row a rater: rater, eta, rho, kappa, label, standing, kind, words; without those who have no estimates."""
    rows = rater_rows(fit)
    return rows.filter(pl.col("eta").is_finite() & pl.col("rho").is_finite())


def surface(fit: Result) -> Surface:
    """Capability as the fit's own yardstick, population and way of scoring have it."""
    if fit.calibration is None:
        return Scale.of(fit).capability
    abilities = fit.table("students").select("theta", "theta_se").to_numpy()
    students = students_of(fit.yardstick.population, abilities[:, 0], abilities[:, 1])
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

    At any severity capability rises with discrimination, so a contour is a function of severity. It ends at
    the edge of the plot, or where even the highest discrimination falls short of the level.
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
    """The axis of severity runs this far to both sides."""
    farthest = float(np.abs(points["eta"].to_numpy()).max(initial=0.0))
    return float(np.ceil(2 * max(1.08 * farthest, LEAST_SPAN)) / 2)


def severity(fit: Result, *, width: int = DESK) -> Any:
    """Why is a rater's capability what it is: severity, or discrimination?

    Along each curve capability is the same. Raters above the bold curve are capable; one who lies outside because of
    severity has to move sideways, one who lies below it has to become sharper.

    Parameters
    ----------
    fit
        Any fit. For latent class models severity is how far the criterion lies from the rater's best one.
    width
        Of the whole chart, in pixels; 380 suits a phone.

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
    import altair as alt

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
    texts = rimmed(
        alt.Chart(values(named)).encode(x=alt.X("eta:Q", scale=x), y=alt.Y("rho:Q", scale=y), text="name:N")
    )
    words = (
        f"Severity against discrimination of {counted(points.height, 'rater')}, over curves of equal capability; "
        f"{counted(points.filter(standing='attention').height, 'rater needs', 'raters need')} attention."
    )
    return finished(_field(curves, x, y, top) + marks + texts, words, width=width, height=HEIGHT)


def _field(curves: pl.DataFrame, x: Any, y: Any, top: float) -> Any:
    """The region of the capable, contours, and the level of each at its right end."""
    import altair as alt

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
    """Those who need attention last, on top."""
    return points.sort(pl.col("standing") == "attention", maintain_order=True)


def _names(points: pl.DataFrame, reach: float, rho: tuple[float, float], width: int) -> pl.DataFrame:
    wanting = pl.col("standing") == "attention"
    named = points.filter(wanting | (pl.len() <= NAMED)).sort(~wanting, "kappa")
    at = (
        (pl.col("eta") / reach + 1) * 50,
        (rho[1] - pl.col("rho")) / (rho[1] - rho[0]) * 100,
    )
    everywhere, anchors = (part.select(x=at[0], y=at[1]).to_numpy() for part in (points, named))
    return placed_names(named, anchors, everywhere, width - _MARGIN, HEIGHT)


def _titles(fit: Result, width: int) -> tuple[str, str]:
    ends = ("Severity η", "Criterion less its best place, η")[fit.model in LATENT]
    gap = "\u00a0" * (12 if width >= 480 else 4)
    return f"← lenient{gap}{ends}{gap}severe →", "Discrimination ρ"


def _tooltip() -> list[Any]:
    import altair as alt

    numbers = (("eta", "Severity"), ("rho", "Discrimination"), ("kappa", "Capability"))
    return [
        alt.Tooltip("rater:N", title="Rater"),
        alt.Tooltip("label:N", title="Verdict"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in numbers),
    ]
