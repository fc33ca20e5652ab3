"""Capability by ability and by severity, and how abilities are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import (
    Area,
    Axis,
    Layer,
    Line,
    Marks,
    Overlay,
    Segments,
    Stroke,
    Text,
    strokes,
)
from raterlens.base.picture import Picture, plot
from raterlens.base.style import Align, mark
from raterlens.base.text import listed, number, printable
from raterlens.capability.population import AbilityShape, Histogram, Normal
from raterlens.inference.measurement import measured_fit
from raterlens.pictures.ranking import ability_calibration, population_of, rater_name, with_words
from raterlens.pictures.severity import SEVERITY_ENDS

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result


ABILITY, CURVE, CAPABILITY = "Ability θ", "Capability κ(θ)", "Capability κ̄"
MOST_LINES = 6
"""More lines cannot be told apart."""

MOST_OTHERS = 40

_ABILITIES: Array = np.linspace(-3.5, 3.5, 57)
_HILL = 0.28
"""Height of the students' distribution, as a share of the plot."""


# ------------------------------------------------------------------------------------------------------- by ability


def curves_data(fit: Result, raters: Sequence[object] | None = None) -> pl.DataFrame:
    """rater, theta, kappa, kappa_low, kappa_high, place: 0, 1, ... for the raters named (by default the most capable,
    the median and the least capable), null for all others, who have no interval here."""
    chosen = _chosen(fit, raters)
    found = measured_fit(fit, fit.yardstick)
    names = fit.table("raters")["rater"].cast(pl.String)
    on, n = found.on, len(names)
    rates = [found.index.rate_at(float(t), on.a, on.eta, on.halos) for t in _ABILITIES]
    kappa = rates / found.index.best(on.sigmas)
    every = pl.DataFrame(
        {
            "rater": names.gather(np.repeat(np.arange(n), len(_ABILITIES))),
            "theta": np.tile(_ABILITIES, n),
            "kappa": kappa.T.ravel(),
        }
    )
    rows = np.array([names.to_list().index(name) for name in chosen])
    sure = found.only(rows).curves(names.gather(rows), _ABILITIES.tolist()).drop("kappa")
    place = {name: order for order, name in enumerate(chosen)}
    return every.join(sure, on=["rater", "theta"], how="left", maintain_order="left").with_columns(
        place=pl.col("rater").replace_strict(place, default=None, return_dtype=pl.Int64)
    )


def panel_data(curves: pl.DataFrame) -> pl.DataFrame:
    """theta, low, high: the range of the middle 80 % of raters at each ability."""
    tenth, rest = pl.col("kappa").quantile(0.1, "linear"), pl.col("kappa").quantile(0.9, "linear")
    return curves.group_by("theta", maintain_order=True).agg(low=tenth, high=rest)


def students_data(fit: Result, theta: Array = _ABILITIES) -> pl.DataFrame:
    """theta, density of the students over whom capability is averaged."""
    students = population_of(fit)
    if isinstance(students, Normal):
        z = (theta - students.mean) / students.sd
        density = np.exp(-(z**2) / 2) / (students.sd * np.sqrt(2 * np.pi))
    else:
        assert isinstance(students, Histogram)
        cell = np.searchsorted(students.edges, theta, side="right") - 1
        inside = (cell >= 0) & (cell < len(students.share))
        heights = students.share / np.diff(students.edges)
        density = np.where(inside, heights[np.clip(cell, 0, len(heights) - 1)], 0.0)
    return pl.DataFrame({"theta": theta, "density": density})


def _hill(fit: Result, y: Axis, theta: Array = _ABILITIES, share: float = _HILL) -> pl.DataFrame:
    """theta, low, high: the students' distribution along the bottom of a frame."""
    students = students_data(fit, theta)
    tallest = max(float(students["density"].to_numpy().max()), 1e-9)
    high = y.low + share * (y.high - y.low) * pl.col("density") / tallest
    return students.select("theta", low=pl.lit(y.low), high=high)


