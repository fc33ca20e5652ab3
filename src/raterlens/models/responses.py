"""How the linear predictor of a context becomes the probability of each score.

A context has a slope a and K - 1 intercepts e_1 .. e_{K-1} for K score categories; binary is K = 2. Everything is
tabulated over contexts (C) and ability nodes t (Q).
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raterlens.base.records import dataclass
from raterlens.base.types import Array
from raterlens.capability.links import Link
from raterlens.kernels.break_even import compiled_code_pays

# Logits beyond which a probability would be 0 in doubles.
_FAR = 700.0
# An exponential and a logarithm are like going over so many numbers.
_PER_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Predictor:
    """Slope and intercepts of every context."""

    slope: Array
    """(contexts,)"""
    intercepts: Array
    """(contexts, categories - 1)"""

    def first(self, n: int) -> "Predictor":
        """Of the first contexts."""
        return Predictor(self.slope[:n], self.intercepts[:n])

    def shifted(self, amount: Array, lever: Array) -> "Predictor":
        """With so much more, (contexts,), in the predictor at every ability."""
        return Predictor(self.slope, self.intercepts + np.multiply.outer(amount, lever))

    def of_ratings(self, context: NDArray[np.integer], reach: Array, lever: Array) -> "Predictor":
        """One row per rating, for ability 0: what ability adds, `reach`, stands in the intercepts."""
        return Predictor(np.zeros(len(reach)), self.intercepts[context] + np.multiply.outer(reach, lever))


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
            s = self.logits(predictor, t)[:, 0]
            return np.asarray(np.maximum(s, 0) + np.log(1 + np.exp(-np.abs(s))))
        if _large(predictor, t):
            from raterlens.kernels.ordered_scores import adjacent  # may be missing

            return adjacent(predictor.slope, predictor.intercepts, t, probabilities=False)[1]
        _, total, top = self._exponentials(predictor, t)
        return np.asarray(np.log(total) + top)

    def probabilities(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories - 1, nodes): P(y = k), k >= 1."""
        if self.n_categories == 2:
            return _logistic(self.logits(predictor, t))
        if _large(predictor, t):
            from raterlens.kernels.ordered_scores import adjacent  # may be missing

            found, _ = adjacent(predictor.slope, predictor.intercepts, t, probabilities=True)
            assert found is not None
            return found
        small, total, _ = self._exponentials(predictor, t)
        small /= total[:, None]
        return small

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        logits = self._with_zero(self.logits(predictor, t))
        return logits - self.log_partition(predictor, t)[:, None]

    def scores(self, predictor: Predictor, t: Array) -> Array:
        p = self.probabilities(predictor, t)
        seen = np.eye(self.n_categories)[1:]
        return seen[:, None, :, None] - p.transpose(1, 0, 2)[:, :, None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        p = self.probabilities(predictor, t).transpose(0, 2, 1)
        variance = p[..., None] * np.eye(self.n_categories - 1) - p[..., None] * p[..., None, :]
        return np.asarray(-counts.sum(axis=1)[..., None, None] * variance)

    def counted_scores(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        expected = self.probabilities(predictor, t)
        expected *= counts.sum(axis=1, keepdims=True)
        return np.asarray((counts[:, 1:] - expected).transpose(0, 2, 1))

    def given(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        """What is expected of ratings counted at nodes, (contexts, nodes): (contexts,) the sum of scores times ability,
        and (contexts, categories - 1) how often each score above zero is given."""
        if self.n_categories > 2 and _large(predictor, t):
            from raterlens.kernels.ordered_scores import adjacent_sums  # may be missing

            return adjacent_sums(predictor.slope, predictor.intercepts, t, counts)
        given = self.probabilities(predictor, t)
        given *= counts[:, None]
        return (given @ t) @ self.lever, given.sum(axis=2)

    def _exponentials(self, predictor: Predictor, t: Array) -> tuple[Array, Array, Array]:
        """exp(k a t + e_k - top) for k >= 1, their sum with k = 0, and the top, the largest of all exponents."""
        small = self.logits(predictor, t)
        top = np.maximum(small.max(axis=1), 0.0)
        small -= top[:, None]
        np.exp(small, out=small)
        return small, small.sum(axis=1) + np.exp(-top), top

    def logits(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories - 1, nodes): k a t + e_k."""
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
        if self.link.name == "logit":
            return self._logistic_log_prob(predictor, t)
        s = self._predict(predictor, t)
        passes, fails = self.link.log_pass(s), self.link.log_fail(s)
        # F(upper) - F(lower), from the tail in which the two are small.
        low_tail = s[:, :-1] + s[:, 1:] < 0
        near = np.where(low_tail, passes[:, :-1], fails[:, 1:])
        far = np.where(low_tail, passes[:, 1:], fails[:, :-1])
        with np.errstate(divide="ignore"):
            middle = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
        return np.concatenate([fails[:, :1], middle, passes[:, -1:]], axis=1)

    def _logistic_log_prob(self, predictor: Predictor, t: Array) -> Array:
        """F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(l - u)), and u - l is the same at every ability."""
        with np.errstate(divide="ignore"):
            apart = np.log(-np.expm1(np.minimum(np.diff(predictor.intercepts, axis=1), 0.0)))
        if _large(predictor, t):
            from raterlens.kernels.ordered_scores import graded_log_prob  # may be missing

            return graded_log_prob(predictor.slope, predictor.intercepts, apart, t, _FAR)
        s = self._predict(predictor, t)
        small = np.log(1 + np.exp(-np.abs(s)))
        passes, fails = np.minimum(s, 0.0) - small, np.minimum(-s, 0.0) - small
        middle = passes[:, :-1] + fails[:, 1:] + apart[..., None]
        return np.concatenate([fails[:, :1], middle, passes[:, -1:]], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        up, down = self.density_ratios(predictor, t)
        out = np.zeros((self.n_categories - 1, *up.shape))
        for k in range(1, self.n_categories):
            out[k - 1, :, k] = up[:, k]
            out[k - 1, :, k - 1] = -down[:, k - 1]
        return out

    def counted_scores(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        up, down = self.density_ratios(predictor, t)
        up *= counts
        down *= counts
        return np.asarray((up[:, 1:] - down[:, :-1]).transpose(0, 2, 1))

    def summed_scores(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        if self.link.name == "logit" and _large(predictor, t):
            from raterlens.kernels.ordered_scores import graded_sums  # may be missing

            known = predictor.slope, predictor.intercepts, self._inverse_gaps(predictor)
            return graded_sums(known, t, _FAR, counts)
        at_nodes = self.counted_scores(predictor, t, counts)
        return at_nodes @ self.lever @ t, at_nodes.sum(axis=1)

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        own, beside = (part.transpose(0, 2, 1) for part in self.bands(predictor, t, counts))
        steps = np.arange(self.n_categories - 1)
        out = np.zeros((*own.shape, len(steps)))
        out[..., steps, steps] = own
        out[..., steps[1:], steps[:-1]] = out[..., steps[:-1], steps[1:]] = beside
        return out

    def bends(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
        """Second derivatives of the counted log-probability: (contexts,) in slopes, (contexts, steps) in both, in an
        intercept twice, and (contexts, steps - 1) in it and the next."""
        if self.link.name == "logit" and _large(predictor, t):
            from raterlens.kernels.ordered_scores import graded_bends  # may be missing

            known = predictor.slope, predictor.intercepts, self._inverse_gaps(predictor)
            return graded_bends(known, t, _FAR, counts)
        own, beside = self.bands(predictor, t, counts)
        twice, with_next = own.sum(axis=2), beside.sum(axis=2)
        own[:, 1:] += beside
        own[:, :-1] += beside
        return own.sum(axis=1) @ t**2, own @ t, twice, with_next

    def bands(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        """All of `curvature` that is not 0: (contexts, categories - 1, nodes) by an intercept twice, and (contexts,
        categories - 2, nodes) by it and the next."""
        up, down = self.density_ratios(predictor, t)
        tilt = self.link.tilt(self._predict(predictor, t))
        above, below, up_above, down_below = counts[:, 1:], counts[:, :-1], up[:, 1:], down[:, :-1]
        own = above * up_above * (tilt - up_above) - below * down_below * (tilt + down_below)
        return own, counts[:, 1:-1] * up[:, 1:-1] * down[:, 1:-1]

    def density_ratios(self, predictor: Predictor, t: Array) -> tuple[Array, Array]:
        """(contexts, categories, nodes): f at the score's own step, and at the next, over its probability."""
        if self.link.name == "logit":
            return self._logistic_ratios(predictor, t)
        log_prob = self.log_prob(predictor, t)
        density = self.link.log_density(self._predict(predictor, t))
        up, down = np.zeros_like(log_prob), np.zeros_like(log_prob)
        up[:, 1:] = np.exp(density - log_prob[:, 1:])
        down[:, :-1] = np.exp(density - log_prob[:, :-1])
        return up, down

    def _logistic_ratios(self, predictor: Predictor, t: Array) -> tuple[Array, Array]:
        """f = F (1 - F), and F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(l - u)): no logarithms."""
        apart = self._inverse_gaps(predictor)
        if _large(predictor, t):
            from raterlens.kernels.ordered_scores import graded_ratios  # may be missing

            return graded_ratios(predictor.slope, predictor.intercepts, apart, t, _FAR)
        s = self._predict(predictor, t)
        small = np.exp(-np.minimum(np.abs(s), _FAR))
        above, below = np.where(s > 0, 1.0, small), np.where(s > 0, small, 1.0)
        small += 1.0
        above /= small
        below /= small
        up, down = np.zeros((2, len(s), self.n_categories, len(t)))
        up[:, -1], down[:, 0] = below[:, -1], above[:, 0]
        np.divide(below[:, :-1], below[:, 1:], out=up[:, 1:-1])
        np.divide(above[:, 1:], above[:, :-1], out=down[:, 1:-1])
        up[:, 1:-1] *= apart[..., None]
        down[:, 1:-1] *= apart[..., None]
        return up, down

    def passes(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories - 1, nodes): P(y >= k), k >= 1, through the logit."""
        return _logistic(self._predict(predictor, t))

    @staticmethod
    def _inverse_gaps(predictor: Predictor) -> Array:
        """(contexts, categories - 2): 1 / (1 - exp(l - u)) of the steps u and l on either side of a score."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / -np.expm1(np.minimum(np.diff(predictor.intercepts, axis=1), 0.0)))

    @staticmethod
    def _predict(predictor: Predictor, t: Array) -> Array:
        return np.multiply.outer(predictor.slope, t)[:, None] + predictor.intercepts[..., None]


def _logistic(logits: Array) -> Array:
    """Not `special.expit`: NumPy has exponentials in vectors of the processor."""
    small = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits > 0, 1.0, small) / (1 + small))


