"""Ratings from a model and a design: a plan of who rates whom, a truth, and a draw for every rating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike

from raterlens.capability.links import get_link
from raterlens.config import Scale
from raterlens.errors import OptionError, choose
from raterlens.ratings.coded import Ratings
from raterlens.simulation.designs import Plan, crossed, linked, written
from raterlens.simulation.draws import RESPONSES
from raterlens.simulation.truth import Truth
from raterlens.types import Array

# What each model calls its raters' two parameters: how well they tell students apart, and where they draw the line.
_RATER_PARAMETERS = {
    "gmf": ("slope", "severity"),
    "tfm": ("slope", "severity"),
    "probit": ("noise", "threshold"),
    "hrm": ("slope", "criterion"),
}


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
    common_students: int | None = None,
    design: Any = None,
    model: str = "gmf",
    link: str | None = None,
    slope: ArrayLike | None = None,
    severity: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    threshold: ArrayLike | None = None,
    criterion: ArrayLike | None = None,
    difficulty: ArrayLike | None = None,
    alpha: float = 0.0,
    ability: ArrayLike | None = None,
    sigma: float | None = None,
    thresholds: ArrayLike | None = None,
    scale: str = "rating scale",
    seed: int | Sequence[int] = 0,
) -> Simulated:
    r"""Draw ratings from any of the models that can be fitted.

    .. math::

        \text{gmf, tfm:}\quad & P(y_{nri} = 1) = F(a_r \theta_n - \eta_r - \delta_i + \alpha) \\
        \text{probit:}\quad & y_{nri} = 1 \text{ where } \theta_n - \delta_i + \alpha + \sigma_r \varepsilon
            > \alpha_r \\
        \text{hrm:}\quad & P(\xi_{ni} = 1) = \operatorname{logistic}(\sigma\theta_n - \delta_i + \alpha), \quad
            P(y_{nri} = 1) = 1 - F(c_r - a_r \xi_{ni})

    Each part has its own stream of random numbers: giving one of them leaves the draws of the others, and
    the chance in the ratings, as they were.

    Parameters
    ----------
    students, raters, items
        How many there are, labelled S1, R1 and I1 on. A rater scores every item of a student.
    raters_per_student
        How many raters each student has, chosen at random so that raters have nearly equal numbers of
        students. Left out: every rater.
    common_students
        Instead: how many students every rater rates; each of the others has one rater only.
    design
        Instead of these five: a dataframe with the columns student, rater and item, or three arrays of
        labels or codes, one row a rating. Arrays of parameters follow the sorted labels.
    model
        ``gmf``; ``tfm``, in which all raters have the same slope; ``probit`` or ``hrm``.
    link
        ``logit`` (the default), ``probit``, ``cauchit``, ``cloglog`` or ``log``: F above.
    slope, severity, difficulty, ability
        A number for all, or one for each rater, rater, item and student. Left out, they are drawn: slopes
        of the GMF uniformly from 0.5 to 2 (1.5 in the TFM; 2 to 5 in the HRM), severities from N(0, 0.7²),
        difficulties and abilities from N(0, 1).
    noise, threshold
        A probit rater's, in place of slope and severity: drawn from 0.5 to 2 and N(0, 0.7²).
    criterion
        An HRM rater's, in place of severity: drawn around half the slope.
    alpha
        The intercept. The truth's severities and difficulties are centred, and alpha takes up their means
        (a probit rater's threshold does).
    sigma
        HRM: how strongly the true category follows ability; 1.5 where left out.
    thresholds
        For ordered scores 0 .. K − 1 (GMF and TFM): K − 1 numbers, or such a row for every item.
    scale
        ``rating scale`` or ``partial credit`` (adjacent categories, thresholds for all or for every item), or
        ``graded`` (cumulative).
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

    Raters who see ability through noise, and scores from 0 to 3:

    >>> simulate(model="probit", raters=3, noise=[0.5, 1.0, 2.0], threshold=0.0, difficulty=0.0).truth.kappa.round(2)
    array([0.89, 0.71, 0.45])
    >>> int(simulate(thresholds=[-1.0, 0.0, 1.0]).ratings.score.max())
    3
    """
    choose("model", model, RESPONSES)
    choose("scale", scale, get_args(Scale))
    given = {
        "slope": slope,
        "severity": severity,
        "noise": noise,
        "threshold": threshold,
        "criterion": criterion,
    }
    _refuse_others(model, given, sigma, thresholds)
    shape = get_link(link or ("probit" if model == "probit" else "logit"))
    if model == "probit" and shape.name != "probit":
        raise OptionError(f"model 'probit' is defined with link 'probit', not {shape.name!r}; leave link out")
    streams = _streams(seed)
    plan = _plan(design, students, raters, items, raters_per_student, common_students, streams[0])
    n_students, n_raters, n_items = (len(part.labels) for part in (plan.student, plan.rater, plan.item))
    first, second = _RATER_PARAMETERS[model]
    apart = _values(first, given[first], "rater", _drawn_slopes(model, n_raters, streams[1]))
    line = _values(second, given[second], "rater", streams[2].normal(0.0, 0.7, n_raters))
    if model == "hrm" and criterion is None:
        line = apart / 2 + line
    if model == "tfm" and np.ptp(apart) > 0:
        raise OptionError(
            f"slope is {slope!r}; in the TFM all raters have one: give one number, or model='gmf'"
        )
    if model == "probit" and not (apart > 0).all():
        raise OptionError(f"noise has the value {apart.min():g}; give standard deviations above 0")
    delta = _values("difficulty", difficulty, "item", streams[3].normal(0.0, 1.0, n_items))
    intercept = float(_values("alpha", alpha, "simulation", np.zeros(())))
    tau = None if thresholds is None else _thresholds(thresholds, n_items, scale, shape.name)
    if tau is not None:
        # A fit reports thresholds of mean 0: shared ones move the intercept, an item's own its difficulty.
        mean = tau.mean(axis=1)
        delta = delta + mean
        tau = tau - mean[:, None]
    truth = _centred(
        model,
        shape.name,
        apart,
        line,
        delta,
        intercept,
        ability=_values("ability", ability, "student", streams[4].normal(0.0, 1.0, n_students)),
        thresholds=tau,
        scale=scale,
        spread=1.5 if sigma is None else float(_values("sigma", sigma, "simulation", np.zeros(()))),
    )
    ratings = Ratings(
        student=plan.student.codes,
        rater=plan.rater.codes,
        item=plan.item.codes,
        score=RESPONSES[model](plan, truth, streams[5]),
        students=plan.student.labels.alias("student"),
        raters=plan.rater.labels.alias("rater"),
        items=plan.item.labels.alias("item"),
        notes=(f"simulated: {model}, {shape.name} link, seed {seed}",),
    )
    return Simulated(ratings, truth)


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
        return crossed(students, raters, items, raters_per_student, random)
    if raters_per_student is not None:
        raise OptionError(
            f"raters_per_student is {raters_per_student} and common_students is {common_students}; they are different "
            "designs: give one of them"
        )
    return linked(students, raters, items, common_students)


def _drawn_slopes(model: str, n_raters: int, random: Generator) -> Array:
    if model == "tfm":
        return np.full(n_raters, 1.5)
    low, high = (2.0, 5.0) if model == "hrm" else (0.5, 2.0)
    return random.uniform(low, high, n_raters)


def _centred(
    model: str,
    link: str,
    apart: Array,
    line: Array,
    delta: Array,
    alpha: float,
    *,
    spread: float,
    **rest: Any,
) -> Truth:
    """The parameters as a fit reports them: means of difficulties (and severities) go where they do no harm."""
    difficulty = delta - delta.mean()
    if model == "probit":
        # (θ - δ + α - threshold) / noise: only differences from the threshold matter.
        severity = (line + delta.mean() - alpha) / apart
        return Truth(model, link, 1 / apart, severity, difficulty, 0.0, **rest)
    if model == "hrm":
        return Truth(model, link, apart, line, difficulty, alpha - float(delta.mean()), spread=spread, **rest)
    return Truth(
        model, link, apart, line - line.mean(), difficulty, float(alpha - line.mean() - delta.mean()), **rest
    )


# ---------------------------------------------------------------------------------------------- checks


def _refuse_others(
    model: str, given: dict[str, ArrayLike | None], sigma: float | None, thresholds: ArrayLike | None
) -> None:
    """Arguments that the model does not have."""
    known = _RATER_PARAMETERS[model]
    for name, value in given.items():
        if value is not None and name not in known:
            raise OptionError(f"model {model!r} has no {name}; its raters have {known[0]} and {known[1]}")
    if sigma is not None and model != "hrm":
        raise OptionError(f"sigma is {sigma!r}, but only model 'hrm' takes it; give the raters' {known[0]}s")
    if thresholds is not None and model not in ("gmf", "tfm"):
        raise OptionError(
            f"thresholds are given, but model {model!r} has pass/fail ratings only; use model 'gmf' or 'tfm'"
        )


def _thresholds(given: ArrayLike, n_items: int, scale: str, link: str) -> Array:
    try:
        values = np.atleast_2d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise OptionError(f"thresholds is {given!r}; give numbers, or as many for every item") from None
    if values.ndim != 2 or len(values) not in (1, n_items) or not np.isfinite(values).all():
        raise OptionError(
            f"thresholds has the shape {np.shape(given)}; give finite numbers, one row for all or one for each of "
            f"the {n_items} items"
        )
    if scale != "graded" and link != "logit":
        raise OptionError(
            f"link {link!r} needs scale 'graded' for ordered scores; choose that, or link 'logit'"
        )
    if scale == "graded" and (np.diff(values, axis=1) <= 0).any():
        raise OptionError("graded thresholds must rise from score to score; sort them")
    if scale == "partial credit":
        values = np.broadcast_to(values, (n_items, values.shape[1]))
    elif len(values) > 1:
        raise OptionError(f"scale {scale!r} has one row of thresholds for all items; use 'partial credit'")
    return np.array(values)


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
