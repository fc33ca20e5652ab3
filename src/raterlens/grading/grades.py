"""Grades: the cuts between them on both scales, the request for decisions, and how probable each grade is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.polynomial import polynomial
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import Placed
from raterlens.inference.expected_scores import average_scores
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.calibration import Calibration
from raterlens.models.marks import Marks
from raterlens.models.registry import MODELS

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.grading.decisions import Decisions
    from raterlens.grading.remarking import Remark
from raterlens.ratings.coded import Ratings

# ---------------------------------------------------------------------------------------------------------- cuts


# Cuts between grades, on the scale of scores and on that of ability.
#
# The scale of scores is that of the average rater: the mean score which a student of some ability can expect from that
# rater over all items. It rises with ability, so each cut on it is a cut on ability, and the other way round.

On = Literal["score", "ability"]
Cut = float | Sequence[float] | str

# How far from the students' mean a cut may be, in standard deviations: beyond, nobody is.
_FARTHEST = 12.0
# A mean score that misses a cut by less does so by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where each grade but the lowest begins."""

    score: Array
    """(cuts,): mean scores, in the numbers that raters gave"""
    ability: Array
    """(cuts,)"""
    grades: tuple[str, ...]
    """Lowest first, one more than cuts"""
    on: On
    """The scale they were given on"""

    def grade_of(self, mean_score: Array) -> Indices:
        """The grades of raw results; a result on a cut has reached it."""
        return np.searchsorted(self.score, np.asarray(mean_score) + _ROUNDING, side="right")

    @property
    def text(self) -> str:
        """As options write them."""
        given = ",".join(f"{cut:g}" for cut in (self.score if self.on == "score" else self.ability))
        return given if self.on == "score" else f"ability {given}"


def cuts_of(known: Calibration, cut: Cut, on: On = "score", grades: Sequence[str] | None = None) -> Cuts:
    """Check cuts and put them on both scales."""
    numbers, on = given_cuts(cut, on)
    cuts = np.array(numbers)
    mean, sd = known.population
    ends = np.array([mean - _FARTHEST * sd, mean + _FARTHEST * sd])
    if known.average().effects["slope"][0] <= 0:
        raise OptionError(
            "the average rater's scores do not rise with ability, so no result is fair",
            "look at the raters first: fit.verdicts() says what is wrong",
            option="decide",
        )
    low, high = ends if on == "ability" else average_scores(known, ends)
    if cuts[0] <= low or cuts[-1] >= high:
        scale = "abilities" if on == "ability" else "mean scores by the average rater"
        raise OptionError(
            f"a cut at {cuts[0] if cuts[0] <= low else cuts[-1]:g}, but {scale} go from {low:.2f} to {high:.2f}",
            "give a cut between them",
            value=cut,
            option="decide",
        )
    if on == "score":
        score, ability = cuts, np.array([_ability_at(known, one, ends) for one in cuts])
    else:
        score, ability = average_scores(known, cuts), cuts
    return Cuts(score, ability, _names(grades, numbers), on)


def given_cuts(cut: Cut, on: On = "score") -> tuple[list[float], On]:
    """Numbers in rising order, and their scale, which text may name.

    Examples
    --------
    >>> given_cuts(3), given_cuts("1.5, 2.5"), given_cuts("ability 0.3")
    (([3.0], 'score'), ([1.5, 2.5], 'score'), ([0.3], 'ability'))
    """
    choose("scale of cuts", on, get_args(On), option="on")
    if isinstance(cut, str):
        numbers, on = _read(cut, on)
    else:
        numbers = [float(one) for one in np.atleast_1d(np.asarray(cut, np.float64))]
    if not numbers or not np.all(np.isfinite(numbers)) or np.any(np.diff(numbers) <= 0):
        raise OptionError(
            f"cuts are {cut!r}", "give one number, or several in rising order", value=cut, option="decide"
        )
    return numbers, on


def _read(text: str, on: On) -> tuple[list[float], On]:
    first, _, rest = text.strip().partition(" ")
    numbers = rest if first in get_args(On) else text
    try:
        return [float(one) for one in numbers.split(",")], (first if first in get_args(On) else on)  # type: ignore[return-value]
    except ValueError:
        raise OptionError(
            f"cuts are {text!r}",
            "give numbers with commas between them, such as 1.5,2.5, or 'ability 0.3' for the ability scale",
            value=text,
            option="decide",
        ) from None


