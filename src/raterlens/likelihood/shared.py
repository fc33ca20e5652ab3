"""The marginal likelihood with a second ability that raters share (models/terms/shared_bias.py).

Nodes of both abilities are just more nodes: a cell's table has its log-probability at every (t, z), an engine averages
over all of them, and by Fisher's identity the gradient in a bias is that of the predictor times z.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import rating_cells
from raterlens.likelihood.derivatives import cell_scores, cell_terms
from raterlens.likelihood.engines.contract import CellScores, Expected, Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import Derivatives, FacetsMarginal, Value
from raterlens.likelihood.nodes import Moments, Nodes, ProductNodes, nodes_for
from raterlens.likelihood.priors import Pseudo
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response
from raterlens.models.terms.shared_bias import BIAS
from raterlens.ratings.coded import Ratings

# The first grid; narrower where known answers make curves steep.
_ROUGH, _ROUGH_REACH, _STEEP = 0.6, 4.5, 2.0
# The log-likelihood is then off by less than this, relative.
ACCURACY = 1e-6
_REACH, MOST_ROUNDS = 6.0, 5
# A posterior's width does not tell how steep its flanks are.
_WIDEST = 0.5


@dataclass(frozen=True, slots=True)
class SharedResponse(Response):
    """A response on nodes of both abilities: S = slope t + intercepts + bias z, for nodes (t, z)."""

    response: Response
    bias: Array
    """(contexts,)"""
    z: Array
    """(nodes,), in runs of the same value"""

    @property
    def n_categories(self) -> int:
        return self.response.n_categories

    @property
    def lever(self) -> Array:
        return self.response.lever

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        return np.concatenate(
            [self.response.log_prob(at, t[run]) for at, run in self._runs(predictor)], axis=-1
        )

    def scores(self, predictor: Predictor, t: Array) -> Array:
        return np.concatenate(
            [self.response.scores(at, t[run]) for at, run in self._runs(predictor)], axis=-1
        )

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        found = [self.response.curvature(at, t[run], counts[..., run]) for at, run in self._runs(predictor)]
        return np.concatenate(found, axis=1)

    def _runs(self, predictor: Predictor) -> list[tuple[Predictor, slice]]:
        begin = np.flatnonzero(np.diff(self.z, prepend=np.nan) != 0)
        found = []
        for first, last in zip(begin, [*begin[1:], len(self.z)], strict=True):
            at = predictor.shifted(self.z[first] * self.bias, self.lever)
            found.append((at, slice(int(first), int(last))))
        return found


@dataclass(frozen=True, slots=True)
class Ridge:
    """Raters are drawn to each other in the plane of slope and bias, by a normal penalty of a standard deviation.

    Alike in all directions: which of them is the truth, known answers and trusted raters alone shall tell. If slopes
    alone were drawn to each other, what all raters follow to the same degree would be taken for the truth. Where
    slopes are not the raters' own, biases are drawn to 0.
    """

    spread: float
    own_slopes: bool

    def value(self, model: FacetsModel, x: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(x)
        for name in self._blocks:
            at = model.blocks[name]
            gradient[at] = (self.own_slopes * x[at].mean() - x[at]) / self.spread**2
        return float(gradient @ x) / 2, gradient

    def information(self, model: FacetsModel) -> Array:
        """(parameters, parameters): minus its second derivative."""
        found = np.zeros((model.blocks.size,) * 2)
        for name in self._blocks:
            at, n = model.blocks[name], model.blocks.sizes[name]
            found[at, at] = (np.eye(n) - self.own_slopes / n) / self.spread**2
        return found

    @property
    def _blocks(self) -> tuple[str, ...]:
        return ("slope", BIAS) if self.own_slopes else (BIAS,)


class SharedMarginal(FacetsMarginal):
    """A facets model with a shared dimension on data; a cell is a context with a score."""

    def __init__(
        self,
        ratings: Ratings,
        model: FacetsModel,
        response: Response,
        pseudo: Pseudo,
        ridge: Ridge | None = None,
    ) -> None:
        super().__init__(as_modelled(ratings, model), model, response, pseudo)
        self.ridge = ridge
        self.loading = model.design("loading")
        counts = rating_cells(self.ratings, model.contexts, response.n_categories)
        self.engine = NumpyEngine(counts, finite=True)

    def at_nodes(self, parameters: Array, nodes: Nodes) -> SharedResponse:
        return SharedResponse(self.response, np.asarray(self.loading @ parameters), _both(nodes).z)

    def _tables(self, parameters: Array, nodes: Nodes) -> Tables:
        log_prob = self.at_nodes(parameters, nodes).log_prob(self.model.predictor(parameters), nodes.points)
        return Tables(log_prob.reshape(-1, len(nodes.points)))

    def _derivatives(self, parameters: Array, expected: Expected, nodes: Nodes) -> Derivatives:
        counts = expected.counts.reshape(len(self.model.contexts), self.response.n_categories, -1)
        predictor = self.model.predictor(parameters)
        at_nodes = self.at_nodes(parameters, nodes).counted_scores(predictor, nodes.points, counts)
        by_base = at_nodes @ self.response.lever
        d_slope, d_bias = by_base @ nodes.points, by_base @ _both(nodes).z
        return Derivatives(expected.loglik, d_slope, at_nodes.sum(axis=1), counts, d_bias=d_bias)

    def _value(self, parameters: Array, nodes: Nodes) -> Value:
        found = super()._value(parameters, nodes)
        objective, gradient = found.objective, found.gradient
        d_bias = np.asarray(self.derivatives(parameters, nodes).d_bias)
        gradient += self.loading.T @ d_bias
        if self.ridge is not None:
            extra, extra_gradient = self.ridge.value(self.model, parameters)
            objective, gradient = objective + extra, gradient + extra_gradient
        return Value(found.loglik, objective, gradient)

    def expected_curvature(self, parameters: Array, nodes: Nodes) -> sparse.csr_array:
        """In the contexts' slopes, intercepts and biases, in which the predictor of a context at the node (t, z) has
        the derivatives t, 1 and z, and carried to the parameters."""
        found, predictor = self.derivatives(parameters, nodes), self.model.predictor(parameters)
        bend = self.at_nodes(parameters, nodes).curvature(predictor, nodes.points, found.counts)
        rows = sparse.vstack([self.jacobian(parameters), self.loading], format="csr")
        second = rows.T @ _curvature(bend, self.response.lever, _both(nodes)) @ rows
        n = len(self.model.contexts) * (1 + len(self.response.lever))
        second = second + self._in_parameters(parameters, nodes, sparse.csr_array((n, n)), found)
        if self.ridge is not None:
            second = second - sparse.csr_array(self.ridge.information(self.model))
        return sparse.csr_array(second)

    def _scores(self, parameters: Array, nodes: Nodes) -> CellScores:
        predictor, jacobian = self.model.predictor(parameters), self.jacobian(parameters)
        found = cell_terms(self.at_nodes(parameters, nodes), predictor, nodes.points)
        members = sparse.eye_array(len(found.context), format="csr")
        moving = [(jacobian, nodes.points), (self.loading, _both(nodes).z)]
        # Two abilities: no width of a posterior tells how fast scores change.
        return cell_scores(members, found, jacobian, moving, np.full(len(predictor.slope), np.inf))

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


def _curvature(bend: Array, lever: Array, nodes: ProductNodes) -> sparse.csr_array:
    """(slopes, intercepts, biases) of the contexts twice: second derivatives, of (contexts, nodes, steps, steps) in
    intercepts."""
    t, z = nodes.points, nodes.z
    n, steps = len(bend), len(lever)
    by_lever, twice = bend @ lever, bend @ lever @ lever
    context = np.arange(n)
    intercept = n + context[:, None] * steps + np.arange(steps)
    bias = n * (1 + steps) + context
    size = n * (2 + steps)
    corner = [(context, context, twice @ t**2), (bias, bias, twice @ z**2)]
    mixed = [(context, bias, twice @ (t * z))]
    for place, by in ((context, t), (bias, z)):
        mixed.append(
            (np.repeat(place, steps), intercept.ravel(), np.einsum("cqj,q->cj", by_lever, by).ravel())
        )
    across, down = np.broadcast_arrays(intercept[:, None, :], intercept[:, :, None])
    corner.append((down.ravel(), across.ravel(), bend.sum(axis=1).ravel()))
    corner += mixed + [(column, row, value) for row, column, value in mixed]
    rows, columns, values = (np.concatenate(part) for part in zip(*corner, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=(size, size))
