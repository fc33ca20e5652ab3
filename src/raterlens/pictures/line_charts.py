"""Curves: capability and information by ability, capability by severity, and what asking a rater again adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.layers import ROLES, Area, Axis, Layer, Line, Marks, Segments, Stroke, Text, strokes
from raterlens.base.picture import Picture, plot
from raterlens.base.style import Align, mark
from raterlens.base.text import counted, distinct, listed, number, printable
from raterlens.capability.population import AbilityShape, Histogram, Normal
from raterlens.inference.measurement import measured_fit
from raterlens.pictures.rater_pictures import (
    SEVERITY_ENDS,
    ability_calibration,
    population_of,
    rater_name,
    rater_names,
    with_words,
)

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration

ABILITY, CURVE, CAPABILITY = "Ability θ", "Capability κ(θ)", "Capability κ̄"
MOST_LINES, MOST_OTHERS = 6, 40
"""More lines cannot be told apart; more raters in grey cannot be followed."""

_ABILITIES: Array = np.linspace(-3.5, 3.5, 57)


# ------------------------------------------------------------------------------------------- capability by ability


def curves_data(fit: Result, raters: Sequence[object] | None = None) -> pl.DataFrame:
    """rater, theta, kappa, kappa_low, kappa_high, place: 0, 1, ... for the raters named (by default the most capable,
    the median and the least capable), null for all others, who have no interval here."""
    ability_calibration(fit, "curves", "capability is the same at every ability", "capability")
    if raters is None:
        table = fit.table("raters").filter(pl.col("kappa").is_finite()).sort("kappa", descending=True)
        order = table["rater"].cast(pl.String).to_list()
        raters = [order[place] for place in (0, (len(order) - 1) // 2, len(order) - 1)]
    chosen = rater_names(fit, raters, MOST_LINES)
    found = measured_fit(fit, fit.yardstick)
    names = fit.table("raters")["rater"].cast(pl.String)
    on, n = found.on, len(names)
    rates = [found.index.rate_at(float(t), on.a, on.eta, on.halos) for t in _ABILITIES]
    every = pl.DataFrame(
        {
            "rater": names.gather(np.repeat(np.arange(n), len(_ABILITIES))),
            "theta": np.tile(_ABILITIES, n),
            "kappa": (rates / found.index.best(on.sigmas)).T.ravel(),
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
        density = _normal((theta - students.mean) / students.sd) / students.sd
    else:
        assert isinstance(students, Histogram)
        cell = np.searchsorted(students.edges, theta, side="right") - 1
        heights = np.concatenate([[0.0], students.share / np.diff(students.edges), [0.0]])
        density = heights[np.clip(cell, -1, len(students.share)) + 1]
    return pl.DataFrame({"theta": theta, "density": density})


def _normal(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _students(fit: Result, y: Axis, role: str, opacity: float, theta: Array, share: float) -> Area:
    """The students' distribution along the bottom of a frame, as high as this share of it."""
    students = students_data(fit, theta)
    tallest = max(float(students["density"].to_numpy().max()), 1e-9)
    high = y.low + share * (y.high - y.low) * pl.col("density") / tallest
    return Area(students.select("theta", low=pl.lit(y.low), high=high), "theta", "low", "high", role, opacity)


