"""Many starts at once: expectation-maximisation of a latent class model on few ratings.

On few ratings a mixture has dozens of maxima (any rater may be blind or never err, any item may be all of one
category), and a climb from each of hundreds of starts would take minutes. Expectation-maximisation needs no line
search, so that all starts go on side by side, in the same array operations; where it is after some steps tells which
of them are worth a climb. With the true categories expected, a rater's answers are two binomial counts, and the items'
difficulties and sigma are a logistic regression, on which one Newton step is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import NO_ABILITY, LatentClassMarginal, as_known
from raterlens.models.signal_detection import LARGEST_SIGMA

STEPS = 40
_NODES = Nodes.equally_spaced(-5.0, 5.0, 0.25)
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
        for _ in range(STEPS):
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
        if not any(_same(end, other) for other in found):
            found.append(end)
    return [x for _, _, x in found]


def _same(one: tuple[float, Array, Array], other: tuple[float, Array, Array]) -> bool:
    near = abs(one[0] - other[0]) < _SAME_HEIGHT
    return near and bool(np.abs(one[1] - other[1]).max() < _SAME_RATE)


class _Expectation:
    """The ratings of a problem, one row per student-item."""

    def __init__(self, problem: LatentClassMarginal) -> None:
        units, self.problem = problem.units, problem
        self.nodes = _NODES if problem.model.rasch else NO_ABILITY
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
