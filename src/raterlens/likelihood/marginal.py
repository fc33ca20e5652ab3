"""The marginal log-likelihood of a facets model, its exact gradient and its observed information, through an engine.

Both derivatives are expectations over what is not seen. With T the log-probability of a student's ratings at an
ability,

    gradient    = sum_n E_n[d T]                          (Fisher's identity)
    information = sum_n E_n[-d2 T] - Cov_n[d T]           (Louis's identity)

The expectations follow from the expected counts, the covariances are an engine's to add up. Where T is itself the
logarithm of an average (over the impression of a reading), its derivatives come from the same two identities. What T
is, a density knows (`density.py`, `readings.py`), as a function of slopes, intercepts and spreads; here these are taken
from the model's parameters, and derivatives back to them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import Grouping, Kinds, grouped_by, rating_cells
from raterlens.likelihood.density import Cells, Density, Derivatives, Essays, Up, above_zero, large_fit
from raterlens.likelihood.derivatives import placed_at
from raterlens.likelihood.engines.by_piece import PieceEngine, fine_enough, points_of
from raterlens.likelihood.engines.contract import CellScores, Engine, Matrix, Tables, Weighting
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.latent import Crossed, Fallible
from raterlens.likelihood.nodes import Moments, Nodes, ProductNodes, nodes_for
from raterlens.likelihood.priors import DrawnPrior, PanelPrior, Prior, Pseudo, Ridge
from raterlens.likelihood.readings import Readings
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Response
from raterlens.models.term import Contexts
from raterlens.models.terms.draws import with_outcomes
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


# Grids of two abilities: the first one, a step in units of 1 / slope, and how far the final one goes.
_ROUGH, _ROUGH_REACH, _STEEP, _REACH = 0.6, 4.5, 2.0, 6.0
# A posterior's width does not tell how steep its flanks are.
_WIDEST = 0.5
ACCURACY, MOST_ROUNDS = 1e-6, 5
"""Relative error of the log-likelihood, and how often the grid of two abilities is made finer."""
# Sum of weights about a mean, but for rounding.
_NO_WEIGHT = 1e-12


class At(NamedTuple):
    """A likelihood evaluated: what its value and its information are made of."""

    parameters: Array
    nodes: Nodes
    up: Up
    tables: Tables
    """For the engine: of the cells of ratings, and of groups of students."""
    found: Derivatives


@dataclass(frozen=True, eq=False)
class FacetsMarginal:
    """A facets model on data."""

    ratings: Ratings
    model: FacetsModel
    pseudo: Pseudo
    density: Density[Any]
    engine: Engine
    checkpoint: Journal | None = None
    """Where values are kept and taken from."""
    prior: PanelPrior | None = None
    """Prior of raters in general, as part of the objective."""
    drawn: DrawnPrior | None = None
    """How much raters differ between items or levels, another such part."""
    ridge: Ridge | None = None
    """Prior that draws raters to each other where they share a second ability."""

    @property
    def response(self) -> Response:
        return self.density.response

    @property
    def priors(self) -> tuple[Prior, ...]:
        """All that is known besides the ratings."""
        return tuple(prior for prior in (self.prior, self.drawn, self.ridge) if prior is not None)

    @property
    def n_students(self) -> int:
        return self.engine.n_students

    # -- nodes ------------------------------------------------------------------------------------------------

    @property
    def nests(self) -> bool:
        """Whether students with narrow posteriors may have nodes between the nodes: tables are smooth there."""
        return not self.model.nested and not self.model.enters("loading")

    def own_nodes(self, parameters: Array) -> Nodes | None:
        """The grid that two abilities ask for, of which a finer one changes nothing; None for one ability, where it
        follows from the posteriors."""
        if not self.model.enters("loading"):
            return None
        nodes = self.nodes_at(parameters, self.rough_nodes())
        loglik = self.loglik(parameters, nodes)
        for _ in range(MOST_ROUNDS):
            finer = nodes.finer()
            before, loglik = loglik, self.loglik(parameters, finer)
            if abs(loglik - before) <= ACCURACY * abs(loglik):
                break
            nodes = finer
        return nodes

    def rough_nodes(self) -> ProductNodes:
        """The first grid of two abilities; narrower where known answers make curves steep."""
        return ProductNodes.of((min(_ROUGH, self._steep), _ROUGH), _ROUGH_REACH)

    def nodes_at(self, parameters: Array, nodes: ProductNodes) -> ProductNodes:
        """A grid that follows the posteriors of two abilities as they are seen on another one."""
        wanted, steps = ACCURACY * max(1.0, float(self.n_students)), []
        both = self.moments(parameters, nodes), self.shared_moments(parameters, nodes)
        for moments, step in zip(both, nodes.steps, strict=True):
            seen = Moments(moments.mean, np.maximum(moments.sd, step / 4))
            steps.append(min(nodes_for(seen, wanted).step, _WIDEST))
        return ProductNodes.of((min(steps[0], self._steep), steps[1]), _REACH)

    @property
    def _steep(self) -> float:
        """The widest step that known answers allow."""
        known = self.model.known_slope
        return np.inf if known is None else _STEEP / known

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

    def moments(self, parameters: Array, nodes: Nodes, *, pieces: bool = False) -> Moments:
        """Means and standard deviations of the students' abilities, or of what their pieces of work are worth."""
        return self.engine.moments(self.tables(parameters, nodes), nodes, pieces=pieces)

    def shared_moments(self, parameters: Array, nodes: Nodes) -> Moments:
        """Moments of each student on the dimension that raters share, where there is one."""
        return self.engine.moments(self.tables(parameters, nodes), nodes.turned())

    # -- up: log-probabilities of cells -----------------------------------------------------------------------

    def up(self, parameters: Array, nodes: Nodes) -> Up:
        found: Up = self.density.up(self.density.model.predictor(parameters), self.inner(parameters, nodes))
        return found

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        return self._peopled(self.up(parameters, nodes).tables, parameters, nodes)

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

    # -- down: expected counts to derivatives -----------------------------------------------------------------

    def at(self, parameters: Array, nodes: Nodes) -> At:
        """The likelihood evaluated at a place."""
        up = self.up(parameters, nodes)
        tables = self._peopled(up.tables, parameters, nodes)
        expected, everyone = self.engine.evaluate(tables, nodes), None
        if n := self.model.n_groups:
            expected, everyone = replace(expected, counts=expected.counts[:-n]), expected.counts[-n:]
        found: Derivatives = self.density.down(up, expected)
        return At(parameters, nodes, up, tables, replace(found, everyone=everyone, d_piece=expected.d_piece))

    def loglik(self, parameters: Array, nodes: Nodes) -> float:
        """Log-likelihood of the ratings alone."""
        return self.at(parameters, nodes).found.loglik

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        kept = self.checkpoint
        found = self._value(parameters, nodes) if kept is None else kept.value(parameters, nodes, self._value)
        # Outside of what a checkpoint keeps: spreads change on the way.
        for prior in self.priors:
            extra, extra_gradient = prior.value(parameters)
            found = Value(found.loglik, found.objective + extra, found.gradient + extra_gradient)
        return found

    def _value(self, parameters: Array, nodes: Nodes) -> Value:
        at = self.at(parameters, nodes)
        gradient, found = self.gradient(at), at.found
        extra, extra_gradient = self.pseudo.value(self.model.single, self.response.single, parameters)
        people = self.model.people(parameters, nodes.points)
        if found.everyone is not None and people is not None:
            block, by = people
            pull = by.ridge * parameters[block]
            extra -= float(pull @ parameters[block]) / 2
            each = np.einsum("gkq,gq->gk", by.scores, found.everyone)
            gradient[block] = np.bincount(by.parameter.ravel(), each.ravel(), block.stop - block.start) - pull
        if found.d_piece is not None and self.model.nested is not None:
            gradient[self.model.blocks[self.model.nested]] = found.d_piece
        return Value(found.loglik, found.loglik + extra, gradient + extra_gradient)

    def gradient(self, at: At) -> Array:
        """(parameters,): of the log-likelihood of the ratings, by slopes and intercepts."""
        return self.density.model.pullback(at.parameters, at.found.d_slope, at.found.d_intercepts)

    # -- observed information ---------------------------------------------------------------------------------

    def information(self, parameters: Array, nodes: Nodes) -> Matrix:
        """(parameters, parameters): minus the second derivative of what is maximised.

        Sparse where the design is (two raters are coupled by the students they share), unless it was added up in full.
        """
        own = self._with_scores(nodes)
        at = own.at(self.model.off_zero(parameters), nodes)
        second, scores = own.second(at)
        information = _without(second, own.engine.covariance(at.tables, nodes, scores))
        for prior in self.priors:
            information = information + prior.information(parameters)
        return information

    def _with_scores(self, nodes: Nodes) -> "FacetsMarginal":
        """This; where a table of scores of whole essays would be too large, the same with single ratings as cells."""
        if self.density.fits_scores(len(nodes.points)):
            return self
        return bound(self.ratings, self.model, Cells(self.response, self.model), self.pseudo)

    def second(self, at: At) -> tuple[sparse.csr_array, CellScores]:
        """(parameters, parameters): second derivatives of what is maximised, expected over what is not seen: of the
        density, the maps to slopes and intercepts, the half ratings, and the students' distribution; and each cell's
        part in a student's score, by the cells of the engine."""
        model, parameters, found, wide = self.model, at.parameters, at.found, self.density.model
        through = wide.jacobian(parameters)
        curvature, scores = self.density.second(at.up, found, through)
        second = through.T @ curvature @ through
        if not wide.straight:
            second = second + wide.second(parameters, found.d_slope, found.d_intercepts)
        if self.pseudo.counts.any():
            second = second + self.pseudo.curvature(model.single, self.response.single, parameters)
        people = model.people(parameters, at.nodes.points)
        if found.everyone is not None and people is not None:
            block, by = people
            own = by.curvature(found.everyone) - np.diag(by.ridge)
            second = second + placed_at(own, block, model.blocks.size)
        return sparse.csr_array(second), self._with_people(scores, at)

    def _with_people(self, scores: CellScores, at: At) -> CellScores:
        """Scores of the cells, with those of the students' distribution, which is a cell of its own."""
        model = self.model
        if model.nested is not None:
            scores = replace(scores, piece=model.blocks[model.nested].start)
        people = model.people(at.parameters, at.nodes.points)
        if at.found.everyone is None or people is None:
            return scores
        block, by = people
        groups, own_size = by.parameter.shape
        return replace(
            scores,
            first=np.append(scores.first, scores.first[-1] + own_size * np.arange(1, groups + 1)),
            parameter=np.append(scores.parameter, block.start + by.parameter.ravel()),
            table=np.concatenate([scores.table, by.scores.reshape(groups * own_size, -1)]),
            steepest=np.append(scores.steepest, np.full(groups, by.steepness)),
        )

    def student_scores(
        self, parameters: Array, nodes: Nodes, weights: Weighting = lambda posterior: posterior
    ) -> sparse.csr_array:
        """(students, parameters): each student's score, summed over nodes with weights that follow from the posterior:
        with the posterior itself, the student's part of the gradient."""
        own = self._with_scores(nodes)
        at = own.at(parameters, nodes)
        scores = own.density.scores(at.up, own.density.model.jacobian(parameters))
        found = own.engine.scores(at.tables, nodes, own._with_people(scores, at), weights)
        if not own.density.sums or np.allclose(found.weight, 0.0, atol=_NO_WEIGHT):
            return found.scores
        # Sums leave out what does not depend on ability: the intercepts of the scores that were given.
        steps, contexts = len(self.response.lever), self.model.contexts
        above, by_cell = (
            above_zero(len(contexts), steps),
            self.model.jacobian(parameters)[len(contexts) :],
        )
        given = [rating_cells(part, contexts, steps + 1)[:, above] for part in self.ratings.parts()]
        constants = sparse.csr_array(sparse.vstack(given, format="csr")) @ by_cell
        return sparse.csr_array(found.scores + sparse.diags_array(found.weight) @ constants)


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


