"""Fitting a latent class model: the likelihood of a mixture can have several maxima, so from several starts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.engine.seam import Moments, Nodes, Tables
from raterlens.estimation.grid import ACCURACY, finer, first_nodes, nodes_for
from raterlens.estimation.latent_information import observed_information
from raterlens.estimation.latent_marginal import NO_ABILITY, LatentClassMarginal
from raterlens.estimation.newton import newton
from raterlens.estimation.optimise import TOLERANCE, OnProgress, Optimiser, Optimum, maximise
from raterlens.models.hrm import LatentClassModel
from raterlens.ratings import Ratings
from raterlens.wording import counted

Array = NDArray[np.float64]

# Two starts with log-likelihoods this close have reached the same maximum.
SAME_MAXIMUM = 0.1
# That many starts at the best maximum are enough.
ENOUGH = 3
# A dense matrix of this many parameters takes 200 MB and seconds: beyond it no Newton steps, no standard errors.
MOST_PARAMETERS = 5_000
# Fine enough to tell maxima apart, far from the last digits.
_ROUGH_TOLERANCE = 3e-3
_MOST_GRIDS = 6
# Starts are compared on about that many ratings.
_ENOUGH_RATINGS = 100_000
# Information of one rating about its line and of one student-item about its predictor, averaged over a typical panel.
_RATING, _STUDENT_ITEM = 0.1, 0.1
# Slope of the true category on ability that the first grid is prepared for.
_STEEP = 2.0


@dataclass(frozen=True, slots=True)
class LatentClassEstimate:
    """The best of several optimisations."""

    problem: LatentClassMarginal
    parameters: Array
    loglik: float
    nodes: Nodes
    moments: Moments | None
    """Students' abilities; None without ability."""
    record: Optimiser
    reached: Array
    """Log-likelihood that each start reached, best first, for comparison only: with the half ratings of extreme raters
    and items, on a rough grid where there is ability, and on a sample of students where there are very many."""

    @property
    def agreeing(self) -> int:
        """Starts that reached the best maximum."""
        return int(np.sum(self.reached >= self.reached[0] - SAME_MAXIMUM))


def estimate_latent_class(
    ratings: Ratings,
    model: LatentClassModel,
    *,
    starts: int = 8,
    seed: int = 0,
    max_iterations: int = 500,
    on_progress: OnProgress | None = None,
) -> LatentClassEstimate:
    """Maximise from up to `starts` starts, fewer where three agree on the best; polish the best."""
    sample = _sample(ratings, seed)
    climbed = _from_several_starts(sample, model, starts, seed, max_iterations, on_progress)
    reached = np.array([optimum.value.objective for optimum in climbed])
    problem = LatentClassMarginal(ratings, model)
    climb = _Climb(problem, _information(ratings, problem), max_iterations, on_progress)
    nodes, start = _first_grid(problem), climbed[0].parameters
    if sample is not ratings:
        # A rater who never errs in a sample may do so outside, and from a larger slope the way back is long.
        _, upper = model.bounds()
        upper[model.blocks["slope"]] /= 3
        start = climb.near(np.minimum(start, upper), nodes, "the best start").parameters
    if not model.rasch:
        best = climb.to_the_top(start, nodes)
        return LatentClassEstimate(
            problem, best.parameters, best.value.loglik, nodes, None, best.record, reached
        )
    best, nodes, moments = _refine(climb, start, nodes)
    return LatentClassEstimate(
        problem, best.parameters, best.value.loglik, nodes, moments, best.record, reached
    )


@dataclass(frozen=True, slots=True)
class _Climb:
    """The two optimisers on one problem."""

    problem: LatentClassMarginal
    information: Array
    max_iterations: int
    on_progress: OnProgress | None

    def near(self, start: Array, nodes: Nodes, stage: str, tolerance: float = _ROUGH_TOLERANCE) -> Optimum:
        """Near the maximum, in many cheap steps."""
        return maximise(
            partial(self.problem.value, nodes=nodes),
            start,
            self.information,
            self.problem.model.bounds(),
            stage=stage,
            tolerance=tolerance,
            max_iterations=self.max_iterations,
            on_progress=self.on_progress,
        )

    def to_the_top(self, start: Array, nodes: Nodes) -> Optimum:
        """To its last digits, in few steps with the exact information; in cheap ones where that is too large."""
        stage = f"the best start, {counted(len(nodes.points), 'ability node')}"
        if len(start) > MOST_PARAMETERS:
            return self.near(start, nodes, stage, TOLERANCE)
        return newton(
            partial(self.problem.value, nodes=nodes),
            partial(observed_information, self.problem, nodes=nodes),
            start,
            self.information,
            self.problem.model.bounds(),
            stage=stage,
            max_iterations=self.max_iterations,
            on_progress=self.on_progress,
        )


