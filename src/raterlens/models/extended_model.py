"""A facets model with one more block of parameters at its end, and everything else as it was."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.models.contexts import Blocks
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor


@dataclass(frozen=True)
class ExtendedModel(FacetsModel):
    """The model that it extends, `inner`, sees the parameters before the last block. Subclasses say what that does."""

    inner: FacetsModel = field(kw_only=True)

    @property
    def n_raters(self) -> int:
        return self.inner.n_raters

    @property
    def n_items(self) -> int:
        return self.inner.n_items

    @property
    def n_rated(self) -> int:
        return self.inner.n_rated

    @property
    def of_single_raters(self) -> NDArray[np.int64]:
        return self.inner.of_single_raters

    @property
    def slope_of_context(self) -> NDArray[np.int64]:
        return self.inner.slope_of_context

    @property
    def n_own(self) -> int:
        """Parameters in the last block."""
        return self.blocks.size - self.inner.blocks.size

    def split(self, parameters: Array) -> tuple[Array, Array]:
        """The inner model's parameters, and the last block."""
        return parameters[: self.inner.blocks.size], parameters[self.inner.blocks.size :]

    @property
    def effects(self) -> Blocks:
        (name, *_) = reversed(self.blocks.sizes)
        return Blocks(self.inner.effects.sizes | {name: self.n_own})

    def effects_at(self, parameters: Array) -> Array:
        inner, own = self.split(parameters)
        return np.concatenate([self.inner.effects_at(inner), own])

    def effect_jacobian(self, parameters: Array) -> sparse.csr_array:
        inner, _ = self.split(parameters)
        of_own = sparse.eye_array(self.n_own)
        return sparse.block_diag([self.inner.effect_jacobian(inner), of_own], format="csr")

    @property
    def places_of_effects(self) -> NDArray[np.int64] | None:
        """None: what models add need not stand where their parameters do."""
        return None

    def predictor(self, parameters: Array) -> Predictor:
        return self.inner.predictor(self.split(parameters)[0])

    def pullback(
        self, parameters: Array, d_slope: Array, d_intercepts: Array, d_halo: Array | None = None
    ) -> Array:
        found = self.inner.pullback(self.split(parameters)[0], d_slope, d_intercepts, d_halo)
        return np.append(found, np.zeros(self.n_own))

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        inner = self.inner.jacobian(self.split(parameters)[0])
        return sparse.csr_array(
            sparse.hstack([inner, sparse.csr_array((inner.shape[0], self.n_own))], format="csr")
        )

    def second(self, parameters: Array, d_slope: Array, d_intercepts: Array) -> sparse.csr_array:
        n = len(self.inner.contexts)
        found = self.inner.second(self.split(parameters)[0], d_slope[:n], d_intercepts[:n])
        return sparse.block_diag([found, sparse.csr_array((self.n_own,) * 2)], format="csr")

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        lower, upper = self.inner.bounds(allow_reversed=allow_reversed)
        own = self.own_bounds()
        return np.append(lower, own[0]), np.append(upper, own[1])

    def own_bounds(self) -> tuple[Array, Array]:
        raise NotImplementedError

    def at_limit(self, parameters: Array) -> Mask:
        inner, own = self.split(parameters)
        lower, upper = self.own_bounds()
        return np.append(self.inner.at_limit(inner), (own <= lower) | (own >= upper))
