"""The marginal log-likelihood of a latent class model and its exact gradient, through an engine.

A cell is a pattern of ratings of one student-item; its log-probability at an ability is a mixture over the true
category. Fisher's identity holds twice: expected counts of cells give expected ratings by true category, and
these the gradient.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Mask
from raterlens.engine.protocol import Expected, Moments, Nodes, Tables
from raterlens.engine.student_items import Part, as_known, pool, split, student_items
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.likelihood.objective import Value
from raterlens.models.signal_detection import LARGEST_SIGMA, LatentClassModel
from raterlens.ratings.coded import Ratings

# Dawid-Skene has one ability for all: a single node with all the weight.
NO_ABILITY = Nodes(np.zeros(1), np.zeros(1))
_HALF_A_RATING = 0.5
# The logistic curve of slope sigma is smooth only as far as pi / sigma from the real line: on steps of h, a trapezoidal
# sum is off by exp(-2 pi^2 / (sigma h)), here 3e-4.
_STEEPEST_STEP = 2 * np.pi**2 / 8
# Student-items on which a fine grid costs little.
_FEW = 300
# Nodes and evaluations of a typical fit from several starts: it goes over each student-item that often.
_PASSES = 40 * 150


@dataclass(frozen=True, slots=True)
class Mixture:
    """The cells of a part at some parameters."""

    log_prob: Array
    """(cells, nodes): log-probability of the cell's ratings."""
    truth: Array
    """(cells, nodes): probability that the true category is 1, given these ratings."""


@dataclass(frozen=True, slots=True)
class Complete:
    """Expected data with the true categories known, the half ratings of extreme raters and items among them."""

    loglik: float
    """Of the data alone."""
    answers: Array
    """(raters, scores, categories): ratings."""
    truths: Array
    """(categories, items, nodes): student-items."""


class LatentClassMarginal:
    """A latent class model on data, as `fit_mml` wants it."""

    def __init__(self, ratings: Ratings, model: LatentClassModel) -> None:
        self.model = model
        self.units = student_items(ratings, pooled=not model.rasch)
        divide = split if model.rasch else pool
        self.parts = divide(self.units, ratings.n_students, ratings.n_items)
        self.n_students = ratings.n_students
        # Who only passes gets half a fail, who only fails half a pass, whatever the true category.
        answers = _other_kind(ratings.rater, ratings.score, ratings.n_raters)
        self.extreme: Mask = answers.sum(axis=1) > 0
        """(raters,): who only passes, or only fails."""
        self.pseudo_answers = np.repeat(answers[:, :, None] / 2, 2, axis=2)
        self._pseudo_truths = _other_kind(ratings.item, ratings.score, ratings.n_items).T

    def mixtures(self, parameters: Array, nodes: Nodes) -> Iterator[tuple[Part, Mixture]]:
        log_answers = self.model.responses(parameters).log_prob.reshape(-1, 2)
        fail, succeed = self.model.prevalence(parameters, nodes.points)
        for part in self.parts:
            log_given = as_known(part.members @ log_answers, part.known)
            top = log_given.max(axis=1, keepdims=True)
            given = np.exp(log_given - top)
            truth = succeed[part.item] * given[:, 1:]
            total = fail[part.item] * given[:, :1]
            total += truth
            truth /= total
            log_prob = np.log(total, out=total)
            log_prob += top
            yield part, Mixture(log_prob, truth)

    def widths(self, parameters: Array, nodes: Nodes) -> Moments:
        """What the grid has to resolve."""
        return self.moments(parameters, nodes)

    def fine_enough(self, nodes: Nodes, parameters: Array) -> Nodes:
        """A grid that will do for wide posteriors, or a finer one that follows a steep prevalence, too; with few
        student-items, even the steepest: on a grid that is too coarse for it, it may seem the likeliest."""
        sigma = max(float(parameters[self.model.blocks["sigma"]].sum()), 1.0)
        if len(self.units.student) <= _FEW:
            sigma = LARGEST_SIGMA
        return Nodes.equally_spaced(nodes.low, nodes.high, min(nodes.step, _STEEPEST_STEP / sigma))

    def moments(self, parameters: Array, nodes: Nodes) -> Moments:
        found = [
            part.engine.moments(Tables(mixture.log_prob), nodes)
            for part, mixture in self.mixtures(parameters, nodes)
        ]
        return Moments(np.concatenate([m.mean for m in found]), np.concatenate([m.sd for m in found]))

    def evaluations(self, parameters: Array, nodes: Nodes) -> Iterator[tuple[Part, Mixture, Expected]]:
        for part, mixture in self.mixtures(parameters, nodes):
            yield part, mixture, part.engine.evaluate(Tables(mixture.log_prob), nodes)

    def complete(self, parameters: Array, nodes: Nodes) -> Complete:
        if self.model.rasch and compiled_code_pays(len(self.units.student) * _PASSES):
            return self._complete_compiled(parameters, nodes)
        loglik = 0.0
        answers = self.pseudo_answers.copy()
        truths = self.pseudo_truths(nodes)
        for part, mixture, expected in self.evaluations(parameters, nodes):
            loglik += expected.loglik
            of_one = expected.counts * mixture.truth
            one = of_one.sum(axis=1)
            both = np.stack([expected.counts.sum(axis=1) - one, one], axis=1)
            answers += (part.members.T @ both).reshape(answers.shape)
            truths[1] += part.of_item @ of_one
            truths[0] += part.of_item @ np.subtract(expected.counts, of_one, out=of_one)
        return Complete(loglik, answers, truths)

    def _complete_compiled(self, parameters: Array, nodes: Nodes) -> Complete:
        from raterlens.kernels.true_categories import expected_truths  # may be missing

        units, n_cells = self.units, len(self.units.item_of_cell)
        log_answers = self.model.responses(parameters).log_prob.reshape(-1, 2)
        log_given = as_known(units.members @ log_answers, units.known)
        found = expected_truths(
            (units.student, units.item, units.cell),
            log_given,
            self.model.prevalence(parameters, nodes.points),
            nodes.log_weights,
        )
        both = np.stack(
            [np.bincount(units.cell, share, n_cells) for share in (1 - found.one, found.one)], axis=1
        )
        answers = self.pseudo_answers + (units.members.T @ both).reshape(self.pseudo_answers.shape)
        return Complete(found.loglik, answers, self.pseudo_truths(nodes) + found.at_nodes)

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        complete = self.complete(parameters, nodes)
        responses = self.model.responses(parameters)
        prevalence = self.model.prevalence(parameters, nodes.points)
        extra = np.sum(self.pseudo_answers * responses.log_prob)
        extra += np.sum(self.pseudo_truths(nodes) * np.log(prevalence))
        gradient = self.model.pullback(
            np.sum(complete.answers * responses.first, axis=1),
            complete.truths[1] * prevalence[0] - complete.truths[0] * prevalence[1],
            nodes.points,
        )
        return Value(complete.loglik, complete.loglik + float(extra), gradient)

    def pseudo_truths(self, nodes: Nodes) -> Array:
        """(categories, items, nodes): half a student-item of the other category, over the whole population."""
        return np.multiply.outer(self._pseudo_truths, np.exp(nodes.log_weights))


def _other_kind(codes: NDArray[np.int32], score: NDArray[np.int16], size: int) -> Array:
    """(levels, scores): half a pass for a level with only fails (or none), half a fail for one with only passes."""
    n, passes = np.bincount(codes, minlength=size), np.bincount(codes, score, minlength=size)
    return _HALF_A_RATING * np.stack([(passes == n) & (n > 0), passes == 0], axis=1)
