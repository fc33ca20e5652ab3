"""Pictures of information: what items tell about ability and where, and what asking a rater again adds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.layers import ROLES, Axis, Layer, Line, Stroke, strokes
from raterlens.base.picture import Picture, plot
from raterlens.base.text import counted, distinct, number
from raterlens.capability.links import get_link
from raterlens.pictures.ranking import calibration_of, require_ability_model

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration


ALL = "all items together"
_ABILITY: Array = np.linspace(-4.0, 4.0, 81)
# Probabilities below this add nothing that could be seen, and would divide by 0.
_LEAST = 1e-12


def information_data(fit: Result) -> pl.DataFrame:
    """item, theta, information of one rating by a random rater of the panel; `all items together` has one on every
    item."""
    require_ability_model(
        fit, "information", "a rating depends on a true category, not on ability", "capability"
    )
    calibration = replace(calibration_of(fit, "its information is unknown"), covariance=None)
    names = calibration.labels["item"].cast(pl.String).to_list()
    parts = np.stack([_of_item(calibration, name) for name in names])
    shown = distinct(names)
    return pl.concat(
        [
            pl.DataFrame({"item": [name] * len(_ABILITY), "theta": _ABILITY, "information": part})
            for name, part in zip([*shown, ALL], [*parts, parts.sum(axis=0)], strict=True)
        ]
    )


def _of_item(calibration: Calibration, item: str) -> Array:
    """Fisher's information about ability, E[(d log P(y) / d theta)^2], averaged over raters."""
    panel = calibration.panel(item)
    s = np.multiply.outer(panel.slope, _ABILITY) - panel.severity[:, None]
    tau = calibration.effects.get("threshold")
    if tau is None:
        steps = np.zeros(1)
    else:
        place = calibration.labels["item"].cast(pl.String).to_list().index(item) if len(tau) > 1 else 0
        steps = tau[place][np.isfinite(tau[place])]
    adjacent = tau is not None and calibration.scale != "graded"
    by_predictor = _adjacent(s, steps) if adjacent else _cumulative(s, steps, calibration.link)
    return np.asarray((panel.slope[:, None] ** 2 * by_predictor).mean(axis=0))


def _adjacent(s: Array, tau: Array) -> Array:
    """Var(y | s)"""
    k = np.arange(len(tau) + 1)
    p = special.softmax(np.multiply.outer(s, k) - np.append(0.0, np.cumsum(tau)), axis=-1)
    return np.asarray(p @ k**2 - (p @ k) ** 2)


def _cumulative(s: Array, tau: Array, link: str) -> Array:
    """sum_k (dP_k/ds)^2 / P_k with P_k = F(s - tau_k) - F(s - tau_{k+1}); pass or fail has one threshold."""
    chosen = get_link(link)
    passed = [np.ones_like(s), *(np.exp(chosen.log_pass(s - t)) for t in tau), np.zeros_like(s)]
    density = [np.zeros_like(s), *(chosen.density(s - t) for t in tau), np.zeros_like(s)]
    total = np.zeros_like(s)
    for k in range(len(tau) + 1):
        p, d = passed[k] - passed[k + 1], density[k] - density[k + 1]
        total += np.where(p > _LEAST, d**2 / np.maximum(p, _LEAST), 0.0)
    return total


def information(fit: Result) -> Picture:
    """How much a rating on each item says about ability, and where."""
    data = information_data(fit)
    names = [name for name in data["item"].unique(maintain_order=True) if name != ALL]
    whole = data.filter(item=ALL)
    top = whole.row(int(whole["information"].arg_max() or 0), named=True)
    x = Axis(-4, 4, "Ability θ", labels=tuple((at, f"{at:d}".replace("-", "−")) for at in range(-4, 5)))
    y = Axis(0.0, 1.05 * max(float(top["information"]), 1e-6), "Information I(θ)", (8, 8), grid=True)
    layers: list[Layer]
    if len(names) < len(ROLES):
        first, *others = strokes([ALL, *names], 1.6)
        own = [data.filter(item=name) for name in names]
        layers = [Line(rows, "theta", "information", look) for rows, look in zip(own, others, strict=True)]
    else:
        first = Stroke("accent", words=ALL)
        rest, grey = data.filter(pl.col("item") != ALL), Stroke("faint", words="single items")
        layers = [Line(rest, "theta", "information", grey, by="item")]
    layers.insert(0, Line(whole, "theta", "information", replace(first, width=3.2)))
    description = (
        f"Information about ability of {counted(len(names), 'item')}: all together say most at ability "
        f"{number(top['theta'], 1)}, where it is {number(top['information'])}."
    )
    return plot(x, y, layers, description, 320)


_LABELS = {"1": "1", "3": "3", "5": "5", "11": "11", "all": "∞"}


def asking_again_data(fit: Result) -> pl.DataFrame:
    """rater, place (of the number of answers), value: kappa of the majority, for ordered scores sharpness of the
    mean."""
    table = fit.table("draws")
    kind = "kappa" if "kappa_1" in table.columns else "sharpness"
    parts = [
        table.select("rater", place=pl.lit(float(place)), value=pl.col(f"{kind}_{name}"))
        for place, name in enumerate(_LABELS)
    ]
    return pl.concat(parts).drop_nulls()


def asking_again(fit: Result) -> Picture:
    """Gain from asking a rater several times."""
    data, ordered = asking_again_data(fit), "kappa_1" not in fit.table("draws").columns
    names = data["rater"].unique(maintain_order=True).to_list()
    labels = tuple((float(place), label) for place, label in enumerate(_LABELS.values()))
    x = Axis(-0.1, len(_LABELS) - 0.9, "Answers to each question", labels=labels)
    kind = "Sharpness of their mean" if ordered else "Capability of their majority"
    least, most = (float(each) for each in data.select(least=pl.min("value"), most=pl.max("value")).row(0))
    y = Axis(
        min(least - 0.02, 0.0 if least < 0.2 else least - 0.05),
        min(most + 0.05, 1.0),
        kind,
        (6, 6),
        grid=True,
    )
    layers: list[Layer]
    if len(names) <= len(ROLES):
        looks = strokes(names)
        layers = [
            Line(data.filter(rater=name), "place", "value", look)
            for name, look in zip(names, looks, strict=True)
        ]
    else:
        middle = data.group_by("place").agg(pl.median("value")).sort("place")
        layers = [
            Line(data, "place", "value", Stroke("faint", words="single raters"), by="rater"),
            Line(middle, "place", "value", Stroke("accent", 3.2, words="median")),
        ]
    ends = data.group_by("place").agg(pl.median("value")).sort("place")["value"]
    description = (
        f"{kind} of {counted(len(names), 'rater')}: the median is {number(ends[0])} for one answer and "
        f"{number(ends[-1])} for endlessly many."
    )
    return plot(x, y, layers, description, 300)
