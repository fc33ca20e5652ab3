"""The Laplace approximation of the marginal likelihood, as a proper profile.

    loglik = sum_n h(theta*_n) - log(-h''(theta*_n)) / 2,      theta*_n = argmax h

theta* follows the parameters: with d theta* = -h'_p / h'', the gradient is
`h_p - (h''_p - h''' h'_p / h'') / (2 h'')`. This is adaptive quadrature with a single node.
"""

import numpy as np

from raterlens.base.types import Array
from raterlens.engine.protocol import Moments
from raterlens.estimation.conditional import Conditional
from raterlens.likelihood.objective import Value
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.models.facets import FacetsModel


class Laplace:
    """The approximate log-likelihood and its exact gradient; remembers the modes to start the next search from."""

    def __init__(self, conditional: Conditional, model: FacetsModel, pseudo: Pseudo) -> None:
        self._conditional, self._model, self._pseudo = conditional, model, pseudo
        self._modes = np.zeros(int(conditional.student[-1]) + 1)

    def value(self, parameters: Array) -> Value:
        data, predictor = self._conditional, self._model.predictor(parameters)
        theta = self._modes = data.modes(predictor, self._modes)
        d = data.derivatives(predictor, theta)
        a, t = predictor.slope[data.context], theta[data.student]
        second = data.per_student(a**2 * d.second) - 1
        third = data.per_student(a**3 * d.third)
        height = data.per_student(d.value) - theta**2 / 2
        loglik = float(np.sum(height - np.log(-second) / 2))

        half = (0.5 / second)[data.student]
        pull = (third / second)[data.student]
        d_intercept = d.first - half * (a**2 * d.third - pull * a * d.second)
        d_slope = t * d.first - half * (
            2 * a * d.second + a**2 * t * d.third - pull * (d.first + a * t * d.second)
        )
        gradient = self._model.pullback(
            parameters, data.per_context(d_slope), data.per_context(d_intercept)[:, None]
        )
        extra, extra_gradient = self._pseudo.value(self._model, data.response, parameters)
        return Value(loglik, loglik + extra, gradient + extra_gradient)

    def moments(self, parameters: Array) -> Moments:
        """Each student's most probable ability with the width of its peak."""
        data, predictor = self._conditional, self._model.predictor(parameters)
        theta = data.modes(predictor, self._modes)
        a = predictor.slope[data.context]
        second = data.per_student(a**2 * data.derivatives(predictor, theta).second) - 1
        return Moments(theta, 1 / np.sqrt(-second))
