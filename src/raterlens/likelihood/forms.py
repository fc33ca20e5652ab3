"""The marginal likelihood of ratings that share nothing but abilities, one or two, and the choice among all forms."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import Grouping, essays, rating_cells, ungrouped
from raterlens.likelihood.derivatives import (
    cell_scores,
    cell_terms,
    context_terms,
    slope_reach,
)
from raterlens.likelihood.engines.contract import CellScores, Engine, Expected, Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import KEPT, Derivatives, FacetsMarginal, large_fit
from raterlens.likelihood.nodes import Moments, Nodes, ProductNodes, nodes_for
from raterlens.likelihood.priors import Pseudo, Ridge
from raterlens.likelihood.readings import HaloMarginal
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

    def _grouping(self) -> Grouping:
        return partial(ungrouped, n_categories=self.response.n_categories, n_groups=self.model.n_groups)

    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        log_prob = self.at_nodes(nodes).log_prob(self.model.predictor(parameters), nodes.points)
        return Tables(log_prob.reshape(-1, len(nodes.points)))

    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        predictor = self.model.predictor(parameters)
        counts = expected.counts.reshape(len(self.model.contexts), self.response.n_categories, -1)
        d_slope, d_intercepts = self.at_nodes(nodes).summed_scores(predictor, nodes.points, counts)
        return Derivatives(expected.loglik, d_slope, d_intercepts, counts)

    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        predictor, jacobian = self.model.predictor(parameters), self.jacobian(parameters)
        response = self.at_nodes(nodes)
        found = cell_terms(response, predictor, nodes.points)
        members = sparse.eye_array(len(found.context), format="csr")
        reach = slope_reach(response, predictor)
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
        super().__init__(ratings, model, response, pseudo, client)
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

    def _grouping(self) -> Grouping:
        return partial(
            essays,
            slope_of_context=self.model.slope_of_context,
            n_categories=self.response.n_categories,
            n_groups=self.model.n_groups,
        )

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


# ----------------------------------------------------------------------------------------------------
# A second ability that raters share (models/terms/shared_bias.py): nodes of both abilities are just more nodes, and how
# much a context loads on the second one is an intercept that counts z times at the node (t, z).

# The first grid; narrower where known answers make curves steep.
_ROUGH, _ROUGH_REACH, _STEEP = 0.6, 4.5, 2.0
# The log-likelihood is then off by less than this, relative.
ACCURACY = 1e-6
_REACH, MOST_ROUNDS = 6.0, 5
# A posterior's width does not tell how steep its flanks are.
_WIDEST = 0.5


# Known answers that may say nothing. 60 answers do not tell how many of them are wrong (between 0 and 10 %, the
# log-likelihood moves by less than 1), and allowing for some costs next to nothing (docs/known-answers.md).
WRONG = 0.05


@dataclass(frozen=True, slots=True)
class Fallible(Response):
    """A response in which known answers, the contexts after the first `n_rated`, may be wrong: 0.95 P + 0.05 / K."""

    response: Response
    n_rated: int

    @property
    def n_categories(self) -> int:
        return self.response.n_categories

    @property
    def lever(self) -> Array:
        return self.response.lever

    def _share_right(self, log_prob: Array) -> Array:
        """(known, categories, nodes): probability that the answer is meant, given what it says."""
        right = (1 - WRONG) * np.exp(log_prob[self.n_rated :])
        return np.asarray(right / (right + WRONG / self.n_categories))

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        found = self.response.log_prob(predictor, t)
        known = found[self.n_rated :]
        np.logaddexp(known + np.log1p(-WRONG), np.log(WRONG / self.n_categories), out=known)
        return found

    def scores(self, predictor: Predictor, t: Array) -> Array:
        found = self.response.scores(predictor, t)
        found[:, self.n_rated :] *= self._share_right(self.response.log_prob(predictor, t))
        return found

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        share, known = self._share_right(self.response.log_prob(predictor, t)), counts[self.n_rated :]
        meant = np.concatenate([counts[: self.n_rated], known * share])
        found = self.response.curvature(predictor, t, meant)
        scores = self.response.scores(predictor, t)[:, self.n_rated :]
        found[self.n_rated :] += np.einsum("ickq,jckq->cqij", scores * (known * share * (1 - share)), scores)
        return found


@dataclass(frozen=True, slots=True)
class SharedResponse(Response):
    """A response on nodes of both abilities: S = slope t + intercepts + bias z, for nodes (t, z). The bias is the last
    intercept. Known answers alone say which direction is the truth, so that wrong ones would turn it: they are
    fallible."""

    response: Response
    z: Array
    """(nodes,), in runs of the same value"""
    n_rated: int
    """How many contexts, the first ones, are of ratings."""

    bounded_turns = False  # two abilities: no slope tells how fast scores change

    @property
    def single(self) -> Response:
        return self.response

    @property
    def n_categories(self) -> int:
        return self.single.n_categories

    @property
    def lever(self) -> Array:
        return np.append(self.single.lever, 0.0)

    @property
    def steepness(self) -> float:
        return self.single.steepness

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        found = [self._fallible.log_prob(at, t[run]) for at, run in self._runs(predictor)]
        return np.concatenate(found, axis=-1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        own = [self._fallible.scores(at, t[run]) for at, run in self._runs(predictor)]
        found = np.concatenate(own, axis=-1)
        return np.concatenate([found, self.z * np.tensordot(self.single.lever, found, 1)[None]])

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        own = [self._fallible.curvature(at, t[run], counts[..., run]) for at, run in self._runs(predictor)]
        # Derivatives of the single response's intercepts in all of these, at each node.
        steps = len(self.single.lever)
        through = np.broadcast_to(np.eye(steps, steps + 1), (len(self.z), steps, steps + 1)).copy()
        through[..., -1] = np.multiply.outer(self.z, self.single.lever)
        return np.asarray(through.swapaxes(1, 2) @ np.concatenate(own, axis=1) @ through)

    @property
    def _fallible(self) -> Fallible:
        return Fallible(self.response, self.n_rated)

    def _runs(self, predictor: Predictor) -> list[tuple[Predictor, slice]]:
        begin, bias = np.flatnonzero(np.diff(self.z, prepend=np.nan) != 0), predictor.intercepts[:, -1]
        plain, found = Predictor(predictor.slope, predictor.intercepts[:, :-1]), []
        for first, last in zip(begin, [*begin[1:], len(self.z)], strict=True):
            at = plain.shifted(self.z[first] * bias, self.single.lever)
            found.append((at, slice(int(first), int(last))))
        return found


class SharedMarginal(CellMarginal):
    """A facets model with a shared dimension on data."""

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Response,
        pseudo: Pseudo,
        ridge: Ridge | None = None,
    ) -> None:
        both = SharedResponse(response, np.empty(0), model.contexts.n_rated)
        super().__init__(as_modelled(ratings, model), model.widened("loading"), both, pseudo)
        self.ridge = ridge

    def _bound(self, client: "Client | None") -> tuple[Engine, None]:
        counts = rating_cells(self.ratings, self.model.contexts, self.response.n_categories)
        return NumpyEngine(counts, finite=True), None

    def at_nodes(self, nodes: Nodes) -> SharedResponse:
        return SharedResponse(self.response.single, _both(nodes).z, self.model.contexts.n_rated)

    @property
    def nests(self) -> bool:
        return False

    def own_nodes(self, parameters: Array) -> ProductNodes:
        """A grid of both abilities that a finer one changes nothing of."""
        return self.settled_nodes(parameters)

    def shared_moments(self, parameters: Array, nodes: ProductNodes) -> Moments:
        """Moments of each student on the shared dimension."""
        return self.engine.moments(self.tables(parameters, nodes), nodes.turned())

    def rough_nodes(self) -> ProductNodes:
        known = self.model.known_slope
        step = _ROUGH if known is None else min(_ROUGH, _STEEP / known)
        return ProductNodes.of((step, _ROUGH), _ROUGH_REACH)

    def nodes_at(self, parameters: Array, nodes: ProductNodes) -> ProductNodes:
        """A grid that follows the posteriors as they are seen on another one."""
        wanted = ACCURACY * max(1.0, float(self.n_students))
        steps = []
        for moments, step in (
            (self.moments(parameters, nodes), nodes.steps[0]),
            (self.shared_moments(parameters, nodes), nodes.steps[1]),
        ):
            seen = Moments(moments.mean, np.maximum(moments.sd, step / 4))
            steps.append(min(nodes_for(seen, wanted).step, _WIDEST))
        known = self.model.known_slope
        steep = np.inf if known is None else _STEEP / known
        return ProductNodes.of((min(steps[0], steep), steps[1]), _REACH)

    def settled_nodes(self, parameters: Array) -> ProductNodes:
        """A grid that a finer one changes nothing of."""
        nodes = self.nodes_at(parameters, self.rough_nodes())
        loglik = self.engine.evaluate(self.tables(parameters, nodes), nodes).loglik
        for _ in range(MOST_ROUNDS):
            finer = nodes.finer()
            before, loglik = loglik, self.engine.evaluate(self.tables(parameters, finer), finer).loglik
            if abs(loglik - before) <= ACCURACY * abs(loglik):
                break
            nodes = finer
        return nodes


def _both(nodes: Nodes) -> ProductNodes:
    """Nodes of both abilities."""
    if not isinstance(nodes, ProductNodes):
        raise TypeError(f"nodes of two abilities expected, not {type(nodes).__name__}")
    return nodes
