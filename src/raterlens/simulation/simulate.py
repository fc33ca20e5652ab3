"""Ratings drawn from any model and design, with the truth behind them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike, NDArray
from scipy import special

from raterlens import capability
from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, listed
from raterlens.capability.curves import curve_of
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.config import Scale
from raterlens.config.option_fields import check_number
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import readings_of
from raterlens.simulation.designs import Plan, dealt, in_groups, linked, written

# --------------------------------------------------------------------------------------------------------- draws


Scores = NDArray[np.int16]

LATENT_CLASS = ("hrm", "dawid-skene")
"""Models in which every student-item has a true category."""
HIGHEST_MARK = 100
_MARKS = 10.0
"""Marks that are drawn for what is 1 on the scale of logits."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Parameters of a simulation; difficulties and thresholds sum to 0, and severities too where a fit centres them."""

    model: str
    link: str
    slope: Array
    """Per rater: a = ρ σ (TFM, GMF), 1 / noise (probit), how far apart the rater sees the categories (HRM,
    Dawid-Skene)."""
    severity: Array
    """Per rater: η, centred (TFM, GMF); threshold / noise (probit); the criterion (HRM, Dawid-Skene)."""
    difficulty: Array
    """δ, per item."""
    alpha: float
    ability: Array
    """θ, per student, as drawn or given: standardised only as far as the draw is."""
    thresholds: Array | None = None
    """τ of ordered scores, (1, steps) or (items, steps), each row of mean 0; None for pass/fail ratings."""
    scale: str = "rating scale"
    spread: float = np.nan
    """HRM: how strongly the true category follows ability; 0 for Dawid-Skene, where it does not."""
    halo: Array = field(default_factory=lambda: np.zeros(1))
    """τ, per rater: the spread of what all scores of a reading share besides ability."""
    own_thresholds: Array | None = None
    """(raters, steps): how far each rater's thresholds are from those of all."""
    group_means: Array | None = None
    """Mean ability per group of students, 0 on average over students."""
    population: Normal = field(default_factory=Normal)
    """All students together, as near as a normal distribution comes."""
    noise: Array | None = None
    """Per rater, of marks out of 100; slopes, severities, difficulties and alpha are then in marks, too."""

    @property
    def sigma(self) -> float:
        """The largest slope, the yardstick of ρ and κ (HRM: the spread of its second level)."""
        return self.spread if self.model in LATENT_CLASS else float(np.abs(self.slope).max())

    @property
    def rho(self) -> Array:
        """Discrimination relative to the yardstick: the best rater (TFM, GMF), or one without noise (probit).

        With true categories it is the capability at the best criterion, half-way between the categories.
        """
        if self.model in LATENT_CLASS:
            return capability.hrm(criterion=self.slope / 2, slope=self.slope, link=self.link)
        if self.model == "probit":
            return np.asarray(self.slope / np.sqrt(1 + self.slope**2))
        largest = np.abs(self.slope).max()
        return self.slope / largest if largest > 0 else np.zeros_like(self.slope)

    @property
    def kappa(self) -> Array:
        """κ-bar of every rater over standard normal abilities; 0 for all if no slope is above 0."""
        if self.model in LATENT_CLASS:
            return capability.hrm(criterion=self.severity, slope=self.slope, link=self.link)
        if self.sigma == 0:
            return np.zeros_like(self.slope)
        if self.noise is not None:  # mean marks are linear in ability
            return self.rho
        students = self.population
        if self.thresholds is not None or self.halo.any() or self.group_means is not None:
            link, graded = get_link(self.link), self.scale == "graded"
            curve = curve_of(link, self.thresholds, graded=graded)
            most = students.densest if self.model == "probit" else students.best(curve, np.array(self.sigma))
            if self.own_thresholds is None or self.thresholds is None:
                return students.rate(curve, self.slope, self.severity, self.halo**2) / most
            own = [curve_of(link, self.thresholds + more, graded=graded) for more in self.own_thresholds]
            raters = zip(own, self.slope, self.severity, self.halo**2, strict=True)
            rates = [students.rate(curve, *(np.array([x]) for x in values)) for curve, *values in raters]
            return np.concatenate(rates) / most
        if self.model == "probit":
            return capability.probit(noise=1 / self.slope, threshold=self.severity / self.slope)
        return capability.gmf(rho=self.rho, eta=self.severity, sigma=self.sigma, link=self.link)


