"""Grades: the cuts between them, how probable each is, and how well an exam classifies students.

The scale of scores is that of the average rater: the mean score which a student of some ability can expect from that
rater over all items. It rises with ability, so each cut on it is a cut on ability, and the other way round.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import OptionError, choose
from raterlens.capability.population import READINGS
from raterlens.estimation.methods import sharp_nodes
from raterlens.estimation.scoring import Placed, places_of
from raterlens.inference.expected_scores import MOST_RATERS, average_scores, fitted_levels, spread_over
from raterlens.likelihood.cells import reading_columns
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.calibration import Calibration, Rows
from raterlens.models.marks import Marks
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import grouped

# ---------------------------------------------------------------------------------------------------------- cuts


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

    def grade_of(self, mean_score: Array) -> Indices:
        """The grades of raw results; a result on a cut has reached it."""
        return np.searchsorted(self.score, np.asarray(mean_score) + _ROUNDING, side="right")


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
    names = _names(grades, numbers)
    if on == "ability":
        return Cuts(average_scores(known, cuts), cuts, names)
    from scipy.optimize import brentq  # only here, and slow to load

    def above(theta: float, score: float) -> float:
        return float(average_scores(known, np.array([theta]))[0]) - score

    return Cuts(cuts, np.array([brentq(above, *ends, args=(one,), xtol=1e-10) for one in cuts]), names)


def given_cuts(cut: Cut, on: On = "score") -> tuple[list[float], On]:
    """Numbers in rising order, and their scale, which text may name.

    Examples
    --------
    >>> given_cuts(3), given_cuts("1.5, 2.5"), given_cuts("ability 0.3")
    (([3.0], 'score'), ([1.5, 2.5], 'score'), ([0.3], 'ability'))
    """
    choose("scale of cuts", on, get_args(On), option="on")
    if isinstance(cut, str):
        first, _, rest = cut.strip().partition(" ")
        if first in get_args(On):
            on = first  # type: ignore[assignment]
        else:
            rest = cut
        try:
            numbers = [float(one) for one in rest.split(",")]
        except ValueError:
            raise OptionError(
                f"cuts are {cut!r}",
                "give numbers with commas between them, such as 1.5,2.5, or 'ability 0.3' for the ability scale",
                value=cut,
                option="decide",
            ) from None
    else:
        numbers = [float(one) for one in np.atleast_1d(np.asarray(cut, np.float64))]
    if not numbers or not np.all(np.isfinite(numbers)) or np.any(np.diff(numbers) <= 0):
        raise OptionError(
            f"cuts are {cut!r}", "give one number, or several in rising order", value=cut, option="decide"
        )
    return numbers, on


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


class Grid:
    """Students' posteriors, block by block, and the cuts in the same units."""

    def __init__(self, known: Calibration, placed: Placed, moments: Moments, cuts: Cuts) -> None:
        """`moments` are those of `placed.abilities()`."""
        sharp = sharp_nodes(placed.problem, placed.parameters, moments)
        self.placed = placed
        # What lies between nodes is known as well as their sum where there are twice as many.
        self.nodes = Nodes.equally_spaced(sharp.low, sharp.high, sharp.step / 2)
        self.mean, self.sd = map(float, known.population)
        self.cuts = (cuts.ability - self.mean) / self.sd
        self.abilities = self.mean + self.sd * self.nodes.points
        """(nodes,): on the scale of the fit"""

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
        return np.diff(below, axis=1, prepend=0.0, append=1.0)


def graded(grid: Grid, extra: Array) -> Array:
    """(students, grades): probabilities. `extra`: the variance of each ability, in units of the population, that comes
    from the errors of the estimates."""
    most = float(extra.max(initial=0.0))
    levels = most * (1 - np.cos(np.pi * np.arange(_LEVELS) / (_LEVELS - 1))) / 2 if most > 0 else np.zeros(1)
    weights = np.stack([grid.grade_weights(float(v)) for v in levels])
    # Lagrange's polynomial through the levels, which are Chebyshev points.
    share = np.ones((len(extra), len(levels)))
    for one, level in enumerate(levels):
        for other in np.delete(levels, one):
            share[:, one] *= (extra - other) / (level - other)
    found = np.empty((len(extra), len(grid.cuts) + 1))
    for rows, posterior in grid.posteriors():
        found[rows] = np.clip(np.einsum("lng,nl->ng", posterior @ weights, share[rows]), 0.0, 1.0)
    return np.asarray(found / found.sum(axis=1)[:, None])


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
    chance = _by_grade(totals, grade, len(cuts) + 1)
    return Classified(chance[true, np.arange(totals.shape[1])], np.sum(chance**2, axis=0))


