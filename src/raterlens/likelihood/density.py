"""Densities of ratings: how likely cells are given abilities, and what expected counts of them tell.

A density knows the slopes and intercepts of contexts, and nothing of parameters. There is one route up, to the
log-probabilities of cells at nodes of ability (`up`), and one down, from expected counts of cells to derivatives
(`down`, `curvature`), with each cell's part in a student's score beside it (`scores`): the likelihood (`marginal.py`)
makes value, gradient and information of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import Grouping, Kinds, essays, ungrouped
from raterlens.likelihood.derivatives import cell_scores, context_curvature, score_terms, slope_reach
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.nodes import Nodes
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Predictor, Response

# Numbers of a matrix that is not worth keeping sparse.
_SMALL = 2**14
# Nodes and evaluations of a typical fit: it goes over each nonzero count that often.
_PASSES = 40 * 25
LARGEST_SCORES = 2**26
"""Numbers in the table of scores of whole essays, up to which it is worth having: 512 MB."""


def large_fit(n_counts: int) -> bool:
    """Whether a fit with this many nonzero counts is worth compiled code."""
    return compiled_code_pays(n_counts * _PASSES)


@dataclass(frozen=True, slots=True)
class Up:
    """Log-probabilities of the cells, and where they are taken."""

    predictor: Predictor
    nodes: Nodes
    tables: Tables


Upward = TypeVar("Upward", bound=Up)


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Derivatives of the marginal log-likelihood in the contexts' slopes and intercepts."""

    loglik: float
    d_slope: Array
    """(contexts,)"""
    d_intercepts: Array
    """(contexts, categories - 1)"""
    counts: Array
    """(contexts, categories or 1, nodes): expected ratings of each context at each node."""
    cells: Array
    """(cells, nodes): expected cells."""
    everyone: Array | None = None
    """(groups, nodes): expected students of each group at each node, where their distributions are estimated."""
    d_piece: float | None = None
    """In the variance of the piece effect, where the model has one."""


class Density(ABC, Generic[Upward]):
    """A response on the contexts of a model. Subclasses say what a cell is."""

    sums: bool = False
    """Whether cells leave sums of scores out, so that tables know nothing of intercepts of the scores given."""
    kinds: Kinds | None = None
    """The kinds of cells, where these are groups of ratings."""

    def __init__(self, response: Response, model: FacetsModel) -> None:
        self.response, self.contexts, self.n_groups = response, model.contexts, model.n_groups
        self.model = model
        """The map to slopes and intercepts, the variance of a reading effect among these."""

    @property
    @abstractmethod
    def grouping(self) -> Grouping:
        """Groups of ratings that are one cell each."""

    def bind(self, kinds: Kinds) -> None:
        """Take the kinds of cells that there are."""
        self.kinds = kinds

    @abstractmethod
    def up(self, predictor: Predictor, nodes: Nodes) -> Upward:
        """Log-probabilities of the cells."""

    @abstractmethod
    def down(self, at: Upward, expected: Expected) -> Derivatives:
        """By Fisher's identity, from the expected cells of ratings."""

    def second(
        self, at: Upward, found: Derivatives, through: sparse.csr_array
    ) -> tuple[sparse.csr_array, CellScores]:
        """Expected second derivatives in slopes and intercepts, and each cell's part in a student's score. `through`:
        derivatives of slopes and intercepts in the parameters."""
        response = self.response.on(at.nodes.points, at.nodes.z)
        curvature = context_curvature(response, at.predictor, at.nodes, found.counts)
        return curvature, self.scores(at, through)

    @abstractmethod
    def scores(self, at: Upward, through: sparse.csr_array) -> CellScores:
        """Each cell's part in a student's score."""

    def fits_scores(self, n_nodes: int) -> bool:
        """Whether a table of the cells' scores is not too large."""
        return True