def facets(plan: Plan, truth: Truth, random: Generator, impressions: Generator) -> Scores:
    """S = a_r θ_n − η_r − δ_i + α + τ_r u, passed with probability F(S); ordered where the truth has thresholds. Probit
    raters see difficulties through their noise, too: S = a_r (θ_n − δ_i + α) − η_r + τ_r u. A mark is S with the
    rater's noise, rounded, within the scale."""
    student, rater, item = plan.student.codes, plan.rater.codes, plan.item.codes
    slope = truth.slope[rater]
    predictor = slope * truth.ability[student] - truth.severity[rater]
    predictor += (slope if truth.model == "probit" else 1.0) * (truth.alpha - truth.difficulty)[item]
    predictor += _halo(plan, truth, impressions)
    if truth.noise is not None:
        predictor += truth.noise[rater] * random.standard_normal(len(predictor))
        return np.clip(np.rint(predictor), 0, HIGHEST_MARK).astype(np.int16)
    if truth.thresholds is None:
        chance = np.exp(get_link(truth.link).log_pass(predictor))
        return (random.random(len(chance)) < chance).astype(np.int16)
    return _ordered(predictor, rater, item, truth, random)


def _halo(plan: Plan, truth: Truth, random: Generator) -> Array:
    """(ratings,): the rater's impression of the reading, shared by all its scores."""
    if not truth.halo.any():
        return np.zeros(1)
    rater = plan.rater.codes
    reading, number = readings_of(plan.student.codes, rater, plan.item.codes)
    return np.asarray(truth.halo[rater] * random.standard_normal(number)[reading])


def _ordered(
    predictor: Array, rater: NDArray[np.int32], item: NDArray[np.int32], truth: Truth, random: Generator
) -> Scores:
    """Adjacent categories: log P(k) − log P(k − 1) = S − τ_k. Graded: P(score ≥ k) = F(S − τ_k)."""
    assert truth.thresholds is not None
    tau = np.broadcast_to(truth.thresholds, (len(truth.difficulty), truth.thresholds.shape[1]))[item]
    tau = tau if truth.own_thresholds is None else tau + truth.own_thresholds[rater]
    steps = predictor[:, None] - tau
    if truth.scale == "graded":
        at_least = np.exp(get_link(truth.link).log_pass(steps))
    else:
        logits = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
        at_least = 1 - np.cumsum(special.softmax(logits, axis=1), axis=1)[:, :-1]
    return np.asarray(np.sum(random.random((len(steps), 1)) < at_least, axis=1), np.int16)


def hierarchical(plan: Plan, truth: Truth, random: Generator, impressions: Generator) -> Scores:
    """A true category ξ per student and item, common to all raters: P(y = 1 | ξ) = 1 − F(c_r − a_r ξ)."""
    level = truth.spread * truth.ability[:, None] - truth.difficulty + truth.alpha
    category = random.random(level.shape) < special.expit(level)
    seen = category[plan.student.codes, plan.item.codes]
    criterion = truth.severity[plan.rater.codes] - truth.slope[plan.rater.codes] * seen
    chance = np.exp(get_link(truth.link).log_fail(criterion))
    return (random.random(len(chance)) < chance).astype(np.int16)


RESPONSES: dict[str, Callable[[Plan, Truth, Generator, Generator], Scores]] = {
    **dict.fromkeys(("gmf", "tfm", "probit"), facets),
    **dict.fromkeys(LATENT_CLASS, hierarchical),
}


# ---------------------------------------------------------------------------------------------------- parameters


