"""How raters use the scale: shares of each score, observed beside those of a rater who uses it as the panel does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.layers import Axis, Bars, Layer, Marks, Overlay, Segments, Stroke
from raterlens.base.picture import Panel, Picture, plot
from raterlens.base.style import mark
from raterlens.base.text import counted, printable
from raterlens.diagnostics.categories import category_shares
from raterlens.diagnostics.predictions import of_abilities
from raterlens.pictures.category_curves import ordered_scores
from raterlens.pictures.ranking import rater_name

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

MOST_ROWS = 40
"""Raters side by side; of more, those who differ most from what is expected."""

_NORMAL_95 = 1.96
_ROW = 26


def category_use_data(fit: Result, ratings: Ratings) -> pl.DataFrame:
    """`category_shares` of a fit of ordered scores."""
    known = ordered_scores(fit, "category_use")
    return category_shares(known, of_abilities(known, ratings))


def category_use(fit: Result, ratings: Ratings, raters: Sequence[object] | None = None) -> Picture:
    """The shares of each score: of one rater with margins, or of several side by side."""
    if raters is not None and not raters:
        raise OptionError(
            "no rater is given", "name one or several, or leave it out for all", option="raters"
        )
    data = category_use_data(fit, ratings)
    if raters is not None:
        several = [raters] if isinstance(raters, str) else raters
        names = [printable(rater_name(fit, rater)) for rater in several]
        data = data.filter(pl.col("rater").is_in(names))
        if len(names) == 1:
            return _alone(names[0], data)
    return side_by_side(data)


def _alone(name: str, data: pl.DataFrame) -> Picture:
    top = 1.1 * max(*(data["expected"] + _NORMAL_95 * data["se"]), *data["observed"])
    at, reach = pl.col("place").cast(pl.Float64), _NORMAL_95 * pl.col("se")
    rows = data.with_columns(
        left=at - 0.32,
        right=at + 0.32,
        at=at,
        zero=pl.lit(0.0),
        low=(pl.col("expected") - reach).clip(0.0, 1.0),
        high=(pl.col("expected") + reach).clip(0.0, 1.0),
        words=_words(),
    )
    labels = tuple((float(place), text) for place, text in rows.select("place", "category").iter_rows())
    x, y = Axis(-0.6, len(labels) - 0.4, "Score", labels=labels), _share_axis(top)
    layers: list[Layer] = [
        Bars(rows, "left", "zero", "right", "observed", "accent", 0.75, "words", "observed"),
        Segments(rows, "at", "low", "at", "high", Stroke("ink", 1.6)),
        Marks(rows, "at", "expected", mark("diamond", "ink", "expected, with 95 % margin", hollow=True), 0.8),
    ]
    outside = rows.filter((pl.col("observed") < pl.col("low")) | (pl.col("observed") > pl.col("high")))
    said = ", ".join(outside["category"]) or "none"
    description = (
        f"Shares of the scores that {name} gave, beside those expected at this severity and discrimination; outside "
        f"the 95 % margin: {said}."
    )
    return plot(x, y, layers, description, 240)


def category_frame(data: pl.DataFrame, description: str) -> Picture:
    """Axes in which a page's scripts draw the shares of one rater; `data` has those of all."""
    names = data.sort("place")["category"].unique(maintain_order=True).to_list()
    reach = data["expected"] + _NORMAL_95 * data["se"]
    top = min(1.0, 1.05 * max(*reach, *data["observed"]))
    labels = tuple((float(place), name) for place, name in enumerate(names))
    x, y = Axis(-0.6, len(names) - 0.4, "Score", labels=labels), _share_axis(top)
    overlay = '<path class="bars"/><path class="margins"/><path class="expected"/>'
    return plot(x, y, [Overlay(overlay)], description, 240)


def _share_axis(top: float) -> Axis:
    steps = [0.1 * step for step in range(11)] if top <= 0.5 else [0.2 * step for step in range(6)]
    labels = tuple((at, f"{100 * at:.0f} %") for at in steps if at <= top)
    return Axis(0.0, top, "Share of scores", labels=labels, grid=True)


def _words() -> pl.Expr:
    share = [(pl.col(name) * 100).round(0).cast(pl.Int64) for name in ("observed", "expected")]
    return pl.format("{}, score {}: {} % observed, {} % expected", "rater", "category", *share)


def side_by_side(data: pl.DataFrame) -> Picture:
    """Two bars per rater: observed above, expected below; `data` is `category_use_data`."""
    gap = ((pl.col("observed") - pl.col("expected")).abs().sum() / 2).alias("gap")
    order = (
        data.group_by("rater", maintain_order=True).agg(gap).sort("gap", descending=True, maintain_order=True)
    )
    n = order.height
    order = order.head(MOST_ROWS).with_row_index("row")
    rows = data.join(order, on="rater", how="inner", maintain_order="left").sort("row", "place")
    ends = [
        expression
        for name in ("observed", "expected")
        for end in (pl.col(name).cum_sum().over("rater"),)
        for expression in (end.alias(f"{name}_end"), (end - pl.col(name)).alias(f"{name}_start"))
    ]
    row = pl.col("row").cast(pl.Float64)
    rows = rows.with_columns(
        *ends,
        words=_words(),
        observed_top=row + 0.14,
        observed_foot=row + 0.6,
        expected_top=row + 0.66,
        expected_foot=row + 0.86,
    )
    labels = tuple((place + 0.5, name) for place, name in order.select("row", "rater").iter_rows())
    x = Axis(0.0, 1.0, "Share of scores; thick: observed, thin: expected", labels=_PERCENT)
    y = Axis(len(labels), 0.0, labels=labels, names=True)
    described = (
        f"Shares of each score by {counted(n, 'rater')}, observed above expected; those who differ most first"
        + (f", {MOST_ROWS} of them." if n > MOST_ROWS else ".")
    )
    panel = Panel(x, y, tuple(_stacks(rows)))
    height = max(60.0, float(_ROW * len(labels)))
    return Picture((panel,), described, (height, height))


_PERCENT = tuple((at / 4, f"{25 * at} %") for at in range(5))


def _stacks(rows: pl.DataFrame) -> list[Layer]:
    """Bars of every score, the darker the higher."""
    names = rows.sort("place")["category"].unique(maintain_order=True).to_list()
    layers: list[Layer] = []
    for kind in ("observed", "expected"):
        for place, name in enumerate(names):
            opacity = round(0.12 + 0.88 * place / max(len(names) - 1, 1), 2)
            edges = (f"{kind}_start", f"{kind}_top", f"{kind}_end", f"{kind}_foot")
            words = f"score {name}" if kind == "observed" else ""
            layers.append(Bars(rows.filter(category=name), *edges, "accent", opacity, "words", words))
    return layers
