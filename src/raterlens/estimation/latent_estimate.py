"""Fitting a latent class model: the likelihood of a mixture can have several maxima, so from several starts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from raterlens.base.arrays import Array
from raterlens.base.text import counted
from raterlens.config.limits import AGREEING_STARTS, COMPARED_RATINGS, FEW_RATINGS, LATENT_PARAMETERS
from raterlens.estimation.optimiser import USUAL, Estimate, Optimum, Search, Space, maximise, newton
from raterlens.estimation.quadrature import Grid
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.nodes import ROUGH_ACCURACY, Moments, Nodes, finer, first_nodes
from raterlens.likelihood.true_category import (
    NO_ABILITY,
    Complete,
    LatentClassMarginal,
    as_known,
    draw_counts,
    student_items,
)
from raterlens.models.signal_detection import LARGEST_SIGMA, LatentClassModel
from raterlens.ratings.coded import Ratings

# Two starts with log-likelihoods this close have reached the same maximum.
SAME_MAXIMUM = 0.1
# With few ratings, starts are the most promising of this many times as many, begun side by side.
_SIDE_BY_SIDE = 10
# Of their ends, so many that differ by more than the second number on a rough grid are gone to on a fine one.
_MOST_TOPS, _DIFFERENT = 3, 3e-3
# Fine enough to tell maxima apart, far from the last digits.
_ROUGH_TOLERANCE = 3e-3
# Near enough for Newton's method.
_LOOSE_TOLERANCE = 1e-1
_MOST_GRIDS = 6
# Correlations of draws are settled when none moves by more.
_SAME_CORRELATION, _MOST_CORRELATIONS = 1e-3, 20
# Information of one rating about its line and of one student-item about its predictor, averaged over a typical panel.
_RATING, _STUDENT_ITEM = 0.1, 0.1
# Slope of the true category on ability that the first grid is prepared for.
_STEEP = 2.0
# Slopes to begin with are at least so far from 0; and the share of raters that a start turns round, where it may.
_LEAST_SLOPE, _TURNED = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class LatentClassEstimate(Estimate[LatentClassMarginal]):
    """The best of several optimisations."""

    complete: Complete
    """Expected data with the true categories known, at the estimates."""
    reached: Array
    """Log-likelihood that each start reached, best first, for comparison only: with the half ratings of extreme raters
    and items, on a rough grid where there is ability, and on a sample of students where there are very many."""
    draw_correlation: Array | None = None
    """(raters,) of draws, given the true category; None where nobody was asked twice."""

    @property
    def model(self) -> LatentClassModel:
        return self.problem.model

    def of(self, block: str) -> Array:
        """The estimates of one kind of parameters."""
        return self.parameters[self.model.blocks[block]]

    @property
    def agreeing(self) -> int:
        """Starts that reached the best maximum."""
        return int(np.sum(_same(self.reached)))


def estimate_latent_class(
    ratings: Ratings,
    model: LatentClassModel,
    search: Search = USUAL,
    *,
    starts: int = 8,
    seed: int = 0,
    enough_ratings: int = COMPARED_RATINGS,
    correlation: float | None = None,
) -> LatentClassEstimate:
    """Maximise from up to `starts` starts, fewer where ratings are many and three agree; polish the best.

    Where there are many more than `enough_ratings`, starts are compared on a sample of students with about so many.
    """
    sample = _sample(ratings, enough_ratings, seed)
    climb = _Climb.on(sample, model, search, correlation)
    few = ratings.n_ratings <= FEW_RATINGS and starts > 1
    begun = _starting_values(climb.problem, 1 if few else starts, seed)
    if few:
        begun = chain(begun, promising(climb.problem, _SIDE_BY_SIDE * starts, starts - 1, seed))
    climbed: list[tuple[Optimum, int]] = []
    for number, start in enumerate(begun):
        climbed.append((climb.near(start, f"start {number + 1} of up to {starts}"), number))
        climbed.sort(key=lambda end: -end[0].value.objective)
        reached = np.array([optimum.value.objective for optimum, _ in climbed])
        if np.sum(_same(reached)) == AGREEING_STARTS and not few:
            break
    best = climbed[0][0]
    if sample is not ratings:
        # The same start again, as the whole data have it: the end on the sample, where more raters happen never to
        # err and the likelihood is flat around them, is no good start.
        climb = _Climb.on(ratings, model, search, correlation)
        first = min(number for (_, number), same in zip(climbed, _same(reached), strict=True) if same)
        start = list(_starting_values(climb.problem, starts, seed))[first]
        best = climb.near(start, "the best start", _LOOSE_TOLERANCE)
    ends = _apart([end for end, _ in climbed]) if few else [best]
    best, nodes, moments = max(
        (_refine(climb, end.parameters) for end in ends), key=lambda top: top[0].value.objective
    )
    parameters = best.parameters
    known = (climb.problem.units.known >= 0).any()
    if model.reversible and not known and parameters[model.blocks["slope"]].sum() < 0:
        # Nothing but what most raters say tells which category is which.
        parameters = model.turned(parameters)
        moments = replace(moments, mean=-moments.mean)
    return LatentClassEstimate(
        climb.problem,
        parameters,
        best.value,
        nodes,
        moments,
        best.record,
        np.zeros(model.blocks.size, dtype=bool),
        climb.problem.complete(parameters, nodes),
        reached,
    )


def with_correlated_draws(
    found: LatentClassEstimate, ratings: Ratings, search: Search
) -> LatentClassEstimate:
    """The estimate that allows for draws being alike beyond what the true category makes them.

    Two draws of rater r on a student-item of category k, passed with probability p_rk and correlated by c_r, differ
    with probability 2 p_rk (1 - p_rk) (1 - c_r): how often they do gives c_r. A rater who never contradicts itself has
    c_r = 1, and its draws count as one.
    """
    members = student_items(ratings).members
    correlation = np.ones(ratings.n_raters)
    for _ in range(_MOST_CORRELATIONS):
        before, correlation = correlation, _draw_correlation(members, found)
        found = replace(found, draw_correlation=correlation)
        if np.abs(correlation - before).max() < _SAME_CORRELATION:
            break
        climb = _Climb.on(ratings, found.model, search, correlation)
        best, nodes, moments = _refine(climb, found.parameters)
        found = replace(
            found,
            problem=climb.problem,
            parameters=best.parameters,
            value=best.value,
            nodes=nodes,
            moments=moments,
            record=best.record,
            complete=climb.problem.complete(best.parameters, nodes),
        )
    return found


def _draw_correlation(members: sparse.csr_array, found: LatentClassEstimate) -> Array:
    """(raters,) c_r; 1 for a rater who was never asked twice."""
    units = found.problem.units
    truth = posterior_truth(found.problem, found.parameters, found.nodes)
    times = np.bincount(units.cell, minlength=members.shape[0])
    good = np.bincount(units.cell, truth, members.shape[0])
    n, passes = (part.astype(float) for part in draw_counts(members))
    differing = times @ (passes * n - passes.power(2))
    pairs = n.power(2) - n
    rate = np.exp(found.model.responses(found.parameters).log_prob[:, 1])
    expected = np.stack([(times - good) @ pairs, good @ pairs], axis=1)
    independent = (expected * rate * (1 - rate)).sum(axis=1)
    independent = np.maximum(independent, 1e-9)
    return np.asarray(np.clip(1 - differing / independent, 0.0, 1.0))


def _same(reached: Array) -> NDArray[np.bool_]:
    """Which ends, best first, are at the same maximum as the first."""
    return np.asarray(reached >= reached[0] - SAME_MAXIMUM)


@dataclass(frozen=True, slots=True)
class _Climb:
    """The two optimisers on one problem."""

    problem: LatentClassMarginal
    space: Space
    nodes: Nodes
    """A rough grid."""
    search: Search

    @staticmethod
    def on(
        ratings: Ratings, model: LatentClassModel, search: Search, correlation: Array | float | None = None
    ) -> "_Climb":
        problem = LatentClassMarginal.of(ratings, model, correlation)
        widths = 1 / np.sqrt(1 + _STEEP**2 * _STUDENT_ITEM * np.bincount(problem.units.student))
        begin = np.ones(model.blocks.size)
        nodes = problem.fine_enough(first_nodes(widths), begin) if model.rasch else NO_ABILITY
        return _Climb(problem, Space(_information(ratings, problem), model.bounds()), nodes, search)

    def near(self, start: Array, stage: str, tolerance: float = _ROUGH_TOLERANCE) -> Optimum:
        """Near the maximum, in many cheap steps; the last ones on a grid on which maxima can be told apart."""
        quick = partial(maximise, space=self.space, search=self.search, stage=stage, tolerance=tolerance)
        if not self.problem.model.rasch:
            return quick(partial(self.problem.value, nodes=self.nodes), start)
        grid = Grid(self.problem, self.nodes, ROUGH_ACCURACY)
        for _ in range(_MOST_GRIDS):
            optimum = quick(grid.value, start, on_iteration=grid.near)
            start = optimum.parameters
            # On the way posteriors may have become narrower than the grid can tell, or their flanks steeper.
            value = self.problem.value(start, finer(grid.nodes))
            if abs(value.objective - optimum.value.objective) < _DIFFERENT:
                break
            grid.refine(start)
        return replace(optimum, value=value)

    def to_the_top(self, start: Array, nodes: Nodes) -> Optimum:
        """To its last digits, in few steps with the exact information; in cheap ones where that is too large."""
        stage = f"the best start, {counted(len(nodes.points), 'ability node')}"
        value = partial(self.problem.value, nodes=nodes)
        if len(start) > LATENT_PARAMETERS:
            return maximise(value, start, self.space, self.search, stage=stage)
        information = partial(self.problem.information, nodes=nodes)
        return newton(value, information, start, self.space, self.search, stage=stage)


def _sample(ratings: Ratings, enough: int, seed: int) -> Ratings:
    """Students with about that many ratings between them, where there are many more: maxima show there, too."""
    if ratings.n_ratings < 2 * enough:
        return ratings
    size = max(2, ratings.n_students * enough // ratings.n_ratings)
    chosen = np.zeros(ratings.n_students, dtype=bool)
    chosen[np.random.default_rng(seed).choice(ratings.n_students, size, replace=False)] = True
    return ratings.subset(chosen[ratings.student], keep_levels=True)


def _apart(ends: list[Optimum]) -> list[Optimum]:
    """The best end, and others that may be as good on a finer grid."""
    found = ends[:1]
    for end in ends[1:]:
        height = end.value.objective
        if (
            found[-1].value.objective - height > _DIFFERENT
            and ends[0].value.objective - height < SAME_MAXIMUM
        ):
            found.append(end)
    return found[:_MOST_TOPS]


def _refine(climb: _Climb, parameters: Array) -> tuple[Optimum, Nodes, Moments]:
    """Climb to the top, on grids that follow the posteriors' widths until a finer one changes nothing."""
    if not climb.problem.model.rasch:
        unknown = np.full(climb.problem.n_students, np.nan)
        return climb.to_the_top(parameters, climb.nodes), climb.nodes, Moments(unknown, unknown)
    grid = Grid(climb.problem, climb.nodes)
    grid.follow(parameters)
    for _ in range(_MOST_GRIDS):
        best = climb.to_the_top(parameters, grid.nodes)
        parameters = best.parameters
        if grid.fine_enough(best):
            break
        grid.refine(parameters)
    record = replace(best.record, n_nodes=len(grid.nodes.points))
    return replace(best, record=record), grid.nodes, grid.moments(parameters)


