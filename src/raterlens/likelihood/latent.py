"""Latent values that units of a student's ratings share besides ability, integrated for each node of ability.

A unit is a reading with a rater's impression u of it, a piece of work with its quality, or a student-item with its true
category. With T_qk the log-probability of a unit's ratings where ability is at node q and its own value at node k,

    log-probability   T_q   = log sum_k p(k | q) exp T_qk
    score             d T_q = E_k[d T_qk]                                  (Fisher's identity)
    curvature        d2 T_q = E_k[d2 T_qk] + Cov_k[d T_qk]                 (Louis' identity)

The first expectation is that of the ratings themselves, with expected counts at pairs of nodes; the covariance is the
same sum for all units (`covariances`). What is left, T_q and its score, is a cell of an engine like any other.
"""

from dataclasses import dataclass

import numpy as np

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.models.responses import Predictor, Response, Wrapped

# Ratings less likely than this at a node are as good as impossible there.
IMPOSSIBLE = -1e5


@dataclass(frozen=True, slots=True, eq=False)
class Integral:
    """Units, integrated over values of their own that stand beside each node of ability."""

    value: Array
    """(units, nodes): log-probability."""
    share: Array
    """(units, own, nodes): probability of an own value, given the ratings and ability."""

    @staticmethod
    def of(joint: Array, top: Array) -> "Integral":
        """From the probability of ratings and own value, (units, own, nodes), up to a factor exp(top), (units, nodes or
        1); the shares take its place."""
        total = joint.sum(axis=1)
        joint /= total[:, None]
        return Integral(np.log(total) + top, joint)

    @staticmethod
    def of_logs(log: Array) -> "Integral":
        """From its logarithm."""
        top = np.maximum(log.max(axis=1), IMPOSSIBLE)
        log -= top[:, None]
        return Integral.of(np.exp(log, out=log), top)


def covariances(scores: Array, share: Array, means: Array, counts: Array) -> Array:
    """(units, scores, scores): Cov_k of the scores of each unit, summed over nodes of ability.

    Parameters
    ----------
    scores
        (units, own nodes, scores)
    share
        (units, own nodes): expected units, over all nodes of ability.
    means
        (units, nodes, scores): E_k of the scores.
    counts
        (units, nodes): expected units.
    """
    found = (scores * share[..., None]).swapaxes(1, 2) @ scores
    found -= (means * counts[..., None]).swapaxes(1, 2) @ means
    return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class Crossed(Wrapped):
    """A response on pairs of nodes (t, z): S = slope t + intercepts + loading z. The loading is the last intercept.

    z is a second ability, or the impression of a reading, whose spread is the loading. Nodes go through all t for each
    z, but for pairs that are not `inside`.
    """

    t: Array
    z: Array
    inside: Mask | None = None

    bounded_turns = False  # no slope tells how fast scores change

    def on(self, t: Array, z: Array | None) -> "Crossed":
        """On a list of pairs."""
        assert z is not None
        (abilities, column), (others, row) = (np.unique(each, return_inverse=True) for each in (t, z))
        inside = np.zeros((len(others), len(abilities)), dtype=bool)
        inside[row, column] = True
        return Crossed(self.response, abilities, others, None if inside.all() else inside.ravel())

    @property
    def single(self) -> Response:
        return self.response.single

    @property
    def lever(self) -> Array:
        return np.append(self.response.lever, 0.0)

    @property
    def steepness(self) -> float:
        return self.single.steepness

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        response, rows = self._rows(predictor)
        return self._flat(response.log_prob(rows, self.t))

    def scores(self, predictor: Predictor, t: Array) -> Array:
        response, rows = self._rows(predictor)
        found = np.stack([self._flat(own) for own in response.scores(rows, self.t)])
        return np.concatenate([found, self._pairs() * np.tensordot(response.lever, found, 1)[None]])

    def failed_scores(self, predictor: Predictor) -> Array:
        """(intercepts, contexts, pairs): derivatives of the log-probability of score 0, of adjacent categories."""
        response, rows = self._rows(predictor)
        found = -self._flat(response.probabilities(rows, self.t))  # type: ignore[attr-defined]
        by_loading = self._pairs() * np.einsum("j,cjq->cq", response.lever, found)
        return np.concatenate([found, by_loading[:, None]], axis=1).swapaxes(0, 1)

    def summed_scores(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array]:
        response, rows = self._rows(predictor)
        slopes, own = response.summed_scores(rows, self.t, self._by_rows(counts))
        own = own.reshape(-1, len(self.z), own.shape[1])
        by_loading = own @ response.lever @ self.z
        intercepts = np.concatenate([own.sum(axis=1), by_loading[:, None]], axis=1)
        return slopes.reshape(len(own), -1).sum(axis=1), intercepts

    def summed_curvature(self, predictor: Predictor, t: Array, counts: Array) -> tuple[Array, Array, Array]:
        response, rows = self._rows(predictor)
        slopes, mixed, own = response.summed_curvature(rows, self.t, self._by_rows(counts))
        z, lever = self.z, response.lever
        mixed, own = mixed.reshape(-1, len(z), len(lever)), own.reshape(-1, len(z), len(lever), len(lever))
        beside = own @ lever
        intercepts = np.empty((len(own), len(lever) + 1, len(lever) + 1))
        intercepts[:, :-1, :-1], intercepts[:, -1, -1] = own.sum(axis=1), beside @ lever @ z**2
        intercepts[:, -1, :-1] = intercepts[:, :-1, -1] = z @ beside
        by_slope = np.concatenate([mixed.sum(axis=1), (mixed @ lever @ z)[:, None]], axis=1)
        return slopes.reshape(len(own), -1).sum(axis=1), by_slope, intercepts

    def _rows(self, predictor: Predictor) -> tuple[Response, Predictor]:
        """The response of every context at every z, and what it depends on there."""
        context = np.repeat(np.arange(len(predictor.slope)), len(self.z))
        shift = np.multiply.outer(predictor.intercepts[:, -1], self.z).ravel()
        rows = Predictor(predictor.slope[context], predictor.intercepts[context, :-1])
        return self.response.taken(context), rows.shifted(shift, self.response.lever)

    def _flat(self, found: Array) -> Array:
        """(contexts x z, anything, t) -> (contexts, anything, pairs)"""
        _, width, size = found.shape
        by_context = found.reshape(-1, len(self.z), width, size).swapaxes(1, 2)
        pairs = by_context.reshape(len(by_context), width, -1)
        return pairs if self.inside is None else pairs[..., self.inside]

    def _by_rows(self, counts: Array) -> Array:
        """(contexts, categories, pairs) -> (contexts x z, categories, t)"""
        n, width, _ = counts.shape
        if self.inside is not None:
            every = np.zeros((n, width, len(self.inside)))
            every[..., self.inside] = counts
            counts = every
        return counts.reshape(n, width, len(self.z), -1).swapaxes(1, 2).reshape(n * len(self.z), width, -1)

    def _pairs(self) -> Array:
        """(pairs,): z"""
        every = np.repeat(self.z, len(self.t))
        return every if self.inside is None else every[self.inside]


