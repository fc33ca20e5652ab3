"""Ratings from a model and a design: a plan of who rates whom, a truth, and a draw for every rating.

A new design is a function that returns a `Plan`; a new model is a function in `RESPONSES`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike, NDArray

from raterlens import capability
from raterlens.errors import OptionError, choose
from raterlens.links import get_link
from raterlens.ratings import Ratings
from raterlens.reading.levels import Levels, code

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Who rates whom on which item: one entry a rating, every level used at least once."""

    student: Levels
    rater: Levels
    item: Levels


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What the ratings were drawn from, in the form a fit reports: severities and difficulties sum to 0."""

    model: str
    link: str
    slope: Array
    """a = ρ σ, one a rater."""
    severity: Array
    """η, one a rater."""
    difficulty: Array
    """δ, one an item."""
    alpha: float
    ability: Array
    """θ, one a student, as drawn or given: standardised only in so far as the draw is."""

    @property
    def sigma(self) -> float:
        """The largest slope, the yardstick of ρ and κ."""
        return float(np.abs(self.slope).max())

    @property
    def rho(self) -> Array:
        return self.slope / self.sigma if self.sigma > 0 else np.zeros_like(self.slope)

    @property
    def kappa(self) -> Array:
        """κ-bar of every rater, over standard normal abilities: 0 for all where no slope is above 0."""
        if self.sigma == 0:
            return np.zeros_like(self.slope)
        return capability.gmf(rho=self.rho, eta=self.severity, sigma=self.sigma, link=self.link)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Ratings, and the truth they were drawn from in the order of the ratings' labels."""

    ratings: Ratings
    truth: Truth


def simulate(
    *,
    students: int = 500,
    raters: int = 20,
    items: int = 5,
    raters_per_student: int | None = None,
    design: Any = None,
    model: str = "gmf",
    link: str = "logit",
    slope: ArrayLike | None = None,
    severity: ArrayLike | None = None,
    difficulty: ArrayLike | None = None,
    alpha: float = 0.0,
    ability: ArrayLike | None = None,
    seed: int | Sequence[int] = 0,
) -> Simulated:
    r"""Draw pass/fail ratings from a facets model.

    .. math:: P(y_{nri} = 1) = F(a_r \theta_n - \eta_r - \delta_i + \alpha)

    Each part has its own stream of random numbers: giving one of them leaves the draws of the others, and
    the chance in the ratings, as they were.

    Parameters
    ----------
    students, raters, items
        How many there are, labelled S1, R1 and I1 on. A rater scores every item of a student.
    raters_per_student
        How many raters each student has, chosen at random so that raters have nearly equal numbers of
        students. Left out: every rater.
    design
        Instead of these four: a dataframe with the columns student, rater and item, or three arrays of
        labels or codes, one row a rating. Arrays of parameters follow the sorted labels.
    model
        ``gmf``, or ``tfm``, in which all raters have the same slope.
    link
        ``logit``, ``probit``, ``cauchit``, ``cloglog`` or ``log``.
    slope, severity, difficulty, ability
        A number for all, or one for each rater, rater, item and student. Left out, they are drawn: slopes
        of the GMF uniformly from 0.5 to 2 (1.5 in the TFM), severities from N(0, 0.7²), difficulties and
        abilities from N(0, 1).
    alpha
        The intercept. The truth's severities and difficulties are centred, and alpha takes up their means.
    seed
        A number, or several (a study's and a replication's, say). The same seed gives the same ratings.

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

    On a design of your own:

    >>> own = simulate(design=([1, 1, 2, 2], ["AM", "BE", "AM", "BE"], ["plot"] * 4), slope=1.0)
    >>> own.ratings.raters.to_list()
    ['AM', 'BE']
    """
    choose("model", model, RESPONSES)
    shape = get_link(link)
    for_plan, for_slope, for_severity, for_difficulty, for_ability, for_score = _streams(seed)
    plan = (
        crossed(students, raters, items, raters_per_student, for_plan) if design is None else written(design)
    )
    n_students, n_raters, n_items = (len(part.labels) for part in (plan.student, plan.rater, plan.item))
    drawn_slope = for_slope.uniform(0.5, 2.0, n_raters) if model == "gmf" else np.full(n_raters, 1.5)
    a = _values("slope", slope, "rater", drawn_slope)
    if model == "tfm" and np.ptp(a) > 0:
        raise OptionError(
            f"slope is {slope!r}; in the TFM all raters have one: give one number, or model='gmf'"
        )
    eta = _values("severity", severity, "rater", for_severity.normal(0.0, 0.7, n_raters))
    delta = _values("difficulty", difficulty, "item", for_difficulty.normal(0.0, 1.0, n_items))
    intercept = _values("alpha", alpha, "simulation", np.zeros(()))
    truth = Truth(
        model=model,
        link=shape.name,
        slope=a,
        severity=eta - eta.mean(),
        difficulty=delta - delta.mean(),
        alpha=float(intercept - eta.mean() - delta.mean()),
        ability=_values("ability", ability, "student", for_ability.normal(0.0, 1.0, n_students)),
    )
    ratings = Ratings(
        student=plan.student.codes,
        rater=plan.rater.codes,
        item=plan.item.codes,
        score=RESPONSES[model](plan, truth, for_score),
        students=plan.student.labels.alias("student"),
        raters=plan.rater.labels.alias("rater"),
        items=plan.item.labels.alias("item"),
        notes=(f"simulated: {model}, {shape.name} link, seed {seed}",),
    )
    return Simulated(ratings, truth)