def posterior_truth(problem: LatentClassMarginal, parameters: Array, nodes: Nodes) -> Array:
    """(student-items,): probability that the true category is 1, given all ratings of the student."""
    units, cells = problem.units, problem.up(parameters, nodes)
    truth = cells.share[:, 1]
    if not problem.model.rasch:
        return np.asarray(truth[units.cell, 0])
    probability = np.empty(len(units.item))
    for rows, posterior, _ in problem.engine.posteriors(Tables(cells.value), nodes):
        there = slice(*np.searchsorted(units.student, [rows.start, rows.start + len(posterior)]))
        own = posterior[units.student[there] - rows.start]
        probability[there] = np.einsum("uq,uq->u", truth[units.cell[there]], own)
    return probability


def _starting_values(problem: LatentClassMarginal, starts: int, seed: int) -> Iterator[Array]:
    """First from votes: the share of passes stands for a student-item's true category. Then around that."""
    model, units = problem.model, problem.units
    blocks = model.blocks
    vote = (units.passes + units.passes.sum() / units.n.sum()) / (units.n + 1)
    known = units.known[units.cell]
    vote = np.where(known < 0, vote, known)
    n_cells = len(units.item_of_cell)
    both = np.stack([np.bincount(units.cell, weights, n_cells) for weights in (1 - vote, vote)], axis=1)
    answers = (units.members.T @ both).reshape(-1, 2, 2) + 0.5
    bias, slope = model.from_rates(answers[:, 1] / answers.sum(axis=1))
    n, votes = (np.bincount(units.item, weights, model.n_items) for weights in (None, vote))
    first = np.empty(blocks.size)
    first[blocks["bias"]] = bias
    first[blocks["slope"]] = np.where(np.abs(slope) < _LEAST_SLOPE, _LEAST_SLOPE, slope)
    first[blocks["difficulty"]] = -special.logit((votes + 0.5) / (n + 1))
    first[blocks["sigma"]] = 1.0
    yield first
    rng = np.random.default_rng(seed)
    positive = np.zeros(blocks.size, dtype=bool)
    positive[blocks["slope"]] = positive[blocks["sigma"]] = True
    for _ in range(starts - 1):
        # Slopes hardly above those of the votes: at a very large slope the likelihood is flat, and a start there stays.
        factor = rng.uniform(0.3, 1.5, blocks.size)
        noise = rng.standard_normal(blocks.size)
        if model.reversible:
            factor[blocks["slope"]] *= np.where(rng.random(model.n_raters) < _TURNED, -1, 1)
        yield np.where(positive, factor * first, first + 0.5 * noise)


