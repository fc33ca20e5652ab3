"""Score tests of what a fit leaves out, without fitting again: is the log-likelihood level where a further term has its
null value?

The scores of students in the new parameters, at the null value, are projected on their scores in the fitted parameters,
which have absorbed some of what the term would explain. What is left of them tells how large their sum is by chance.

An impression u of variance v shifts the predictors of all ratings of a reading (halo): by u itself, or on the scale of
ability by u times the slope. With g the derivative of a rating's log-probability in u, and g' the second, the
log-likelihood of a reading rises as v leaves 0 by

    d log P / d v = ((sum of g)^2 + sum of g') / 2

and a student's by what is expected of it over the posterior.

Two items that share more than ability, such as two questions on one text, shift the predictors of their ratings by
effects with a covariance c. With g_i the sum of the derivatives of a student's ratings on item i, and h_i that of the
second ones,

    d log P / d c = g_i g_j

whose size is that of h_i h_j. What all pairs have in common is halo, or more than one dimension of ability; a pair is
compared with the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from raterlens.base.arrays import Array
from raterlens.estimation.scoring import Placed, place
from raterlens.likelihood.cells import reading_columns
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.build import KINDS
from raterlens.models.calibration import Calibration
from raterlens.models.terms.halo import HALO, IMPRESSION
from raterlens.models.terms.item_slopes import ITEM_PAIR
from raterlens.models.terms.students import GROUP_MEAN
from raterlens.models.terms.thresholds import THRESHOLD
from raterlens.ratings.coded import Facet, Ratings

# What is left of a direction, relative, below which it is one that the fit has absorbed.
_ABSORBED = 1e-6
# Of the normal equations, whose columns have length 1: fitted parameters may be redundant.
_RIDGE = 1e-10
# Raters whose students are looked at.
_MOST_RATERS = 300


class ScoreTest(NamedTuple):
    """Rao's test, with the variance that the students' own scores show."""

    statistic: float
    """Chi-squared; of a single variance, which cannot be negative, a normal number."""
    df: int
    p: float


def projection_left(new: Array, fitted: sparse.csr_array) -> Array:
    """(students, new): scores of students in new parameters, less their projection on those in the fitted ones.

    Fitted parameters may be redundant, so that the normal equations have a null space: a ridge far below any share that
    matters leaves it alone.
    """
    size = np.sqrt(np.asarray(fitted.power(2).sum(axis=0)).ravel())
    columns = sparse.csr_array(fitted @ sparse.diags_array(1 / np.maximum(size, 1e-150)))
    normal = (columns.T @ columns).toarray()
    normal[np.diag_indices_from(normal)] += _RIDGE
    return np.asarray(new - columns @ linalg.cho_solve(linalg.cho_factor(normal), columns.T @ new))


def projected_score(own: Array, left: Array, n_fitted: int, *, one_sided: bool = False) -> ScoreTest | None:
    """Test new parameters from the scores of students in them (students, new), and what their projection leaves.

    None where students are too few to tell how large a score could be by chance.
    """
    spare = len(own) - n_fitted - own.shape[1] + 1
    unit = np.sqrt((own**2).sum(axis=0))
    if spare <= 0 or not len(unit) or not unit.all():
        return None
    spread = left.T @ left / np.outer(unit, unit) * (len(own) / spare)
    value, direction = np.linalg.eigh(spread)
    kept = value > _ABSORBED
    if not kept.any():
        return None
    # Of all students that were fitted, the sum is that of the scores themselves; of some, those of the fitted
    # parameters do not add up to 0.
    total = left.sum(axis=0) / unit
    if one_sided:
        t = float(total[0] / np.sqrt(spread[0, 0]))
        p = float(special.stdtr(spare, -t))
        return ScoreTest(-float(special.ndtri(max(p, 1e-300))), 1, p)  # normal, however few the students
    statistic = float(np.sum((direction.T @ total)[kept] ** 2 / value[kept]))
    df = int(kept.sum())
    return ScoreTest(statistic, df, float(special.fdtrc(df, spare, statistic / df)))


def variance_score(left: Array, n_fitted: int) -> ScoreTest | None:
    """Test the variance that parameters have in common, from what a projection leaves of students' scores in them.

    With S the sums of the scores, the sum of S² is a sum of chi-squared variables weighted by the eigenvalues of the
    covariance of S; its upper tail follows from three moments (Imhof, 1961).
    """
    spare = len(left) - n_fitted
    if spare <= 0:
        return None
    total, spread = left.sum(axis=0), left.T @ left * (len(left) / spare)
    # Traces of its first three powers.
    one, two, three = np.trace(spread), np.vdot(spread, spread), np.vdot(spread @ spread, spread)
    if three <= 0:
        return None
    df = two**3 / three**2
    value = (float(total @ total) - one) * np.sqrt(df / two) + df
    p = float(special.chdtrc(df, value)) if value > 0 else 1.0
    return ScoreTest(-float(special.ndtri(max(p, 1e-300))), 1, p)


def _shares_of_raters(ratings: Ratings) -> sparse.csr_array:
    """(students, raters): each student has the mean of what the students of its raters have in common. By the design
    alone; of many raters those with most students."""
    student, rater = np.divmod(ratings.marked_pairs(), ratings.n_raters)
    shape = (ratings.n_students, ratings.n_raters)
    found = sparse.csr_array((1 / np.bincount(student)[student], (student, rater)), shape=shape)
    return sparse.csr_array(found[:, np.argsort(-found.sum(axis=0), kind="stable")[:_MOST_RATERS]])


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """A fit on ratings with terms that it does not have at their null values: one pass over the students tells how the
    log-likelihood would rise with any of them."""

    placed: Placed
    nodes: Nodes
    own: dict[str, Array]
    """(students, parameters) of each of these terms: their scores."""
    fitted: sparse.csr_array
    """(students, parameters): scores in the fitted parameters."""

    @staticmethod
    def of(
        known: Calibration, ratings: Ratings, terms: Iterable[str], moments: Moments | None = None
    ) -> "ScoredFit":
        """`moments` of the students' abilities, where they are known."""
        wanted = set(terms)
        of_kinds = {kind.name: kind.null(known, ratings) for kind in KINDS if kind.name in wanted}
        null = {name: value for name, value in of_kinds.items() if value is not None}
        scale = "partial credit" if THRESHOLD in null else known.scale
        larger = replace(known, effects={**known.effects, **null}, scale=scale, covariance=None)
        placed = replace(place(larger, ratings, as_fitted=True), moments=moments)
        nodes, blocks = placed.rough_nodes(), placed.problem.model.blocks
        scores = sparse.csc_array(placed.problem.student_scores(placed.parameters, nodes))
        kept = np.ones(blocks.size, dtype=bool)
        for name in null:
            kept[blocks[name]] = False
        new = scores[:, ~kept].toarray()
        first = np.cumsum(~kept) - 1
        own = {name: new[:, first[blocks[name]]] for name in null}
        fitted = scores[:, kept]
        if THRESHOLD in null:  # a shared threshold is every item's
            steps = null[THRESHOLD].shape[1]
            fitted = sparse.hstack([fitted, own[THRESHOLD].reshape(len(new), -1, steps).sum(axis=1)])
        at = ScoredFit(placed, nodes, own, sparse.csr_array(fitted))
        for name in wanted & {HALO, IMPRESSION}:
            own[name] = _rises_of_students(at, on_ability=name == IMPRESSION)[:, None]
        if ITEM_PAIR in wanted:
            own[ITEM_PAIR] = _dependence_of_items(at)
        if GROUP_MEAN in wanted:
            own[GROUP_MEAN] = (sparse.diags_array(at.mean_abilities) @ _shares_of_raters(ratings)).toarray()
        return at

    @cached_property
    def mean_abilities(self) -> Array:
        """(students,): their scores in the mean of their distribution."""
        return np.concatenate([posterior @ self.nodes.points for _, posterior, _ in self.posteriors()])

    def differs_by(self, column: Facet) -> float:
        """The p-value of a test whether groups of students differ in ability; 1 where students are in several, or there
        are hardly more students than groups."""
        student = self.placed.ratings.student
        codes = column.codes[np.unique(student, return_index=True)[1]]
        n, number = len(codes), len(column.labels)
        if not 1 < number <= n / 2 or (codes[student] != column.codes).any():
            return 1.0
        own = self.mean_abilities[:, None] * (codes[:, None] == np.arange(number))
        found = variance_score(projection_left(own, self.fitted), self._n_fitted)
        return 1.0 if found is None else found.p

    def test(self, name: str) -> ScoreTest | None:
        """Test one of the terms; None where it was not among them, or cannot be tested."""
        if name not in self.own:
            return None
        if name == GROUP_MEAN:
            return variance_score(self._left[name], self._n_fitted)
        if name == ITEM_PAIR:
            return None if self.dependent_items is None else self.dependent_items[1]
        own, variance = self.own[name], name in (HALO, IMPRESSION)
        if variance and own.sum() <= 0:
            return ScoreTest(float(own.sum() / max(np.linalg.norm(own), 1e-150)), 1, 1.0)
        some = (own != 0).any(axis=0)
        return projected_score(own[:, some], self._left[name][:, some], self._n_fitted, one_sided=variance)

    @cached_property
    def dependent_items(self) -> tuple[tuple[str, str], ScoreTest] | None:
        """The two items that share most besides what every two do, and the test of it, which allows for how many pairs
        there are."""
        own, left = self.own[ITEM_PAIR], self._left[ITEM_PAIR]
        tests = [
            projected_score(own[:, [pair]], left[:, [pair]], self._n_fitted, one_sided=True)
            for pair in range(own.shape[1])
        ]
        pairs = combinations(self.placed.ratings.items.cast(pl.String).to_list(), 2)
        found = [(items, test) for items, test in zip(pairs, tests, strict=True) if test is not None]
        if not found:
            return None
        items, most = max(found, key=lambda each: each[1].statistic)
        return items, most._replace(p=min(1.0, most.p * len(found)))

    @cached_property
    def _left(self) -> dict[str, Array]:
        ends = np.cumsum([part.shape[1] for part in self.own.values()])[:-1]
        left = projection_left(np.hstack(list(self.own.values())), self.fitted)
        return dict(zip(self.own, np.split(left, ends, axis=1), strict=True))

    @cached_property
    def _n_fitted(self) -> int:
        return len(np.unique(self.fitted.indices))

    def posteriors(self) -> Iterator[tuple[slice, Array, Array]]:
        """Posteriors of abilities, some students at a time."""
        problem = self.placed.problem
        return problem.engine.posteriors(problem.tables(self.placed.parameters, self.nodes), self.nodes)


