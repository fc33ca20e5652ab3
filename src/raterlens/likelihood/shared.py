"""The marginal likelihood with a second ability that raters share (models/terms/shared_bias.py): nodes of both
abilities are just more nodes, and how much a context loads on the second one is an intercept that counts z times at the
node (t, z)."""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import rating_cells
from raterlens.likelihood.density import Cells
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Moments, ProductNodes, nodes_for
from raterlens.likelihood.priors import Pseudo, Ridge
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response, Wrapped
from raterlens.ratings.coded import Ratings

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
class Fallible(Wrapped):
    """A response in which known answers, the contexts after the first `n_rated`, may be wrong: 0.95 P + 0.05 / K."""

    n_rated: int

    @property
    def single(self) -> Response:
        return self.response

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
class SharedResponse(Wrapped):
    """A response on nodes of both abilities: S = slope t + intercepts + bias z, for nodes (t, z). The bias is the last
    intercept. Known answers alone say which direction is the truth, so that wrong ones would turn it: what is wrapped
    is `Fallible`."""

    z: Array
    """(nodes,), in runs of the same value"""

    bounded_turns = False  # two abilities: no slope tells how fast scores change

    def on(self, z: Array | None) -> "SharedResponse":
        assert z is not None
        return SharedResponse(self.response, z)

    @property
    def single(self) -> Response:
        return self.response.single

    @property
    def lever(self) -> Array:
        return np.append(self.response.lever, 0.0)

    @property
    def steepness(self) -> float:
        return self.single.steepness

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        found = [self.response.log_prob(at, t[run]) for at, run in self._runs(predictor)]
        return np.concatenate(found, axis=-1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        own = [self.response.scores(at, t[run]) for at, run in self._runs(predictor)]
        found = np.concatenate(own, axis=-1)
        return np.concatenate([found, self.z * np.tensordot(self.response.lever, found, 1)[None]])

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        own = [self.response.curvature(at, t[run], counts[..., run]) for at, run in self._runs(predictor)]
        # Derivatives of the single response's intercepts in all of these, at each node.
        lever = self.response.lever
        through = np.broadcast_to(
            np.eye(len(lever), len(lever) + 1), (len(self.z), len(lever), len(lever) + 1)
        )
        through = through.copy()
        through[..., -1] = np.multiply.outer(self.z, lever)
        return np.asarray(through.swapaxes(1, 2) @ np.concatenate(own, axis=1) @ through)

    def _runs(self, predictor: Predictor) -> list[tuple[Predictor, slice]]:
        begin, bias = np.flatnonzero(np.diff(self.z, prepend=np.nan) != 0), predictor.intercepts[:, -1]
        plain, found = Predictor(predictor.slope, predictor.intercepts[:, :-1]), []
        for first, last in zip(begin, [*begin[1:], len(self.z)], strict=True):
            at = plain.shifted(self.z[first] * bias, self.response.lever)
            found.append((at, slice(int(first), int(last))))
        return found


def shared_marginal(
    ratings: Ratings, model: FacetsModel, response: Response, pseudo: Pseudo, ridge: Ridge | None = None
) -> "SharedMarginal":
    """A facets model with a shared dimension on data."""
    ratings, wide = as_modelled(ratings, model), model.widened("loading")
    both = SharedResponse(Fallible(response, model.contexts.n_rated), np.empty(0))
    counts = rating_cells(ratings, wide.contexts, both.n_categories)
    engine = NumpyEngine(counts, finite=True)
    return SharedMarginal(ratings, wide, pseudo, Cells(both, wide), engine, ridge=ridge)


class SharedMarginal(FacetsMarginal):
    """A facets model with a shared dimension."""

    @property
    def nests(self) -> bool:
        return False

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

    def own_nodes(self, parameters: Array) -> ProductNodes:
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