def _names(grades: Sequence[str] | None, cuts: Sequence[float]) -> tuple[str, ...]:
    if grades is None:
        if len(cuts) == 1:
            return ("fail", "pass")
        between = (f"{low:g} to {high:g}" for low, high in pairwise(cuts))
        return (f"below {cuts[0]:g}", *between, f"{cuts[-1]:g} or more")
    names = tuple(str(grade) for grade in grades)
    if len(set(names)) != len(cuts) + 1:
        raise OptionError(
            f"{len(set(names))} different names of grades for {len(cuts)} cuts",
            f"give {len(cuts) + 1} names, the lowest grade first",
            value=grades,
            option="grades",
        )
    return names


def _ability_at(known: Calibration, score: float, ends: Array) -> float:
    def above(theta: float) -> float:
        return float(average_scores(known, np.array([theta]))[0]) - score

    from scipy.optimize import brentq  # only here, and slow to load

    return float(brentq(above, *ends, xtol=1e-10))


# ----------------------------------------------------------------------------------------------- asked decisions


@dataclass(frozen=True, slots=True)
class AskedDecisions:
    """Cuts as text, and how many further marks to plan."""

    decide: str | None = None
    remark: int | None = None
    by_raters: Sequence[str] | None = None
    not_by: Sequence[str] = ()

    def check(self, fit: FitConfig) -> None:
        """Raise on what can be seen to be wrong without ratings."""
        if self.decide is None:
            if self.remark is not None or self.by_raters is not None or self.not_by:
                raise OptionError(
                    Message(Option("remark"), " plans marks for decisions"),
                    Message("give the cut as well, such as ", Option("decide", 1.5)),
                    option="decide",
                )
            return
        if self.remark is None and (self.by_raters is not None or self.not_by):
            name = "not_by" if self.by_raters is None else "by_raters"
            raise OptionError(
                Message(Option(name), " says who marks again"),
                Message("give the number of further marks as well, such as ", Option("remark", 50)),
            )
        given_cuts(self.decide)
        if self.remark is not None and self.remark < 1:
            raise OptionError(
                f"{self.remark} further marks", "give at least 1", value=self.remark, option="remark"
            )
        if MODELS[fit.model_name].true_category:
            raise OptionError(
                f"model {fit.model!r} has no ability to decide by",
                Message("fit ", Option("model", "gmf"), " or ", Option("model", "tfm")),
                value=fit.model,
                option="decide",
            )

    def check_scores(self, ratings: "Ratings") -> None:
        """Raise on cuts that no mean score could reach, or miss."""
        if self.decide is None:
            return
        cuts, on = given_cuts(self.decide)
        given = ratings.score_step * np.flatnonzero(ratings.score_counts)
        if on == "score" and not given[0] < cuts[0] <= cuts[-1] < given[-1]:
            off = cuts[0] if cuts[0] <= given[0] else cuts[-1]
            raise OptionError(
                f"a cut at {off:g}, but scores go from {given[0]:g} to {given[-1]:g}",
                "give a mean score between them",
                value=self.decide,
                option="decide",
            )

    def made(self, fit: "Fit", ratings: "Ratings") -> "tuple[Decisions | None, Remark | None]":
        """Make the decisions that were asked for."""
        if self.decide is None:
            return None, None
        decided = fit.decisions(ratings, cut=self.decide)
        if self.remark is None:
            return decided, None
        return decided, fit.remark(
            ratings, cut=decided, budget=self.remark, raters=self.by_raters, not_by=self.not_by
        )


# ---------------------------------------------------------------------------------------------- posterior grades


# The probability of each grade, from each student's posterior on the nodes of the grid.
#
# A posterior p known at nodes of step h is, between them, its sum of sinc functions, exact up to what the trapezoidal
# rule with half as many nodes leaves. Its mass below a cut c is therefore linear in the values at the nodes t,
#
#     P(theta < c) = sum_q p_q [1/2 + Si(pi (c - t_q) / h) / pi],
#
# where a sum over the nodes below c would be off by up to half a node. The error of the estimates of raters and items
# moves a posterior as a whole, by a normal deviate of variance v: the same average, over c. As a function of v it is
# smooth, so it is computed for a few values of v and interpolated.

