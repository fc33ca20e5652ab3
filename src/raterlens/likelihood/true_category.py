"""The marginal log-likelihood of a latent class model its exact gradient and its information, through an engine.

A cell is a pattern of ratings of one student-item; its log-probability at an ability is a mixture over the true
category. Fisher's identity holds twice: expected counts of cells give expected ratings by true category, and
these the gradient. So does Louis's. With p the probability that the true category is 1 given the ratings and an
ability, and pi the same without the ratings, the log-probability of a cell at ability t has the derivatives

    d T   = d L_0 + p u - pi ds                  u = d(L_1 - L_0) + ds,    s = sigma t - d_i
    d2 T  = p d2 L_1 + (1 - p) d2 L_0 + p (1 - p) u u' - pi (1 - pi) ds ds'

(L_k: log-probability of its ratings given category k). The information sums -d2 T over the expected cells and takes
off, for each student, the covariance of the sum of d T over the posterior of ability.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.engines.contract import CellScores, Engine, Expected, Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.nodes import Moments, Nodes
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


# Students of a part. Patterns are shared within a part only: with many raters nearly every student-item has its
# own, and a table over all of them would be gone through once for every block of students.
_PART = 2**13


@dataclass(frozen=True, slots=True)
class StudentItems:
    """The rated student-items in order of student and item, and the cells they fall into."""

    student: Indices
    item: Indices
    n: Indices
    """Ratings of each student-item."""
    passes: Indices
    cell: Indices
    item_of_cell: Indices
    members: sparse.csr_array
    """(cells, raters x scores): how often a rater gave a score in the pattern."""
    edges: Indices
    """First cell of every part of students, and the number of cells."""
    known: Indices
    """(cells,): the true category where it is known, else -1."""


def student_items(ratings: Ratings, *, pooled: bool) -> StudentItems:
    """Group pass/fail ratings. `pooled`: all students in one part, for models without ability."""
    code = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    order = np.argsort(code, kind="stable")
    first = np.flatnonzero(np.diff(code[order], prepend=-1))
    student, item = np.divmod(code[order[first]], ratings.n_items)
    part = np.zeros_like(student) if pooled else student // _PART
    answer = ratings.rater.astype(np.int64) * 2 + ratings.score
    # A multiset is known by the sum of its members' random 64-bit keys (two differ with probability 1 - 2^-64).
    keys = np.random.default_rng(0).integers(2**64, size=2 * ratings.n_raters, dtype=np.uint64)
    pattern = np.add.reduceat(keys[answer[order]], first)
    known = known_categories(ratings, student, item)
    by_pattern = np.lexsort((known, pattern, item, part))
    fresh = np.zeros(len(student), dtype=bool)
    fresh[0] = True
    for key in (known, pattern, item, part):
        fresh[1:] |= key[by_pattern][1:] != key[by_pattern][:-1]
    cell = np.empty_like(student)
    cell[by_pattern] = np.cumsum(fresh) - 1
    shown = by_pattern[fresh]
    length = np.diff(first, append=len(code))
    return StudentItems(
        student,
        item,
        length,
        np.add.reduceat(ratings.score[order].astype(np.int64), first),
        cell,
        item[shown],
        _members(answer[order], first[shown], length[shown], 2 * ratings.n_raters),
        np.searchsorted(part[shown], np.arange(part[-1] + 2)),
        known[shown],
    )


def known_categories(ratings: Ratings, student: NDArray[np.integer], item: NDArray[np.integer]) -> Indices:
    """(student-items,): the true category where it is known, else -1."""
    found, known = np.full(len(student), -1), ratings.known
    if known is not None:
        code = known.student.astype(np.int64) * ratings.n_items + known.item
        own = student.astype(np.int64) * ratings.n_items + item
        place = np.minimum(np.searchsorted(code, own), len(code) - 1)
        found = np.where(code[place] == own, known.answer[place], -1)
    return np.asarray(found, dtype=np.int64)


def as_known(log_given: Array, known: Indices) -> Array:
    """(cells, categories): log-probabilities of ratings, none where the category is known to be the other one."""
    for category in (0, 1):
        log_given[known == category, 1 - category] = -np.inf
    return log_given


def _members(answer: Indices, first: Indices, length: Indices, n_answers: int) -> sparse.csr_array:
    """Spell out each pattern from the one student-item that shows it."""
    indptr = np.concatenate([[0], np.cumsum(length)])
    place = np.repeat(first - indptr[:-1], length) + np.arange(indptr[-1])
    members = sparse.csr_array((np.ones(len(place)), answer[place], indptr), shape=(len(first), n_answers))
    members.sum_duplicates()
    return members


def draw_counts(members: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """(cells, raters): answers, and passes among them."""
    return members[:, 0::2] + members[:, 1::2], members[:, 1::2]


def _weighted(members: sparse.csr_array, correlation: Array | float) -> sparse.csr_array:
    n = draw_counts(members)[0]
    spread = np.broadcast_to(correlation, n.shape[1])[n.indices]
    n.data = 1 / (1 + (n.data - 1) * spread)
    return sparse.csr_array(members * sparse.csr_array(sparse.kron(n, np.ones((1, 2)))))


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the students, with cells of their own."""

    students: slice
    cells: slice
    item: Indices
    """Item of each cell."""
    members: sparse.csr_array
    """(cells, raters x scores)"""
    of_item: sparse.csr_array
    """(items, cells): 1 where the cell is one of the item."""
    known: Indices
    """(cells,): the true category where it is known, else -1."""
    engine: Engine


