"""Ratings from a model and a design: who rates whom, the true values, and a draw for every rating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import ArrayLike

from raterlens.base.errors import OptionError
from raterlens.base.text import shortened
from raterlens.ratings.coded import Ratings
from raterlens.simulation.designs import Plan, crossed, linked, written
from raterlens.simulation.draws import RESPONSES, Truth
from raterlens.simulation.parameters import Parameters


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
    halo: ArrayLike = 0.0,
    seed: int | Sequence[int] = 0,
) -> Simulated:
    r"""Draw ratings from any of the models that can be fitted.

    .. math::

        \text{gmf, tfm:}\quad & P(y_{nri} = 1) = F(a_r \theta_n - \eta_r - \delta_i + \alpha + \tau_r u_{nr}) \\
        \text{probit:}\quad & y_{nri} = 1 \text{ where } \theta_n - \delta_i + \alpha + \sigma_r \varepsilon
            > \alpha_r \\
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
    design
        Instead of these five: a dataframe with the columns student, rater and item, or three arrays of
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
        Of probit raters, instead of slope and severity: drawn from 0.5 to 2 and N(0, 0.7²).
    criterion
        Of raters who detect a true category, instead of severity: drawn around half the slope.
    alpha
        The intercept. The severities and difficulties of the truth are centred, and alpha absorbs their means (for
        probit raters, the threshold does).
    sigma
        HRM: how strongly the true category follows ability; 1.5 by default.
    thresholds
        For ordered scores 0 to K − 1 (GMF and TFM): K − 1 numbers, or a row of them per item.
    scale
        ``rating scale`` or ``partial credit`` (adjacent categories, thresholds common to all items or one set per
        item), or ``graded`` (cumulative).
    halo
        :math:`\\tau`, one for all raters or one per rater (not for the HRM): the spread of what all scores of a student
        by a rater share besides ability. Where the same item occurs again, it is of the next reading.
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
    )
    layout, *values, chance, impressions = _streams(seed)
    plan = _plan(design, students, raters, items, raters_per_student, common_students, layout)
    truth = parameters.truth(plan, values)
    ratings = Ratings(
        student=plan.student.codes,
        rater=plan.rater.codes,
        item=plan.item.codes,
        score=RESPONSES[model](plan, truth, chance, impressions),
        students=plan.student.labels.alias("student"),
        raters=plan.rater.labels.alias("rater"),
        items=plan.item.labels.alias("item"),
        notes=(f"simulated: {model}, {truth.link} link, seed {seed}",),
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
            f"raters_per_student is {raters_per_student} and common_students is {common_students}, which are different "
            "designs",
            "give one of them",
            value=raters_per_student,
            option="raters_per_student",
        )
    return linked(students, raters, items, common_students)


def _streams(seed: int | Sequence[int]) -> list[Generator]:
    """Independent streams: for the design, the raters' two parameters, the items, the students, the ratings and the
    impressions."""
    try:
        return [default_rng(child) for child in SeedSequence(seed).spawn(7)]
    except (TypeError, ValueError, OverflowError):
        raise OptionError(
            f"seed is {shortened(seed)}",
            "give a whole number of at least 0, or several",
            value=seed,
            option="seed",
        ) from None
