"""A second ability that raters share: what they agree on besides the truth.

    S = a_r theta + b_r zeta - eta_r - delta_i,      theta, zeta ~ N(0, 1), independent

b is 0 for trusted raters and known answers, which fix what theta is. Independence loses nothing: a correlation would
only relabel a_r. Of zeta's two directions the one is taken in which most raters follow it.
"""

from dataclasses import dataclass, field, fields

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_SLOPE
from raterlens.models.contexts import Blocks
from raterlens.models.extended_model import ExtendedModel
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response

BIAS = "bias"
ENOUGH_KNOWN = 60
"""Known answers that place the truth in a plane with what raters share. `python -m benchmarks.known_answers --data`
on 65 real judges of 200 answers: with 60 known a fit with a shared dimension ranks them as well as one without, with 30
it may not."""


@dataclass(frozen=True)
class SharedModel(ExtendedModel):
    """A facets model whose last parameters say how much each rater who is not trusted follows what is shared."""

    free: Mask = field(kw_only=True)
    """(raters,): who is not trusted."""

    @staticmethod
    def of(model: FacetsModel, free: Mask) -> "SharedModel":
        parts = {part.name: getattr(model, part.name) for part in fields(FacetsModel)}
        parts["blocks"] = Blocks(model.blocks.sizes | {BIAS: int(free.sum())})
        return SharedModel(**parts, inner=model, free=free)

    @property
    def loads(self) -> sparse.csr_array:
        """(raters, parameters of the block)"""
        n = int(self.free.sum())
        return sparse.csr_array(
            (np.ones(n), (np.flatnonzero(self.free), np.arange(n))), shape=(len(self.free), n)
        )

    def biases(self, parameters: Array) -> Array:
        """(raters,)"""
        return np.asarray(self.loads @ parameters[self.blocks[BIAS]])

    def of_contexts(self, parameters: Array) -> Array:
        """(contexts,): 0 where they are known answers."""
        return np.append(self.biases(parameters), 0.0)[self.contexts.rater]

    def by_bias(self, d_contexts: Array) -> Array:
        """Derivatives in the contexts' biases -> in the parameters of the block."""
        n = self.n_rated
        d_raters = np.bincount(self.contexts.rater[:n], d_contexts[:n], self.n_raters)
        return np.asarray(self.loads.T @ d_raters)

    # Effects have a bias for every rater, after the other effects of raters.

    @property
    def effects(self) -> Blocks:
        sizes = self.inner.effects.sizes
        first = {name: sizes[name] for name in ("slope", "severity")}
        return Blocks(first | {BIAS: self.n_raters} | sizes)

    def effects_at(self, parameters: Array) -> Array:
        inner = self.inner.effects_at(self.split(parameters)[0])
        return np.insert(inner, 2 * self.n_raters, self.biases(parameters))

    def effect_jacobian(self, parameters: Array) -> sparse.csr_array:
        inner, n = self.inner.effect_jacobian(self.split(parameters)[0]), 2 * self.n_raters
        blocks = [[inner[:n], None], [None, self.loads], [inner[n:], None]]
        return sparse.csr_array(sparse.block_array(blocks, format="csr"))

    def own_bounds(self) -> tuple[Array, Array]:
        most = np.full(self.n_own, LARGEST_SLOPE)
        return -most, most


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
