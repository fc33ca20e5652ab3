"""How the linear predictor of a context becomes the probability of each score.

A context has a slope a and K - 1 intercepts e_1 .. e_{K-1} for K score categories; binary is K = 2. Everything is
tabulated over contexts (C) and ability nodes t (Q).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from raterlens.capability.links import Link
from raterlens.types import Array


@dataclass(frozen=True, slots=True)
class Predictor:
    """Slope and intercepts of every context."""

    slope: Array
    """(contexts,)"""
    intercepts: Array
    """(contexts, categories - 1)"""


class Response(Protocol):
    """Log-probabilities of the scores and their derivatives in the intercepts.

    The slope's derivative is `t * sum_k lever_k d/de_k`, so it never needs a table of its own.
    """

    @property
    def n_categories(self) -> int: ...

    @property
    def lever(self) -> Array: ...

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes)"""

    def scores(self, predictor: Predictor, t: Array) -> Array:
        """(categories - 1, contexts, categories, nodes): derivative of each log-probability in each intercept."""

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        """(contexts, nodes, categories - 1, categories - 1): second derivative in the intercepts of
        the counted log-probability, for counts of shape (contexts, categories, nodes)."""


@dataclass(frozen=True, slots=True)
class Adjacent:
    """Adjacent-category logits: log P(y) = y a t + e_y - log(sum_k exp(k a t + e_k)), e_0 = 0.

    With two categories this is the logistic model. The data enter only as sums of scores, so all ratings of a
    student by a rater collapse into one cell.
    """

    n_categories: int = 2

    @property
    def lever(self) -> Array:
        return np.arange(1.0, self.n_categories)

    def log_partition(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, nodes): log sum_k exp(k a t + e_k)."""
        if self.n_categories == 2:
            s = self._logits(predictor, t)[:, 0]
            return np.asarray(np.maximum(s, 0) + np.log(1 + np.exp(-np.abs(s))))
        return np.asarray(special.logsumexp(self._with_zero(self._logits(predictor, t)), axis=1))

    def probabilities(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories - 1, nodes): P(y = k), k >= 1."""
        logits = self._logits(predictor, t)
        if self.n_categories == 2:
            # Not `special.expit`: NumPy has exponentials in vectors of the processor.
            small = np.exp(-np.abs(logits))
            return np.asarray(np.where(logits > 0, 1.0, small) / (1 + small))
        return np.asarray(special.softmax(self._with_zero(logits), axis=1)[:, 1:])

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        logits = self._with_zero(self._logits(predictor, t))
        return logits - self.log_partition(predictor, t)[:, None]

    def scores(self, predictor: Predictor, t: Array) -> Array:
        p = self.probabilities(predictor, t)
        seen = np.eye(self.n_categories)[1:]
        return seen[:, None, :, None] - p.transpose(1, 0, 2)[:, :, None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        p = self.probabilities(predictor, t).transpose(0, 2, 1)
        variance = p[..., None] * np.eye(self.n_categories - 1) - p[..., None] * p[..., None, :]
        return np.asarray(-counts.sum(axis=1)[..., None, None] * variance)

    def _logits(self, predictor: Predictor, t: Array) -> Array:
        reach = np.multiply.outer(predictor.slope, t)
        return self.lever[:, None] * reach[:, None] + predictor.intercepts[..., None]

    @staticmethod
    def _with_zero(logits: Array) -> Array:
        return np.concatenate([np.zeros_like(logits[:, :1]), logits], axis=1)


@dataclass(frozen=True, slots=True)
class Linked:
    """Pass or fail through any link: P(y = 1) = F(a t + e)."""

    link: Link

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def lever(self) -> Array:
        return np.ones(1)

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        s = self._predict(predictor, t)
        return np.stack([self.link.log_fail(s), self.link.log_pass(s)], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        s = self._predict(predictor, t)
        return np.stack([self.link.slopes(s, np.bool_(y))[0] for y in (0, 1)], axis=1)[None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        s = self._predict(predictor, t)
        fail, passed = (counts[:, y] * self.link.slopes(s, np.bool_(y))[1] for y in (0, 1))
        return (fail + passed)[..., None, None]

    @staticmethod
    def _predict(predictor: Predictor, t: Array) -> Array:
        return np.multiply.outer(predictor.slope, t) + predictor.intercepts


@dataclass(frozen=True, slots=True)
class Graded:
    """Cumulative scores through any link: P(y >= k) = F(a t + e_k), with e_1 > e_2 > ..."""

    link: Link
    n_categories: int

    @property
    def lever(self) -> Array:
        return np.ones(self.n_categories - 1)

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        s = self._predict(predictor, t)
        upper, lower = s[:, :-1], s[:, 1:]
        # F(upper) - F(lower), from the tail in which the two are small.
        low_tail = upper + lower < 0
        near = np.where(low_tail, self.link.log_pass(upper), self.link.log_fail(lower))
        far = np.where(low_tail, self.link.log_pass(lower), self.link.log_fail(upper))
        with np.errstate(divide="ignore"):
            middle = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
        return np.concatenate([self.link.log_fail(s[:, :1]), middle, self.link.log_pass(s[:, -1:])], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        up, down = self._density_ratios(predictor, t)
        out = np.zeros((self.n_categories - 1, *up.shape))
        for k in range(1, self.n_categories):
            out[k - 1, :, k] = up[:, k]
            out[k - 1, :, k - 1] = -down[:, k - 1]
        return out

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        up, down = self._density_ratios(predictor, t)
        tilt = self.link.tilt(self._predict(predictor, t))
        steps = self.n_categories - 1
        out = np.zeros((len(up), len(t), steps, steps))
        for k in range(1, self.n_categories):
            above, below = counts[:, k], counts[:, k - 1]
            out[..., k - 1, k - 1] += above * up[:, k] * (tilt[:, k - 1] - up[:, k])
            out[..., k - 1, k - 1] -= below * down[:, k - 1] * (tilt[:, k - 1] + down[:, k - 1])
            if k > 1:
                mixed = below * up[:, k - 1] * down[:, k - 1]
                out[..., k - 1, k - 2] += mixed
                out[..., k - 2, k - 1] += mixed
        return out

    def _density_ratios(self, predictor: Predictor, t: Array) -> tuple[Array, Array]:
        """(contexts, categories, nodes): f at the score's own step, and at the next, over its probability."""
        log_prob = self.log_prob(predictor, t)
        density = self.link.log_density(self._predict(predictor, t))
        up, down = np.zeros_like(log_prob), np.zeros_like(log_prob)
        up[:, 1:] = np.exp(density - log_prob[:, 1:])
        down[:, :-1] = np.exp(density - log_prob[:, :-1])
        return up, down

    @staticmethod
    def _predict(predictor: Predictor, t: Array) -> Array:
        return np.multiply.outer(predictor.slope, t)[:, None] + predictor.intercepts[..., None]


def counted_scores(response: Response, predictor: Predictor, t: Array, counts: Array) -> Array:
    """(contexts, nodes, intercepts): derivatives of the counted log-probability in the intercepts."""
    return np.asarray(np.einsum("jckq,ckq->cqj", response.scores(predictor, t), counts))