_LEVELS = 8
"""Values of v."""
_DEVIATES = special.roots_hermitenorm(24)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Students' posteriors, block by block, and the cuts in the same units."""

    placed: Placed
    nodes: Nodes
    mean: float
    sd: float
    """Standard deviation of the fit's population, whose units nodes are in"""
    cuts: Array

    @staticmethod
    def of(known: Calibration, placed: Placed, moments: Moments, cuts: Cuts) -> "Grid":
        """`moments` are those of `placed.abilities()`."""
        sharp = sharp_nodes(placed.problem, placed.parameters, moments)
        # What lies between nodes is known as well as their sum where there are twice as many.
        nodes = Nodes.equally_spaced(sharp.low, sharp.high, sharp.step / 2)
        mean, sd = known.population
        return Grid(placed, nodes, float(mean), float(sd), (cuts.ability - mean) / sd)

    @property
    def abilities(self) -> Array:
        """(nodes,): on the scale of the fit"""
        return self.mean + self.sd * self.nodes.points

    def posteriors(self) -> Iterator[tuple[slice, Array]]:
        problem = self.placed.problem
        tables = problem.tables(self.placed.parameters, self.nodes)
        for rows, posterior, _ in problem.engine.posteriors(tables, self.nodes):
            yield rows, posterior

    def grade_weights(self, variance: float = 0.0) -> Array:
        """(nodes, grades): what a node's probability adds to that of each grade, where a posterior may have been moved
        by a deviate of this variance."""
        deviates, weights = _DEVIATES if variance > 0 else (np.zeros(1), np.ones(1))
        below = np.zeros((len(self.nodes.points), len(self.cuts)))
        for z, weight in zip(deviates, weights / weights.sum(), strict=True):
            away = (self.cuts - np.sqrt(variance) * z - self.nodes.points[:, None]) / self.nodes.step
            below += weight * (0.5 + special.sici(np.pi * away)[0] / np.pi)
        ones, zeros = np.ones((len(below), 1)), np.zeros((len(below), 1))
        return np.diff(np.hstack([zeros, below, ones]), axis=1)


def graded(grid: Grid, extra: Array) -> Array:
    """(students, grades): probabilities. `extra`: the variance of each ability, in units of the population, that comes
    from the errors of the estimates."""
    n, grades = len(extra), len(grid.cuts) + 1
    levels = _levels(float(extra.max(initial=0.0)))
    weights = np.hstack([grid.grade_weights(float(v)) for v in levels])
    found = np.empty((n, grades))
    for rows, posterior in grid.posteriors():
        at = (posterior @ weights).reshape(len(posterior), len(levels), grades)
        p = np.clip(np.einsum("nlg,nl->ng", at, _interpolation(levels, extra[rows])), 0.0, 1.0)
        found[rows] = p / p.sum(axis=1)[:, None]
    return found


def _levels(most: float) -> Array:
    """Chebyshev points from 0 to `most`; 0 alone where there is nothing else."""
    if most <= 0:
        return np.zeros(1)
    return np.asarray(most * (1 - np.cos(np.pi * np.arange(_LEVELS) / (_LEVELS - 1))) / 2)


def _interpolation(levels: Array, at: Array) -> Array:
    """(values, levels): the weights of Lagrange's polynomial through the levels."""
    found = np.ones((len(at), len(levels)))
    for one, level in enumerate(levels):
        for other in np.delete(levels, one):
            found[:, one] *= (at - other) / (level - other)
    return found


# ------------------------------------------------------------------------------------------------ classification


# How well an exam classifies students, by the methods that measurement knows: those of Rudner and of Lee.
#
# Accuracy is the chance that a student has the grade which belongs to the student's true value; consistency, that a
# second exam of the same kind gives the same grade. Rudner (2001, 2005) takes each estimate of ability as normal around
# itself; Lee (2010) takes the distribution of total scores at each ability, of one set of raters and items.

# How far an estimate without a population may go from its mean, in standard deviations: as R's cacIRT has it.
FARTHEST = 4.0
_STEP = 0.05
# Nodes on either side that the log-likelihood is interpolated through.
_BESIDE = 4