def split(units: StudentItems, n_students: int, n_items: int) -> list[Part]:
    """Parts of the students, small enough for their tables to stay in cache."""
    found = []
    for number, (low, high) in enumerate(zip(units.edges[:-1], units.edges[1:], strict=True)):
        students = slice(number * _PART, min((number + 1) * _PART, n_students))
        rows = slice(*np.searchsorted(units.student, [students.start, students.stop]))
        place = (units.student[rows] - students.start, units.cell[rows] - low)
        shape = (students.stop - students.start, high - low)
        counts = sparse.coo_array((np.ones(len(place[0])), place), shape=shape).tocsr()
        found.append(_part(units, students, slice(int(low), int(high)), counts, n_items))
    return found


def pool(units: StudentItems, n_students: int, n_items: int) -> list[Part]:
    """One part, in which all student-items are those of a single student: for models without ability."""
    frequency = np.bincount(units.cell, minlength=len(units.item_of_cell)).astype(float)
    counts = sparse.csr_array(frequency[None])
    return [_part(units, slice(0, n_students), slice(0, len(frequency)), counts, n_items)]


def _part(units: StudentItems, students: slice, cells: slice, counts: sparse.csr_array, n_items: int) -> Part:
    item = units.item_of_cell[cells]
    n = len(item)
    of_item = sparse.csr_array((np.ones(n), (item, np.arange(n))), shape=(n_items, n))
    return Part(students, cells, item, units.members[cells], of_item, units.known[cells], NumpyEngine(counts))


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
    """Log-likelihood of the data alone."""
    answers: Array
    """(raters, scores, categories): ratings."""
    truths: Array
    """(categories, items, nodes): student-items."""


class LatentClassMarginal:
    """A latent class model on data, as `fit_mml` wants it.

    A rater's m draws on one student-item are correlated given the true category, by `correlation` (raters,), and enter
    with the weight of m / (1 + (m - 1) correlation) independent ones.
    """

    def __init__(
        self, ratings: Ratings, model: LatentClassModel, correlation: Array | float | None = None
    ) -> None:
        self.model = model
        self.units = student_items(ratings, pooled=not model.rasch)
        if correlation is not None:
            self.units = replace(self.units, members=_weighted(self.units.members, correlation))
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
        """Widths that the grid has to resolve."""
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
        from raterlens.kernels.posterior_pass import expected_truths  # may be missing

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

    def information(self, parameters: Array, nodes: Nodes, extra: Array | float = 0.0) -> Array:
        """(parameters, parameters): minus the second derivative of what is maximised.

        Parameters
        ----------
        extra
            (raters, scores, categories): further ratings with known true category.
        """
        information, t = self._known_truth(parameters, nodes, extra), nodes.points
        succeed = self.model.prevalence(parameters, t)[1]
        for part, mixture, expected in self.evaluations(parameters, nodes):
            rows = _derivatives(self.model, parameters, part)
            unsure = expected.counts * mixture.truth * (1 - mixture.truth)
            information -= (rows.T @ _spread_weights(unsure, t) @ rows).toarray()
            if self.model.rasch:
                scores = _scores(mixture.truth, succeed[part.item], t)
                through = _through(rows, self.model.blocks["difficulty"].start)
                missing = part.engine.covariance(Tables(mixture.log_prob), nodes, scores)
                information -= (through.T @ sparse.csr_array(missing) @ through).toarray()
        return np.asarray((information + information.T) / 2)

    def _known_truth(self, parameters: Array, nodes: Nodes, extra: Array | float) -> Array:
        """Information if true categories and abilities were known to be as expected: level 1, then level 2."""
        model, t = self.model, nodes.points
        blocks = model.blocks
        complete = self.complete(parameters, nodes)
        lines = _lines(model)
        curvature = -np.sum((complete.answers + extra) * model.responses(parameters).second, axis=1)
        information = (lines.T @ (lines * curvature.reshape(-1, 1))).toarray()
        fail, succeed = model.prevalence(parameters, t)
        level_2 = complete.truths.sum(axis=0) * fail * succeed
        item, sigma = np.arange(blocks.size)[blocks["difficulty"]], blocks["sigma"]
        information[item, item] += level_2.sum(axis=1)
        information[item, sigma] -= (level_2 @ t)[:, None]
        information[sigma, item] -= level_2 @ t
        information[sigma, sigma] += np.sum(level_2 @ t**2)
        return np.asarray(information)

    def pseudo_truths(self, nodes: Nodes) -> Array:
        """(categories, items, nodes): half a student-item of the other category, over the whole population."""
        return np.multiply.outer(self._pseudo_truths, np.exp(nodes.log_weights))