def _by_grade(totals: Array, grade: Indices, n_grades: int) -> Array:
    """(grades, abilities): totals added up by their grades."""
    found = np.zeros((n_grades, totals.shape[1]))
    np.add.at(found, grade, totals)
    return found


def unshrunk(placed: Placed) -> tuple[Array, Array]:
    """(students,): abilities by each student's ratings alone, without the population: maximum likelihood, no farther
    than `FARTHEST`, and the standard error by its curvature; in units of the fit's population.

    On a lattice first, then by a polynomial through nine neighbours, whose error is below 1e-7 of the curvature.
    """
    problem = placed.problem
    predictor, response = problem.model.predictor(placed.parameters), problem.response
    steepest = float(np.abs(predictor.slope).max()) * (response.n_categories - 1)
    if isinstance(response, Marks):
        steepest = float(response.reach(predictor).max())
    count = int(np.ceil(FARTHEST * max(1.0, steepest / 3) / _STEP))
    step = FARTHEST / count
    points = np.asarray(np.arange(-count - _BESIDE, count + _BESIDE + 1) * step, np.float64)
    # Flat: posteriors are then likelihoods.
    nodes = Nodes(points, np.zeros(len(points)))
    estimate, information = np.empty(problem.n_students), np.empty(problem.n_students)
    around = np.arange(-_BESIDE, _BESIDE + 1)
    solve = np.linalg.inv(np.vander(around.astype(np.float64), increasing=True))
    tables = problem.tables(placed.parameters, nodes)
    for rows, likelihood, _ in problem.engine.posteriors(tables, nodes):
        top = _BESIDE + likelihood[:, _BESIDE:-_BESIDE].argmax(axis=1)
        # Where the likelihood is next to nothing it would be rounded to it; never beside the highest.
        beside = np.log(np.maximum(likelihood[np.arange(len(top))[:, None], top[:, None] + around], 1e-300))
        at = points[top] / step
        away, bend = _peak(beside @ solve.T, np.maximum(-1.0, -count - at), np.minimum(1.0, count - at))
        estimate[rows] = points[top] + step * away
        information[rows] = np.maximum(-bend, 0.0) / step**2
    with np.errstate(divide="ignore"):
        return estimate, 1 / np.sqrt(information)


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


# ---------------------------------------------------------------------------------------------- marking patterns


_MIXER = np.uint64(0x9E3779B97F4A7C15)


class Reading(NamedTuple):
    """One rater's scores of a student's work."""

    rater: int
    items: tuple[int, ...]
    facets: tuple[tuple[int, ...], ...]
    """Levels of further facets: for each facet, one per item"""


class Patterns(NamedTuple):
    """Distinct patterns of readings."""

    of_student: Indices
    """(students,)"""
    example: Indices
    """(patterns,): a student who has it"""
    students: Indices
    """(patterns,): how many have it"""


def marking_patterns(ratings: Ratings, *, raters: bool) -> Patterns:
    """Students who have the same readings: of the same items and, with `raters`, by the same raters at the same
    levels of further facets."""
    code = np.random.default_rng(0).integers(2**64, size=sum(ratings.sizes), dtype=np.uint64)
    keys = np.concatenate([_keys(part, code, raters) for part in ratings.parts()])
    _, example, of_student, students = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return Patterns(of_student, example, students)


def readings_of(ratings: Ratings, students: NDArray[np.integer]) -> list[tuple[Reading, ...]]:
    """The readings of some students, in their order."""
    found: list[list[Reading]] = [[] for _ in students]
    before = 0
    for part in ratings.parts():
        place = np.full(part.n_students, -1)
        here = np.flatnonzero((students >= before) & (students < before + part.n_students))
        place[students[here] - before] = here
        rows = np.flatnonzero(place[part.student] >= 0)
        columns = reading_columns(part)
        readings = grouped(place[part.student[rows]], len(students), columns.of[rows], columns.number)
        for first, end in pairwise(readings.first.tolist()):
            own = rows[readings.order[first:end]]
            facets = tuple(tuple(facet.codes[own].tolist()) for facet in part.facets)
            reading = Reading(int(part.rater[own[0]]), tuple(part.item[own].tolist()), facets)
            found[place[part.student[own[0]]]].append(reading)
        before += part.n_students
    return [tuple(each) for each in found]


