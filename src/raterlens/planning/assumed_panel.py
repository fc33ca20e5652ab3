"""The raters and items that a plan reckons with: an earlier fit's, or stated spreads."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.random import default_rng
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option

if TYPE_CHECKING:
    from raterlens.inference.result import Result

DEFINITIVE_SLOPE = 6.0
"""Slope of a definitive mark, seen as a rater's: almost without noise."""
_NOT_PLANNED = {
    "item_slope": "item slopes",
    "halo": "halo",
    "bias": "a shared bias",
    "population": "anchors that set the scale",
}
# Thresholds of ordered scores lie between minus this and this, in logits.
_WIDEST = 1.5


@dataclass(frozen=True, slots=True)
class Spreads:
    """How much raters and items differ, in logits, where no fit says it."""

    slope: float = 1.5
    slope_spread: float = 0.4
    severity_spread: float = 0.7
    difficulty_spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("slope", "slope_spread", "severity_spread", "difficulty_spread"):
            value = getattr(self, name)
            if not np.isfinite(value) or value < 0 or (name == "slope" and value == 0):
                remedy = "give a number above 0" if name == "slope" else "give a number of at least 0"
                raise OptionError(Message(Option(name, value)), remedy, value=value, option=name)


@dataclass(frozen=True, slots=True, eq=False)
class AssumedPanel:
    """Log P(y) = y (a_r t - b_r - delta_i) - sum of the first y thresholds, up to a constant: adjacent categories."""

    slope: Array
    severity: Array
    difficulty: Array
    thresholds: Array | None
    """(1 or items, categories - 1); None for pass and fail."""
    common_slope: bool = False
    """All raters share one slope, which is then one parameter (TFM)."""

    @property
    def n_raters(self) -> int:
        return len(self.slope)

    @property
    def n_items(self) -> int:
        return len(self.difficulty)

    @property
    def steps(self) -> int:
        return 1 if self.thresholds is None else self.thresholds.shape[1]

    @property
    def n_shared(self) -> int:
        """Parameters that no rater has alone: difficulties and thresholds."""
        return self.n_items + (0 if self.thresholds is None else self.thresholds.size)

    def with_definitive(self) -> "AssumedPanel":
        """With one rater more, who gives the definitive marks of seeded scripts."""
        return AssumedPanel(
            np.append(self.slope, DEFINITIVE_SLOPE),
            np.append(self.severity, self.severity.mean()),
            self.difficulty,
            self.thresholds,
            self.common_slope,
        )


def stated(spreads: Spreads, n_raters: int, n_items: int, categories: int, seed: int) -> AssumedPanel:
    """Raters at the quantiles of normal distributions: a typical panel, not one that chance made. Slopes and severities
    are paired at random, and no slope is below a tenth of the usual one."""
    order = default_rng([seed, 1]).permutation(n_raters)
    slope = spreads.slope + spreads.slope_spread * _quantiles(n_raters)
    return AssumedPanel(
        np.maximum(slope, 0.1 * spreads.slope),
        spreads.severity_spread * _quantiles(n_raters)[order],
        spreads.difficulty_spread * _quantiles(n_items),
        None if categories == 2 else np.linspace(-_WIDEST, _WIDEST, categories - 1)[None],
    )


def estimated(fit: "Result", raters: pl.Series | None) -> tuple[AssumedPanel, pl.Series]:
    """As an earlier fit found them. Raters whom it does not know are taken for its median rater."""
    known = fit.calibration
    if known is None or known.link != "logit" or known.scale == "graded" or known.covariates:
        what = f"a plan cannot rest on a fit of model {fit.model!r} with link {fit.link!r}"
        if known is not None and (known.scale == "graded" or known.covariates):
            what = f"a plan cannot rest on a fit with {'covariates' if known.covariates else 'graded scores'}"
        raise OptionError(what, "fit 'gmf' or 'tfm' with link 'logit', or state spreads", option="fit")
    for effect in known.effects:
        kinds = {"facet ": "further facets", "interaction ": "interactions"}
        others = (name for start, name in kinds.items() if effect.startswith(start))
        name = _NOT_PLANNED.get(effect, next(others, None))
        if name is not None:
            what = f"a plan cannot rest on a fit with {name}"
            raise OptionError(what, "fit without, or state spreads", option="fit")
    labels = known.labels["rater"].cast(pl.String)
    if raters is None:
        raters = labels
    slope, severity = (known.effects[name] for name in ("slope", "severity"))
    place = {label: code for code, label in enumerate(labels)}
    at = np.array([place.get(label, -1) for label in raters.cast(pl.String)])
    thresholds = known.effects.get("threshold")
    if thresholds is not None and not np.isfinite(thresholds).all():
        what = "a plan cannot rest on a fit whose items have different highest scores"
        raise OptionError(what, "state spreads instead", option="fit")
    panel = AssumedPanel(
        np.where(at < 0, np.median(slope), slope[at]),
        np.where(at < 0, np.median(severity), severity[at]),
        np.asarray(known.effects["difficulty"]),
        thresholds,
        known.model == "tfm",
    )
    return panel, raters


def _quantiles(n: int) -> Array:
    """n values that stand for a standard normal distribution, with its spread."""
    values = special.ndtri((np.arange(n) + 0.5) / n)
    return np.asarray(values / values.std() if n > 1 else values)