def marginal(
    ratings: Ratings,
    model: FacetsModel,
    response: Response,
    pseudo: Pseudo,
    client: "Client | None" = None,
) -> FacetsMarginal:
    """A model on data, by the cheapest density that the model and the response allow."""
    ratings = as_modelled(ratings, model)
    if model.enters("loading"):
        model = model.widened("loading")
        both = Crossed(Fallible(response, model.n_rated), np.empty(0), np.empty(0))
        engine = NumpyEngine(rating_cells(ratings, model.contexts, both.n_categories), finite=True)
        return FacetsMarginal(ratings, model, pseudo, Cells(both, model), engine)
    if model.enters("draw"):
        ratings, model, response = with_outcomes(ratings, model, response)
    density: Density[Any]
    if model.enters("halo"):
        density = Readings(response, model)
    else:
        density = Essays(response, model) if isinstance(response, Adjacent) else Cells(response, model)
    return bound(ratings, model, density, pseudo, client)


# ----------------------------------------------------------------------------------------------------
# Which engine for which data: compiled code where it pays, readable code everywhere else.


def bound(
    ratings: Ratings,
    model: FacetsModel,
    density: Density[Any],
    pseudo: Pseudo,
    client: "Client | None" = None,
) -> FacetsMarginal:
    """A model with a density on ratings."""
    engine, kinds = bind(ratings, model.contexts, density.grouping, client, pieces=model.nested is not None)
    if kinds is not None:
        density.bind(kinds)
    return FacetsMarginal(ratings, model, pseudo, density, engine)


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
