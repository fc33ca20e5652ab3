"""A facets model for students of another population than the one its scale was made for: theta = mean + sd z.

Where anchors hold the scale, the mean and standard deviation of the new students can be estimated, and must be, or
those who are not anchored would be judged by students who are not there. With z standard normal the predictor is

    slope' = sd slope,      intercepts' = intercepts + mean slope lever

so that everything downstream works with z as it does with theta.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.models.contexts import Blocks
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor

POPULATION = "population"


def population_of(model: FacetsModel, parameters: Array) -> tuple[float, float]:
    """Mean and standard deviation of the students, of a model that has them among its parameters."""
    mean, log_sd = parameters[model.blocks[POPULATION]]
    return float(mean), float(np.exp(log_sd))


@dataclass(frozen=True)
class ShiftedModel(FacetsModel):
    """A facets model with two more parameters at the end: the students' mean and the logarithm of their sd."""

    @staticmethod
    def of(model: FacetsModel) -> "ShiftedModel":
        parts = {field.name: getattr(model, field.name) for field in fields(model)}
        return ShiftedModel(**parts | {"blocks": Blocks(model.blocks.sizes | {POPULATION: 2})})

    def predictor(self, parameters: Array) -> Predictor:
        inner = super().predictor(parameters)
        mean, sd = population_of(self, parameters)
        return Predictor(
            sd * inner.slope, inner.intercepts + mean * np.multiply.outer(inner.slope, self.lever)
        )

    def pullback(
        self, parameters: Array, d_slope: Array, d_intercepts: Array, d_halo: Array | None = None
    ) -> Array:
        slope = super().predictor(parameters).slope
        mean, sd = population_of(self, parameters)
        d_base = d_intercepts @ self.lever
        found = super().pullback(parameters, sd * d_slope + mean * d_base, d_intercepts, d_halo)
        found[self.blocks[POPULATION]] = slope @ d_base, sd * (slope @ d_slope)
        return found

    def jacobian(self, parameters: Array) -> sparse.csr_array:
        inner, slope = self._inner_jacobian(parameters)
        mean, sd = population_of(self, parameters)
        n, lever = len(slope), self.lever[:, None]
        slopes = sd * inner[:n] + self._at(1, sd * slope)
        intercepts = inner[n:] + sparse.kron(mean * inner[:n] + self._at(0, slope), lever)
        return sparse.csr_array(sparse.vstack([slopes, intercepts]))

    def second(self, parameters: Array, d_slope: Array, d_intercepts: Array) -> sparse.csr_array:
        inner, slope = self._inner_jacobian(parameters)
        mean, sd = population_of(self, parameters)
        d_base = d_intercepts @ self.lever
        # The mean and the sd each multiply the slopes, which depend on parameters of their own.
        crossed = np.zeros((2, self.blocks.size))
        crossed[0] = inner[: len(slope)].T @ d_base
        crossed[1] = sd * (inner[: len(slope)].T @ d_slope)
        crossed[1, -1] = sd * (slope @ d_slope) / 2
        half = sparse.vstack(
            [sparse.csr_array((self.blocks.size - 2, self.blocks.size)), sparse.csr_array(crossed)]
        )
        of_slopes = super().second(parameters, sd * d_slope + mean * d_base, d_intercepts)
        return sparse.csr_array(of_slopes + half + half.T)

    def _inner_jacobian(self, parameters: Array) -> tuple[sparse.csr_array, Array]:
        return super().jacobian(parameters), super().predictor(parameters).slope

    def _at(self, which: int, values: Array) -> sparse.csr_array:
        """(contexts, parameters): a column of the population's parameters."""
        column = np.full(len(values), self.blocks[POPULATION].start + which)
        rows = np.arange(len(values))
        return sparse.csr_array((values, (rows, column)), shape=(len(values), self.blocks.size))
