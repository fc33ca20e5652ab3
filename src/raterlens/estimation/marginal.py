"""The marginal log-likelihood of a facets model and its exact gradient, through an engine."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from scipy import sparse

from raterlens.base.memo import latest_with
from raterlens.base.records import dataclass
from raterlens.base.types import Array
from raterlens.engine.cells import essays, rating_cells
from raterlens.engine.piece_engine import PieceEngine, fine_enough, points_of
from raterlens.engine.protocol import Engine, Expected, Matrix, Moments, Nodes, Tables
from raterlens.engine.selection import cell_engine, kind_engine, large_fit
from raterlens.estimation.checkpoint import Checkpoint, digest
from raterlens.estimation.extremes import Pseudo
from raterlens.estimation.interaction_prior import InteractionPrior
from raterlens.estimation.panel_prior import PanelPrior
from raterlens.estimation.quasi_newton import Value
from raterlens.models.facets import PIECE, SHAPE, FacetsModel
from raterlens.models.known_rows import as_modelled
from raterlens.models.responses import Adjacent, Predictor, Response, summed_scores
from raterlens.ratings.coded import Ratings
from raterlens.ratings.stored import IN_MEMORY, StoredRatings

if TYPE_CHECKING:
    from distributed import Client

Arranged = TypeVar("Arranged")


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Of the marginal log-likelihood in the contexts' slopes and intercepts."""

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
    """(nodes,): expected students at each node, where the shape of their distribution is estimated."""
    d_piece: float | None = None
    """In the variance of the piece effect, where the model has one."""


# Numbers of a matrix that is not worth keeping sparse.
_SMALL = 2**14
# Numbers of tables that are kept for the next who asks: 8 MB.
_KEPT = 2**20
# How firmly that shape is held at a normal one: as if so many students were known to be from it.
_NORMAL_STUDENTS = 5.0
SHAPE_RIDGE = _NORMAL_STUDENTS * np.array([6.0, 24.0])
"""(2,): times the variances of the two polynomials, the information of a student whose ability is known."""


