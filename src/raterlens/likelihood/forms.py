"""The marginal likelihood of ratings that share nothing but ability, and the choice among all forms of it."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import essays, ungrouped
from raterlens.likelihood.derivatives import (
    cell_scores,
    cell_terms,
    context_terms,
    slope_reach,
)
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.engines.selection import bind, large_fit
from raterlens.likelihood.marginal import KEPT, Derivatives, FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.likelihood.readings import HaloMarginal
from raterlens.likelihood.shared import SharedMarginal
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.outcomes import with_outcomes
from raterlens.models.responses import Adjacent, Predictor, Response
from raterlens.models.terms.draws import DRAW
from raterlens.models.terms.halo import HALO
from raterlens.models.terms.shared_bias import BIAS
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from distributed import Client


# Numbers of a matrix that is not worth keeping sparse.
_SMALL = 2**14
LARGEST_SCORES = 2**26
"""Numbers in the table of scores of whole essays, up to which it is worth having: 512 MB."""


def marginal(
    ratings: Ratings,
    model: FacetsModel,
    response: Response,
    pseudo: Pseudo,
    client: "Client | None" = None,
) -> FacetsMarginal:
    """The cheapest form that the model and the response allow."""
    if BIAS in model:
        return SharedMarginal(ratings, model, response, pseudo)
    ratings = as_modelled(ratings, model)
    if DRAW in model:
        ratings, model, response = with_outcomes(ratings, model, response)
    if HALO in model:
        return HaloMarginal(ratings, model, response, pseudo, client)
    if isinstance(response, Adjacent):
        return EssayMarginal(ratings, model, response, pseudo, client)
    return CellMarginal(ratings, model, response, pseudo, client)


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
        super().__init__(ratings, model, response, pseudo)
        grouping = partial(ungrouped, n_categories=response.n_categories, n_groups=model.n_groups)
        self.engine, _ = bind(ratings, model.contexts, grouping, client, pieces=model.nested is not None)

    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        log_prob = self.response.log_prob(self.model.predictor(parameters), nodes.points)
        return Tables(log_prob.reshape(-1, len(nodes.points)))

    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        predictor = self.model.predictor(parameters)
        counts = expected.counts.reshape(len(self.model.contexts), self.response.n_categories, -1)
        d_slope, d_intercepts = self.response.summed_scores(predictor, nodes.points, counts)
        return Derivatives(expected.loglik, d_slope, d_intercepts, counts)

    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        predictor, jacobian = self.model.predictor(parameters), self.jacobian(parameters)
        found = cell_terms(self.response, predictor, nodes.points)
        members = sparse.eye_array(len(found.context), format="csr")
        reach = slope_reach(self.response, predictor)
        return cell_scores(members, found, jacobian, [(jacobian, nodes.points)], reach)


class EssayMarginal(FacetsMarginal):
    """Adjacent-category logits: a cell is a student's ratings by one rater, whatever their number."""

    response: Adjacent
    sums = True

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Adjacent,
        pseudo: Pseudo,
        client: "Client | None" = None,
    ) -> None:
        super().__init__(ratings, model, response, pseudo)
        grouping = partial(
            essays,
            slope_of_context=model.slope_of_context,
            n_categories=response.n_categories,
            n_groups=model.n_groups,
        )
        self.engine, kinds = bind(ratings, model.contexts, grouping, client, pieces=model.nested is not None)
        assert kinds is not None
        self.kinds = kinds
        members = self.kinds.members
        # Ratings of each context with each score above zero: the part of the log-likelihood without ability.
        self._totals = self.kinds.given[:, 1:]
        _, self.shown_by = np.unique(model.slope_of_context, return_index=True)
        self._client = client
        self._scored: tuple[Array, Array, CellScores] | None = None
        self._essays = None
        if response.n_categories == 2 and large_fit(self.kinds.n_groups):
            from raterlens.kernels.response_tables import Essays  # may be missing

            self._essays = Essays.of(members)
        else:
            # Sparse matrices take longer to begin with than small ones take to be multiplied.
            self._members = members.toarray() if np.prod(members.shape) <= _SMALL else members
            self._kinds_of_contexts = self._members.T

    def for_scores(self, parameters: Array, nodes: Nodes) -> FacetsMarginal:
        """With single ratings as cells, where essays are of too many kinds."""
        if 3 * self.kinds.members.nnz * len(self.inner(parameters, nodes).points) <= LARGEST_SCORES:
            return self
        return CellMarginal(self.ratings, self.model, self.response, self.pseudo, self._client)

    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        """Small ones are kept until another place is asked for."""
        known = self._scored
        if known is not None and known[1] is nodes.points and np.array_equal(known[0], parameters):
            return known[2]
        predictor, jacobian = self.model.predictor(parameters), self.jacobian(parameters)
        found = context_terms(self.response, predictor, nodes.points)
        scores = cell_scores(
            self.kinds.members,
            found,
            jacobian,
            [(jacobian, nodes.points)],
            slope_reach(self.response, predictor),
            slopes=jacobian[self.shown_by],
        )
        self._scored = (parameters.copy(), nodes.points, scores) if scores.table.size <= KEPT else None
        return scores

    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        predictor = self.model.predictor(parameters)
        if self._essays is not None:
            logs = self._essays.logs(predictor.slope, predictor.intercepts[:, 0], nodes.points)
        else:
            logs = -(self._members @ self.response.log_partition(predictor, nodes.points))
        return Tables(logs, predictor.slope[self.shown_by])

    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        predictor = self.model.predictor(parameters)
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