def _large(predictor: Predictor, t: Array) -> bool:
    """Whether a table of scores is worth compiled code."""
    return compiled_code_pays(predictor.intercepts.size * len(t) * _PER_NUMBER)


def steepness(response: Response) -> float:
    """How many times as steep as its slope a context's log-probabilities may turn: as many as adjacent categories have
    steps; graded scores are differences of two curves of that slope."""
    lever = response.lever
    return float(lever.max()) if lever.max() > 1 else min(len(lever), 2)


def counted_scores(response: Response, predictor: Predictor, t: Array, counts: Array) -> Array:
    """(contexts, nodes, intercepts): derivatives of the counted log-probability in the intercepts."""
    if isinstance(response, Adjacent | Graded) and counts.shape[1] == response.n_categories:
        # A score depends on few intercepts, or on all in the same way: no table of each by each.
        return response.counted_scores(predictor, t, counts)
    return np.asarray(np.einsum("jckq,ckq->cqj", response.scores(predictor, t), counts))


def summed_scores(response: Response, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
    """(contexts,) and (contexts, intercepts): derivatives of the counted log-probability in slopes and intercepts."""
    if isinstance(response, Graded) and counts.shape[1] == response.n_categories:
        return response.summed_scores(predictor, t, counts)
    at_nodes = counted_scores(response, predictor, t, counts)
    return at_nodes @ response.lever @ t, at_nodes.sum(axis=1)


def shift_scores(response: Response, predictor: Predictor, t: Array) -> Array:
    """(contexts, categories, nodes): derivatives of the log-probabilities as the predictor is shifted."""
    if isinstance(response, Graded):
        up, down = response.density_ratios(predictor, t)
        return up - down
    return np.tensordot(response.lever, response.scores(predictor, t), 1)


def shift_information(response: Response, predictor: Predictor, t: Array, counts: Array) -> Array:
    """(contexts, nodes): minus the second derivative of the counted log-probability as the predictor is shifted."""
    if isinstance(response, Adjacent):
        p, powers = response.probabilities(predictor, t), np.stack([response.lever, response.lever**2])
        mean, square = np.tensordot(powers, p, (1, 1))
        return np.asarray(counts.sum(axis=1) * (square - mean * mean))
    if isinstance(response, Graded):
        own, beside = response.bands(predictor, t, counts)
        return np.asarray(-own.sum(axis=1) - 2 * beside.sum(axis=1))
    return np.asarray(-response.curvature(predictor, t, counts) @ response.lever @ response.lever)
