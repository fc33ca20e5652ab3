"""Raters against each other: tests of differences with multiplicity control, and ranks with their uncertainty.

All on one yardstick, which scales every difference alike and so decides nothing:
kappa_i - kappa_j = (T_i - T_j) / Delta, with T the sensitivity of a rater's scores to ability. The covariance of all
slopes and severities is carried. Where intervals reach as far as profile likelihood says, draws of all raters do, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from raterlens.base.arrays import Array
from raterlens.capability.index import Index
from raterlens.capability.yardstick import Measure
from raterlens.inference.panel_draws import Measured, within_limits
from raterlens.models.panel import Panel

_SEED = 20250212
_DRAWS = 2_000
# Numbers drawn at a time.
_BLOCK = 2**20
# As many times the ratings that a rater has are not worth asking for.
_MOST_TIMES = 50


@dataclass(frozen=True, slots=True)
class Tests:
    """Differences with their standard errors, and p-values: each by itself, and safe for many at once."""

    difference: Array
    se: Array
    p: Array
    holm: Array
    """Chance of any false finding below alpha (Holm)."""
    fdr: Array
    """Expected share of false findings below alpha (Benjamini and Hochberg)."""

    @staticmethod
    def of(difference: Array, se: Array) -> "Tests":
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(se > 0, difference / se, np.where(difference == 0, 0.0, np.inf))
        p = 2 * stats.norm.sf(np.abs(z))
        return Tests(difference, se, p, holm(p), np.asarray(stats.false_discovery_control(p)))


@dataclass(frozen=True, slots=True)
class Ranks:
    """1 is the most capable rater."""

    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Between these in 95 % of the draws."""
    best: Array
    """Probability of being among the best k."""
    worst: Array
    """Probability of being among the worst k."""


def kappa_covariance(panel: Panel, on: Measured, origin: Measure, index: Index) -> Array | sparse.csr_array:
    """(raters, raters): covariance of all kappas, the yardstick and halos taken as given: by the delta method, or over
    draws where standard errors say too little."""
    n = len(on.a)
    if on.limits is not None:
        return np.asarray(np.cov(np.concatenate(list(_drawn(panel, on, origin, index))), rowvar=False))
    by_slope, by_severity, *_ = index.gradient(on.a, on.eta, on.sigmas, on.halos)
    slopes, severities = sparse.diags_array(by_slope), sparse.diags_array(by_severity)
    assert panel.covariance is not None
    if isinstance(panel.covariance, np.ndarray):
        from_origin = np.eye(n) - origin.weights
        through = np.hstack([slopes.toarray(), severities @ from_origin])
        return np.asarray(through @ panel.covariance @ through.T)
    # With many raters the origin hardly depends on any one of them.
    through = sparse.hstack([slopes, severities], format="csr")
    return sparse.csr_array(through @ panel.covariance @ through.T)


def against_mean(kappa: Array, covariance: Array | sparse.csr_array) -> Tests:
    """Every rater against the mean of the panel."""
    n = len(kappa)
    with_mean = np.asarray(covariance @ np.full(n, 1 / n))
    variance = np.asarray(covariance.diagonal()) - 2 * with_mean + with_mean.mean()
    return Tests.of(kappa - kappa.mean(), np.sqrt(np.maximum(variance, 0.0)))


def each_pair(kappa: Array, covariance: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], Tests]:
    """Every pair of raters, the first with the higher kappa."""
    one, other = np.triu_indices(len(kappa), 1)
    swapped = kappa[one] < kappa[other]
    one, other = np.where(swapped, other, one), np.where(swapped, one, other)
    diagonal = np.diag(covariance)
    variance = diagonal[one] + diagonal[other] - 2 * covariance[one, other]
    return one, other, Tests.of(kappa[one] - kappa[other], np.sqrt(np.maximum(variance, 0.0)))


def ranks(panel: Panel, on: Measured, origin: Measure, index: Index, k: int) -> Ranks:
    """Ranks over joint draws of all raters' slopes and severities."""
    n, kappa = len(on.a), index.kappa(on.a, on.eta, on.sigmas, on.halos)
    drawn = np.empty((_DRAWS, n), dtype=np.int64)
    first = 0
    for value in _drawn(panel, on, origin, index):
        drawn[first : first + len(value)] = stats.rankdata(-value, axis=1, method="ordinal")
        first += len(value)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    return Ranks(
        stats.rankdata(-kappa, method="min").astype(np.int64),
        low,
        high,
        np.asarray((drawn <= k).mean(axis=0)),
        np.asarray((drawn > n - k).mean(axis=0)),
    )


def _drawn(panel: Panel, on: Measured, origin: Measure, index: Index) -> Iterator[Array]:
    """(draws, raters), some at a time: kappas of joint draws from the normal approximation, or within the limits."""
    n, random, root = len(on.a), np.random.default_rng(_SEED), _root(panel)
    reversible = on.sampled or bool((on.a < 0).any())
    step = max(1, _BLOCK // n)
    for first in range(0, _DRAWS, step):
        size = min(step, _DRAWS - first)
        moved = np.asarray(root @ random.standard_normal((2 * n, size))).T
        a = on.a + moved[:, :n]
        eta = on.eta + moved[:, n:] - moved[:, n:] @ origin.weights[:, None]
        slope = a if reversible else np.maximum(a, 0.0)
        if on.limits is not None:
            within = within_limits(on, slice(None), a.T, eta.T, random.standard_normal((n, size)))
            slope, eta = (part.T for part in within)
        yield index.kappa(slope, eta, np.full_like(a, on.sigmas[0]), on.halos)


def ratings_needed(given: NDArray[np.int64], own: Array, total: Array, target: float) -> Array:
    """Further ratings that bring a kappa's standard error to `target`; infinite where no sensible number would.

    A rater's own part of the variance falls as 1 / n; the rest comes from the yardstick and stays.
    """
    rest = np.maximum(total**2 - own**2, 0.0)
    factor = np.minimum(own, total) ** 2 / np.maximum(target**2 - rest, 1e-300)
    needed = np.where(factor > _MOST_TIMES, np.inf, np.ceil(given * np.maximum(factor - 1, 0.0)))
    return np.asarray(np.where(total <= target, 0.0, needed))


def holm(p: Array) -> Array:
    """Holm's step-down adjustment."""
    order = np.argsort(p)
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _root(panel: Panel) -> Array | sparse.csr_array:
    """R with R R' the covariance of slopes and severities."""
    n, covariance = len(panel.slope), panel.covariance
    assert covariance is not None
    if isinstance(covariance, np.ndarray):
        values, vectors = np.linalg.eigh(covariance[: 2 * n, : 2 * n])
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    variance, both = np.asarray(covariance.diagonal())[: 2 * n], np.asarray(covariance.diagonal(n))[:n]
    slope = np.sqrt(np.maximum(variance[:n], 1e-300))
    left = np.sqrt(np.maximum(variance[n:] - (both / slope) ** 2, 0.0))
    return sparse.csr_array(
        sparse.block_array(
            [
                [sparse.diags_array(slope), None],
                [sparse.diags_array(both / slope), sparse.diags_array(left)],
            ]
        )
    )
