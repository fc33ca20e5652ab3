"""Ratings given abilities: each student's h(theta) = loglik - theta^2 / 2, its mode and its derivatives.

Shared by the Laplace approximation and hierarchical likelihood, which need no grid. Work is per distinct
(student, context, score).
"""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array
from raterlens.capability.links import Link
from raterlens.likelihood.cells import rating_cells
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Linked, Predictor
from raterlens.ratings.coded import Ratings

_NEWTON_STEPS = 100
_LONGEST_STEP = 1.0
_SETTLED = 1e-11


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Derivatives of log P(rating) in its predictor S, weighted by how often the rating occurs."""

    value: Array
    first: Array
    second: Array
    third: Array


class Conditional:
    """Pass/fail ratings given students' abilities."""

    def __init__(self, ratings: Ratings, model: FacetsModel, link: Link) -> None:
        cells = rating_cells(ratings, model.contexts, 2)
        self.link = link
        self.response = Linked(link)
        self.n_contexts = len(model.contexts)
        self.student = np.repeat(np.arange(ratings.n_students), np.diff(cells.indptr))
        self.context, score = np.divmod(cells.indices, 2)
        self.passed = score == 1
        self.weight = cells.data
        self._first = cells.indptr[:-1]

    def derivatives(self, predictor: Predictor, theta: Array) -> Derivatives:
        s = predictor.slope[self.context] * theta[self.student] + predictor.intercepts[self.context, 0]
        log_prob = np.where(self.passed, self.link.log_pass(s), self.link.log_fail(s))
        first, second, third = self.link.slopes(s, self.passed)
        w = self.weight
        return Derivatives(w * log_prob, w * first, w * second, w * third)

    def per_student(self, values: Array) -> Array:
        return np.add.reduceat(values, self._first)

    def per_context(self, values: Array) -> Array:
        return np.bincount(self.context, values, minlength=self.n_contexts).astype(float)

    def modes(self, predictor: Predictor, start: Array) -> Array:
        """Each student's most probable ability, by Newton steps that are halved where they overshoot."""
        theta = start.copy()
        slope = predictor.slope[self.context]

        def height_and_step(theta: Array) -> tuple[Array, Array]:
            d = self.derivatives(predictor, theta)
            gradient = self.per_student(slope * d.first) - theta
            # Links whose log-probability is not concave (cauchit) still ascend with the prior's curvature.
            curvature = np.minimum(self.per_student(slope**2 * d.second) - 1, -1.0)
            return self.per_student(d.value) - theta**2 / 2, np.clip(
                -gradient / curvature, -_LONGEST_STEP, _LONGEST_STEP
            )

        height, step = height_and_step(theta)
        for _ in range(_NEWTON_STEPS):
            if np.abs(step).max() < _SETTLED:
                break
            tried = theta + step
            new_height, new_step = height_and_step(tried)
            better = new_height >= height - 1e-12 * np.abs(height)
            theta = np.where(better, tried, theta)
            height = np.where(better, new_height, height)
            step = np.where(better, new_step, step / 2)
        return theta


# ----------------------------------------------------------------------------------------------------
# The Laplace approximation of the marginal likelihood, as a proper profile.
#
#     loglik = sum_n h(theta*_n) - log(-h''(theta*_n)) / 2,      theta*_n = argmax h
#
# theta* follows the parameters: with d theta* = -h'_p / h'', the gradient is
# `h_p - (h''_p - h''' h'_p / h'') / (2 h'')`. This is adaptive quadrature with a single node.


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