class Classified(NamedTuple):
    """Chances of a right and of the same grade; one per student, per ability, or of the whole exam."""

    accuracy: Array
    consistency: Array


class Unshrunk(NamedTuple):
    """Abilities by each student's ratings alone, without the population."""

    estimate: Array
    se: Array


def rudner(estimate: Array, se: Array, cuts: Array) -> Classified:
    """(students,): on the scale of the estimates."""
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    chance = np.diff(special.ndtr((ends - estimate[:, None]) / se[:, None]), axis=1)
    grade = np.searchsorted(cuts, estimate, side="right")
    return Classified(chance[np.arange(len(estimate)), grade], np.sum(chance**2, axis=1))


def lee(totals: Array, cuts: Array) -> Classified:
    """(abilities,): `totals` (totals, abilities) has the probabilities of total scores 0, 1, ...; `cuts` are on the
    scale of totals. The true grade is that of the expected total."""
    score = np.arange(len(totals), dtype=np.float64)
    grade, true = (np.searchsorted(cuts, each + 1e-9, side="right") for each in (score, score @ totals))
    chance = by_grade(totals, grade, len(cuts) + 1)
    return Classified(chance[true, np.arange(totals.shape[1])], np.sum(chance**2, axis=0))


def by_grade(totals: Array, grade: Indices, n_grades: int) -> Array:
    """(grades, abilities): totals added up by their grades."""
    found = np.zeros((n_grades, totals.shape[1]))
    np.add.at(found, grade, totals)
    return found


def unshrunk(placed: Placed) -> Unshrunk:
    """(students,): maximum likelihood, no farther than `FARTHEST`, and the standard error by its curvature; in units of
    the fit's population.

    On a lattice first, then by a polynomial through nine neighbours, whose error is below 1e-7 of the curvature.
    """
    problem = placed.problem
    predictor, response = problem.model.predictor(placed.parameters), problem.response
    steepest = float(np.abs(predictor.slope).max()) * (response.n_categories - 1)
    if isinstance(response, Marks):
        steepest = float(response.reach(predictor).max())
    step = _STEP / max(1.0, steepest / 3)
    count = int(np.ceil(FARTHEST / step))
    step = FARTHEST / count
    points = np.asarray(np.arange(-count - _BESIDE, count + _BESIDE + 1) * step, np.float64)
    # Flat: posteriors are then likelihoods.
    nodes = Nodes(points, np.zeros(len(points)))
    estimate, information = np.empty(problem.n_students), np.empty(problem.n_students)
    tables = problem.tables(placed.parameters, nodes)
    around = np.arange(-_BESIDE, _BESIDE + 1)
    solve = np.linalg.inv(np.vander(around.astype(np.float64), increasing=True))
    for rows, likelihood, _ in problem.engine.posteriors(tables, nodes):
        top = _BESIDE + likelihood[:, _BESIDE:-_BESIDE].argmax(axis=1)
        # Where the likelihood is next to nothing it would be rounded to it; never beside the highest.
        beside = np.log(np.maximum(likelihood[np.arange(len(top))[:, None], top[:, None] + around], 1e-300))
        at = points[top] / step
        away, bend = _peak(beside @ solve.T, np.maximum(-1.0, -count - at), np.minimum(1.0, count - at))
        estimate[rows] = points[top] + step * away
        information[rows] = np.maximum(-bend, 0.0) / step**2
    with np.errstate(divide="ignore"):
        return Unshrunk(estimate, 1 / np.sqrt(information))


def _peak(coefficients: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Where polynomials (rows, constant first) have their maximum, and the second derivative there."""
    first, second = (polynomial.polyder(coefficients, times, axis=1).T for times in (1, 2))
    x = np.zeros(len(coefficients))
    for _ in range(30):
        slope, bend = (polynomial.polyval(x, each, tensor=False) for each in (first, second))
        # Uphill by the parabola; by half a node where there is none.
        step = np.where(bend < 0, slope / np.where(bend < 0, bend, 1.0), -0.5 * np.sign(slope))
        x = np.clip(x - step, low, high)
    return x, np.asarray(polynomial.polyval(x, second, tensor=False))