def curves(fit: Result, raters: Sequence[object] | None = None) -> Picture:
    """kappa(theta) of a few raters with intervals, before all others in grey, over the students' distribution."""
    every = curves_data(fit, raters)
    data = every.drop_nulls("place").sort("place", "theta")
    names = data["rater"].unique(maintain_order=True).to_list()
    top = 1.06 * float(np.nanmax([data["kappa_high"].fill_nan(None).max() or 0, every["kappa"].max(), 1.0]))
    low = min(0.0, float(np.nanmin([data["kappa_low"].fill_nan(None).min() or 0, every["kappa"].min()])))
    x, y = Axis(-3.5, 3.5, ABILITY, (7, 7)), Axis(low, top, CURVE, (10, 10))
    layers: list[Layer] = [_students(fit, y, "line", 0.9, _ABILITIES, 0.28)]
    rest = every.filter(pl.col("place").is_null())
    if 0 < rest["rater"].n_unique() <= MOST_OTHERS:
        grey = Stroke("faint", 0.8, opacity=0.6, words="other raters")
        layers.append(Line(rest.select("rater", "theta", "kappa"), "theta", "kappa", grey, by="rater"))
    elif rest.height:
        band, edge = panel_data(every), Stroke("faint", opacity=0.6, words="middle 80 % of raters")
        layers.append(Area(band, "theta", "low", "high", "faint", 0.25))
        layers.append(Line(band, "theta", "low", edge))
    looks = strokes([printable(name) for name in names])
    own = [(data.filter(rater=name), look) for name, look in zip(names, looks, strict=True)]
    layers += [Area(rows, "theta", "kappa_low", "kappa_high", look.role, 0.14) for rows, look in own]
    layers += [Line(rows, "theta", "kappa", look) for rows, look in own]
    label = pl.DataFrame({"theta": [0.0], "kappa": [low + 0.02 * (top - low)], "words": ["students"]})
    layers.append(Text(label, "theta", "kappa", "words", "soft", align="center"))
    description = f"Capability by ability of {listed(names)}, with the distribution of students."
    return plot(x, y, layers, description, 340)


# ------------------------------------------------------------------------------------------ capability by severity

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
    ]
    # Text beside the two points, without overlap and inside the frame.
    gain, crowded = best["kappa"] - now["kappa"], abs(now["severity"]) > 0.45 * reach
    right = (now["severity"] >= best["severity"]) != crowded
    side: Align = "left" if right else "right"
    said: list[tuple[int, str, float, float, Align]] = [
        (0, f"now: {number(now['kappa'])}", 12 if right else -12, 16 if crowded else -4, side),
        (1, f"best: {number(best['kappa'])} (+{number(gain)})", 0, -14, "center"),
    ]
    if gain < 0.005:
        said = [(0, f"at the best severity: {number(now['kappa'])}", 0, -14, "center")]
    for place, words, dx, dy, align in said:
        row = points[[place]].with_columns(words=pl.lit(words))
        layers.append(Text(row, "severity", "kappa", "words", "ink", dx, dy, align))
    description = (
        f"Capability of {printable(rater)} at other severities: now {number(now['kappa'])} at severity "
        f"{number(now['severity'])}, at best {number(best['kappa'])} at {number(best['severity'])}."
    )
    return plot(x, y, layers, description, 300)


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
    found, normal = np.exp(shape.log_density(theta)), _normal(theta)
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
    students = _students(fit, y, "faint", 0.25, np.linspace(theta[0], theta[-1], 61), 0.35)
    overlay = '<path class="band"/><path class="line"/>'
    return plot(x, y, [students], description, _FRAME_HEIGHT, overlay=overlay)


def what_if_frame(reach: tuple[float, float], kappa: tuple[float, float], description: str) -> Picture:
    """Axes of kappa-bar against severity."""
    x, y = Axis(*reach, "Severity", grid=True), _capability_axis(kappa, "Capability")
    overlay = (
        '<path class="line"/><circle class="best" r="5"/><circle class="now" r="5"/>'
        '<path class="moved" d="M0-9 7 0 0 9-7 0z"/>'
    )
    return plot(x, y, [], description, _FRAME_HEIGHT, overlay=overlay)


def _capability_axis(kappa: tuple[float, float], title: str) -> Axis:
    """An axis that holds curves between these ends."""
    low, high = kappa
    ends = min(0.0, float(np.floor(5 * low) / 5)), max(1.0, float(np.ceil(5 * high) / 5))
    return Axis(*ends, title, grid=True)


# ------------------------------------------------------------------------------------------------------ information

ALL = "all items together"
_ABILITY: Array = np.linspace(-4.0, 4.0, 81)
# Probabilities below this add nothing that could be seen, and would divide by 0.
_LEAST = 1e-12
_STEP = 1e-4
"""Step of the predictor for derivatives by differences"""


