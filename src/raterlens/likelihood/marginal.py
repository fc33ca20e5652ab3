"""The marginal log-likelihood of a facets model, its exact gradient and its observed information, through an engine.

Both derivatives are expectations over what is not seen. With T the log-probability of a student's ratings at an
ability,

    gradient    = sum_n E_n[d T]                          (Fisher's identity)
    information = sum_n E_n[-d2 T] - Cov_n[d T]           (Louis's identity)

The expectations follow from the expected counts, the covariances are an engine's to add up. Where T is itself the
logarithm of an average (over the impression of a reading), its derivatives come from the same two identities.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import Grouping, Kinds, grouped_by, rating_cells
from raterlens.likelihood.derivatives import context_curvature, placed_at
from raterlens.likelihood.engines.by_piece import PieceEngine, fine_enough, points_of
from raterlens.likelihood.engines.contract import CellScores, Engine, Expected, Matrix, Tables, Weighting
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.likelihood.priors import DrawnPrior, PanelPrior, Pseudo, Ridge
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Response
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True)
class Value:
    """An objective at its parameters."""

    loglik: float
    """Log-likelihood of the data alone."""
    objective: float
    """With the half rating that extreme raters and items get: what is maximised."""
    gradient: Array
    """Gradient of the objective."""


class Journal(Protocol):
    """Keeps values, so that a fit that was interrupted goes on where it was."""

    def value(self, parameters: Array, nodes: Nodes, otherwise: Callable[[Array, Nodes], Value]) -> Value: ...


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
    d_halo: Array | None = None
    """(raters,): in the variances of the reading effect, where the model has one."""
    everyone: Array | None = None
    """(groups, nodes): expected students of each group at each node, where their distributions are estimated."""
    d_piece: float | None = None
    """In the variance of the piece effect, where the model has one."""
    readings: Array | None = None
    """(kinds, nodes): expected readings of each kind, where they share an impression."""


# Sum of weights about a mean, but for rounding.
_NO_WEIGHT = 1e-12
KEPT = 2**20
"""Numbers of tables that are cached: 8 MB."""


class FacetsMarginal(ABC):
    """A facets model on data. Subclasses say what a cell is."""

    sums: bool = False
    """Whether cells leave sums of scores out, so that tables know nothing of intercepts of the scores given."""
    checkpoint: Journal | None = None
    """Where values are kept and taken from."""
    prior: PanelPrior | None = None
    """Prior of raters in general, as part of the objective."""
    drawn: DrawnPrior | None = None
    """How much raters differ between items or levels, another such part."""
    ridge: Ridge | None = None
    """Prior that draws raters to each other where they share a second ability."""
    _latest: tuple[Array, Nodes, Derivatives] | None = None
    """Where it was last evaluated, for who asks more of the same place."""
    _turned: tuple[Array, sparse.csr_array] | None = None
    """Parameters and the last Jacobian."""
    _known: tuple[Array, Array, Tables] | None = None
    """Parameters and nodes of the last tables, and these."""

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Response,
        pseudo: Pseudo,
        client: "Client | None" = None,
    ) -> None:
        self.ratings, self.model, self.response, self.pseudo = ratings, model, response, pseudo
        self.engine, self._kinds = self._bound(client)

    def _bound(self, client: "Client | None") -> "tuple[Engine, Kinds | None]":
        model = self.model
        return bind(self.ratings, model.contexts, self._grouping(), client, pieces=model.nested is not None)

    @property
    def kinds(self) -> Kinds:
        """The kinds of cells, where these are groups of ratings."""
        assert self._kinds is not None
        return self._kinds

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        """The model's Jacobian, kept until another place is asked for, and not to be changed."""
        known = self._turned
        if known is None or not np.array_equal(known[0], parameters):
            self._turned = known = parameters.copy(), self.model.jacobian(parameters)
        return known[1]

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        """Small ones are kept until another place is asked for, and not to be changed."""
        known = self._known
        if known is not None and known[1] is nodes.points and np.array_equal(known[0], parameters):
            return known[2]
        tables = self._peopled(self._tables(parameters, self.inner(parameters, nodes)), parameters, nodes)
        self._known = (parameters.copy(), nodes.points, tables) if tables.cells.size <= KEPT else None
        return tables

    def inner(self, parameters: Array, nodes: Nodes) -> Nodes:
        """Where tables are wanted: at the nodes, or where pieces differ at what they may be worth."""
        if not self.model.nested:
            return nodes
        points = points_of(nodes, self.model.piece_variance(parameters))
        return Nodes(points, np.zeros_like(points))

    def fine_enough(self, nodes: Nodes, parameters: Array) -> Nodes:
        """A grid that will do for abilities, or a finer one that will do for pieces, too."""
        variance = self.model.piece_variance(parameters)
        return fine_enough(nodes, variance) if self.model.nested else nodes

    def widths(self, parameters: Array, nodes: Nodes) -> Moments:
        """Widths that the grid has to resolve: of the students' posteriors, or those of their pieces."""
        return self.moments(parameters, nodes, pieces=True)

    def _peopled(self, tables: Tables, parameters: Array, nodes: Nodes) -> Tables:
        """With a cell for each group of students, which its students have once: how they are distributed."""
        if self.model.nested:
            return replace(tables, piece_variance=self.model.piece_variance(parameters))
        people = self.model.people(parameters, nodes.points)
        if people is None:
            return tables
        return replace(tables, cells=np.concatenate([tables.cells, people[1].log_ratio]))

    def log_prior(self, parameters: Array, nodes: Nodes) -> Array:
        """(1 or students, nodes): log weights of the students' distribution."""
        people = self.model.people(parameters, nodes.points)
        if people is None:
            return nodes.log_weights[None]
        of_groups, groups = nodes.log_weights + people[1].log_ratio, self.ratings.student_groups
        return of_groups if groups is None or len(of_groups) == 1 else of_groups[groups]

    @property
    def n_students(self) -> int:
        return self.engine.n_students

    @property
    def nests(self) -> bool:
        """Whether students with narrow posteriors may have nodes between the nodes: tables are smooth there."""
        return not self.model.nested

    def moments(self, parameters: Array, nodes: Nodes, *, pieces: bool = False) -> Moments:
        """Means and standard deviations of the students' abilities, or of what their pieces of work are worth."""
        return self.engine.moments(self.tables(parameters, nodes), nodes, pieces=pieces)

    def under(self, prior: PanelPrior | None) -> Self:
        """The same problem with another prior, or with none."""
        other = copy(self)
        other.prior = prior
        return other

    def across_groups(self) -> Self:
        """The same problem with students distributed like all of them together, whatever their group."""
        other = copy(self)
        other.model = self.model.across_groups()
        other._latest = other._known = other._turned = None
        return other

    def with_drawn(self, drawn: DrawnPrior | None) -> Self:
        """The same problem with another prior of its drawn terms."""
        other = copy(self)
        other.drawn = drawn
        return other

    def with_priors(self, information: Matrix, parameters: Array) -> Matrix:
        """The information of the ratings, and of what is known besides them."""
        for prior in (self.prior, self.drawn, self.ridge):
            information = information if prior is None else prior.added(information, parameters)
        return information

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        kept = self.checkpoint
        found = self._value(parameters, nodes) if kept is None else kept.value(parameters, nodes, self._value)
        # Outside of what a checkpoint keeps: spreads change on the way.
        for prior in (self.prior, self.drawn, self.ridge):
            if prior is not None:
                extra, extra_gradient = prior.value(parameters)
                found = Value(found.loglik, found.objective + extra, found.gradient + extra_gradient)
        return found

    def _value(self, parameters: Array, nodes: Nodes) -> Value:
        found = self.derivatives(parameters, nodes)
        gradient = self.model.pullback(parameters, found.d_slope, found.d_intercepts, found.d_halo)
        extra, extra_gradient = self.pseudo.value(self.model.single, self.response.single, parameters)
        people = self.model.people(parameters, nodes.points)
        if found.everyone is not None and people is not None:
            at, by = people
            pull = by.ridge * parameters[at]
            extra -= float(pull @ parameters[at]) / 2
            each = np.einsum("gkq,gq->gk", by.scores, found.everyone)
            gradient[at] = np.bincount(by.parameter.ravel(), each.ravel(), at.stop - at.start) - pull
        if found.d_piece is not None and self.model.nested is not None:
            gradient[self.model.blocks[self.model.nested]] = found.d_piece
        return Value(found.loglik, found.loglik + extra, gradient + extra_gradient)

    def derivatives(self, parameters: Array, nodes: Nodes) -> Derivatives:
        """Kept until another place is asked for, and not to be changed."""
        latest = self._latest
        if latest is None or latest[1] is not nodes or not np.array_equal(latest[0], parameters):
            self._latest = latest = parameters.copy(), nodes, self._at(parameters, nodes)
        return latest[2]

    def _at(self, parameters: Array, nodes: Nodes) -> Derivatives:
        expected, everyone = self.engine.evaluate(self.tables(parameters, nodes), nodes), None
        if n := self.model.n_groups:
            expected, everyone = replace(expected, counts=expected.counts[:-n]), expected.counts[-n:]
        found = self._derivatives(parameters, expected, self.inner(parameters, nodes))
        return replace(found, everyone=everyone, d_piece=expected.d_piece)

    # -- observed information -------------------------------------------------------------------------------

    def information(self, parameters: Array, nodes: Nodes) -> Matrix:
        """(parameters, parameters): minus the second derivative of what is maximised.

        Sparse where the design is (two raters are coupled by the students they share), unless it was added up in full.
        """
        inside = self.model.off_zero(parameters)
        second, own = self.expected_curvature(inside, nodes), self.for_scores(inside, nodes)
        missing = own.engine.covariance(own.tables(inside, nodes), nodes, own.scores(inside, nodes))
        return self.with_priors(_without(second, missing), parameters)

    def expected_curvature(self, parameters: Array, nodes: Nodes) -> sparse.csr_array:
        """(parameters, parameters): second derivatives of what is maximised, expected over what is not seen."""
        found = self.derivatives(parameters, nodes)
        predictor, inner = self.model.predictor(parameters), self.inner(parameters, nodes)
        curvature = context_curvature(self.at_nodes(inner), predictor, inner, found.counts)
        return self._in_parameters(parameters, nodes, curvature, found)

    def _in_parameters(
        self, parameters: Array, nodes: Nodes, curvature: sparse.csr_array, found: Derivatives
    ) -> sparse.csr_array:
        """Second derivatives in the contexts' slopes and intercepts, with those of the half ratings, of the map to
        parameters and of the students' distribution."""
        model, jacobian = self.model, self.jacobian(parameters)
        second = jacobian.T @ curvature @ jacobian
        if not model.straight:
            second = second + model.second(parameters, found.d_slope, found.d_intercepts)
        if self.pseudo.counts.any():
            second = second + self.pseudo.curvature(model.single, self.response.single, parameters)
        people = model.people(parameters, nodes.points)
        if found.everyone is None or people is None:
            return sparse.csr_array(second)
        own = people[1].curvature(found.everyone) - np.diag(people[1].ridge)
        return sparse.csr_array(second + placed_at(own, people[0], model.blocks.size))

    def at_nodes(self, nodes: Nodes) -> Response:
        """The response, which knows of further coordinates that nodes have."""
        return self.response

    def own_nodes(self, parameters: Array) -> Nodes | None:
        """The grid that this likelihood asks for; None where it follows from the posteriors of one ability."""
        return None

    def for_scores(self, parameters: Array, nodes: Nodes) -> "FacetsMarginal":
        """The same problem, its cells such that a table of their scores is not too large."""
        return self

    def scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        """Each cell's part in a student's score, by the cells of the engine."""
        scores, model = self._scores(parameters, self.inner(parameters, nodes)), self.model
        if model.nested is not None:
            return replace(scores, piece=model.blocks[model.nested].start)
        people = model.people(parameters, nodes.points)
        if people is None:
            return scores
        at, by = people
        groups, own = by.parameter.shape
        return replace(
            scores,
            first=np.append(scores.first, scores.first[-1] + own * np.arange(1, groups + 1)),
            parameter=np.append(scores.parameter, at.start + by.parameter.ravel()),
            table=np.concatenate([scores.table, by.scores.reshape(groups * own, -1)]),
            steepest=np.append(scores.steepest, np.full(groups, by.steepness)),
        )

    def student_scores(
        self, parameters: Array, nodes: Nodes, weights: Weighting = lambda posterior: posterior
    ) -> sparse.csr_array:
        """(students, parameters): each student's score, summed over nodes with weights that follow from the posterior:
        with the posterior itself, the student's part of the gradient."""
        own = self.for_scores(parameters, nodes)
        found = own.engine.scores(
            own.tables(parameters, nodes), nodes, own.scores(parameters, nodes), weights
        )
        if not own.sums or np.allclose(found.weight, 0.0, atol=_NO_WEIGHT):
            return found.scores
        # Sums leave out what does not depend on ability: the intercepts of the scores that were given.
        steps, jacobian = len(self.response.lever), self.jacobian(parameters)
        by_cell = jacobian[len(self.model.contexts) :]
        given = [
            rating_cells(part, self.model.contexts, steps + 1)[
                :, _above_zero(len(self.model.contexts), steps)
            ]
            for part in self.ratings.parts()
        ]
        constants = sparse.csr_array(sparse.vstack(given, format="csr")) @ by_cell
        return sparse.csr_array(found.scores + sparse.diags_array(found.weight) @ constants)

    # -- by the kind of cells -------------------------------------------------------------------------------

    @abstractmethod
    def _grouping(self) -> Grouping:
        """Groups of ratings that are one cell each."""

    @abstractmethod
    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        """Log-probabilities of the cells of ratings."""

    @abstractmethod
    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        """By Fisher's identity, from the expected cells of ratings."""

    @abstractmethod
    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        """Each cell's part in a student's score."""