class FacetsMarginal:
    """A facets model on data. Subclasses say what a cell is."""

    engine: Engine
    checkpoint: Checkpoint | None = None
    """Where values are kept and taken from."""
    prior: PanelPrior | None = None
    """What raters have in common, as part of what is maximised."""
    interactions: InteractionPrior | None = None
    """How much raters differ between items or levels, another such part."""
    _jacobian: sparse.csr_array | None = None
    """Of the model, where it is the same at all parameters."""
    _latest: tuple[Array, Nodes, Derivatives] | None = None
    """Where it was last evaluated, for who asks more of the same place."""
    _known: tuple[Array, Array, Tables] | None = None
    """Parameters and nodes of the last tables, and these."""

    def __init__(self, model: FacetsModel, response: Response, pseudo: Pseudo) -> None:
        self.model, self.response, self.pseudo = model, response, pseudo

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        """Of the model; not to be changed."""
        if not self.model.straight:
            return self.model.jacobian(parameters)
        if self._jacobian is None:
            self._jacobian = self.model.jacobian(parameters)
        return self._jacobian

    def tables(self, parameters: Array, nodes: Nodes) -> Tables:
        """Small ones are kept until another place is asked for, and not to be changed."""
        known = self._known
        if known is not None and known[1] is nodes.points and np.array_equal(known[0], parameters):
            return known[2]
        predictor, inner = self.model.predictor(parameters), self.inner(parameters, nodes)
        tables = self.peopled(self._tables(predictor, inner), parameters, nodes)
        self._known = (parameters.copy(), nodes.points, tables) if tables.cells.size <= _KEPT else None
        return tables

    def inner(self, parameters: Array, nodes: Nodes) -> Nodes:
        """Where tables are wanted: at the nodes, or where pieces differ at what they may be worth."""
        if not self.model.pieces:
            return nodes
        points = points_of(nodes, self.model.piece_variance(parameters))
        return Nodes(points, np.zeros_like(points))

    def fine_enough(self, nodes: Nodes, parameters: Array) -> Nodes:
        """A grid that will do for abilities, or a finer one that will do for pieces, too."""
        variance = self.model.piece_variance(parameters)
        return fine_enough(nodes, variance) if self.model.pieces else nodes

    def widths(self, parameters: Array, nodes: Nodes) -> Moments:
        """What the grid has to resolve: the students' posteriors, or those of their pieces."""
        if isinstance(self.engine, PieceEngine):
            return self.engine.of_pieces(self.tables(parameters, nodes), nodes)
        return self.moments(parameters, nodes)

    def peopled(self, tables: Tables, parameters: Array, nodes: Nodes) -> Tables:
        """With the cell that every student has once: how students are distributed, where that is estimated."""
        if self.model.pieces:
            return replace(tables, piece_variance=self.model.piece_variance(parameters))
        if not self.model.smooth:
            return tables
        row = self.model.shape(parameters).log_ratio(nodes.points)
        return replace(tables, cells=np.concatenate([tables.cells, row[None]]))

    def evaluated(self, tables: Tables, nodes: Nodes) -> tuple[Expected, Array | None]:
        """What is expected of the cells of ratings, and of the one that every student has."""
        found = self.engine.evaluate(tables, nodes)
        if not self.model.smooth:
            return found, None
        return replace(found, counts=found.counts[:-1]), found.counts[-1]

    def log_prior(self, parameters: Array, nodes: Nodes) -> Array:
        """(nodes,): log weights of the students' distribution."""
        if not self.model.smooth:
            return nodes.log_weights
        return nodes.log_weights + self.model.shape(parameters).log_ratio(nodes.points)

    @property
    def n_students(self) -> int:
        return self.engine.n_students

    def moments(self, parameters: Array, nodes: Nodes) -> Moments:
        return self.engine.moments(self.tables(parameters, nodes), nodes)

    def under(self, prior: PanelPrior | None) -> Self:
        """The same problem with another prior, or with none."""
        other = copy(self)
        other.prior = prior
        return other

    def interacting(self, interactions: InteractionPrior) -> Self:
        """The same problem with another prior of interactions."""
        other = copy(self)
        other.interactions = interactions
        return other

    def with_priors(self, information: Matrix, parameters: Array) -> Matrix:
        """The information of the ratings, and of what is known besides them."""
        for prior in (self.prior, self.interactions):
            information = information if prior is None else prior.added(information, parameters)
        return information

    def value(self, parameters: Array, nodes: Nodes) -> Value:
        kept = self.checkpoint
        found = self._value(parameters, nodes) if kept is None else kept.value(parameters, nodes, self._value)
        # Outside of what a checkpoint keeps: spreads change on the way.
        for prior in (self.prior, self.interactions):
            if prior is not None:
                extra, extra_gradient = prior.value(parameters)
                found = Value(found.loglik, found.objective + extra, found.gradient + extra_gradient)
        return found

    def _value(self, parameters: Array, nodes: Nodes) -> Value:
        found = self.derivatives(parameters, nodes)
        gradient = self.model.pullback(parameters, found.d_slope, found.d_intercepts, found.d_halo)
        extra, extra_gradient = self.pseudo.value(self.model, self.response, parameters)
        if found.everyone is not None:
            at = self.model.blocks[SHAPE]
            pull = SHAPE_RIDGE * parameters[at]
            extra -= float(pull @ parameters[at]) / 2
            gradient[at] = self.model.shape(parameters).scores(nodes.points) @ found.everyone - pull
        if found.d_piece is not None:
            gradient[self.model.blocks[PIECE]] = found.d_piece
        return Value(found.loglik, found.loglik + extra, gradient + extra_gradient)

    def derivatives(self, parameters: Array, nodes: Nodes) -> Derivatives:
        """Kept until another place is asked for, and not to be changed."""
        latest = self._latest
        if latest is None or latest[1] is not nodes or not np.array_equal(latest[0], parameters):
            self._latest = latest = parameters.copy(), nodes, self._at(parameters, nodes)
        return latest[2]

    def _at(self, parameters: Array, nodes: Nodes) -> Derivatives:
        predictor, inner = self.model.predictor(parameters), self.inner(parameters, nodes)
        expected, everyone = self.evaluated(self.tables(parameters, nodes), nodes)
        found = self._derivatives(predictor, expected, inner)
        if everyone is None and expected.d_piece is None:
            return found
        return replace(found, everyone=everyone, d_piece=expected.d_piece)

    def _tables(self, predictor: Predictor, nodes: Nodes) -> Tables:
        raise NotImplementedError

    def _derivatives(self, predictor: Predictor, expected: Expected, nodes: Nodes) -> Derivatives:
        raise NotImplementedError


