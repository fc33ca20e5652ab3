"""Asking again: capability of the majority, or sharpness of the mean, of several answers of a rater."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.layers import ROLES, Axis, Layer, Line, Stroke, strokes
from raterlens.base.picture import Picture, plot
from raterlens.base.text import counted, number

if TYPE_CHECKING:
    from raterlens.inference.result import Result

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