# Known answers that may say nothing. 60 answers do not tell how many of them are wrong (between 0 and 10 %, the
# log-likelihood moves by less than 1), and allowing for some costs next to nothing (docs/known-answers.md).
WRONG = 0.05


@dataclass(frozen=True, slots=True)
class Fallible(Wrapped):
    """A response in which known answers, the contexts after the first `n_rated`, may be wrong: 0.95 P + 0.05 / K."""

    n_rated: int

    @property
    def single(self) -> Response:
        return self.response

    def taken(self, contexts: Indices) -> "Fallible":
        return Fallible(self.response.taken(contexts), int(np.searchsorted(contexts, self.n_rated)))

    def _share_right(self, log_prob: Array) -> Array:
        """(known, categories, nodes): probability that the answer is meant, given what it says."""
        right = (1 - WRONG) * np.exp(log_prob[self.n_rated :])
        return np.asarray(right / (right + WRONG / self.n_categories))

    def log_prob(self, predictor: Predictor, t: Array) -> Array:
        found = self.response.log_prob(predictor, t)
        known = found[self.n_rated :]
        np.logaddexp(known + np.log1p(-WRONG), np.log(WRONG / self.n_categories), out=known)
        return found

    def scores(self, predictor: Predictor, t: Array) -> Array:
        found = self.response.scores(predictor, t)
        found[:, self.n_rated :] *= self._share_right(self.response.log_prob(predictor, t))
        return found

    def curvature(self, predictor: Predictor, t: Array, counts: Array) -> Array:
        share, known = self._share_right(self.response.log_prob(predictor, t)), counts[self.n_rated :]
        meant = np.concatenate([counts[: self.n_rated], known * share])
        found = self.response.curvature(predictor, t, meant)
        scores = self.response.scores(predictor, t)[:, self.n_rated :]
        found[self.n_rated :] += np.einsum("ickq,jckq->cqij", scores * (known * share * (1 - share)), scores)
        return found