def _other_kind(codes: NDArray[np.int32], score: NDArray[np.int16], size: int) -> Array:
    """(levels, scores): half a pass for a level with only fails (or none), half a fail for one with only passes."""
    n, passes = np.bincount(codes, minlength=size), np.bincount(codes, score, minlength=size)
    return _HALF_A_RATING * np.stack([(passes == n) & (n > 0), passes == 0], axis=1)


def _lines(model: LatentClassModel) -> sparse.csr_array:
    """(raters x categories, parameters): derivatives of the lines b_r + a_r (1/2 - xi)."""
    rater = np.repeat(np.arange(model.n_raters), 2)
    half = np.tile([0.5, -0.5], model.n_raters)
    row = np.arange(2 * model.n_raters)
    slope = model.blocks["slope"].start + rater
    values, columns = np.concatenate([np.ones_like(half), half]), np.concatenate([rater, slope])
    return sparse.csr_array((values, (np.tile(row, 2), columns)), shape=(len(row), model.blocks.size))


def _derivatives(model: LatentClassModel, parameters: Array, part: Part) -> sparse.csr_array:
    """(cells + 1, parameters): u at ability 0 for each cell, and a row for sigma."""
    blocks = model.blocks
    first = model.responses(parameters).first * [-1.0, 1.0]
    answer, line = np.broadcast_arrays(
        np.arange(2 * model.n_raters).reshape(-1, 2, 1), np.arange(2 * model.n_raters).reshape(-1, 1, 2)
    )
    size = (2 * model.n_raters, 2 * model.n_raters)
    to_lines = sparse.csr_array((first.ravel(), (answer.ravel(), line.ravel())), shape=size)
    n = len(part.item)
    of_item = sparse.csr_array(
        (np.ones(n), (np.arange(n), blocks["difficulty"].start + part.item)), shape=(n, blocks.size)
    )
    sigma = sparse.csr_array(
        (np.ones(int(model.rasch)), (np.zeros(int(model.rasch)), np.arange(blocks.size)[blocks["sigma"]])),
        shape=(1, blocks.size),
    )
    return sparse.vstack([part.members @ to_lines @ _lines(model) - of_item, sigma], format="csr")


def _spread_weights(unsure: Array, t: Array) -> sparse.csr_array:
    """(cells + 1, cells + 1): weights p (1 - p), summed over nodes, of u u', where u is that at 0 plus t times the row
    of sigma."""
    n = len(unsure)
    once, last = unsure @ t, np.full(n, n)
    values = np.concatenate([unsure.sum(axis=1), once, once, np.sum(unsure @ t**2, keepdims=True)])
    cells = np.arange(n)
    place = np.concatenate([cells, cells, last, [n]]), np.concatenate([cells, last, cells, [n]])
    return sparse.csr_array((values, place), shape=(n + 1, n + 1))


def _scores(truth: Array, prevalence: Array, t: Array) -> CellScores:
    """The functions of ability that d T of each cell is made of, but for constants, as if each were a parameter: of
    raters p, of its item p - pi, and of sigma, which pi depends on too, (p - pi) t."""
    n, table = len(truth), np.empty((len(truth), 3, len(t)))
    table[:, 0] = truth
    np.subtract(truth, prevalence, out=table[:, 1])
    np.multiply(table[:, 1], t, out=table[:, 2])
    # How fast p changes with ability is not told by a slope.
    nothing = sparse.csr_array((1, 3 * n))
    return CellScores(
        np.arange(0, 3 * n + 1, 3), np.arange(3 * n), table.reshape(3 * n, -1), nothing, np.full(n, np.inf)
    )


def _through(rows: sparse.csr_array, difficulties: int) -> sparse.csr_array:
    """(three functions of each cell, parameters): how much of each the derivatives of a cell have."""
    n, size = rows.shape[0] - 1, rows.shape[1]
    own = sparse.coo_array(rows[:n])
    row = np.append(3 * own.row + (own.col >= difficulties), 3 * np.arange(n) + 2)
    column, value = np.append(own.col, np.full(n, size - 1)), np.append(own.data, np.ones(n))
    return sparse.csr_array((value, (row, column)), shape=(3 * n, size))