def information_data(fit: Result) -> pl.DataFrame:
    """item, theta, information of one rating by a random rater of the panel; `all items together` has one on every
    item."""
    why = "a rating depends on a true category, not on ability"
    calibration = replace(ability_calibration(fit, "information", why, "capability"), covariance=None)
    names = distinct(calibration.labels["item"].cast(pl.String))
    parts = np.stack([_of_item(calibration, place) for place in range(len(names))])
    rows = {"theta": _ABILITY} | dict(zip([*names, ALL], [*parts, parts.sum(axis=0)], strict=True))
    return (
        pl.DataFrame(rows)
        .unpivot(index="theta", variable_name="item", value_name="information")
        .select("item", "theta", "information")
    )


def _of_item(calibration: Calibration, item: int) -> Array:
    """Fisher's information about ability, E[(d log P(y) / d theta)^2], averaged over raters."""
    raters = calibration.rows(np.arange(len(calibration.effects["slope"])), item)
    above, below = (raters.chances(_ABILITY, away) for away in (-_STEP, _STEP))
    rise = (above - below) / (2 * _STEP)  # of each probability with the predictor
    known = np.where(rise == 0, 0.0, rise**2 / np.maximum((above + below) / 2, _LEAST)).sum(axis=1)
    return np.asarray((raters.predictor.slope[:, None] ** 2 * known).mean(axis=0))


def information(fit: Result) -> Picture:
    """How much a rating on each item says about ability, and where."""
    data = information_data(fit)
    single, whole = data.filter(pl.col("item") != ALL), data.filter(item=ALL)
    names = single["item"].unique(maintain_order=True).to_list()
    top = whole.row(int(whole["information"].arg_max() or 0), named=True)
    x = Axis(-4, 4, ABILITY, (8, 8))
    y = Axis(0.0, 1.05 * max(float(top["information"]), 1e-6), "Information I(θ)", (8, 8), grid=True)
    first, *others = strokes([ALL, *names], 1.6)
    lines = [Line(whole, "theta", "information", replace(first, width=3.2, dash=""))]
    if len(names) < len(ROLES):
        own = zip(names, others, strict=True)
        lines += [Line(data.filter(item=name), "theta", "information", look) for name, look in own]
    else:
        lines.append(Line(single, "theta", "information", Stroke("faint", words="single items"), by="item"))
    description = (
        f"Information about ability of {counted(len(names), 'item')}: all together say most at ability "
        f"{number(top['theta'], 1)}, where it is {number(top['information'])}."
    )
    return plot(x, y, [*lines], description, 320)


_ANSWERS = {"1": "1", "3": "3", "5": "5", "11": "11", "all": "∞"}


def asking_again(fit: Result) -> Picture:
    """Gain from asking a rater several times: kappa of the majority, for ordered scores sharpness of the mean."""
    table = fit.table("draws")
    measure, title = "sharpness", "Sharpness of their mean"
    if "kappa_1" in table.columns:
        measure, title = "kappa", "Capability of their majority"
    parts = [
        table.select("rater", place=pl.lit(float(place)), value=pl.col(f"{measure}_{name}"))
        for place, name in enumerate(_ANSWERS)
    ]
    data = pl.concat(parts).drop_nulls()
    names = data["rater"].unique(maintain_order=True).to_list()
    labels = tuple((float(place), label) for place, label in enumerate(_ANSWERS.values()))
    x = Axis(-0.1, len(labels) - 0.9, "Answers to each question", labels=labels)
    least, most = (float(each) for each in data.select(least=pl.min("value"), most=pl.max("value")).row(0))
    low = min(least - 0.02, 0.0 if least < 0.2 else least - 0.05)
    y = Axis(low, min(most + 0.05, 1.0), title, (6, 6), grid=True)
    middle = data.group_by("place").agg(pl.median("value")).sort("place")
    if len(names) <= len(ROLES):
        own = zip(names, strokes(names), strict=True)
        lines = [Line(data.filter(rater=name), "place", "value", look) for name, look in own]
    else:
        lines = [
            Line(data, "place", "value", Stroke("faint", words="single raters"), by="rater"),
            Line(middle, "place", "value", Stroke("accent", 3.2, words="median")),
        ]
    ends = middle["value"]
    description = (
        f"{title} of {counted(len(names), 'rater')}: the median is {number(ends[0])} for one answer and "
        f"{number(ends[-1])} for endlessly many."
    )
    return plot(x, y, [*lines], description, 300)
