"""How scores are used: how likely each is by ability, and how often each rater gives it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import ROLES, Axis, Bars, Layer, Line, Marks, Overlay, Segments, Stroke, Text, rule
from raterlens.base.picture import Panel, Picture, plot
from raterlens.base.style import Align, mark
from raterlens.base.text import counted, printable
from raterlens.diagnostics.categories import EVERY_ITEM, category_shares, score_names
from raterlens.diagnostics.predictions import of_abilities
from raterlens.pictures.ranking import ability_calibration, rater_name

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration
    from raterlens.ratings.coded import Ratings


MOST_ITEMS = 6
"""Items with thresholds of their own that have a panel."""

_ABILITIES: Array = np.linspace(-4.0, 4.0, 161)


def ordered_scores(fit: Result, chart: str) -> Calibration:
    """The calibration of a fit of ordered scores; raises for other fits."""
    known = ability_calibration(fit, chart, "raters judge true categories", "capability")
    if "threshold" not in known.effects:
        what = f"the chart {chart!r} is for ordered scores, and these have two values"
        raise OptionError(what, "use the chart 'capability'", value=fit.model, option="model")
    return known


def categories_data(fit: Result) -> pl.DataFrame:
    """item (`all` where items share their thresholds), category, theta, probability: by a rater of average slope and
    severity."""
    known = ordered_scores(fit, "categories")
    names, labels = score_names(known), known.labels["item"].cast(pl.String).to_list()
    own = len(known.effects["threshold"]) > 1
    items = list(enumerate(labels[:MOST_ITEMS])) if own else [(len(labels), EVERY_ITEM)]  # the average item
    parts, rater = [], known.average()
    for place, item in items:
        (shares,) = rater.rows(np.zeros(1, np.int64), place).chances(_ABILITIES)
        parts += [
            pl.DataFrame({"theta": _ABILITIES, "probability": share}).select(
                pl.lit(item).alias("item"), pl.lit(category).alias("category"), pl.all()
            )
            for category, share in zip(names, shares, strict=False)
        ]
    return pl.concat(parts)


def categories(fit: Result) -> Picture:
    """How likely each score is, by ability: a panel per item where items have thresholds of their own."""
    data = categories_data(fit)
    items = data["item"].unique(maintain_order=True).to_list()
    panels = tuple(_panel(item, data.filter(item=item)) for item in items)
    n = data["category"].n_unique()
    never = _never_likeliest(data)
    description = f"Probabilities of {counted(n, 'score')} by ability" + (
        f"; never the likeliest: {', '.join(never)}." if never else "; each is the likeliest somewhere."
    )
    height = (300, 260) if len(items) == 1 else (190, 170)
    return Picture(panels, description, height, (min(len(items), 3), min(len(items), 2)))


def _never_likeliest(data: pl.DataFrame) -> list[str]:
    """Scores that are nowhere the likeliest, on any item."""
    top = data.sort("probability", descending=True).group_by("item", "theta", maintain_order=True).first()
    likeliest = set(top["category"])
    return [name for name in data["category"].unique(maintain_order=True) if name not in likeliest]


def _panel(item: str, data: pl.DataFrame) -> Panel:
    x = Axis(-4, 4, "Ability θ", (4, 4))
    y = Axis(0.0, 1.08, "Probability", (5, 5), grid=True)
    layers: list[Layer] = []
    for place, name in enumerate(data["category"].unique(maintain_order=True)):
        rows, role = data.filter(category=name), ROLES[place % len(ROLES)]
        layers.append(Line(rows, "theta", "probability", Stroke(role, 2.2), by="category"))
        peak = rows[[int(rows["probability"].arg_max() or 0)]]
        at = float(peak["theta"][0])
        align: Align = "left" if at == -4 else "right" if at == 4 else "center"
        dx = 4.0 if at == -4 else -4.0 if at == 4 else 0.0
        layers.append(Text(peak, "theta", "probability", "category", role, dx, -5, align))
    layers += [rule((x, y), Stroke("faint", dash="2 2"), x=at) for at in _crossings(data) if -4 < at < 4]
    return Panel(x, y, tuple(layers), "" if item == EVERY_ITEM else printable(item))


def _crossings(data: pl.DataFrame) -> list[float]:
    """Abilities at which a score and the next one are equally likely."""
    wide = data.pivot("category", index="theta", values="probability")
    theta, shares = wide["theta"].to_numpy(), wide.drop("theta").to_numpy().T
    found = []
    for lower, upper in pairwise(shares):
        ahead = np.log(np.maximum(upper, 1e-300)) - np.log(np.maximum(lower, 1e-300))
        if ahead[0] < 0 < ahead[-1]:
            found.append(float(np.interp(0.0, ahead, theta)))
    return found


MOST_ROWS = 40
"""Raters side by side; of more, those who differ most from what is expected."""

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
    top = 1.1 * max(*(data["expected"] + NORMAL_95 * data["se"]), *data["observed"])
    at, reach = pl.col("place").cast(pl.Float64), NORMAL_95 * pl.col("se")
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
    reach = data["expected"] + NORMAL_95 * data["se"]
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