def curves(fit: Result, raters: Sequence[object] | None = None) -> Picture:
    """kappa(theta) of a few raters with intervals, before all others in grey, over the students' distribution."""
    every = curves_data(fit, raters)
    data = every.drop_nulls("place").sort("place", "theta")
    names = data["rater"].unique(maintain_order=True).to_list()
    top = 1.06 * float(np.nanmax([data["kappa_high"].fill_nan(None).max() or 0, every["kappa"].max(), 1.0]))
    low = min(0.0, float(np.nanmin([data["kappa_low"].fill_nan(None).min() or 0, every["kappa"].min()])))
    x = Axis(-3.5, 3.5, ABILITY, (7, 7))
    y = Axis(low, top, CURVE, (10, 10))
    layers: list[Layer] = [Area(_hill(fit, y), "theta", "low", "high", "line", 0.9), *_others(every)]
    looks = strokes([printable(name) for name in names])
    own = [data.filter(rater=name) for name in names]
    layers += [
        Area(rows, "theta", "kappa_low", "kappa_high", look.role, 0.14)
        for rows, look in zip(own, looks, strict=True)
    ]
    layers += [Line(rows, "theta", "kappa", look) for rows, look in zip(own, looks, strict=True)]
    label = pl.DataFrame({"theta": [0.0], "kappa": [low + 0.02 * (top - low)], "words": ["students"]})
    layers.append(Text(label, "theta", "kappa", "words", "soft", align="center"))
    description = f"Capability by ability of {listed(names)}, with the distribution of students."
    return plot(x, y, layers, description, 340)


def _others(every: pl.DataFrame) -> list[Layer]:
    """The rest of the panel: lines if they are few enough to follow, else a band."""
    rest = every.filter(pl.col("place").is_null())
    n = rest["rater"].n_unique()
    if n == 0:
        return []
    if n <= MOST_OTHERS:
        grey = Stroke("faint", 0.8, opacity=0.6, words="other raters")
        return [Line(rest.select("rater", "theta", "kappa"), "theta", "kappa", grey, by="rater")]
    band, edge = panel_data(every), Stroke("faint", opacity=0.6, words="middle 80 % of raters")
    return [Area(band, "theta", "low", "high", "faint", 0.25), Line(band, "theta", "low", edge)]