# --------------------------------------------------------------------------------------------- designs


def crossed(
    students: int, raters: int, items: int, raters_per_student: int | None, random: Generator
) -> Plan:
    """Every student has `raters_per_student` raters, each of whom scores all items.

    Raters are dealt in laps: in a lap, a fresh order of all raters is dealt out to as many students as it
    takes to have each rater at least once. So workloads are nearly equal and laps link all raters.
    """
    per_student = raters if raters_per_student is None else raters_per_student
    _check_count("students", students, 2)
    _check_count("raters", raters, 1)
    _check_count("items", items, 1)
    _check_count("raters_per_student", per_student, 1)
    if per_student > raters:
        raise OptionError(
            f"raters_per_student is {per_student}, more than the {raters} raters there are; lower it or add raters"
        )
    if students * per_student < raters:
        raise OptionError(
            f"{students} students with {per_student} raters each leave some of the {raters} raters without a "
            "student; add students, or raters for each student"
        )
    students_in_lap = -(-raters // per_student)
    laps = -(-students // students_in_lap)
    orders = random.permuted(np.tile(np.arange(raters, dtype=np.int32), (laps, 1)), axis=1)
    dealt = orders[:, np.arange(students_in_lap * per_student) % raters].reshape(-1, per_student)[:students]
    dealt.sort(axis=1)
    return Plan(
        Levels(np.repeat(np.arange(students, dtype=np.int32), per_student * items), _labels("S", students)),
        Levels(np.repeat(dealt.ravel(), items), _labels("R", raters)),
        Levels(np.tile(np.arange(items, dtype=np.int32), students * per_student), _labels("I", items)),
    )


def written(design: Any) -> Plan:
    """A design given row by row: a dataframe with the columns student, rater and item, or three arrays."""
    names = ("student", "rater", "item")
    if isinstance(design, tuple | list) and len(design) == 3:
        columns = [pl.Series(name, np.asarray(values)) for name, values in zip(names, design, strict=True)]
    else:
        try:
            frame = nw.from_native(design, eager_only=True)
        except TypeError:
            raise OptionError(
                f"design is a {type(design).__name__}; give a dataframe with the columns student, rater and item, "
                "or three arrays"
            ) from None
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise OptionError(
                f"the design has no column {missing[0]!r} among {', '.join(frame.columns)}; name its columns "
                "student, rater and item"
            )
        columns = [pl.Series(name, frame[name].to_polars()) for name in names]
    rows = {len(column) for column in columns}
    if len(rows) > 1:
        raise OptionError(
            f"the design's arrays have {', '.join(map(str, sorted(rows)))} rows; make them equal"
        )
    levels = [code(column) for column in columns]
    for column, level in zip(columns, levels, strict=True):
        if (level.codes < 0).any():
            raise OptionError(f"the design's {column.name} is missing in a row; fill it in or drop the row")
    return Plan(*levels)


# ------------------------------------------------------------------------------------------- responses


def _facets(plan: Plan, truth: Truth, random: Generator) -> NDArray[np.int16]:
    student, rater, item = plan.student.codes, plan.rater.codes, plan.item.codes
    predictor = truth.slope[rater]
    predictor *= truth.ability[student]
    predictor -= truth.severity[rater]
    predictor -= (truth.difficulty - truth.alpha)[item]
    chance = np.exp(get_link(truth.link).log_pass(predictor))
    return (random.random(len(chance)) < chance).astype(np.int16)


RESPONSES: dict[str, Callable[[Plan, Truth, Generator], NDArray[np.int16]]] = {"gmf": _facets, "tfm": _facets}
"""How each model scores a plan."""


# ---------------------------------------------------------------------------------------------- checks


def _streams(seed: int | Sequence[int]) -> list[Generator]:
    try:
        return [default_rng(child) for child in SeedSequence(seed).spawn(6)]
    except (TypeError, ValueError):
        raise OptionError(f"seed is {seed!r}; give a whole number from 0 on, or several") from None


def _values(name: str, given: ArrayLike | None, each: str, drawn: Array) -> Array:
    """The given values, one for all or one for each of `drawn`; else the drawn ones."""
    if given is None:
        return drawn
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} is {given!r}; give a number, or one for each {each}") from None
    if not np.isfinite(values).all():
        raise OptionError(
            f"{name} has the value {values[~np.isfinite(values)].flat[0]:g}; give finite numbers"
        )
    if values.ndim > 1 or values.size not in (1, drawn.size):
        raise OptionError(
            f"{name} has {values.size} values for {drawn.size} {each}s; give one, or one for each {each}"
        )
    return np.array(np.broadcast_to(values, drawn.shape))


def _check_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} is {value!r}; give a whole number from {least} on")


def _labels(prefix: str, count: int) -> pl.Series:
    """R01 .. R20: as wide as the last needs, so that they sort in their order."""
    numbers = pl.int_range(1, count + 1, eager=True).cast(pl.String).str.zfill(len(str(count)))
    return prefix + numbers
