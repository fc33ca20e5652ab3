"""Category probability curves: how likely each score is, by ability."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.layers import ROLES, Axis, Layer, Line, Stroke, Text, rule
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import Align
from raterlens.base.text import counted, printable
from raterlens.diagnostics.categories import EVERY_ITEM, score_names
from raterlens.pictures.ranking import calibration_of, require_ability_model

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration

MOST_ITEMS = 6
"""Items with thresholds of their own that have a panel."""

_ABILITIES: Array = np.linspace(-4.0, 4.0, 161)


def ordered_scores(fit: Result, chart: str) -> Calibration:
    """The calibration of a fit of ordered scores; raises for other fits."""
    require_ability_model(fit, chart, "raters judge true categories", "capability")
    known = calibration_of(fit, "its categories are unknown")
    if "threshold" not in known.effects:
        what = f"the chart {chart!r} is for ordered scores, and these have two values"
        raise OptionError(what, "use the chart 'capability'", value=fit.model, option="model")
    return known


def categories_data(fit: Result) -> pl.DataFrame:
    """item (`all` where items share their thresholds), category, theta, probability: by a rater of average slope and
    severity."""
    known = ordered_scores(fit, "categories")
    own = len(known.effects["threshold"]) > 1
    items = known.labels["item"].cast(pl.String).to_list()[:MOST_ITEMS] if own else [None]
    names, parts = score_names(known), []
    for item in items:
        panel = known.panel(item)
        s = panel.slope.mean() * _ABILITIES - panel.severity.mean()
        above = known.curve(item).cumulative(s)[0]
        reached = np.vstack([np.ones_like(s), above, np.zeros_like(s)])
        for category, share in zip(names, -np.diff(reached, axis=0), strict=False):
            parts.append(
                pl.DataFrame({"theta": _ABILITIES, "probability": share}).select(
                    pl.lit(item or EVERY_ITEM).alias("item"), pl.lit(category).alias("category"), pl.all()
                )
            )
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
    x = Axis(-4, 4, "Ability θ", labels=tuple((at, f"{at:d}".replace("-", "−")) for at in range(-4, 5, 2)))
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
