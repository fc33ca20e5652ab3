"""How scores are used: how likely each is by ability, and how often each rater gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import ROLES, Axis, Bars, Layer, Line, Marks, Segments, Stroke, Text, rule
from raterlens.base.picture import Panel, Picture, plot
from raterlens.base.style import Align, mark
from raterlens.base.text import counted, printable
from raterlens.diagnostics.fit_statistics import EVERY_ITEM, category_shares, score_names
from raterlens.diagnostics.residuals import of_abilities
from raterlens.pictures.rater_pictures import ability_calibration, rater_names

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
            pl.DataFrame({"item": item, "category": category, "theta": _ABILITIES, "probability": share})
            for category, share in zip(names, shares, strict=False)
        ]
    return pl.concat(parts)


def categories(fit: Result) -> Picture:
    """How likely each score is, by ability: a panel per item where items have thresholds of their own."""
    data = categories_data(fit)
    items = data["item"].unique(maintain_order=True).to_list()
    panels = tuple(_panel(item, data.filter(item=item)) for item in items)
    names = data["category"].unique(maintain_order=True).to_list()
    top = data.filter(pl.col("probability") == pl.col("probability").max().over("item", "theta"))
    never = [name for name in names if name not in {*top["category"]}]
    description = f"Probabilities of {counted(len(names), 'score')} by ability" + (
        f"; never the likeliest: {', '.join(never)}." if never else "; each is the likeliest somewhere."
    )
    height = (300, 260) if len(items) == 1 else (190, 170)
    return Picture(panels, description, height, (min(len(items), 3), min(len(items), 2)))


def _panel(item: str, data: pl.DataFrame) -> Panel:
    x = Axis(-4, 4, "Ability θ", (4, 4))
    y = Axis(0.0, 1.08, "Probability", (5, 5), grid=True)
    layers: list[Layer] = []
    for place, (_, rows) in enumerate(data.group_by("category", maintain_order=True)):
        role, peak = ROLES[place % len(ROLES)], rows[[int(rows["probability"].arg_max() or 0)]]
        layers.append(Line(rows, "theta", "probability", Stroke(role, 2.2), by="category"))
        inward: dict[float, tuple[Align, float]] = {-4.0: ("left", 4.0), 4.0: ("right", -4.0)}
        align, dx = inward.get(float(peak["theta"][0]), ("center", 0.0))
        layers.append(Text(peak, "theta", "probability", "category", role, dx, -5, align))
    layers += [rule((x, y), Stroke("faint", dash="2 2"), x=at) for at in _crossings(data) if -4 < at < 4]
    return Panel(x, y, tuple(layers), "" if item == EVERY_ITEM else printable(item))


def _crossings(data: pl.DataFrame) -> list[float]:
    """Abilities at which a score and the next one are equally likely."""
    wide = data.pivot("category", index="theta", values="probability")
    theta, shares = wide["theta"].to_numpy(), wide.drop("theta").to_numpy().T
    ahead = np.diff(np.log(np.maximum(shares, 1e-300)), axis=0)
    return [float(np.interp(0.0, one, theta)) for one in ahead if one[0] < 0 < one[-1]]


# ---------------------------------------------------------------------------------------------- by raters, as observed

MOST_ROWS = 40
"""Raters side by side; of more, those who differ most from what is expected."""

_ROW = 26
_PERCENT = tuple((at / 4, f"{25 * at} %") for at in range(5))


def category_use_data(fit: Result, ratings: Ratings) -> pl.DataFrame:
    """`category_shares` of a fit of ordered scores."""
    known = ordered_scores(fit, "category_use")
    return category_shares(known, of_abilities(known, ratings))


def category_use(fit: Result, ratings: Ratings, raters: Sequence[object] | None = None) -> Picture:
    """The shares of each score: of one rater with margins, or of several side by side."""
    names = [] if raters is None else list(map(printable, rater_names(fit, raters, MOST_ROWS)))
    data = category_use_data(fit, ratings)
    if names:
        data = data.filter(pl.col("rater").is_in(names))
    return _alone(names[0], data) if len(names) == 1 else side_by_side(data)


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
    layers: list[Layer] = [
        Bars(rows, "left", "zero", "right", "observed", "accent", 0.75, "words", "observed"),
        Segments(rows, "at", "low", "at", "high", Stroke("ink", 1.6)),
        Marks(rows, "at", "expected", mark("diamond", "ink", "expected, with 95 % margin", hollow=True), 0.8),
    ]
    outside = rows.filter(~pl.col("observed").is_between("low", "high"))
    said = ", ".join(outside["category"]) or "none"
    description = (
        f"Shares of the scores that {name} gave, beside those expected at this severity and discrimination; outside "
        f"the 95 % margin: {said}."
    )
    return plot(*_axes(rows["category"].to_list(), top), layers, description, 240)


def category_frame(data: pl.DataFrame, description: str) -> Picture:
    """Axes in which a page's scripts draw the shares of one rater; `data` has those of all."""
    names = data.sort("place")["category"].unique(maintain_order=True).to_list()
    top = min(1.0, 1.05 * max(*(data["expected"] + NORMAL_95 * data["se"]), *data["observed"]))
    overlay = '<path class="bars"/><path class="margins"/><path class="expected"/>'
    return plot(*_axes(names, top), [], description, 240, overlay=overlay)


def _axes(names: Sequence[str], top: float) -> tuple[Axis, Axis]:
    """Scores, and the share of each up to `top`."""
    scores = tuple((float(place), name) for place, name in enumerate(names))
    step = 10 if top <= 0.5 else 20
    shares = tuple((at / 100, f"{at} %") for at in range(0, 101, step) if at <= 100 * top)
    x = Axis(-0.6, len(names) - 0.4, "Score", labels=scores)
    return x, Axis(0.0, top, "Share of scores", labels=shares, grid=True)


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
    row, names = pl.col("row").cast(pl.Float64), rows["category"].unique(maintain_order=True).to_list()
    layers: list[Layer] = []
    for kind, top, foot in (("observed", 0.14, 0.6), ("expected", 0.66, 0.86)):
        end = pl.col(kind).cum_sum().over("rater")
        bars = rows.with_columns(
            start=end - pl.col(kind), end=end, top=row + top, foot=row + foot, words=_words()
        )
        for place, name in enumerate(names):  # the darker the higher
            opacity = round(0.12 + 0.88 * place / max(len(names) - 1, 1), 2)
            words = f"score {name}" if kind == "observed" else ""
            own = bars.filter(category=name)
            layers.append(Bars(own, "start", "top", "end", "foot", "accent", opacity, "words", words))
    labels = tuple((place + 0.5, name) for place, name in order.select("row", "rater").iter_rows())
    x = Axis(0.0, 1.0, "Share of scores; thick: observed, thin: expected", labels=_PERCENT)
    y = Axis(len(labels), 0.0, labels=labels, names=True)
    described = (
        f"Shares of each score by {counted(n, 'rater')}, observed above expected; those who differ most first"
        + (f", {MOST_ROWS} of them." if n > MOST_ROWS else ".")
    )
    return plot(x, y, layers, described, max(60.0, float(_ROW * len(labels))))
