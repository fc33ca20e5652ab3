"""A judge beside people on ordered scores, on a scale that neither the judge nor the person compared has set.

For every person p, the others' ratings alone say how able each student is. The judge and p are both correlated with
that, on the same students: the polyserial correlation, which allows each rater thresholds of its own,

    r = cov(s, m) / (sd(m) sum_k (s_k+1 - s_k) phi(tau_k)),    tau_k = PhiInverse(share of scores up to k),

over the square root of m's reliability. So a judge who flips coins between the ends of the scale correlates with
nothing, and one who uses two of five scores loses only what that costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from raterlens.base.arrays import Array, Indices

BOOTSTRAPS = 500
_LEAST_RELIABILITY = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Work that the judge and one person rated: (rows,) each; ability and its error come from the other people."""

    student: Indices
    item: Indices
    judge: Array
    person: Array
    ability: Array
    error: Array


@dataclass(frozen=True, slots=True, eq=False)
class Sharpness:
    """Correlations with ability: (1 + people,) the judge first, and the same of every bootstrap of students."""

    value: Array
    bootstraps: Array
    """(1 + people, bootstraps)"""
    judge_beside: Array
    """(people,) the judge's on the work of each person"""
    judge_beside_bootstraps: Array

    @property
    def difference(self) -> float:
        """The judge's less the people's, on average over people."""
        return float(np.mean(self.judge_beside - self.value[1:]))

    @property
    def error(self) -> float:
        """Standard error of the difference."""
        drawn = np.mean(self.judge_beside_bootstraps - self.bootstraps[1:], axis=0)
        return float(np.std(drawn))


def sharpness_beside(shared: Sequence[Shared], n_students: int) -> Sharpness:
    """Compare a judge with each person on their shared work; students are drawn again for the errors."""
    rng = np.random.default_rng(20250212)
    times = rng.multinomial(n_students, np.full(n_students, 1 / n_students), BOOTSTRAPS).astype(np.float64)
    times = np.vstack([np.ones(n_students), times])
    of_judge, of_people = [], []
    for each in shared:
        reliability = max(1 - float(np.mean(each.error**2)), _LEAST_RELIABILITY)
        weights = times[:, each.student]
        of_judge.append(_correlation(each.judge, each, weights) / np.sqrt(reliability))
        of_people.append(_correlation(each.person, each, weights) / np.sqrt(reliability))
    judge, people = np.stack(of_judge), np.stack(of_people)
    value = np.vstack([judge.mean(axis=0), people])
    return Sharpness(value[:, 0], value[:, 1:], judge[:, 0], judge[:, 1:])


def _correlation(score: Array, shared: Shared, weights: Array) -> Array:
    """(draws,) polyserial correlation within items, averaged over them by how much was rated."""
    total, n = np.zeros(len(weights)), 0
    for item in np.unique(shared.item):
        rows = shared.item == item
        total += rows.sum() * polyserial(score[rows], shared.ability[rows], weights[:, rows])
        n += int(rows.sum())
    return total / n


def polyserial(score: Array, ability: Array, weights: Array) -> Array:
    """(draws,) correlation of ability with what lies behind ordered scores, by rows of weights; 0 for a constant."""
    n = np.maximum(weights.sum(axis=1), 1e-9)
    mean, middle = weights @ score / n, weights @ ability / n
    spread = np.sqrt(np.maximum(weights @ ability**2 / n - middle**2, 1e-12))
    covariance = weights @ (score * ability) / n - mean * middle
    levels = np.unique(score)
    height = np.zeros(len(weights))
    for low, high in pairwise(levels):
        share = weights @ (score <= low).astype(np.float64) / n
        tau = special.ndtri(np.clip(share, 1e-6, 1 - 1e-6))
        height += (high - low) * np.exp(-(tau**2) / 2) / np.sqrt(2 * np.pi)
    found = np.where(height > 1e-9, covariance / spread / np.maximum(height, 1e-9), 0.0)
    return np.asarray(np.clip(found, -1, 1))
