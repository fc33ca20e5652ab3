"""Raters as pictures show them: in the order of capability, and their severity against their discrimination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import Axis, Layer, Line, Marks, Names, Segments, Stroke, Text, known, rule
from raterlens.base.picture import Picture, interval_rows, intervals, plot
from raterlens.base.style import MARKS, mark_of_verdict
from raterlens.base.text import counted, distinct, interval, listed, number, shortened
from raterlens.capability.index import Index
from raterlens.capability.population import Population
from raterlens.capability.yardstick import PERFECT, students_of
from raterlens.diagnostics.what_if import capability_of_categories
from raterlens.diagnostics.wording import rater_table
from raterlens.models.registry import MODELS

if TYPE_CHECKING:
    from raterlens.diagnostics.findings import RaterFindings
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration


def rater_rows(fit: Result, raters: Iterable[RaterFindings] | None = None) -> pl.DataFrame:
    """One row per rater, the most capable first: rater, n, rho, eta, kappa with interval, label, status, kind, words;
    `raters` as for `rater_table`."""
    rows = rater_table(fit, raters)
    numbers = ("rho", "eta", "kappa", "kappa_low", "kappa_high")
    rows = rows.select(
        pl.Series("rater", distinct(rows["rater"])),
        "n",
        *(pl.col(name).cast(pl.Float64) for name in numbers),
        "label",
        "status",
        pl.Series("kind", [mark_of_verdict(label).name for label in rows["label"]]),
    )
    return with_words(
        rows,
        lambda row: (
            f"{row['rater']}: capability {number(row['kappa'])} ({interval(row['kappa_low'], row['kappa_high'])}), "
            f"severity {number(row['eta'])}, discrimination {number(row['rho'])}, {row['label']}"
        ),
    )


def with_words(rows: pl.DataFrame, said: Callable[[dict[str, Any]], str]) -> pl.DataFrame:
    """The rows with `words`, the text that a picture shows at each."""
    return rows.with_columns(pl.Series("words", map(said, rows.iter_rows(named=True)), dtype=pl.String))


def rater_name(fit: Result, rater: object) -> str:
    """The name of a rater of the fit, as text; raises if there is none."""
    names = fit.table("raters")["rater"].cast(pl.String).to_list()
    if str(rater) not in names:
        near = [name for name in names if str(rater).lower() in name.lower()] or names
        what, remedy = f"no rater {shortened(str(rater))} in this fit", f"give one of: {listed(near, 12)}"
        raise OptionError(what, remedy, value=rater, option="rater")
    return str(rater)


def rater_names(fit: Result, raters: Sequence[object], most: int) -> list[str]:
    """The names of one rater or several, each once; raises if there are none, or more than a chart can show."""
    several = [raters] if isinstance(raters, str) else raters
    names = [rater_name(fit, rater) for rater in dict.fromkeys(several)]
    if not 1 <= len(names) <= most:
        what, remedy = f"{len(names)} raters are given", f"give from 1 to {most}"
        raise OptionError(what, remedy, value=len(names), option="raters")
    return names


def ability_calibration(fit: Result, chart: str, why: str, instead: str) -> Calibration:
    """The calibration of a fit; raises if its model has true categories, which the chart cannot show, and names a chart
    that can."""
    if fit.calibration is None:
        what = f"the chart {chart!r} has no meaning for model {fit.model!r}: {why}"
        raise OptionError(what, f"use the chart {instead!r}", value=fit.model, option="model")
    return fit.calibration


def population_of(fit: Result) -> Population:
    """The students over whom the fit averages capability."""
    students = fit.table("students").select("theta", "theta_se").to_numpy()
    known = fit.calibration
    shape, pieces = (None, 0.0) if known is None else (known.shape, known.piece_variance)
    return students_of(fit.yardstick.population, students[:, 0], students[:, 1], shape, pieces)


# ------------------------------------------------------------------------------------------------------- capability

MOST_ROWS = 60
"""Up to this many raters have a line each; a larger panel is one ranked curve."""


def capability_data(fit: Result, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per rater, the most capable first: place (1 is the top), rater, n, kappa, kappa_low, kappa_high, label,
    status, kind, words. `rows` are `rater_rows`, where they are known."""
    rows = rater_rows(fit) if rows is None else rows
    return rows.drop("rho", "eta").select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("place"), pl.all()
    )