# What each model calls its raters' two parameters: how well they tell students apart, and where they draw the line.
_RATER_PARAMETERS = {
    **dict.fromkeys(("gmf", "tfm"), ("slope", "severity")),
    "probit": ("noise", "threshold"),
    **dict.fromkeys(LATENT_CLASS, ("slope", "criterion")),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """Requested parameters; None for those to be drawn. `simulate` documents the fields."""

    model: str
    link: str
    raters: Mapping[str, ArrayLike | None]
    """By the model's own names."""
    difficulty: ArrayLike | None
    alpha: float | None
    ability: ArrayLike | None
    sigma: float | None
    thresholds: ArrayLike | None
    scale: str
    halo: ArrayLike = 0.0
    threshold_spread: float = 0.0
    group_spread: float = 0.0

    def __post_init__(self) -> None:
        """All that can be checked before the design is known."""
        choose("model", self.model, RESPONSES)
        choose("scale", self.scale, get_args(Scale))
        get_link(self.link)
        known = (*_RATER_PARAMETERS[self.model], *(("noise",) * self.marks))
        for name, value in self.raters.items():
            if value is not None and name not in known:
                what, remedy = f"model {self.model!r} has no {name}", f"its raters have {listed(known)}"
                raise OptionError(what, remedy, value=value, option=name)
        for name in ("threshold_spread", "group_spread"):
            check_number(name, getattr(self, name), 0)
        for wrong, name, why, remedy in self._conflicts(known[0]):
            if wrong:
                raise OptionError(Message(Option(name, getattr(self, name)), why), remedy)

    def _conflicts(self, slope: str) -> Iterator[tuple[bool, str, str, str]]:
        """Whether an option goes with none of the others that were given; its name, why, and what to do."""
        facets, ordered = self.model in ("gmf", "tfm"), self.thresholds is not None
        halo, latent = bool(np.any(np.asarray(self.halo) != 0)), self.model in LATENT_CLASS
        pass_fail, use_facets = (
            f", but model {self.model!r} has pass/fail ratings only",
            "use model 'gmf' or 'tfm'",
        )
        on_marks = {"link": self.link != "logit", "thresholds": ordered, "halo": halo}
        on_marks["threshold_spread"] = self.threshold_spread != 0
        yield self.marks and not facets, "scale", pass_fail, use_facets
        for name, given in on_marks.items():
            why = ", but marks on a continuous scale have none"
            yield self.marks and given, name, why, f"leave {name} out"
        other = self.model == "probit" and self.link != "probit"
        yield other, "link", ", but model 'probit' is defined with link 'probit'", "leave link out"
        only_hrm = self.sigma is not None and self.model != "hrm"
        yield only_hrm, "sigma", ", but only model 'hrm' takes it", f"give the raters' {slope}s"
        yield halo and latent, "halo", f", but model {self.model!r} has none", use_facets
        drawn = self.threshold_spread > 0 and not ordered
        yield drawn, "threshold_spread", ", but ratings are pass or fail", "give thresholds"
        yield ordered and not facets, "thresholds", pass_fail, use_facets
        adjacent = ordered and self.scale != "graded" and self.link != "logit"
        remedy = Message("give ", Option("scale", "graded"), ", or ", Option("link", "logit"))
        yield adjacent, "link", " needs scale 'graded' for ordered scores", remedy

    @property
    def marks(self) -> bool:
        """Whether scores are marks out of 100, not categories."""
        return self.scale == "continuous"

    def truth(self, plan: Plan, streams: Sequence[Generator]) -> Truth:
        """Values for the raters, items and students of a plan; what is not given is drawn, each from its own stream."""
        n_students, n_raters, n_items = (len(part.labels) for part in (plan.student, plan.rater, plan.item))
        apart, line = self._rater_values(n_raters, streams)
        difficulty = _values(
            "difficulty", self.difficulty, "item", streams[2].normal(0.0, self._unit, n_items)
        )
        tau = None
        if self.thresholds is not None:
            # A fit reports thresholds of mean 0: shared ones move the intercept, an item's own its difficulty.
            tau = self._threshold_rows(n_items)
            difficulty = difficulty + tau.mean(axis=1)
            tau = tau - tau.mean(axis=1, keepdims=True)
        ability = _values("ability", self.ability, "student", streams[3].normal(0.0, 1.0, n_students))
        means, population = None, Normal()
        if plan.group is not None:
            size = np.bincount(plan.group)
            means = self.group_spread * streams[5].standard_normal(len(size))
            means -= size @ means / size.sum()
            ability = ability + means[plan.group]
            population = Normal(0.0, float(np.sqrt(1 + size @ means**2 / size.sum())))
        return self._centred(
            apart,
            line,
            difficulty,
            ability=ability,
            thresholds=tau,
            scale=self.scale,
            halo=_at_least_0("halo", _values("halo", self.halo, "rater", np.zeros(n_raters))),
            own_thresholds=self._own_thresholds(n_raters, tau, streams[4]),
            group_means=means,
            population=population,
            noise=self._noise(n_raters, streams[6]) if self.marks else None,
        )

    @property
    def _unit(self) -> float:
        return _MARKS if self.marks else 1.0

    def _noise(self, n_raters: int, random: Generator) -> Array:
        drawn = self._unit * random.uniform(0.5, 1.0, n_raters)
        return _at_least_0("noise", _values("noise", self.raters["noise"], "rater", drawn), above=True)

    def _own_thresholds(self, n_raters: int, shared: Array | None, random: Generator) -> Array | None:
        """Those of each rater sum to 0: anything else is severity."""
        if shared is None or not self.threshold_spread:
            return None
        own = self.threshold_spread * random.standard_normal((n_raters, shared.shape[1]))
        own -= own.mean(axis=1, keepdims=True)
        if self.scale == "graded":
            return np.sort(shared + own, axis=1) - shared
        return own

    def _rater_values(self, n_raters: int, streams: Sequence[Generator]) -> tuple[Array, Array]:
        first, second = _RATER_PARAMETERS[self.model]
        ends = (2.0, 5.0) if self.model in LATENT_CLASS else (0.5, 2.0)
        slopes = np.full(n_raters, 1.5) if self.model == "tfm" else streams[0].uniform(*ends, n_raters)
        apart = _values(first, self.raters[first], "rater", self._unit * slopes)
        drawn = streams[1].normal(0.0, 0.7 * self._unit, n_raters)
        line = _values(second, self.raters[second], "rater", drawn)
        if self.model in LATENT_CLASS and self.raters["criterion"] is None:
            line = apart / 2 + line
        if self.model == "tfm" and np.ptp(apart) > 0:
            what = Message(Option("slope", self.raters["slope"]), ", but in the TFM all raters have one")
            raise OptionError(what, Message("give one number, or ", Option("model", "gmf")))
        if self.model == "probit":
            _at_least_0("noise", apart, above=True)
        return apart, line

    def _threshold_rows(self, n_items: int) -> Array:
        """(1, steps), or (items, steps) for partial credit."""
        given = self.thresholds
        try:
            values = np.atleast_2d(np.asarray(given, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            remedy = "give numbers, the same number of them for every item"
            raise OptionError(Message(Option("thresholds", given)), remedy) from None
        if values.ndim != 2 or len(values) not in (1, n_items) or not np.isfinite(values).all():
            what = f"thresholds has the shape {np.shape(values)}"
            remedy = f"give finite numbers, one row for all or one for each of the {n_items} items"
            raise OptionError(what, remedy, value=given, option="thresholds")
        if self.scale == "graded" and (np.diff(values, axis=1) <= 0).any():
            what = "graded thresholds must rise from score to score"
            raise OptionError(what, "sort them", value=given, option="thresholds")
        if self.scale == "partial credit":
            return np.array(np.broadcast_to(values, (n_items, values.shape[1])))
        if len(values) > 1:
            what = f"scale {self.scale!r} has one row of thresholds for all items"
            remedy = Message("use ", Option("scale", "partial credit"))
            raise OptionError(what, remedy, value=given, option="thresholds")
        return values.copy()

    def _centred(self, apart: Array, line: Array, delta: Array, **rest: Any) -> Truth:
        """The values as a fit reports them: difficulties (and severities) sum to 0, and their means go elsewhere."""
        usual = HIGHEST_MARK / 2 if self.marks else 0.0
        alpha = float(_values("alpha", self.alpha, "simulation", np.array(usual)))
        mean, difficulty = float(delta.mean()), delta - delta.mean()
        if self.model == "probit":
            # (θ - δ + α - threshold) / noise: only differences from the threshold matter.
            severity = (line + mean - alpha) / apart
            return Truth(self.model, self.link, 1 / apart, severity, difficulty, 0.0, **rest)
        if self.model in LATENT_CLASS:
            drawn = np.array(1.5 if self.model == "hrm" else 0.0)
            rest["spread"] = float(_values("sigma", self.sigma, "simulation", drawn))
            return Truth(self.model, self.link, apart, line, difficulty, alpha - mean, **rest)
        intercept = float(alpha - line.mean() - mean)
        link = "identity" if self.marks else self.link
        return Truth(self.model, link, apart, line - line.mean(), difficulty, intercept, **rest)


def _at_least_0(name: str, values: Array, *, above: bool = False) -> Array:
    least = float(values.min())
    if least < 0 or (above and least == 0):
        bound = "above 0" if above else "of at least 0"
        what = f"{name} has the value {least:g}"
        raise OptionError(what, f"give standard deviations {bound}", value=least, option=name)
    return values


def _values(name: str, given: ArrayLike | None, each: str, drawn: Array) -> Array:
    """The given values, one for all or one for each of `drawn`; else the drawn ones."""
    if given is None:
        return drawn
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(Message(Option(name, given)), f"give a number, or one for each {each}") from None
    if not np.isfinite(values).all():
        bad = float(values[~np.isfinite(values)].flat[0])
        raise OptionError(f"{name} has the value {bad:g}", "give finite numbers", value=bad, option=name)
    if values.ndim > 1 or values.size not in (1, drawn.size):
        what = f"{name} has {values.size} values for {drawn.size} {each}s"
        raise OptionError(what, f"give one, or one for each {each}", value=given, option=name)
    return np.array(np.broadcast_to(values, drawn.shape))


# ------------------------------------------------------------------------------------------------------ simulate


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Ratings, and the truth behind them in the order of the ratings' labels."""

    ratings: Ratings
    truth: Truth


def simulate(
    *,
    students: int = 500,
    raters: int = 20,
    items: int = 5,
    raters_per_student: int | None = None,
    common_students: int | None = None,
    groups: int | None = None,
    crossed: float = 0.3,
    design: Any = None,
    model: str = "gmf",
    link: str | None = None,
    slope: ArrayLike | None = None,
    severity: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    threshold: ArrayLike | None = None,
    criterion: ArrayLike | None = None,
    difficulty: ArrayLike | None = None,
    alpha: float | None = None,
    ability: ArrayLike | None = None,
    sigma: float | None = None,
    thresholds: ArrayLike | None = None,
    scale: str = "rating scale",
    halo: ArrayLike = 0.0,
    threshold_spread: float = 0.0,
    group_spread: float = 0.7,
    seed: int | Sequence[int] = 0,
) -> Simulated:
    r"""Draw ratings from any of the models that can be fitted.

    .. math::

        \text{gmf, tfm:}\quad & P(y_{nri} = 1) = F(a_r \theta_n - \eta_r - \delta_i + \alpha + \tau_r u_{nr}) \\
        \text{probit:}\quad & y_{nri} = 1 \text{ where } \theta_n - \delta_i + \alpha + \sigma_r \varepsilon
            > \alpha_r \\
        \text{marks:}\quad & y_{nri} = a_r \theta_n - \eta_r - \delta_i + \alpha + s_r \varepsilon \\
        \text{hrm:}\quad & P(\xi_{ni} = 1) = \operatorname{logistic}(\sigma\theta_n - \delta_i + \alpha), \quad
            P(y_{nri} = 1) = 1 - F(c_r - a_r \xi_{ni})

    Each part has its own stream of random numbers: giving one of them changes neither the draws of the others nor the
    chance in the ratings.

    Parameters
    ----------
    students, raters, items
        How many there are, labelled S1, R1, I1 and so on. A rater scores every item of a student.
    raters_per_student
        How many raters each student has, chosen at random so that workloads are nearly equal. Default:
        all raters.
    common_students
        Instead: how many students every rater rates; each of the others has a single rater.
    groups, crossed
        Instead: this many groups of students, such as schools, each with raters of its own. A student has
        `raters_per_student` raters (one by default) of its group, and this share of students another one besides.
    design
        Instead of these seven: a dataframe with the columns student, rater and item, or three arrays of
        labels or codes, one row per rating. Arrays of parameters follow the sorted labels.
    model
        ``gmf``; ``tfm``, in which all raters share one slope; ``probit``; ``hrm``; or ``dawid-skene``, which is
        the HRM with true categories that do not depend on ability (σ = 0).
    link
        ``logit`` (the default), ``probit``, ``cauchit``, ``cloglog`` or ``log``: F above.
    slope, severity, difficulty, ability
        One number for all, or one per rater, rater, item and student. By default they are drawn: slopes of the GMF
        uniformly from 0.5 to 2 (1.5 in the TFM; 2 to 5 with true categories), severities from N(0, 0.7²), difficulties
        and abilities from N(0, 1).
    noise, threshold
        Of probit raters, instead of slope and severity: drawn from 0.5 to 2 and N(0, 0.7²). Raters who give marks have
        noise, too, beside slope and severity.
    criterion
        Of raters who detect a true category, instead of severity: drawn around half the slope.
    alpha
        The intercept, 0 by default; of marks 50. The severities and difficulties of the truth are centred, and alpha
        absorbs their means (for probit raters, the threshold does).
    sigma
        HRM: how strongly the true category follows ability; 1.5 by default.
    thresholds
        For ordered scores 0 to K − 1 (GMF and TFM): K − 1 numbers, or a row of them per item.
    scale
        ``rating scale`` or ``partial credit`` (adjacent categories, thresholds common to all items or one set per
        item), or ``graded`` (cumulative); or ``continuous``: whole marks out of 100 (GMF and TFM), with slopes,
        severities, difficulties and noise in marks. What is drawn is ten times as large then, and noise is from 5 to
        10.
    halo
        :math:`\\tau`, one for all raters or one per rater (not for the HRM): the spread of what all scores of a student
        by a rater share besides ability. Where the same item occurs again, it is of the next reading.
    threshold_spread
        Standard deviation of each rater's own thresholds around those of all.
    group_spread
        Standard deviation of the mean abilities of groups; 1 within them.
    seed
        A number, or several (of a study and a replication, say). The same seed gives the same ratings.

    Returns
    -------
    Simulated
        `ratings`, ready for a fit, and `truth`.

    Raises
    ------
    OptionError
        The message says which argument is wrong, the value seen and what to do.

    Examples
    --------
    >>> drawn = simulate(students=100, raters=4, items=3, raters_per_student=2, severity=[-1, 0, 0, 1], seed=7)
    >>> drawn.ratings.n_ratings
    600
    >>> drawn.truth.kappa.round(2)
    array([0.88, 0.58, 0.77, 0.56])

    With your own design:

    >>> own = simulate(design=([1, 1, 2, 2], ["AM", "BE", "AM", "BE"], ["plot"] * 4), slope=1.0)
    >>> own.ratings.raters.to_list()
    ['AM', 'BE']

    Raters who see ability through noise, and scores from 0 to 3:

    >>> simulate(model="probit", raters=3, noise=[0.5, 1.0, 2.0], threshold=0.0, difficulty=0.0).truth.kappa.round(2)
    array([0.89, 0.71, 0.45])
    >>> int(simulate(thresholds=[-1.0, 0.0, 1.0]).ratings.score.max())
    3

    Marks out of 100:

    >>> marks = simulate(scale="continuous", raters=3, severity=[-4, 0, 4], noise=[5, 6, 8], seed=1)
    >>> marks.ratings.n_categories, marks.truth.severity.tolist()
    (101, [-4.0, 0.0, 4.0])
    """
    parameters = Parameters(
        model=model,
        link=link or ("probit" if model == "probit" else "logit"),
        raters={
            "slope": slope,
            "severity": severity,
            "noise": noise,
            "threshold": threshold,
            "criterion": criterion,
        },
        difficulty=difficulty,
        alpha=alpha,
        ability=ability,
        sigma=sigma,
        thresholds=thresholds,
        scale=scale,
        halo=halo,
        threshold_spread=threshold_spread,
        group_spread=group_spread,
    )
    layout, *values, chance, impressions, own, means, noises = _streams(seed)
    if groups is not None and design is None and common_students is None:
        plan = in_groups(students, raters, items, groups, raters_per_student or 1, crossed, layout)
    else:
        plan = _plan(design, students, raters, items, raters_per_student, common_students, layout)
    truth = parameters.truth(plan, [*values, own, means, noises])
    score = RESPONSES[model](plan, truth, chance, impressions)
    return Simulated(plan.ratings(score, (f"simulated: {model}, {truth.link} link, seed {seed}",)), truth)


def _plan(
    design: Any,
    students: int,
    raters: int,
    items: int,
    raters_per_student: int | None,
    common_students: int | None,
    random: Generator,
) -> Plan:
    if design is not None:
        return written(design)
    if common_students is None:
        return dealt(students, raters, items, raters_per_student, random)
    if raters_per_student is not None:
        both = Option("raters_per_student", raters_per_student), Option("common_students", common_students)
        raise OptionError(Message(both[0], " and ", both[1], " are different designs"), "give one of them")
    return linked(students, raters, items, common_students)


def _streams(seed: int | Sequence[int]) -> list[Generator]:
    """Independent streams: for the design, the raters' two parameters, the items, the students, the ratings, the
    impressions, raters' own thresholds, the means of groups and raters' noise."""
    try:
        return [default_rng(child) for child in SeedSequence(seed).spawn(10)]
    except (TypeError, ValueError, OverflowError):
        remedy = "give a whole number of at least 0, or several"
        raise OptionError(Message(Option("seed", seed)), remedy) from None
