"""How the linear predictor of a context becomes the probability of each score.

A context has a slope a and K - 1 intercepts e_1 .. e_{K-1} for K score categories; binary is K = 2. Everything is
tabulated over contexts (C) and ability nodes t (Q).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices
from raterlens.capability.links import Link, get_link
from raterlens.capability.population import READINGS
from raterlens.kernels.library import compiled_code_pays

# Logits beyond which a probability would be 0 in doubles.
_FAR = 700.0
# Links whose slope tells how fast scores change with ability.
_EVEN_TAILS = ("logit", "probit")
# An exponential and a logarithm are like going over this many numbers.
_PER_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Predictor:
    """Slope and intercepts of every context."""

    slope: Array
    """(contexts,)"""
    intercepts: Array
    """(contexts, categories - 1)"""

    def first(self, n: int) -> "Predictor":
        """The predictor of the first contexts."""
        return Predictor(self.slope[:n], self.intercepts[:n])

    def shifted(self, amount: Array, lever: Array) -> "Predictor":
        """With so much more, (contexts,), in the predictor at every ability."""
        return Predictor(self.slope, self.intercepts + np.multiply.outer(amount, lever))

    def of_ratings(self, context: NDArray[np.integer], reach: Array, lever: Array) -> "Predictor":
        """One row per rating, for ability 0: what ability adds, `reach`, stands in the intercepts."""
        return Predictor(np.zeros(len(reach)), self.intercepts[context] + np.multiply.outer(reach, lever))


class Response:
    """Log-probabilities of the scores and their derivatives in the intercepts.

    The slope's derivative is `t * sum_k lever_k d/de_k`, so it never needs a table of its own. A subclass says the
    first five; it says the others again where it knows a shorter way.
    """

    __slots__ = ()

    by_sums = False
    """Scores enter the likelihood through their sums alone, linearly."""
    cornered = False
    """The log-likelihood has a corner, and no second derivative there."""

    @property
    def single(self) -> "Response":
        """Response of one answer, where outcomes stand for several."""
        return self

    @property
    def longest(self) -> int:
        """Most answers that an outcome stands for."""
        return 1

    def on(self, t: Array, z: Array | None) -> "Response":
        """On nodes (t, z) of two abilities, where the response has to do with a second one."""
        return self

    def taken(self, contexts: Indices) -> "Response":
        """The response of some contexts, one of which may occur several times."""
        return self

    @property
    def least_noise(self) -> float:
        """Standard deviation of marks that are exact but for rounding; 0 where scores are no marks."""
        return 0.0

    @property
    def n_categories(self) -> int:
        raise NotImplementedError

    @property
    def lever(self) -> Array:
        raise NotImplementedError

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes)"""
        raise NotImplementedError

    def chances(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes): probabilities of the scores."""
        return np.exp(self.log_prob(predictor, t))

    def mean(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, nodes): expected score."""
        scores = np.arange(float(self.n_categories))
        return np.asarray(np.einsum("ckq,k->cq", self.chances(predictor, t), scores))

    def mean_of(self, predictor: Predictor, row: NDArray[np.integer], reach: Array) -> Array:
        """(ratings,): expected scores of ratings in these contexts, with so much in the predictor besides."""
        return self.mean(predictor.of_ratings(row, reach, self.lever), np.zeros(1))[:, 0]

    def scores(self, predictor: Predictor, t: Array) -> Array:
        """(categories - 1, contexts, categories, nodes): derivative of each log-probability in each intercept."""
        raise NotImplementedError

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        """(contexts, nodes, categories - 1, categories - 1): second derivative in the intercepts of
        the counted log-probability, for counts of shape (contexts, categories, nodes)."""
        raise NotImplementedError

    @property
    def steepness(self) -> float:
        """How many times as steep as its slope a context's log-probabilities may turn: as many as adjacent categories
        have steps; graded scores are differences of two curves of that slope."""
        lever = self.lever
        return float(lever.max()) if lever.max() > 1 else min(len(lever), 2)

    @property
    def bounded_turns(self) -> bool:
        """Whether that tells how fast scores change with ability."""
        return True

    def reach(self, predictor: Predictor) -> Array:
        """(contexts,): how fast log-probabilities turn with ability."""
        return np.asarray(np.abs(predictor.slope) * self.steepness)

    def counted_scores(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        """(contexts, nodes, intercepts): derivatives of the counted log-probability in the intercepts."""
        return np.asarray(np.einsum("jckq,ckq->cqj", self.scores(predictor, t), counts))

    def summed_scores(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        """(contexts,) and (contexts, intercepts): derivatives of the counted log-probability in slopes, intercepts."""
        at_nodes = self.counted_scores(predictor, t, counts)
        return at_nodes @ self.lever @ t, at_nodes.sum(axis=1)

    def score_tables(self, predictor: Predictor, t: Array) -> list[tuple[Indices, Array]]:
        """Derivatives of the log-probabilities in intercepts, in as few tables as hold them: (categories,) which
        intercept of the context a table is about for each score, and the table (contexts, categories, nodes)."""
        tables = self.scores(predictor, t)
        return [(np.full(self.n_categories, step), table) for step, table in enumerate(tables)]

    def summed_curvature(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
        """Second derivatives of the counted log-probability, summed over nodes: (contexts,) by the slope twice,
        (contexts, steps) by slope and intercepts, (contexts, steps, steps) by these."""
        curvature, lever = self.curvature(predictor, t, counts), self.lever
        slopes = np.einsum("cqjk,j,k,q->c", curvature, lever, lever, t**2, optimize=True)
        mixed = np.einsum("cqjk,k,q->cj", curvature, lever, t, optimize=True)
        return slopes, mixed, curvature.sum(axis=1)

    def shift_scores(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes): derivatives of the log-probabilities as the predictor is shifted."""
        return np.tensordot(self.lever, self.scores(predictor, t), 1)

    def shift_information(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        """(contexts, nodes): minus the second derivative of the counted log-probability as the predictor is shifted."""
        return np.asarray(-self.curvature(predictor, t, counts) @ self.lever @ self.lever)

    def shift_derivatives(self, predictor: Predictor, t: Array) -> tuple[Array, Array]:
        """(contexts, categories, nodes) twice: first and second derivative of a log-probability as the predictor is
        shifted."""
        first = self.shift_scores(predictor, t)
        one_each = np.eye(self.n_categories)[:, None, :, None]
        second = [
            np.broadcast_to(-self.shift_information(predictor, t, one), first[:, 0].shape) for one in one_each
        ]
        return first, np.stack(second, axis=1)


@dataclass(frozen=True, slots=True)
class Adjacent(Response):
    """Adjacent-category logits: log P(y) = y a t + e_y - log(sum_k exp(k a t + e_k)), e_0 = 0.

    With two categories this is the logistic model. The data enter only as sums of scores, so all ratings of a
    student by a rater collapse into one cell.
    """

    n_categories: int = 2
    by_sums = True

    @property
    def lever(self) -> Array:
        return np.arange(1.0, self.n_categories)

    def log_partition(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, nodes): log sum_k exp(k a t + e_k)."""
        if self.n_categories == 2:
            s = self.logits(predictor, t)[:, 0]
            return np.asarray(np.maximum(s, 0) + np.log(1 + np.exp(-np.abs(s))))
        if _large(predictor, t):
            from raterlens.kernels.response_tables import adjacent  # may be missing

            return adjacent(predictor.slope, predictor.intercepts, t, probabilities=False)[1]
        _, total, top = self._exponentials(predictor, t)
        return np.asarray(np.log(total) + top)

    def probabilities(self, predictor: Predictor, t: Array) -> Array:
        """(contexts, categories - 1, nodes): P(y = k), k >= 1."""
        if self.n_categories == 2:
            return _logistic(self.logits(predictor, t))
        if _large(predictor, t):
            from raterlens.kernels.response_tables import adjacent  # may be missing

            found, _ = adjacent(predictor.slope, predictor.intercepts, t, probabilities=True)
            assert found is not None
            return found
        small, total, _ = self._exponentials(predictor, t)
        small /= total[:, None]
        return small

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        logits = np.pad(self.logits(predictor, t), ((0, 0), (1, 0), (0, 0)))
        return logits - self.log_partition(predictor, t)[:, None]

    def scores(self, predictor: Predictor, t: Array) -> Array:
        p = self.probabilities(predictor, t)
        seen = np.eye(self.n_categories)[1:]
        return seen[:, None, :, None] - p.transpose(1, 0, 2)[:, :, None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        p = self.probabilities(predictor, t).transpose(0, 2, 1)
        variance = p[..., None] * np.eye(self.n_categories - 1) - p[..., None] * p[..., None, :]
        return np.asarray(-counts.sum(axis=1)[..., None, None] * variance)

    def mean_of(self, predictor: Predictor, row: NDArray[np.integer], reach: Array) -> Array:
        """By odds: one exponential for all scores, where none is too large."""
        if self.lever[-1] * np.abs(reach).max(initial=0.0) + predictor.intercepts.max() > _FAR:
            return Response.mean_of(self, predictor, row, reach)
        odds, weights = np.exp(reach), np.exp(predictor.intercepts.T)
        power, total, summed = np.ones_like(odds), np.ones_like(odds), np.zeros_like(odds)
        for score, weight in enumerate(weights, start=1):
            power *= odds
            own = power * weight[row]
            total += own
            summed += score * own
        return summed / total

    def counted_scores(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        expected = self.probabilities(predictor, t)
        expected *= counts.sum(axis=1, keepdims=True)
        return np.asarray((counts[:, 1:] - expected).transpose(0, 2, 1))

    def summed_curvature(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
        """Without a table of each step by each at every node: minus the covariances of the scores' indicators."""
        p, lever = self.probabilities(predictor, t), self.lever
        given = counts.sum(axis=1, keepdims=True) * p
        mean = np.einsum("j,cjq->cq", lever, p)
        by_score = lever[:, None] - mean[:, None]
        intercepts = given @ p.transpose(0, 2, 1)
        intercepts[:, np.arange(len(lever)), np.arange(len(lever))] -= given.sum(axis=2)
        mixed = -np.einsum("cjq,cjq,q->cj", given, by_score, t)
        slopes = -np.einsum("j,cjq,cjq,q->c", lever, given, by_score, t**2, optimize=True)
        return slopes, mixed, intercepts

    def shift_information(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        p, powers = self.probabilities(predictor, t), np.stack([self.lever, self.lever**2])
        mean, square = np.tensordot(powers, p, (1, 1))
        return np.asarray(counts.sum(axis=1) * (square - mean * mean))

    def given(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        """Expectations of ratings counted at nodes, (contexts, nodes): (contexts,) the sum of scores times ability,
        and (contexts, categories - 1) how often each score above zero is given."""
        if self.n_categories > 2 and _large(predictor, t):
            from raterlens.kernels.response_tables import adjacent_sums  # may be missing

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


class Verdict(Response):
    """Pass or fail."""

    __slots__ = ()

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def lever(self) -> Array:
        return np.ones(1)


@dataclass(frozen=True, slots=True)
class Linked(Verdict):
    """Pass or fail through any link: P(y = 1) = F(a t + e)."""

    link: Link

    @property
    def bounded_turns(self) -> bool:
        """Not of links with heavy or uneven tails: posteriors can have several peaks, or a flank that falls off faster
        than any slope tells."""
        return self.link.name in _EVEN_TAILS

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        s = _predict(predictor, t)
        return np.stack([self.link.log_fail(s), self.link.log_pass(s)], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        s = _predict(predictor, t)
        return np.stack([self.link.slopes(s, np.bool_(y))[0] for y in (0, 1)], axis=1)[None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        s = _predict(predictor, t)
        fail, passed = (counts[:, y] * self.link.slopes(s, np.bool_(y))[1] for y in (0, 1))
        return (fail + passed)[..., None, None]


@dataclass(frozen=True, slots=True)
class Graded(Response):
    """Cumulative scores through any link: P(y >= k) = F(a t + e_k), with e_1 > e_2 > ..."""

    link: Link
    n_categories: int

    @property
    def bounded_turns(self) -> bool:
        return self.link.name in _EVEN_TAILS

    @property
    def lever(self) -> Array:
        return np.ones(self.n_categories - 1)

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        if self.link.name == "logit" and _large(predictor, t):
            from raterlens.kernels.response_tables import graded_log_prob  # may be missing

            return graded_log_prob(predictor.slope, predictor.intercepts, self._log_gaps(predictor), t, _FAR)
        s = self._predict(predictor, t)
        passes, fails = self.link.log_pass(s), self.link.log_fail(s)
        # F(upper) - F(lower), from the tail in which the two are small.
        low_tail = s[:, :-1] + s[:, 1:] < 0
        near = np.where(low_tail, passes[:, :-1], fails[:, 1:])
        far = np.where(low_tail, passes[:, 1:], fails[:, :-1])
        with np.errstate(divide="ignore"):
            middle = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
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
            from raterlens.kernels.response_tables import graded_sums  # may be missing

            known = predictor.slope, predictor.intercepts, self._inverse_gaps(predictor)
            return graded_sums(known, t, _FAR, counts)
        return Response.summed_scores(self, predictor, t, counts)

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        return _banded(*(part.transpose(0, 2, 1) for part in self.bands(predictor, t, counts)))

    def score_tables(self, predictor: Predictor, t: Array) -> list[tuple[Indices, Array]]:
        """A score depends on the two steps around it."""
        up, down = self.density_ratios(predictor, t)
        step = np.arange(self.n_categories)
        return [(np.maximum(step - 1, 0), up), (np.minimum(step, self.n_categories - 2), -down)]

    def summed_curvature(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
        if self.link.name == "logit" and _large(predictor, t):
            from raterlens.kernels.response_tables import graded_bends  # may be missing

            known = predictor.slope, predictor.intercepts, self._inverse_gaps(predictor)
            slopes, mixed, twice, with_next = graded_bends(known, t, _FAR, counts)
            return slopes, mixed, _banded(twice, with_next)
        own, beside = self.bands(predictor, t, counts)
        intercepts = _banded(own.sum(axis=2), beside.sum(axis=2))
        own[:, 1:] += beside
        own[:, :-1] += beside
        return own.sum(axis=1) @ t**2, own @ t, intercepts

    def shift_scores(self, predictor: Predictor, t: Array) -> Array:
        up, down = self.density_ratios(predictor, t)
        return up - down

    def shift_information(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        own, beside = self.bands(predictor, t, counts)
        return np.asarray(-own.sum(axis=1) - 2 * beside.sum(axis=1))

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
        if self.link.name == "logit" and _large(predictor, t):
            from raterlens.kernels.response_tables import graded_ratios  # may be missing

            return graded_ratios(
                predictor.slope, predictor.intercepts, self._inverse_gaps(predictor), t, _FAR
            )
        log_prob = self.log_prob(predictor, t)
        density = self.link.log_density(self._predict(predictor, t))
        up, down = np.zeros_like(log_prob), np.zeros_like(log_prob)
        up[:, 1:] = np.exp(density - log_prob[:, 1:])
        down[:, :-1] = np.exp(density - log_prob[:, :-1])
        return up, down

    @staticmethod
    def _log_gaps(predictor: Predictor) -> Array:
        """(contexts, categories - 2): log(1 - exp(l - u)) of the steps u and l on either side of a score. Through the
        logit, F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(l - u))."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(np.minimum(np.diff(predictor.intercepts, axis=1), 0.0))))

    @classmethod
    def _inverse_gaps(cls, predictor: Predictor) -> Array:
        return np.exp(-cls._log_gaps(predictor))

    @staticmethod
    def _predict(predictor: Predictor, t: Array) -> Array:
        return np.multiply.outer(predictor.slope, t)[:, None] + predictor.intercepts[..., None]


def _banded(own: Array, beside: Array) -> Array:
    """(..., steps, steps): matrices with these numbers on the diagonal, (..., steps), and next to it."""
    steps = np.arange(own.shape[-1])
    found = np.zeros((*own.shape, len(steps)))
    found[..., steps, steps] = own
    found[..., steps[1:], steps[:-1]] = found[..., steps[:-1], steps[1:]] = beside
    return found


def _logistic(logits: Array) -> Array:
    """Not `special.expit`: NumPy has exponentials in vectors of the processor."""
    small = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits > 0, 1.0, small) / (1 + small))


def _large(predictor: Predictor, t: Array) -> bool:
    """Whether a table of scores is worth compiled code."""
    return compiled_code_pays(predictor.intercepts.size * len(t) * _PER_NUMBER)


# --------------------------------------------------------------------------------------------------------------

# Pass or fail through the log link: P(y = 1) = exp(S), capped at 1 where S exceeds 0.
#
# Ability is unbounded, so S always exceeds 0 for the ablest students. The likelihood of a capped exponential has a
# corner there, which a sum over ability nodes turns into steps of its gradient; averaged over a short stretch of
# S, the corner is round and the likelihood smooth enough for the optimiser and for standard errors.

CORNER = 0.02
"""Stretch of S over which the corner is rounded. Rounding moves estimates by some hundredths of a standard error at
most; it would change the log-likelihood itself by more than that matters, so what is reported is `sharp`."""

# A fail is impossible beyond the corner. This log-probability keeps steps of the optimiser there finite, and low.
_IMPOSSIBLE = -500.0


@dataclass(frozen=True, slots=True)
class Capped(Verdict):
    """P(y = 1) = F(a t + e), F the average of min(exp, 1) over CORNER.

    With v = w / 2 - s the distance from the end of the corner, of width w:

        1 - F = 1 - exp(s) sinh(w / 2) / (w / 2)   (v >= w),      (v - 1 + exp(-v)) / w   (0 < v < w)
    """

    cornered = True

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        _, failed, _, _ = self._parts(predictor, t)
        s = _predict(predictor, t)
        log_pass = np.where(_straight(s), s + np.log(_EXCESS), np.log1p(-np.minimum(failed, 0.5)))
        with np.errstate(divide="ignore"):
            return np.stack([np.maximum(np.log(failed), _IMPOSSIBLE), log_pass], axis=1)

    def scores(self, predictor: Predictor, t: Array) -> Array:
        passed, failed, density, _ = self._parts(predictor, t)
        return np.stack([-_ratio(density, failed), _ratio(density, passed)], axis=1)[None]

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        passed, failed, density, rise = self._parts(predictor, t)
        of_fail = -_ratio(rise, failed) - _ratio(density, failed) ** 2
        of_pass = _ratio(rise, passed) - _ratio(density, passed) ** 2
        return (counts[:, 0] * of_fail + counts[:, 1] * of_pass)[..., None, None]

    @staticmethod
    def sharp(predictor: Predictor, t: Array) -> Array:
        """(contexts, categories, nodes): log-probabilities with the corner as it is."""
        log_prob = Linked(get_link("log")).log_prob(predictor, t)
        return np.maximum(log_prob, _IMPOSSIBLE)

    @staticmethod
    def _parts(predictor: Predictor, t: Array) -> tuple[Array, Array, Array, Array]:
        """(contexts, nodes): F, 1 - F, F' and F''."""
        s, w = _predict(predictor, t), CORNER
        below = np.exp(np.minimum(s, -w / 2)) * _EXCESS
        v = np.clip(w / 2 - s, 0.0, w)
        # v - 1 + exp(-v) without cancellation: v^2 / 2 - v^3 / 6 + v^4 / 24 .., for v <= CORNER.
        corner = v**2 * (1 / 2 - v * (1 / 6 - v * (1 / 24 - v / 120))) / w
        straight, inside = _straight(s), s < w / 2
        failed = np.where(straight, 1 - below, corner)
        density = np.where(straight, below, -np.expm1(-v) / w)
        rise = np.where(straight, below, np.where(inside, -np.exp(-v) / w, 0.0))
        return np.where(straight, below, 1 - corner), failed, density, rise


_EXCESS = float(np.sinh(CORNER / 2) / (CORNER / 2))


def _predict(predictor: Predictor, t: Array) -> Array:
    return np.multiply.outer(predictor.slope, t) + predictor.intercepts


def _straight(s: Array) -> NDArray[np.bool_]:
    """Where the average is over an exponential alone."""
    return s <= -CORNER / 2


def _ratio(numerator: Array, probability: Array) -> Array:
    """Over a probability; 0 where that vanishes, since no posterior weight is there."""
    return np.divide(numerator, probability, out=np.zeros_like(probability), where=probability > 0)


# --------------------------------------------------------------------------------------------------------------

# A response averaged over the reading effect: what a single score is like, whatever the impression of its reading.


@dataclass(frozen=True, slots=True)
class Wrapped(Response):
    """A response made of another one of the same scores."""

    response: Response

    @property
    def n_categories(self) -> int:
        return self.response.n_categories

    @property
    def lever(self) -> Array:
        return self.response.lever


@dataclass(frozen=True, slots=True)
class AveragedResponse(Wrapped):
    """P(y | t) = E_u[P(y | t, u)], where the intercepts vary by `spread` times u."""

    spread: Array
    """(contexts,)"""

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        logs = [np.log(w) + self.response.log_prob(self._at(predictor, u), t) for u, w in _rule()]
        return np.asarray(special.logsumexp(np.stack(logs), axis=0))

    def scores(self, predictor: Predictor, t: Array) -> Array:
        whole = self.log_prob(predictor, t)
        found = np.zeros((len(self.lever), *whole.shape))
        for u, w in _rule():
            at = self._at(predictor, u)
            share = w * np.exp(self.response.log_prob(at, t) - whole)
            found += share * self.response.scores(at, t)
        return found

    def _at(self, predictor: Predictor, u: float) -> Predictor:
        return predictor.shifted(u * self.spread, self.lever)


def _rule() -> list[tuple[float, float]]:
    return [(float(u), float(w)) for u, w in zip(*READINGS, strict=True)]