def _chosen(fit: Result, raters: Sequence[object] | None) -> list[str]:
    ability_calibration(fit, "curves", "capability is the same at every ability", "capability")
    if raters is None:
        table = fit.table("raters").filter(pl.col("kappa").is_finite()).sort("kappa", descending=True)
        order = table["rater"].cast(pl.String).to_list()
        return list(dict.fromkeys(order[place] for place in (0, (len(order) - 1) // 2, len(order) - 1)))
    several = [raters] if isinstance(raters, str) else raters
    names = [rater_name(fit, rater) for rater in dict.fromkeys(several)]
    if not 1 <= len(names) <= MOST_LINES:
        remedy = f"give from 1 to {MOST_LINES}, more lines cannot be told apart"
        raise OptionError(f"{len(names)} raters are given", remedy, value=len(names), option="raters")
    return names


# ------------------------------------------------------------------------------------------------------ by severity

LEAST_REACH = 3.0
NOW, BEST = "now", "best"
_KINDS = {NOW: mark("circle", "accent"), BEST: mark("diamond", "accent", hollow=True)}


def what_if_data(fit: Fit, rater: object) -> pl.DataFrame:
    """point, severity, kappa: the curve (point is null), the rater's estimate (`now`) and the best severity
    (`best`)."""
    why = "raters have a criterion and a slope instead of a severity"
    ability_calibration(fit, "what_if", why, "severity")
    name = rater_name(fit, rater)
    fit = replace(fit, backend="polars")
    place = fit.what_if(name, 0.0)
    reach = max(LEAST_REACH, 1.0 + max(abs(place.severity), abs(place.best_severity)))
    curve: pl.DataFrame = fit.what_if(name, np.linspace(-reach, reach, 121).tolist()).curve
    points = {
        "point": [NOW, BEST],
        "severity": [place.severity, place.best_severity],
        "kappa": [place.kappa, place.best_kappa],
    }
    return pl.concat([curve.select(pl.lit(None, pl.String).alias("point"), pl.all()), pl.DataFrame(points)])


def what_if(fit: Fit, rater: object) -> Picture:
    """The capability of a rater at other severities."""
    data = what_if_data(fit, rater)
    curve, points = data.filter(pl.col("point").is_null()), data.drop_nulls("point")
    now, best = points.rows(named=True)
    reach = float(curve["severity"].to_numpy().max())
    kappa = data["kappa"].to_numpy()
    low, high = min(0.0, float(kappa.min())), max(1.0, float(kappa.max()))
    x = Axis(-reach, reach, "Severity η", (10, 6), ends=SEVERITY_ENDS)
    y = Axis(low, 1.12 * high, CAPABILITY, (5, 5), grid=True)
    marked = with_words(
        points.with_columns(kind=pl.col("point"), floor=pl.lit(low)),
        lambda row: f"{row['point']}: {number(row['kappa'])} at severity {number(row['severity'])}",
    )
    layers: list[Layer] = [
        Segments(marked, "severity", "kappa", "severity", "floor", Stroke("faint", dash="2 2")),
        Line(curve, "severity", "kappa", Stroke("accent", 2.4)),
        Marks(marked, "severity", "kappa", _KINDS, 1.2),
        *_labels(now, best, reach),
    ]
    description = (
        f"Capability of {printable(rater)} at other severities: now {number(now['kappa'])} at severity "
        f"{number(now['severity'])}, at best {number(best['kappa'])} at {number(best['severity'])}."
    )
    return plot(x, y, layers, description, 300)


def _labels(now: dict[str, Any], best: dict[str, Any], reach: float) -> list[Layer]:
    """Text beside the two points, without overlap and inside the frame."""

    def label(point: dict[str, Any], words: str, dx: float, dy: float, align: Align) -> Text:
        row = pl.DataFrame({"severity": [point["severity"]], "kappa": [point["kappa"]], "words": [words]})
        return Text(row, "severity", "kappa", "words", "ink", dx, dy, align)

    gain = best["kappa"] - now["kappa"]
    if gain < 0.005:
        return [label(now, f"at the best severity: {number(now['kappa'])}", 0, -14, "center")]
    crowded = abs(now["severity"]) > 0.45 * reach
    right = (now["severity"] >= best["severity"]) != crowded
    align: Align = "left" if right else "right"
    return [
        label(now, f"now: {number(now['kappa'])}", 12 if right else -12, 16 if crowded else -4, align),
        label(best, f"best: {number(best['kappa'])} (+{number(gain)})", 0, -14, "center"),
    ]


# ------------------------------------------------------------------------------------------- how abilities are spread

_SHARES = (0.001, 0.999)
"""Shares of the students between which abilities are drawn."""


def abilities(fit: Result) -> Picture | None:
    """The estimated distribution of abilities beside a normal one; None where it was taken for normal."""
    known = None if fit.calibration is None else fit.calibration.shape
    if known is None:
        return None
    shape = AbilityShape.of(*known.tolist())
    ends = shape.at(np.array(_SHARES))
    theta = np.linspace(min(-3.5, ends[0]), max(3.5, ends[1]), 241)
    found, normal = np.exp(shape.log_density(theta)), np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi)
    rows = pl.DataFrame({"theta": theta, "density": found, "normal": normal}).with_columns(zero=pl.lit(0.0))
    x = Axis(theta[0], theta[-1], ABILITY, (7, 7), grid=True)
    y = Axis(0.0, 1.12 * float(max(found.max(), normal.max())), "Students", (4, 4))
    layers: list[Layer] = [
        Area(rows, "theta", "zero", "density", "accent", 0.15),
        Line(rows, "theta", "normal", Stroke("faint", 1.5, "4 3")),
        Line(rows, "theta", "density", Stroke("accent", 2.2)),
    ]
    description = "Density of the students' abilities as estimated, beside a normal distribution"
    return plot(x, y, layers, description, 220)


# ------------------------------------------------------------------------------- frames that a page's scripts draw in

_FRAME_HEIGHT = 240


def curve_frame(fit: Result, theta: Sequence[float], kappa: tuple[float, float], description: str) -> Picture:
    """Axes of kappa(theta) over the distribution of the students; `kappa` are the ends of the curves that must fit."""
    x, y = Axis(theta[0], theta[-1], ABILITY, (7, 7), grid=True), _capability_axis(kappa, CURVE)
    hill = _hill(fit, y, np.linspace(theta[0], theta[-1], 61), 0.35)
    layers: list[Layer] = [
        Area(hill, "theta", "low", "high", "faint", 0.25),
        Overlay('<path class="band"/><path class="line"/>'),
    ]
    return plot(x, y, layers, description, _FRAME_HEIGHT)


def what_if_frame(reach: tuple[float, float], kappa: tuple[float, float], description: str) -> Picture:
    """Axes of kappa-bar against severity."""
    x, y = Axis(*reach, "Severity", grid=True), _capability_axis(kappa, "Capability")
    overlay = (
        '<path class="line"/><circle class="best" r="5"/><circle class="now" r="5"/>'
        '<path class="moved" d="M0-9 7 0 0 9-7 0z"/>'
    )
    return plot(x, y, [Overlay(overlay)], description, _FRAME_HEIGHT)


def _capability_axis(kappa: tuple[float, float], title: str) -> Axis:
    """An axis that holds curves between these ends."""
    low, high = kappa
    ends = min(0.0, float(np.floor(5 * low) / 5)), max(1.0, float(np.ceil(5 * high) / 5))
    return Axis(*ends, title, grid=True)