class Cells(Density[Up]):
    """Any response: a cell is a context with a score."""

    @property
    def grouping(self) -> Grouping:
        return partial(ungrouped, n_categories=self.response.n_categories, n_groups=self.n_groups)

    def up(self, predictor: Predictor, nodes: Nodes) -> Up:
        log_prob = self.response.on(nodes.points, nodes.z).log_prob(predictor, nodes.points)
        return Up(predictor, nodes, Tables(log_prob.reshape(-1, len(nodes.points))))

    def down(self, at: Up, expected: Expected) -> Derivatives:
        counts = expected.counts.reshape(len(self.contexts), self.response.n_categories, -1)
        response = self.response.on(at.nodes.points, at.nodes.z)
        d_slope, d_intercepts = response.summed_scores(at.predictor, at.nodes.points, counts)
        return Derivatives(expected.loglik, d_slope, d_intercepts, counts, expected.counts)

    def scores(self, at: Up, through: sparse.csr_array) -> CellScores:
        response, t = self.response.on(at.nodes.points, at.nodes.z), at.nodes.points
        terms = score_terms(response, at.predictor, t, by_sums=False)
        members = sparse.eye_array(len(terms[0][0]), format="csr")
        return cell_scores(members, terms, through, slope_reach(response, at.predictor))


class Essays(Density[Up]):
    """Adjacent-category logits: a cell is a student's ratings by one rater, whatever their number."""

    response: Adjacent
    kinds: Kinds
    sums = True

    def __init__(self, response: Adjacent, model: FacetsModel) -> None:
        super().__init__(response, model)
        self._slope_of_context = model.slope_of_context
        _, self._shown_by = np.unique(self._slope_of_context, return_index=True)

    @property
    def grouping(self) -> Grouping:
        return partial(
            essays,
            slope_of_context=self._slope_of_context,
            n_categories=self.response.n_categories,
            n_groups=self.n_groups,
        )

    def bind(self, kinds: Kinds) -> None:
        super().bind(kinds)
        members = kinds.members
        self._compiled = None
        if self.response.n_categories == 2 and large_fit(kinds.n_groups):
            from raterlens.kernels.response_tables import Essays as Compiled  # may be missing

            self._compiled = Compiled.of(members)
        else:
            # Sparse matrices take longer to begin with than small ones take to be multiplied.
            self._members = members.toarray() if np.prod(members.shape) <= _SMALL else members
            self._kinds_of_contexts = self._members.T

    def up(self, predictor: Predictor, nodes: Nodes) -> Up:
        if self._compiled is not None:
            logs = self._compiled.logs(predictor.slope, predictor.intercepts[:, 0], nodes.points)
        else:
            logs = -(self._members @ self.response.log_partition(predictor, nodes.points))
        return Up(predictor, nodes, Tables(logs, predictor.slope[self._shown_by]))

    def down(self, at: Up, expected: Expected) -> Derivatives:
        predictor, points = at.predictor, at.nodes.points
        # Ratings of each context with each score above zero: the part of the log-likelihood without ability.
        totals = self.kinds.given[:, 1:]
        if self._compiled is not None:
            intercept = predictor.intercepts[:, 0]
            found = self._compiled.passes(predictor.slope, intercept, points, expected.counts)
            counts, by_ability, given = *found[:2], found[2][:, None]
        else:
            counts = np.asarray(self._kinds_of_contexts @ expected.counts)
            by_ability, given = self.response.given(predictor, points, counts)
        d_slope = -by_ability
        d_slope[self._shown_by] += np.asarray(expected.linear)
        loglik = expected.loglik + float(np.sum(totals * predictor.intercepts))
        return Derivatives(loglik, d_slope, totals - given, counts[:, None], expected.counts)

    def scores(self, at: Up, through: sparse.csr_array) -> CellScores:
        terms = score_terms(self.response, at.predictor, at.nodes.points, by_sums=True)
        reach, slopes = slope_reach(self.response, at.predictor), through[self._shown_by]
        return cell_scores(self.kinds.members, terms, through, reach, slopes)

    def fits_scores(self, n_nodes: int) -> bool:
        return bool(3 * self.kinds.members.nnz * n_nodes <= LARGEST_SCORES)


def above_zero(n_contexts: int, steps: int) -> Indices:
    """Cells with scores above zero, among those of all contexts and scores."""
    return (np.arange(n_contexts)[:, None] * (steps + 1) + 1 + np.arange(steps)).ravel()