def _information(ratings: Ratings, problem: LatentClassMarginal) -> Array:
    """Diagonal of the complete-data information, roughly: what scales the optimiser's coordinates."""
    blocks, units = problem.model.blocks, problem.units
    information = np.empty(blocks.size)
    information[blocks["bias"]] = _RATING * (1 + np.bincount(ratings.rater, minlength=ratings.n_raters))
    information[blocks["slope"]] = information[blocks["bias"]] / 4
    information[blocks["difficulty"]] = _STUDENT_ITEM * (
        1 + np.bincount(units.item, minlength=ratings.n_items)
    )
    information[blocks["sigma"]] = _STUDENT_ITEM * len(units.item)
    return information


# ----------------------------------------------------------------------------------------------------
# Many starts at once: expectation-maximisation of a latent class model on few ratings.
#
# On few ratings a mixture has dozens of maxima (any rater may be blind or never err, any item may be all of one
# category), and a climb from each of hundreds of starts would take minutes. Expectation-maximisation needs no line
# search, so that all starts go on side by side, in the same array operations; where it is after some steps tells which
# of them are worth a climb. With the true categories expected, a rater's answers are two binomial counts, and the
# items' difficulties and sigma are a logistic regression, on which one Newton step is taken.

_EM_STEPS = 40
_EM_NODES = Nodes.equally_spaced(-5.0, 5.0, 0.25)
# Numbers in an array of a batch: what stays in cache.
_AT_ONCE = 2**16
# How far from 0 and 1 rates are kept, what keeps the Newton step from dividing by nothing, and its longest.
_CERTAIN, _LITTLE, _LONGEST = 1e-4, 0.02, 2.0
# Two ends are the same if neither their heights nor any rate differ by more.
_SAME_HEIGHT, _SAME_RATE = 1e-3, 0.05
# Of starts: the largest slope, standard deviations of biases and difficulties, the range of sigma; and by how much
# the latter two are larger in every second start, where most students of an item are of one category, or ability
# alone decides.
_SLOPE, _SPREAD, _SIGMA, _ONE_CATEGORY, _DECISIVE = 5.0, 0.8, (0.2, 3.0), 4.0, 5.0
# Share of raters who judge the wrong way round, where that is allowed.
_REVERSED = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Parameters of several starts."""

    rates: Array
    """(starts, raters, categories): how often a rater passes each true category."""
    difficulty: Array
    """(starts, items)"""
    sigma: Array
    """(starts,)"""


def promising(problem: LatentClassMarginal, starts: int, keep: int, seed: int) -> list[Array]:
    """Parameters near the best maxima that this many random starts lead towards, best first."""
    climb = _Expectation(problem)
    model, ends = problem.model, list[tuple[float, Array, Array]]()
    for batch in climb.drawn(starts, seed):
        for _ in range(_EM_STEPS):
            height, batch = climb.step(batch)
        for n in np.flatnonzero(np.isfinite(height)):
            x = np.empty(model.blocks.size)
            x[model.blocks["bias"]], x[model.blocks["slope"]] = model.from_rates(batch.rates[n])
            x[model.blocks["difficulty"]], x[model.blocks["sigma"]] = batch.difficulty[n], batch.sigma[n]
            ends.append((float(height[n]), batch.rates[n], np.clip(x, *model.bounds())))
    found: list[tuple[float, Array, Array]] = []
    for end in sorted(ends, key=lambda end: -end[0]):
        if len(found) == keep:
            break
        if not any(_same_end(end, other) for other in found):
            found.append(end)
    return [x for _, _, x in found]


def _same_end(one: tuple[float, Array, Array], other: tuple[float, Array, Array]) -> bool:
    near = abs(one[0] - other[0]) < _SAME_HEIGHT
    return near and bool(np.abs(one[1] - other[1]).max() < _SAME_RATE)


class _Expectation:
    """The ratings of a problem, one row per student-item."""

    def __init__(self, problem: LatentClassMarginal) -> None:
        units, self.problem = problem.units, problem
        self.nodes = _EM_NODES if problem.model.rasch else NO_ABILITY
        self.given = units.members[units.cell].toarray()
        self.item, self.known = units.item, units.known[units.cell]
        self.of_item = (np.arange(problem.model.n_items)[:, None] == self.item).astype(float)
        self.first = np.flatnonzero(np.diff(units.student, prepend=-1))
        self.n_units = np.diff(self.first, append=len(self.item))
        self.pseudo_truths = problem.pseudo_truths(self.nodes)

    def drawn(self, starts: int, seed: int) -> Iterator[_Batch]:
        model, random = self.problem.model, np.random.default_rng(seed)
        size = max(1, _AT_ONCE // (len(self.item) * len(self.nodes.points)))
        for low in range(0, starts, size):
            n = min(size, starts - low)
            wide = np.arange(n) % 2 == 0
            x = _SPREAD * random.standard_normal((n, model.blocks.size))
            slope = random.uniform(0, _SLOPE, (n, model.n_raters))
            if model.reversible:
                slope *= np.where(random.random(slope.shape) < _REVERSED, -1, 1)
            x[:, model.blocks["slope"]] = slope
            x[:, model.blocks["difficulty"]] *= np.where(wide, _ONE_CATEGORY, 1.0)[:, None]
            sigma = random.uniform(*_SIGMA, n) * np.where(wide, 1.0, _DECISIVE) * model.rasch
            rates = np.exp(np.stack([model.responses(each).log_prob[:, 1] for each in x]))
            yield _Batch(rates, x[:, model.blocks["difficulty"]], sigma)

    def step(self, at: _Batch) -> tuple[Array, _Batch]:
        """(starts,): the objective at these parameters; and where expectation-maximisation goes from there."""
        log_rates = np.log(np.stack([1 - at.rates, at.rates], axis=2))  # starts, raters, scores, categories
        log_given = self.given @ log_rates.reshape(len(at.sigma), -1, 2)
        log_given = np.stack([as_known(each, self.known) for each in log_given])
        top = log_given.max(axis=2, keepdims=True)
        given = np.exp(log_given - top)
        ahead = at.sigma[:, None, None] * self.nodes.points - at.difficulty[:, :, None]
        succeed = special.expit(ahead)
        one = succeed[:, self.item] * given[:, :, 1:]
        total = one + special.expit(-ahead)[:, self.item] * given[:, :, :1]
        mixed = np.log(np.maximum(total, np.finfo(float).tiny))
        students = np.add.reduceat(mixed, self.first, axis=1) + self.nodes.log_weights
        found = special.logsumexp(students, axis=2)
        posterior = np.repeat(np.exp(students - found[:, :, None]), self.n_units, axis=1)
        of_one = posterior * one / np.maximum(total, np.finfo(float).tiny)
        of_zero = posterior - of_one

        pseudo = self.problem.pseudo_answers
        extra = np.sum(pseudo * log_rates, axis=(1, 2, 3))
        for sign, half in zip((-1, 1), self.pseudo_truths, strict=True):
            extra += np.sum(half * special.log_expit(sign * ahead), axis=(1, 2))
        truths = np.stack([of_zero.sum(axis=2), of_one.sum(axis=2)], axis=2)
        answers = (self.given.T @ truths).reshape(log_rates.shape) + pseudo
        zeros, ones = (
            self.of_item @ of + half for of, half in zip((of_zero, of_one), self.pseudo_truths, strict=True)
        )
        height = found.sum(axis=1) + top.sum(axis=(1, 2)) + extra
        return height, _Batch(self._rates(answers), *self._regression(at, ones, ones + zeros, succeed))

    def _regression(self, at: _Batch, ones: Array, n: Array, succeed: Array) -> tuple[Array, Array]:
        """One Newton step for difficulties and sigma; each (starts, items, nodes)."""
        left, weight, t = ones - n * succeed, n * succeed * (1 - succeed), self.nodes.points
        uphill, information = -left.sum(axis=2), weight.sum(axis=2) + _LITTLE
        lower, upper = (
            bound[self.problem.model.blocks["difficulty"]] for bound in self.problem.model.bounds()
        )
        sigma, both = at.sigma, -(weight @ t)
        if self.problem.model.rasch:
            rest = (weight @ t**2).sum(axis=1) - (both**2 / information).sum(axis=1)
            step = ((left @ t).sum(axis=1) - (both * uphill / information).sum(axis=1)) / (rest + _LITTLE)
            sigma = np.clip(sigma + np.clip(step, -_LONGEST, _LONGEST), 0.0, LARGEST_SIGMA)
        step = (uphill - both * (sigma - at.sigma)[:, None]) / information
        difficulty = np.clip(at.difficulty + np.clip(step, -_LONGEST, _LONGEST), lower, upper)
        return difficulty, sigma

    def _rates(self, answers: Array) -> Array:
        """(starts, raters, categories) from (starts, raters, scores, categories): unless the model allows it, nobody
        passes the lower category more often than the higher one."""
        passes, n = answers[:, :, 1], answers.sum(axis=2)
        rates = (passes + _CERTAIN / 2) / (n + _CERTAIN)
        if not self.problem.model.reversible:
            reversed_ = rates[:, :, 0] > rates[:, :, 1]
            pooled = passes.sum(axis=2) / np.maximum(n.sum(axis=2), _CERTAIN)
            rates = np.where(reversed_[:, :, None], pooled[:, :, None], rates)
        return np.asarray(np.clip(rates, _CERTAIN, 1 - _CERTAIN))
