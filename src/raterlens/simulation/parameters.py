"""True values of a simulation: checked, drawn where they are not given, and centred as a fit reports them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, shortened
from raterlens.capability.links import get_link
from raterlens.config import Scale
from raterlens.simulation.designs import Plan
from raterlens.simulation.draws import LATENT_CLASS, RESPONSES, Truth

# What each model calls its raters' two parameters: how well they tell students apart, and where they draw the line.
_RATER_PARAMETERS = {
    "gmf": ("slope", "severity"),
    "tfm": ("slope", "severity"),
    "probit": ("noise", "threshold"),
    "hrm": ("slope", "criterion"),
    "dawid-skene": ("slope", "criterion"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """Requested parameters; None for those to be drawn. `simulate` documents the fields."""

    model: str
    link: str
    raters: Mapping[str, ArrayLike | None]
    """By the model's own names."""
    difficulty: ArrayLike | None
    alpha: float
    ability: ArrayLike | None
    sigma: float | None
    thresholds: ArrayLike | None
    scale: str
    halo: ArrayLike = 0.0

    def __post_init__(self) -> None:
        """All that can be checked before the design is known."""
        choose("model", self.model, RESPONSES)
        choose("scale", self.scale, get_args(Scale))
        get_link(self.link)
        known = _RATER_PARAMETERS[self.model]
        for name, value in self.raters.items():
            if value is not None and name not in known:
                raise _wrong(name, value, f"model {self.model!r} has no {name}", _raters_have(known))
        if self.model == "probit" and self.link != "probit":
            what = f"model 'probit' is defined with link 'probit', not {self.link!r}"
            raise _wrong("link", self.link, what, "leave link out")
        if self.sigma is not None and self.model != "hrm":
            what = f"sigma is {self.sigma!r}, but only model 'hrm' takes it"
            raise _wrong("sigma", self.sigma, what, f"give the raters' {known[0]}s")
        if self.model in LATENT_CLASS and np.any(np.asarray(self.halo) != 0):
            what = f"halo is given, but model {self.model!r} has none"
            raise _wrong("halo", self.halo, what, "use model 'gmf' or 'tfm'")
        if self.thresholds is None:
            return
        if self.model not in ("gmf", "tfm"):
            what = f"thresholds are given, but model {self.model!r} has pass/fail ratings only"
            raise _wrong("thresholds", self.thresholds, what, "use model 'gmf' or 'tfm'")
        if self.scale != "graded" and self.link != "logit":
            what = f"link {self.link!r} needs scale 'graded' for ordered scores"
            remedy = Message("give ", Option("scale", "graded"), ", or ", Option("link", "logit"))
            raise _wrong("link", self.link, what, remedy)

    def truth(self, plan: Plan, streams: Sequence[Generator]) -> Truth:
        """Values for the raters, items and students of a plan; what is not given is drawn, each from its own stream."""
        n_students, n_raters, n_items = (len(part.labels) for part in (plan.student, plan.rater, plan.item))
        apart, line = self._rater_values(n_raters, streams)
        difficulty = _values("difficulty", self.difficulty, "item", streams[2].normal(0.0, 1.0, n_items))
        tau = None
        if self.thresholds is not None:
            # A fit reports thresholds of mean 0: shared ones move the intercept, an item's own its difficulty.
            tau = self._threshold_rows(n_items)
            difficulty = difficulty + tau.mean(axis=1)
            tau = tau - tau.mean(axis=1, keepdims=True)
        return self._centred(
            apart,
            line,
            difficulty,
            ability=_values("ability", self.ability, "student", streams[3].normal(0.0, 1.0, n_students)),
            thresholds=tau,
            scale=self.scale,
            halo=self._halo(n_raters),
        )

    def _halo(self, n_raters: int) -> Array:
        spread = _values("halo", self.halo, "rater", np.zeros(n_raters))
        if (spread < 0).any():
            what = f"halo has the value {spread.min():g}"
            raise _wrong("halo", float(spread.min()), what, "give spreads of at least 0")
        return spread

    def _rater_values(self, n_raters: int, streams: Sequence[Generator]) -> tuple[Array, Array]:
        first, second = _RATER_PARAMETERS[self.model]
        slopes = _drawn_slopes(self.model, n_raters, streams[0])
        apart = _values(first, self.raters[first], "rater", slopes)
        line = _values(second, self.raters[second], "rater", streams[1].normal(0.0, 0.7, n_raters))
        if self.model in LATENT_CLASS and self.raters["criterion"] is None:
            line = apart / 2 + line
        if self.model == "tfm" and np.ptp(apart) > 0:
            remedy = Message("give one number, or ", Option("model", "gmf"))
            what = f"slope is {self.raters['slope']!r}, but in the TFM all raters have one"
            raise _wrong("slope", self.raters["slope"], what, remedy)
        if self.model == "probit" and not (apart > 0).all():
            what = f"noise has the value {apart.min():g}"
            raise _wrong("noise", float(apart.min()), what, "give standard deviations above 0")
        return apart, line

    def _threshold_rows(self, n_items: int) -> Array:
        """(1, steps), or (items, steps) for partial credit."""
        given = self.thresholds
        try:
            values = np.atleast_2d(np.asarray(given, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            remedy = "give numbers, the same number of them for every item"
            raise _wrong("thresholds", given, f"thresholds is {shortened(given)}", remedy) from None
        if values.ndim != 2 or len(values) not in (1, n_items) or not np.isfinite(values).all():
            remedy = f"give finite numbers, one row for all or one for each of the {n_items} items"
            raise _wrong("thresholds", given, f"thresholds has the shape {np.shape(values)}", remedy)
        if self.scale == "graded" and (np.diff(values, axis=1) <= 0).any():
            what = "graded thresholds must rise from score to score"
            raise _wrong("thresholds", given, what, "sort them")
        if self.scale == "partial credit":
            return np.array(np.broadcast_to(values, (n_items, values.shape[1])))
        if len(values) > 1:
            what = f"scale {self.scale!r} has one row of thresholds for all items"
            raise _wrong("thresholds", given, what, Message("use ", Option("scale", "partial credit")))
        return values.copy()

    def _centred(self, apart: Array, line: Array, delta: Array, **rest: Any) -> Truth:
        """The values as a fit reports them: difficulties (and severities) sum to 0, and their means go elsewhere."""
        alpha = float(_values("alpha", self.alpha, "simulation", np.zeros(())))
        mean, difficulty = float(delta.mean()), delta - delta.mean()
        if self.model == "probit":
            # (θ - δ + α - threshold) / noise: only differences from the threshold matter.
            severity = (line + mean - alpha) / apart
            return Truth(self.model, self.link, 1 / apart, severity, difficulty, 0.0, **rest)
        if self.model in LATENT_CLASS:
            drawn = np.array(1.5 if self.model == "hrm" else 0.0)
            spread = _values("sigma", self.sigma, "simulation", drawn)
            return Truth(
                self.model, self.link, apart, line, difficulty, alpha - mean, spread=float(spread), **rest
            )
        intercept = float(alpha - line.mean() - mean)
        return Truth(self.model, self.link, apart, line - line.mean(), difficulty, intercept, **rest)


def _raters_have(known: tuple[str, str]) -> str:
    return f"its raters have {known[0]} and {known[1]}"


def _wrong(option: str, value: object, what: str, remedy: str) -> OptionError:
    return OptionError(what, remedy, value=value, option=option)


def _drawn_slopes(model: str, n_raters: int, random: Generator) -> Array:
    if model == "tfm":
        return np.full(n_raters, 1.5)
    low, high = (2.0, 5.0) if model in LATENT_CLASS else (0.5, 2.0)
    return random.uniform(low, high, n_raters)


def _values(name: str, given: ArrayLike | None, each: str, drawn: Array) -> Array:
    """The given values, one for all or one for each of `drawn`; else the drawn ones."""
    if given is None:
        return drawn
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(
            name, given, f"{name} is {shortened(given)}", f"give a number, or one for each {each}"
        ) from None
    if not np.isfinite(values).all():
        bad = float(values[~np.isfinite(values)].flat[0])
        raise _wrong(name, bad, f"{name} has the value {bad:g}", "give finite numbers")
    if values.ndim > 1 or values.size not in (1, drawn.size):
        what = f"{name} has {values.size} values for {drawn.size} {each}s"
        raise _wrong(name, given, what, f"give one, or one for each {each}")
    return np.array(np.broadcast_to(values, drawn.shape))
