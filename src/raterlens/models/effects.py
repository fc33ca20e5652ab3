"""How each rater's slope, or severity, comes from parameters: its own, shared, or explained by covariates."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices


class Effect(Protocol):
    """A smooth map from a block of parameters to one number per rater."""

    @property
    def size(self) -> int:
        """Parameters in the block."""

    def __call__(self, x: Array) -> Array: ...

    def jacobian(self, x: Array) -> sparse.csr_array:
        """(raters, parameters)"""

    def pullback(self, x: Array, d_effect: Array) -> Array:
        """Derivatives in the effects -> derivatives in the parameters."""

    def second(self, x: Array, d_effect: Array) -> sparse.csr_array | None:
        """(parameters, parameters): second derivative of `d_effect @ effect`; None where the map is linear."""

    def invert(self, effect: Array) -> Array:
        """Parameters whose effects are nearest to these: starting values, and redundant directions."""

    def scaling(self, x: Array) -> Array:
        """The direction that scales all effects alike."""

    @property
    def places(self) -> Indices | None:
        """(raters,): the parameter that each rater's effect is; None where effects are anything else."""


@dataclass(frozen=True, slots=True)
class Linear:
    """effect = design @ x. The identity gives every rater its own, a column of ones a common one."""

    design: sparse.csr_array
    identity: bool = False
    places: Indices | None = None

    @staticmethod
    @lru_cache(maxsize=4)
    def own(n: int) -> "Linear":
        return Linear(sparse.eye_array(n, format="csr"), identity=True, places=np.arange(n))

    @staticmethod
    @lru_cache(maxsize=4)
    def common(n: int) -> "Linear":
        return Linear(sparse.csr_array(np.ones((n, 1))), places=np.zeros(n, np.int64))

    @staticmethod
    def explained(covariates: Array) -> "Linear":
        return Linear(sparse.csr_array(covariates))

    @property
    def size(self) -> int:
        return int(self.design.shape[1])

    def __call__(self, x: Array) -> Array:
        if self.identity:
            return x
        return np.asarray(self.design @ x) if self.places is None else x[self.places]

    def jacobian(self, x: Array) -> sparse.csr_array:
        return self.design

    def pullback(self, x: Array, d_effect: Array) -> Array:
        if self.identity:
            return d_effect
        if self.places is None:
            return np.asarray(self.design.T @ d_effect)
        return np.bincount(self.places, d_effect, self.size).astype(np.float64, copy=False)

    def second(self, x: Array, d_effect: Array) -> sparse.csr_array | None:
        return None

    def invert(self, effect: Array) -> Array:
        if self.size == len(effect):
            return effect
        return np.asarray(np.linalg.lstsq(self.design.toarray(), effect)[0])

    def scaling(self, x: Array) -> Array:
        return x


@dataclass(frozen=True, slots=True)
class LogLinear:
    """effect = exp(design @ x): positive slopes explained by covariates."""

    covariates: Array

    @property
    def places(self) -> Indices | None:
        return None

    @property
    def size(self) -> int:
        return int(self.covariates.shape[1])

    def __call__(self, x: Array) -> Array:
        return np.exp(self.covariates @ x)

    def jacobian(self, x: Array) -> sparse.csr_array:
        return sparse.csr_array(self(x)[:, None] * self.covariates)

    def pullback(self, x: Array, d_effect: Array) -> Array:
        return np.asarray(self.covariates.T @ (self(x) * d_effect))

    def second(self, x: Array, d_effect: Array) -> sparse.csr_array | None:
        return sparse.csr_array(self.covariates.T @ ((d_effect * self(x))[:, None] * self.covariates))

    def invert(self, effect: Array) -> Array:
        return np.asarray(np.linalg.lstsq(self.covariates, np.log(effect))[0])

    def scaling(self, x: Array) -> Array:
        return self.invert(np.full(len(self.covariates), np.e))