def _sample(ratings: Ratings, seed: int) -> Ratings:
    """Students with about `_ENOUGH_RATINGS` between them, where there are many more: maxima show there, too."""
    if ratings.n_ratings < 2 * _ENOUGH_RATINGS:
        return ratings
    size = max(2, ratings.n_students * _ENOUGH_RATINGS // ratings.n_ratings)
    chosen = np.sort(np.random.default_rng(seed).choice(ratings.n_students, size, replace=False))
    code = np.full(ratings.n_students, -1, dtype=np.int32)
    code[chosen] = np.arange(size)
    kept = code[ratings.student] >= 0
    return Ratings(
        student=code[ratings.student[kept]],
        rater=ratings.rater[kept],
        item=ratings.item[kept],
        score=ratings.score[kept],
        students=ratings.students.gather(chosen),
        raters=ratings.raters,
        items=ratings.items,
    )


def _from_several_starts(
    ratings: Ratings,
    model: LatentClassModel,
    starts: int,
    seed: int,
    max_iterations: int,
    on_progress: OnProgress | None,
) -> list[Optimum]:
    """Where each start ends, best first."""
    problem = LatentClassMarginal(ratings, model)
    climb = _Climb(problem, _information(ratings, problem), max_iterations, on_progress)
    nodes = _first_grid(problem)
    climbed: list[Optimum] = []
    for number, start in enumerate(_starting_values(problem, starts, seed), start=1):
        climbed.append(climb.near(start, nodes, f"start {number} of up to {starts}"))
        climbed.sort(key=lambda optimum: -optimum.value.objective)
        near_best = climbed[0].value.objective - SAME_MAXIMUM
        if sum(optimum.value.objective >= near_best for optimum in climbed) == ENOUGH:
            break
    return climbed


def _first_grid(problem: LatentClassMarginal) -> Nodes:
    if not problem.model.rasch:
        return NO_ABILITY
    return first_nodes(1 / np.sqrt(1 + _STEEP**2 * _STUDENT_ITEM * np.bincount(problem.units.student)))


def _refine(climb: _Climb, parameters: Array, nodes: Nodes) -> tuple[Optimum, Nodes, Moments]:
    """Climb to the top, on grids that follow the posteriors' widths until a finer one changes nothing."""
    problem, accuracy = climb.problem, ACCURACY
    for _ in range(_MOST_GRIDS):
        moments = problem.engine.moments(problem.tables(parameters, nodes), nodes)
        # A discrete posterior narrower than the step tells only that it is narrower; go there by degrees.
        nodes = nodes_for(Moments(moments.mean, np.maximum(moments.sd, nodes.step / 4)), accuracy)
        best = climb.to_the_top(parameters, nodes)
        parameters = best.parameters
        check = problem.value(parameters, finer(nodes))
        if abs(check.loglik - best.value.loglik) <= max(2e-5, 1e-9 * abs(check.loglik)):
            break
        accuracy /= 100
    moments = problem.engine.moments(problem.tables(parameters, nodes), nodes)
    return replace(best, record=replace(best.record, n_nodes=len(nodes.points))), nodes, moments


def posterior_truth(problem: LatentClassMarginal, parameters: Array, nodes: Nodes) -> Array:
    """(student-items,): probability that the true category is 1, given all ratings of the student."""
    units = problem.units
    probability = np.empty(len(units.item))
    for part, mixture in problem.mixtures(parameters, nodes):
        if not problem.model.rasch:
            return np.asarray(mixture.truth[units.cell, 0])
        for rows, posterior, _ in part.engine.posteriors(Tables(mixture.log_prob), nodes):
            first = part.students.start + rows.start
            there = slice(*np.searchsorted(units.student, [first, first + len(posterior)]))
            truth = mixture.truth[units.cell[there] - part.cells.start]
            probability[there] = np.einsum("uq,uq->u", truth, posterior[units.student[there] - first])
    return probability


def _starting_values(problem: LatentClassMarginal, starts: int, seed: int) -> Iterator[Array]:
    """First from votes: the share of passes stands for a student-item's true category. Then around that."""
    model, units = problem.model, problem.units
    blocks = model.blocks
    vote = (units.passes + units.passes.sum() / units.n.sum()) / (units.n + 1)
    n_cells = len(units.item_of_cell)
    both = np.stack([np.bincount(units.cell, weights, n_cells) for weights in (1 - vote, vote)], axis=1)
    answers = (units.members.T @ both).reshape(-1, 2, 2) + 0.5
    bias, slope = model.from_rates(answers[:, 1] / answers.sum(axis=1))
    n, votes = (np.bincount(units.item, weights, model.n_items) for weights in (None, vote))
    first = np.empty(blocks.size)
    first[blocks["bias"]] = bias
    first[blocks["slope"]] = np.maximum(slope, 0.5)
    first[blocks["difficulty"]] = -special.logit((votes + 0.5) / (n + 1))
    first[blocks["sigma"]] = 1.0
    yield first
    rng = np.random.default_rng(seed)
    positive = np.zeros(blocks.size, dtype=bool)
    positive[blocks["slope"]] = positive[blocks["sigma"]] = True
    for _ in range(starts - 1):
        # Slopes hardly above those of the votes: at a very large slope the likelihood is flat, and a start there stays.
        factor = rng.uniform(0.3, 1.5, blocks.size)
        yield np.where(positive, factor * first, first + 0.5 * rng.standard_normal(blocks.size))


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
