"""Pictures of information: what items tell about ability and where, and what asking a rater again adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.layers import ROLES, Axis, Layer, Line, Stroke, strokes
from raterlens.base.picture import Picture, plot
from raterlens.base.text import counted, distinct, number
from raterlens.pictures.ranking import ability_calibration

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration


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
    names = calibration.labels["item"].cast(pl.String).to_list()
    parts = np.stack([_of_item(calibration, place) for place in range(len(names))])
    shown = distinct(names)
    return pl.concat(
        [
            pl.DataFrame({"item": [name] * len(_ABILITY), "theta": _ABILITY, "information": part})
            for name, part in zip([*shown, ALL], [*parts, parts.sum(axis=0)], strict=True)
        ]
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
    names = [name for name in data["item"].unique(maintain_order=True) if name != ALL]
    whole = data.filter(item=ALL)
    top = whole.row(int(whole["information"].arg_max() or 0), named=True)
    x = Axis(-4, 4, "Ability θ", (8, 8))
    y = Axis(0.0, 1.05 * max(float(top["information"]), 1e-6), "Information I(θ)", (8, 8), grid=True)
    if len(names) < len(ROLES):
        first, *others = strokes([ALL, *names], 1.6)
        layers = _lines(data, names, others, "item", "theta", "information")
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


def _lines(
    data: pl.DataFrame, names: Sequence[str], looks: Sequence[Stroke], by: str, x: str, y: str
) -> list[Layer]:
    """A line of its own look for each of a few names."""
    return [
        Line(data.filter(pl.col(by) == name), x, y, look) for name, look in zip(names, looks, strict=True)
    ]


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
    middle = data.group_by("place").agg(pl.median("value")).sort("place")
    if len(names) <= len(ROLES):
        layers = _lines(data, names, strokes(names), "rater", "place", "value")
    else:
        layers = [
            Line(data, "place", "value", Stroke("faint", words="single raters"), by="rater"),
            Line(middle, "place", "value", Stroke("accent", 3.2, words="median")),
        ]
    ends = middle["value"]
    description = (
        f"{kind} of {counted(len(names), 'rater')}: the median is {number(ends[0])} for one answer and "
        f"{number(ends[-1])} for endlessly many."
    )
    return plot(x, y, layers, description, 300)