def _keys(ratings: Ratings, code: NDArray[np.uint64], raters: bool) -> NDArray[np.uint64]:
    """(students,): a number for each pattern. A multiset is known by the sum of its members' random numbers."""
    before = np.cumsum([0, *ratings.sizes])
    columns = reading_columns(ratings)
    key = code[before[1] + ratings.item]
    if raters:
        key = key + code[ratings.rater] * _MIXER
        for place, facet in enumerate(ratings.facets):
            key += code[before[2 + place] + facet.codes] * (_MIXER >> np.uint64(place + 1))
        key = _mixed(key)
    readings = grouped(ratings.student, ratings.n_students, columns.of, columns.number)
    own = _mixed(np.add.reduceat(key[readings.order], readings.first[:-1]))
    starts = np.flatnonzero(np.diff(ratings.student[readings.example], prepend=-1))
    return np.asarray(np.add.reduceat(own, starts))


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambled, so that sums of sums do not meet."""
    key = (key ^ (key >> np.uint64(31))) * _MIXER
    return key ^ (key >> np.uint64(29))


# -------------------------------------------------------------------------------------------------- total scores


# How likely each total score of a reading is: all scores that one rater gives a student's items.
#
# Totals build up item by item (Lord and Wingersky, 1984): with p_k the probability of score k on the next item,
#
#     P(total = x) <- sum over k of P(total = x - k) p_k.
#
# Where scores of a reading share more than ability (halo), this holds given the impression u, and is averaged over u.

# Numbers in the table of one block of raters: 64 MB.
_BLOCK = 2**23
_LONG = 30
"""Scores of one part from which on it is convolved by Fourier transforms."""


def reading_totals(known: Calibration, items: Sequence[Rows], theta: Array) -> Array:
    """(raters, totals, abilities): probabilities of the totals, counted from the lowest that there can be. `items` has
    the raters' rows on each item."""
    n, halo = len(items[0].halo), items[0].halo
    u, weights = READINGS if np.any(halo) else (np.zeros(1), np.ones(1))
    occurring = np.array(known.scores) - known.scores[0]
    highest = len(items) * int(occurring[-1])
    size = max(1, _BLOCK // (len(u) * (highest + 1) * len(theta)))
    found = np.empty((n, highest + 1, len(theta)))

    def by_score(p: Array) -> Array:
        """From probabilities of the scores that occur to those of every score from the lowest to the highest."""
        every = np.zeros((len(p), int(occurring[-1]) + 1, p.shape[2]))
        every[:, occurring] = p
        return every

    for first in range(0, n, size):
        some = slice(first, first + size)
        parts = (by_score(rows.of(some).given_impressions(u).chances(theta)) for rows in items)
        whole = convolved(parts).reshape(len(halo[some]), len(u), -1, len(theta))
        found[some] = np.einsum("ruxq,u->rxq", whole, weights)
    return found


def convolved(parts: Iterable[Array]) -> Array:
    """(..., totals, abilities): of independent parts together, each (..., totals, abilities)."""
    total, *others = parts
    for part in others:
        n, k = total.shape[-2], part.shape[-2]
        if k > _LONG:  # so many marks that transforms are quicker; they leave 1e-16
            both = np.fft.rfft(total, n + k - 1, axis=-2) * np.fft.rfft(part, n + k - 1, axis=-2)
            total = np.maximum(np.fft.irfft(both, n + k - 1, axis=-2), 0.0)
            continue
        longer = np.zeros((*total.shape[:-2], n + k - 1, total.shape[-1]))
        for score in range(k):
            longer[..., score : score + n, :] += total * part[..., score, None, :]
        total = longer
    return total


# ------------------------------------------------------------------------------------------------ another marking


MOST_PATTERNS, MOST_SETS = 200, 500
"""Patterns of items, the most frequent, and sets of raters, drawn at random, that are looked at."""

_POPULATION = Nodes.equally_spaced(-5.0, 5.0, 0.05)


def repeat_chances(known: Calibration, ratings: Ratings, grid: Grid, cuts: Cuts, grade: Indices) -> Array:
    """(students,): the chance that as many other raters of the panel, drawn at random, give this raw grade for the same
    items; not a number for students whose pattern of items is rare."""
    patterns = marking_patterns(ratings, raters=False)
    frequent = np.argsort(-patterns.students, kind="stable")[:MOST_PATTERNS]
    items = places_of(ratings.items, known.labels["item"], "items")
    some = spread_over(known.effects["severity"], MOST_RATERS)
    own: dict[tuple[int, ...], Array] = {}
    """(totals, abilities) of a reading of these items by a rater drawn from the panel"""
    chances = {}
    for which, readings in zip(
        frequent.tolist(), readings_of(ratings, patterns.example[frequent]), strict=True
    ):
        sets = [tuple(sorted(reading.items)) for reading in readings]
        for one in set(sets) - own.keys():
            on_items = [known.rows(some, int(items[item])) for item in one]
            own[one] = reading_totals(known, on_items, grid.abilities).mean(axis=0)
        chances[which] = grade_chances(known, convolved(own[one] for one in sets), sum(map(len, sets)), cuts)
    found = np.full(len(grade), np.nan)
    for rows, posterior in grid.posteriors():
        mine, given = patterns.of_student[rows], grade[rows]
        for which in chances.keys() & set(mine.tolist()):
            those = np.flatnonzero(mine == which)
            found[rows.start + those] = np.einsum("nq,nq->n", posterior[those], chances[which][given[those]])
    return found


def grade_chances(known: Calibration, totals: Array, n_ratings: int, cuts: Cuts) -> Array:
    """(grades, abilities): totals of this many ratings, counted from the lowest, by the grades of their means."""
    mean = (np.arange(len(totals)) / n_ratings + known.scores[0]) * known.score_step
    return _by_grade(totals, cuts.grade_of(mean), len(cuts.grades))


def consistency_of_sets(known: Calibration, ratings: Ratings, cuts: Cuts) -> tuple[Classified, int]:
    """Lee's accuracy and consistency of raw results on average over students, each by the set of raters that the
    student had, over the fit's population; and the number of students."""
    patterns = marking_patterns(ratings, raters=True)
    weights = np.exp(_POPULATION.log_weights)
    weights /= weights.sum()
    mean, sd = known.population
    marking = Marking(known, ratings, mean + sd * _POPULATION.points)
    drawn = dict(enumerate(patterns.students.tolist()))
    if len(drawn) > MOST_SETS:  # patterns drawn with the students who have them
        students = np.random.default_rng(0).choice(len(patterns.of_student), MOST_SETS, replace=False)
        drawn = dict(Counter(patterns.of_student[students].tolist()))
    found = np.zeros(2)
    for readings, n in zip(readings_of(ratings, patterns.example[list(drawn)]), drawn.values(), strict=True):
        length = sum(len(one.items) for one in readings)
        one = lee(marking.totals(readings), (cuts.score / known.score_step - known.scores[0]) * length)
        found += n * np.array([one.accuracy @ weights, one.consistency @ weights])
    n_students = sum(drawn.values())
    return Classified(*(found / n_students)), n_students


class Marking:
    """Total scores that readings of these ratings have at some abilities."""

    def __init__(self, known: Calibration, ratings: Ratings, theta: Array) -> None:
        self._known, self._theta, self._sizes = known, theta, ratings.sizes
        self._contexts = Contexts.of(ratings)
        self._rows = known.rows(*fitted_levels(known, ratings, self._contexts))
        self._found: dict[Reading, Array] = {}

    def totals(self, readings: tuple[Reading, ...]) -> Array:
        """(totals, abilities): of the readings together, counted from the lowest."""
        return convolved(map(self.reading, readings))

    def reading(self, one: Reading) -> Array:
        """(totals, abilities): of one reading."""
        if one not in self._found:
            levels = np.full(len(one.items), one.rater), np.array(one.items), *map(np.array, one.facets)
            places = np.searchsorted(self._contexts.codes, np.ravel_multi_index(levels, self._sizes))
            rows = [self._rows.of(slice(place, place + 1)) for place in places]
            self._found[one] = reading_totals(self._known, rows, self._theta)[0]
        return self._found[one]
