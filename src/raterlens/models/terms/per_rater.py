"""Numbers of raters, such as slopes and severities: each rater's own, shared, or explained by covariates."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.models.term import Term


class Effect(Protocol):
    """A smooth map from a block of parameters to one number per rater."""

    @property
    def by_logarithm(self) -> bool:
        """Whether the logarithm of the effect is linear in the parameters, not the effect itself."""

    @property
    def design(self) -> sparse.csr_array:
        """(raters, parameters): of the effect, or of its logarithm."""

    @property
    def size(self) -> int:
        """Parameters in the block."""

    @property
    def n_raters(self) -> int: ...

    def __call__(self, x: Array) -> Array: ...

    def jacobian(self, x: Array) -> sparse.csr_array:
        """(raters, parameters)"""

    def invert(self, effect: Array) -> Array:
        """Parameters whose effects are nearest to these: starting values, and redundant directions."""

    def scaling(self, x: Array) -> Array:
        """The direction that scales all effects alike."""


@dataclass(frozen=True, slots=True)
class Linear:
    """effect = design @ x. The identity gives every rater its own, a column of ones a common one."""

    design: sparse.csr_array
    identity: bool = False
    places: Indices | None = None
    by_logarithm: bool = False

    @staticmethod
    def own(n: int) -> "Linear":
        return Linear(sparse.eye_array(n, format="csr"), identity=True, places=np.arange(n))

    @staticmethod
    def common(n: int) -> "Linear":
        return Linear(sparse.csr_array(np.ones((n, 1))), places=np.zeros(n, np.int64))

    @staticmethod
    def explained(covariates: Array) -> "Linear":
        return Linear(sparse.csr_array(covariates))

    @property
    def size(self) -> int:
        return int(self.design.shape[1])

    @property
    def n_raters(self) -> int:
        return int(self.design.shape[0])

    def __call__(self, x: Array) -> Array:
        if self.identity:
            return x
        return np.asarray(self.design @ x) if self.places is None else x[self.places]

    def jacobian(self, x: Array) -> sparse.csr_array:
        return self.design

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
    def by_logarithm(self) -> bool:
        return True

    @property
    def design(self) -> sparse.csr_array:
        return sparse.csr_array(self.covariates)

    @property
    def size(self) -> int:
        return int(self.covariates.shape[1])

    @property
    def n_raters(self) -> int:
        return len(self.covariates)

    def __call__(self, x: Array) -> Array:
        return np.exp(self.covariates @ x)

    def jacobian(self, x: Array) -> sparse.csr_array:
        return sparse.csr_array(self(x)[:, None] * self.covariates)

    def invert(self, effect: Array) -> Array:
        return np.asarray(np.linalg.lstsq(self.covariates, np.log(effect))[0])

    def scaling(self, x: Array) -> Array:
        return self.invert(np.full(len(self.covariates), np.e))


class RaterTerm(Term):
    """A term whose parameters stand for one number per rater."""

    __slots__ = ()

    effect: Effect

    @property
    def size(self) -> int:
        return self.effect.size

    @property
    def levels(self) -> tuple[str, ...]:
        return ("rater",)

    def effect_of(self, x: Array) -> Array:
        return self.effect(x)

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        return self.effect.jacobian(x)

    def table(self, x: Array) -> Array:
        return self.effect(x)

    def parameters(self, table: Array) -> Array:
        return self.effect.invert(table)