def _shifted(at: ScoredFit, *, on_ability: bool = False) -> tuple[NDArray[np.integer], Array, Array]:
    """(ratings,) the cell of each, and (cells, nodes) twice: the first and second derivative of a cell's
    log-probability as its predictor is shifted, or as ability is."""
    model, response = at.placed.problem.model.single, at.placed.problem.response.single
    ratings, t = at.placed.ratings, at.nodes.points
    predictor = model.predictor(at.placed.parameters)
    by = predictor.slope[:, None, None] if on_ability else np.ones((1, 1, 1))
    first, second = (
        (by**power * found).reshape(-1, len(t))
        for power, found in enumerate(response.shift_derivatives(predictor, t), start=1)
    )
    return model.contexts.places(ratings) * response.n_categories + ratings.score, first, second


def _rises_of_students(at: ScoredFit, *, on_ability: bool) -> Array:
    """(students,): each one's derivative of the log-likelihood in the variance of an impression, at 0."""
    ratings, (cell, first, second) = at.placed.ratings, _shifted(at, on_ability=on_ability)
    column = reading_columns(ratings).of.astype(np.int64)
    key, reading = np.unique(ratings.student * (column.max() + 1) + column, return_inverse=True)
    student, shape = key // (column.max() + 1), (len(key), len(first))
    cells = sparse.csr_array((np.ones(len(cell)), (reading, cell)), shape=shape)
    begin, own = np.searchsorted(student, np.arange(ratings.n_students + 1)), np.zeros(ratings.n_students)
    for rows, posterior, _ in at.posteriors():
        some = slice(begin[rows.start], begin[rows.stop])
        rise = cells[some] @ first
        rise *= rise
        rise += cells[some] @ second
        place = student[some] - rows.start
        of_reading = np.einsum("rq,rq->r", rise, posterior[place]) / 2
        own[rows] = np.bincount(place, of_reading, len(posterior))
    return own


def _dependence_of_items(at: ScoredFit) -> Array:
    """(students, pairs of items): each one's derivative of the log-likelihood in the covariance of two items, at 0, in
    units of its size, less the mean of all pairs."""
    ratings, cells = at.placed.ratings, []
    cell, first, second = _shifted(at)
    for item in range(ratings.n_items):
        some = ratings.item == item
        place, shape = (ratings.student[some], cell[some]), (ratings.n_students, len(first))
        cells.append(sparse.csr_array((np.ones(np.count_nonzero(some)), place), shape=shape))
    pairs = list(combinations(range(ratings.n_items), 2))
    own, size = np.zeros((ratings.n_students, len(pairs))), np.zeros(len(pairs))
    for rows, posterior, _ in at.posteriors():
        g, h = ([of_item[rows] @ by for of_item in cells] for by in (first, second))
        for pair, (i, j) in enumerate(pairs):
            own[rows, pair] = np.einsum("nq,nq->n", g[i] * g[j], posterior)
            size[pair] += np.vdot(h[i] * h[j], posterior)
    met = size > 0  # students have both
    own[:, met] *= len(own) / size[met]
    own[:, met] -= own[:, met].mean(axis=1, keepdims=True)
    return own