class CellMarginal(FacetsMarginal):
    """Any response: a cell is a context with a score."""

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Response,
        pseudo: Pseudo,
        client: "Client | None" = None,
    ) -> None:
        super().__init__(model, response, pseudo)
        cells_of = partial(rating_cells, n_categories=response.n_categories, everyone=model.smooth)
        arrange = partial(cell_engine, ratings, model.contexts, cells_of, client, pieces=model.pieces)
        asked = "cells", model.contexts.codes, response.n_categories, model.smooth
        self.engine = _arranged(ratings, asked, arrange, kept=client is None and not model.pieces)

    def _tables(self, predictor: Predictor, nodes: Nodes) -> Tables:
        return Tables(self.response.log_prob(predictor, nodes.points).reshape(-1, len(nodes.points)))

    def _derivatives(self, predictor: Predictor, expected: Expected, nodes: Nodes) -> Derivatives:
        counts = expected.counts.reshape(len(self.model.contexts), self.response.n_categories, -1)
        d_slope, d_intercepts = summed_scores(self.response, predictor, nodes.points, counts)
        return Derivatives(expected.loglik, d_slope, d_intercepts, counts)


class EssayMarginal(FacetsMarginal):
    """Adjacent-category logits: a cell is a student's ratings by one rater, whatever their number."""

    response: Adjacent

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Adjacent,
        pseudo: Pseudo,
        client: "Client | None" = None,
    ) -> None:
        super().__init__(model, response, pseudo)
        grouping = partial(
            essays,
            slope_of_context=model.slope_of_context,
            n_categories=response.n_categories,
            everyone=model.smooth,
        )
        arrange = partial(kind_engine, ratings, model.contexts, grouping, client, pieces=model.pieces)
        asked = "essays", model.contexts.codes, model.slope_of_context, response.n_categories, model.smooth
        kept = client is None and not model.pieces
        self.engine, self.kinds = _arranged(ratings, asked, arrange, kept=kept)
        members = self.kinds.members
        # Ratings of each context with each score above zero: the part of the log-likelihood without ability.
        self._totals = self.kinds.given[:, 1:]
        _, self.shown_by = np.unique(model.slope_of_context, return_index=True)
        self._client = client
        self._essays = None
        if response.n_categories == 2 and large_fit(self.kinds.n_groups):
            from raterlens.kernels.logistic import Essays  # may be missing

            self._essays = Essays.of(members)
        else:
            # Sparse matrices take longer to begin with than small ones take to be multiplied.
            self._members = members.toarray() if np.prod(members.shape) <= _SMALL else members
            self._kinds_of_contexts = self._members.T

    def by_ratings(self, ratings: Ratings) -> CellMarginal:
        """The same problem with single ratings as cells: for where essays are of too many kinds."""
        return CellMarginal(
            as_modelled(ratings, self.model), self.model, self.response, self.pseudo, self._client
        )

    def _tables(self, predictor: Predictor, nodes: Nodes) -> Tables:
        if self._essays is not None:
            logs = self._essays.logs(predictor.slope, predictor.intercepts[:, 0], nodes.points)
        else:
            logs = -(self._members @ self.response.log_partition(predictor, nodes.points))
        return Tables(logs, predictor.slope[self.shown_by])

    def _derivatives(self, predictor: Predictor, expected: Expected, nodes: Nodes) -> Derivatives:
        loglik = expected.loglik + float(np.sum(self._totals * predictor.intercepts))
        counts, by_ability, given = self._given(predictor, nodes.points, expected.counts)
        d_slope = -by_ability
        d_slope[self.shown_by] += np.asarray(expected.linear)
        return Derivatives(loglik, d_slope, self._totals - given, counts[:, None])

    def _given(self, predictor: Predictor, points: Array, of_kinds: Array) -> tuple[Array, Array, Array]:
        """From the (kinds, nodes) counts of essays: (contexts, nodes) those of the contexts; and what the model expects
        of them, (contexts,) the sum of scores times ability, and (contexts, categories - 1) how often each score above
        zero is given."""
        if self._essays is not None:
            intercept = predictor.intercepts[:, 0]
            counts, by_ability, passes = self._essays.passes(predictor.slope, intercept, points, of_kinds)
            return counts, by_ability, passes[:, None]
        counts = np.asarray(self._kinds_of_contexts @ of_kinds)
        return counts, *self.response.given(predictor, points, counts)


def _arranged(
    ratings: Ratings, asked: tuple[object, ...], arrange: Callable[[], Arranged], *, kept: bool
) -> Arranged:
    """Students as engines go over them, kept for those who ask the same ratings next: tests of assumptions,
    diagnostics."""
    small = not isinstance(ratings, StoredRatings) and ratings.n_ratings <= IN_MEMORY
    if kept and small and large_fit(ratings.n_ratings):
        return latest_with(ratings, "students", digest(*asked), arrange)
    return arrange()