def capability(fit: Result, *, ranked: bool = True, rows: pl.DataFrame | None = None) -> Picture:
    """How capable each rater is, with intervals: the most capable first, or by name where an order would be chance."""
    data = capability_data(fit, rows)
    if not ranked:
        data = data.sort("rater").with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    sure = bool(data["kappa_low"].is_finite().any())  # a fit can be made without intervals
    title = "Capability κ̄" + " with 95 % interval" * sure
    # From 0 to 1, unless a rater scores against ability or beats the yardstick.
    reach, n = data.select("kappa", "kappa_low", "kappa_high").to_numpy(), data.height
    low, high = float(np.nanmin(reach, initial=0.0)), float(np.nanmax(reach, initial=1.0))
    ends = min(0.0, float(np.floor(low * 5) / 5)), max(1.0, float(np.ceil(high * 5) / 5))
    ordered = known(data, "kappa").sort("kappa", descending=True, maintain_order=True)
    said = f"Capability of {counted(n, 'rater')}{', each with its 95 % interval' * sure}"
    if ordered.height:
        first, last = ordered.row(0, named=True), ordered.row(-1, named=True)
        said += f"; highest {first['rater']} with {number(first['kappa'])}, "
        said += f"lowest {last['rater']} with {number(last['kappa'])}"
    if n <= MOST_ROWS:
        columns = ("rater", "kappa", "kappa_low", "kappa_high")
        return interval_rows(data, columns, MARKS, Axis(*ends, title, (10, 5), grid=True), f"{said}.")
    # One thin line per rater: those who are fine form the curve, the others stand out.
    x = Axis(0.5, n + 0.5, "Raters, the most capable first" if ranked else "Raters by name", whole=True)
    y = Axis(*ends, title, (10, 10), grid=True)
    points = Marks(data, "place", "kappa", MARKS, 0.61 if n <= 300 else 0.41)
    thin, opacity = max(0.6, min(3.0, 450 / n)), 0.28 if n <= 600 else 0.16
    lines = intervals(points, ("place", "kappa_low", "place", "kappa_high"), thin, opacity)
    # The least capable raters who need attention are named; the dense curve would leave no name room.
    wanting = known(data, "kappa").filter(status="attention").tail(6).reverse()
    names = Names(wanting, "place", "kappa", clear=data.gather_every(max(1, n // 400)))
    return plot(x, y, [*lines, points, names], f"{said}.", 340)


# --------------------------------------------------------------------------------------------------------- severity

Function = Callable[[Array, Array], Array]
"""Capability of a discrimination and a severity."""

LEVELS = (0.3, 0.5, 0.7, 0.9)
"""Contours of capability."""
LEAST_SPAN = 1.5
"""Logits from the middle to the end of the axis at least, or small differences would look large."""
NAMED, MANY = 24, 200
"""In panels up to the first size every rater is named where there is room, in larger ones only those who need
attention; more points than the second are drawn smaller."""
SEVERITY_ENDS = ("← lenient", "severe →")
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
    perfect = fit.yardstick.reference == PERFECT
    index = Index(fit.calibration.curve(), population_of(fit), perfect)
    slopes = np.append(0.0, np.geomspace(0.01, _STEEPEST, 60))
    of_slopes = index.rho(slopes, slopes)[0] if perfect else slopes

    def capability(rho: Array, eta: Array) -> Array:
        rho, eta = np.broadcast_arrays(rho, eta)
        if fit.sigma == 0 and not perfect:  # nobody discriminates: there is no yardstick to divide by
            return np.zeros(rho.shape)
        a = np.interp(rho.ravel(), of_slopes, slopes) if perfect else rho.ravel() * fit.sigma
        return np.asarray(index.kappa(a, eta.ravel(), np.full(rho.size, fit.sigma)).reshape(rho.shape))

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
    best, found = heights[-1], list[tuple[float, float, float]]()
    for level in levels:
        reached = np.flatnonzero(best >= level)
        points = [(eta[j], np.interp(level, heights[:, j], rho)) for j in reached]
        for inside, beyond in ((reached[:1], -1), (reached[-1:], 1)):
            if inside.size and 0 <= inside[0] + beyond < len(eta):
                ends = [inside[0] + beyond, inside[0]]
                points.append((np.interp(level, best[ends], eta[ends]), rho[-1]))
        found += [(level, float(x), float(y)) for x, y in sorted(points)]
    return pl.DataFrame(found, dict.fromkeys(("level", "eta", "rho"), pl.Float64), orient="row")


def severity_limit(points: pl.DataFrame) -> float:
    """How far the axis of severity extends to both sides."""
    farthest = float(np.abs(points["eta"].to_numpy()).max(initial=0.0))
    return float(np.ceil(2 * max(1.08 * farthest, LEAST_SPAN)) / 2)


def severity(fit: Result, *, rows: pl.DataFrame | None = None) -> Picture:
    """Severity against discrimination of every rater. Capability is constant along each curve; there are none where
    raters use the scale in their own ways, on which capability depends as well."""
    points = severity_data(fit, rows)
    reach, rho = severity_limit(points), points["rho"].to_numpy()
    floor, top = min(0.0, float(rho.min(initial=0.0))), max(1.0, float(rho.max(initial=0.0)))
    title = "Distance from the best criterion, η" if MODELS[fit.model].true_category else "Severity η"
    x = Axis(-reach, reach, title, (10, 6), ends=SEVERITY_ENDS)
    y = Axis(floor, 1.04 * top, "Discrimination ρ", (10, 10))
    wanting = pl.col("status") == "attention"
    layers: list[Layer] = []
    own_ways = fit.calibration is not None and fit.calibration.own_curves() is not None
    if not own_ways:
        curves = contours(capability_function(fit), reach, top=top)
        ends = (
            curves.group_by("level", maintain_order=True)
            .last()
            .with_columns(words=pl.col("level").round(1).cast(pl.String))
        )
        layers = [
            Line(curves, "eta", "rho", Stroke("accent", 1.0, opacity=0.75), by="level"),
            Text(ends, "eta", "rho", "words", "accent", 3, -4),
        ]
    on_top = points.sort(wanting, maintain_order=True)  # those who need attention are drawn last
    named = points.filter(wanting | (pl.len() <= NAMED)).sort(~wanting, "kappa")
    layers.append(Marks(on_top, "eta", "rho", MARKS, 1.0 if points.height <= MANY else 0.61))
    layers.append(Names(named, "eta", "rho"))
    description = (
        f"Severity against discrimination of {counted(points.height, 'rater')}"
        f"{'' if own_ways else ', over curves of equal capability'}; "
        f"{counted(points.filter(wanting).height, 'rater needs', 'raters need')} attention."
    )
    return plot(x, y, layers, description, 380, right=20)


def severity_strip(fit: Result, description: str, rows: pl.DataFrame) -> Picture:
    """The severities of all raters on a line, in which a page's scripts mark one."""
    points = severity_data(fit, rows).with_columns(low=pl.lit(0.2), high=pl.lit(0.8))
    reach = severity_limit(points)
    x, y = Axis(-reach, reach, "Severity", (10, 6), ends=SEVERITY_ENDS), Axis(0.0, 1.0, labels=())
    layers: list[Layer] = [
        rule((x, y), Stroke("line"), y=0.5),
        Segments(points, "eta", "low", "eta", "high", Stroke("faint", 1.5)),
    ]
    return plot(x, y, layers, description, 44, overlay='<circle class="now" r="6"/>')
