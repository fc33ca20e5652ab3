"""The marginal log-likelihood of a latent class model, its exact gradient and its information, through an engine.

A cell is a pattern of ratings of one student-item; its log-probability at an ability is a mixture over the true
category. Fisher's identity holds twice: expected counts of cells give expected ratings by true category, and
these the gradient. So does Louis's. With p the probability that the true category is 1 given the ratings and an
ability, and pi the same without the ratings, the log-probability of a cell at ability t has the derivatives

    d T   = d L_0 + p u - pi ds                  u = d(L_1 - L_0) + ds,    s = sigma t - d_i
    d2 T  = p d2 L_1 + (1 - p) d2 L_0 + p (1 - p) u u' - pi (1 - pi) ds ds'

(L_k: log-probability of its ratings given category k). The information sums -d2 T over the expected cells and takes
off, for each student, the covariance of the sum of d T over the posterior of ability.

But for constants, d T is made of three functions of ability: p for raters, p - pi for the item, (p - pi) t for sigma.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.engines.contract import CellScores, Engine, Expected, Tables, in_full
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.latent import Integral
from raterlens.likelihood.marginal import Value, engine_for
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
    known: Indices
    """(cells,): the true category where it is known, else -1."""


def student_items(ratings: Ratings) -> StudentItems:
    """Group pass/fail ratings; student-items of the same item, ratings and known category are one cell."""
    code = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    order = np.argsort(code, kind="stable")
    first = np.flatnonzero(np.diff(code[order], prepend=-1))
    student, item = np.divmod(code[order[first]], ratings.n_items)
    answer = (ratings.rater.astype(np.int64) * 2 + ratings.score)[order]
    known = known_categories(ratings, student, item)
    # A multiset is known by the sum of its members' random 64-bit keys (two differ with probability 1 - 2^-64).
    random = np.random.default_rng(0)
    of_answer, of_item, of_known = (
        random.integers(2**64, size=size, dtype=np.uint64)
        for size in (2 * ratings.n_raters, ratings.n_items, 3)
    )
    keys = np.add.reduceat(of_answer[answer], first) + of_item[item] + of_known[known]
    _, shown, cell = np.unique(keys, return_index=True, return_inverse=True)
    length = np.diff(first, append=len(code))
    return StudentItems(
        student,
        item,
        length,
        np.add.reduceat(ratings.score[order].astype(np.int64), first),
        cell,
        item[shown],
        _members(answer, first[shown], length[shown], 2 * ratings.n_raters),
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
class Complete:
    """Expected data with the true categories known, the half ratings of extreme raters and items among them."""

    loglik: float
    """Log-likelihood of the data alone."""
    answers: Array
    """(raters, scores, categories): ratings."""
    truths: Array
    """(categories, items, nodes): student-items."""


@dataclass(frozen=True, slots=True, eq=False)
class LatentClassMarginal:
    """A latent class model on data, as `fit_mml` wants it."""

    model: LatentClassModel
    units: StudentItems
    engine: Engine
    """Students by their cells; without ability, one student with all student-items."""
    n_students: int
    extreme: Mask
    """(raters,): who only passes, or only fails."""
    pseudo_answers: Array
    """(raters, scores, categories): who only passes gets half a fail, who only fails half a pass, whatever the true
    category."""
    half_truths: Array
    """(categories, items): the same of items."""

    @staticmethod
    def of(
        ratings: Ratings, model: LatentClassModel, correlation: Array | float | None = None
    ) -> "LatentClassMarginal":
        """A rater's m draws on one student-item are correlated given the true category, by `correlation` (raters,), and
        enter with the weight of m / (1 + (m - 1) correlation) independent ones."""
        units = student_items(ratings)
        if correlation is not None:
            units = replace(units, members=_weighted(units.members, correlation))
        row = units.student if model.rasch else np.zeros_like(units.student)
        counts = sparse.csr_array((np.ones(len(row)), (row, units.cell)))
        answers = _other_kind(ratings.rater, ratings.score, ratings.n_raters)
        return LatentClassMarginal(
            model,
            units,
            engine_for(counts) if model.rasch else NumpyEngine(counts),
            ratings.n_students,
            answers.sum(axis=1) > 0,
            np.repeat(answers[:, :, None] / 2, 2, axis=2),
            _other_kind(ratings.item, ratings.score, ratings.n_items).T,
        )

    def up(self, parameters: Array, nodes: Nodes) -> Integral:
        """The cells, integrated over the true category."""
        log_given, top = self._given(parameters)
        prevalence = self.model.prevalence(parameters, nodes.points).swapaxes(0, 1)
        return Integral.of(np.exp(log_given - top)[..., None] * prevalence[self.units.item_of_cell], top)

    def _given(self, parameters: Array) -> tuple[Array, Array]:
        """(cells, categories): log-probability of a cell's ratings given the true category, and the larger of both."""
        log_answers = self.model.responses(parameters).log_prob.reshape(-1, 2)
        log_given = as_known(self.units.members @ log_answers, self.units.known)
        return log_given, log_given.max(axis=1, keepdims=True)

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
        return self.engine.moments(Tables(self.up(parameters, nodes).value), nodes)

    def complete(self, parameters: Array, nodes: Nodes) -> Complete:
        if not (self.model.rasch and compiled_code_pays(len(self.units.student) * _PASSES)):
            cells = self.up(parameters, nodes)
            return self._completed(cells, self.engine.evaluate(Tables(cells.value), nodes), nodes)
        from raterlens.kernels.posterior_pass import expected_truths  # may be missing

        units, n_cells = self.units, len(self.units.item_of_cell)
        prevalence = self.model.prevalence(parameters, nodes.points)
        places = units.student, units.item, units.cell
        found = expected_truths(places, self._given(parameters)[0], prevalence, nodes.log_weights)
        both = np.stack(
            [np.bincount(units.cell, each, n_cells) for each in (1 - found.one, found.one)], axis=1
        )
        truths = self.pseudo_truths(nodes) + found.at_nodes
        return Complete(found.loglik, self._answers(np.asarray(both, np.float64)), truths)

    def _completed(self, cells: Integral, expected: Expected, nodes: Nodes) -> Complete:
        both, item = expected.counts[:, None] * cells.share, self.units.item_of_cell
        of_item = sparse.csr_array((np.ones(len(item)), (item, np.arange(len(item)))))
        truths = self.pseudo_truths(nodes) + np.stack([of_item @ both[:, 0], of_item @ both[:, 1]])
        return Complete(expected.loglik, self._answers(both.sum(axis=2)), truths)

    def _answers(self, both: Array) -> Array:
        """(raters, scores, categories), from how many student-items of each cell are of either category."""
        answers = self.units.members.T @ both
        return np.asarray(self.pseudo_answers + answers.reshape(self.pseudo_answers.shape))

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
        cells, t, raters = self.up(parameters, nodes), nodes.points, self._by_raters(parameters)
        tables = Tables(cells.value)
        expected = self.engine.evaluate(tables, nodes)
        information = self._known_truth(parameters, nodes, self._completed(cells, expected, nodes), extra)
        information -= self._within_cells(raters, cells, expected.counts, t)
        if self.model.rasch:
            scores = self._scores(raters, cells.share[:, 1], self.model.prevalence(parameters, t)[1], t)
            information -= in_full(self.engine.covariance(tables, nodes, scores))
        return np.asarray((information + information.T) / 2)

    def _known_truth(
        self, parameters: Array, nodes: Nodes, complete: Complete, extra: Array | float
    ) -> Array:
        """Information if true categories and abilities were known to be as expected: level 1, then level 2."""
        model, t = self.model, nodes.points
        every = np.arange(model.blocks.size)
        bias, slope, item, sigma = (
            every[model.blocks[name]] for name in ("bias", "slope", "difficulty", "sigma")
        )
        bend = -np.sum((complete.answers + extra) * model.responses(parameters).second, axis=1)
        information = np.zeros((len(every), len(every)))
        information[bias, bias] = bend.sum(axis=1)
        information[bias, slope] = information[slope, bias] = (bend[:, 0] - bend[:, 1]) / 2
        information[slope, slope] = bend.sum(axis=1) / 4
        fail, succeed = model.prevalence(parameters, t)
        level_2 = complete.truths.sum(axis=0) * fail * succeed
        information[item, item] = level_2.sum(axis=1)
        information[np.ix_(item, sigma)] = -(level_2 @ t)[:, None]
        information[np.ix_(sigma, item)] = -(level_2 @ t)
        information[sigma, sigma] = np.sum(level_2 @ t**2)
        return information

    def _by_raters(self, parameters: Array) -> sparse.csr_array:
        """(cells, parameters): derivatives of L_1 - L_0."""
        first, blocks, answer = (
            self.model.responses(parameters).first,
            self.model.blocks,
            np.arange(2 * self.model.n_raters),
        )
        by_bias, by_slope = first[..., 1] - first[..., 0], -first.sum(axis=2) / 2
        places = (
            np.tile(answer, 2),
            np.concatenate([blocks[name].start + answer // 2 for name in ("bias", "slope")]),
        )
        values = np.concatenate([by_bias.ravel(), by_slope.ravel()])
        of_answers = sparse.csr_array((values, places), shape=(len(answer), blocks.size))
        return sparse.csr_array(self.units.members @ of_answers)

    def _within_cells(self, raters: sparse.csr_array, cells: Integral, counts: Array, t: Array) -> Array:
        """(parameters, parameters): covariances of the scores xi u and xi t, by u and sigma, over the category xi,
        whose variance is p (1 - p)."""
        blocks, item = self.model.blocks, self.units.item_of_cell
        n, places = len(item), (np.arange(len(item)), blocks["difficulty"].start + item)
        u = raters - sparse.csr_array((np.ones(n), places), shape=raters.shape)
        unsure = counts * cells.share[:, 0] * cells.share[:, 1]
        by_power = unsure @ np.stack([np.ones_like(t), t, t**2], axis=1)
        found = (u.T @ sparse.diags_array(by_power[:, 0]) @ u).toarray()
        if self.model.rasch:
            sigma = blocks["sigma"].start
            found[sigma] += u.T @ by_power[:, 1]
            found[:, sigma] = found[sigma]
            found[sigma, sigma] = by_power[:, 2].sum()
        return np.asarray(found)

    def _scores(self, raters: sparse.csr_array, truth: Array, prevalence: Array, t: Array) -> CellScores:
        """Entries of each cell: its raters', its item's, and that of sigma."""
        item, blocks = self.units.item_of_cell, self.model.blocks
        n, ends = len(item), raters.indptr[1:]
        table = np.empty((3, n, len(t)))
        table[0] = truth
        np.subtract(truth, prevalence[item], out=table[1])
        np.multiply(table[1], t, out=table[2])
        cell, last = np.arange(n), np.repeat(ends, 2)
        both = np.stack(
            [blocks["difficulty"].start + item, np.full(n, blocks["sigma"].start)], axis=1
        ).ravel()
        return CellScores(
            raters.indptr + 2 * np.arange(n + 1),
            np.insert(raters.indices.astype(np.int64), last, both),
            table.reshape(3 * n, -1),
            sparse.csr_array((1, blocks.size)),
            np.full(n, np.inf),  # how fast p changes with ability is not told by a slope
            row=np.insert(
                np.repeat(cell, np.diff(raters.indptr)),
                last,
                np.stack([n + cell, 2 * n + cell], axis=1).ravel(),
            ),
            factor=np.insert(raters.data, last, np.tile([-1.0, 1.0], n)),
        )

    def pseudo_truths(self, nodes: Nodes) -> Array:
        """(categories, items, nodes): half a student-item of the other category, over the whole population."""
        return np.multiply.outer(self.half_truths, np.exp(nodes.log_weights))


def _other_kind(codes: NDArray[np.int32], score: NDArray[np.int16], size: int) -> Array:
    """(levels, scores): half a pass for a level with only fails (or none), half a fail for one with only passes."""
    n, passes = np.bincount(codes, minlength=size), np.bincount(codes, score, minlength=size)
    return _HALF_A_RATING * np.stack([(passes == n) & (n > 0), passes == 0], axis=1)