def _above_zero(n_contexts: int, steps: int) -> Indices:
    """Cells with scores above zero, among those of all contexts and scores."""
    return (np.arange(n_contexts)[:, None] * (steps + 1) + 1 + np.arange(steps)).ravel()


def _without(second: sparse.csr_array, missing: Matrix) -> Matrix:
    """Minus the sum of both, in the place of the latter where it is full."""
    if not isinstance(missing, np.ndarray):
        information = -(second + missing)
        return sparse.csr_array((information + information.T) / 2)
    np.negative(missing, out=missing)
    second.sum_duplicates()
    row = np.repeat(np.arange(len(missing)), np.diff(second.indptr))
    missing[row, second.indices] -= second.data
    return missing


# ----------------------------------------------------------------------------------------------------
# Which engine for which data: compiled code where it pays, readable code everywhere else.

# Nodes and evaluations of a typical fit: it goes over each nonzero count that often.
_PASSES = 40 * 25


def large_fit(n_counts: int) -> bool:
    """Whether a fit with this many nonzero counts is worth compiled code."""
    return compiled_code_pays(n_counts * _PASSES)


def engine_for(counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> Engine:
    """An engine on these counts and sums; both kinds give the same numbers."""
    if not large_fit(counts.nnz):
        return NumpyEngine(counts, sums)
    from raterlens.likelihood.engines.compiled import CompiledEngine  # may be missing

    return CompiledEngine(counts, sums, arrange=True)


def bind(
    ratings: Ratings,
    contexts: Contexts,
    grouping: Grouping,
    client: "Client | None" = None,
    *,
    pieces: bool = False,
) -> tuple[Engine, Kinds | None]:
    """An engine on these ratings, and what kinds its cells are; on the workers of a Dask client, where there is one.

    `pieces`: a student's pieces of work differ.
    """
    if client is not None:
        from raterlens.likelihood.engines.dask import on_cluster  # an optional package

        return on_cluster(client, ratings, contexts, grouping, pieces=pieces)
    if isinstance(ratings, StoredRatings):
        from raterlens.likelihood.engines.disk import by_parts  # may be missing

        return by_parts(ratings, contexts, grouping, pieces=pieces)
    found, student = grouped_by(ratings, contexts, grouping, pieces)
    if student is not None:
        return PieceEngine(found.counts, found.sums, student, engine_for), found.kinds
    return engine_for(found.counts, found.sums), found.kinds
