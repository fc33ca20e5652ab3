"""The largest of noisy slopes is too large on average: what it would be without the noise."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from raterlens.base.types import Array, Mask
from raterlens.capability.yardstick import Measure
from raterlens.engine.protocol import Matrix
from raterlens.models.panel import Panel

_DRAWS, _MOST_NUMBERS = 4_000, 8_000_000
_SEED = 20250212
# In standard errors: who is so far below another is not the largest.
_REACH = 5.0
# Relative, of a variance.
_SAME = 1e-12


def expected_largest(panel: Panel) -> Measure:
    """The largest slope on average over what is known of the slopes, rather than the largest of their estimates.

    Its derivative in a slope is the probability that this one is the largest.
    """
    n, size = len(panel.slope), np.abs(panel.slope)
    assert panel.covariance is not None
    deviation = np.sqrt(np.maximum(panel.covariance.diagonal()[:n], 0.0))
    some = np.flatnonzero(panel.candidates & _could_be_largest(size, deviation, panel.candidates))
    if isinstance(panel.covariance, np.ndarray):
        root: Matrix = _root(panel.covariance[np.ix_(some, some)])
    else:
        root = sparse.diags_array(deviation[some], format="csr")
    found = _largest(size[some], panel.slope[some], root, np.full(len(some), True))
    weights = np.zeros(n)
    weights[some] = found.weights
    return Measure(found.constant, weights)


def likely_largest(panel: Panel) -> Measure:
    """The largest slope of very many raters with few ratings each, on average over what is known of all of them.

    The largest of thousands of noisy estimates is the luckiest one. So slopes are taken for a sample around a mean,
    whose variance is what the estimates vary beyond their errors (Paule and Mandel, 1982), and each is drawn to the
    mean by as much as it is uncertain.
    """
    n, size, may = len(panel.slope), np.abs(panel.slope), panel.candidates
    assert panel.covariance is not None
    # On a scale on which steep slopes are known about as well as others.
    even, rise = np.arcsinh(size), 1 / np.sqrt(1 + size**2)
    error = np.maximum(panel.covariance.diagonal()[:n] * rise**2, 1e-12)

    def mean(variance: float) -> float:
        return float(np.average(even[may], weights=1 / (variance + error[may])))

    def excess(variance: float) -> float:
        off = np.sum((even[may] - mean(variance)) ** 2 / (variance + error[may]))
        return float(off - np.count_nonzero(may) + 1)

    variance = _zero(excess, 2 * float(np.var(even[may])) + 1e-9) if excess(0.0) > 0 else 0.0
    kept = variance / (variance + error)
    centre, deviation = mean(variance) + kept * (even - mean(variance)), np.sqrt(kept * error)
    might = may & _could_be_largest(centre, deviation, may)
    found = _largest(centre, centre, sparse.diags_array(deviation, format="csr"), might)
    largest = float(np.sinh(found.of(centre)))
    weights = found.weights * kept * rise * np.sqrt(1 + largest**2)
    return Measure(largest - float(weights @ size), weights)


def _could_be_largest(size: Array, deviation: Array, candidates: Mask) -> Mask:
    return np.asarray(size + _REACH * deviation >= np.max((size - _REACH * deviation)[candidates]))


def _zero(falling: Callable[[float], float], high: float) -> float:
    """Where a falling function of what is positive is 0, by bisection."""
    low = 0.0
    while high - low > _SAME * high:
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _largest(size: Array, slope: Array, root: Matrix, might: Mask) -> Measure:
    """Over draws around the slopes, of those who might be the largest; what the others would draw is left out."""
    n, some = len(slope), np.flatnonzero(might)
    draws = min(_DRAWS, max(_MOST_NUMBERS // n, 100))
    half = np.random.default_rng(_SEED).standard_normal((n, draws // 2))
    if len(some) < n:  # then slopes are independent of each other
        half, root = half[some], root[some][:, some]
    away = root @ half
    drawn = np.abs(slope[some, None] + np.concatenate([away, -away], axis=1))
    weights = np.bincount(some[drawn.argmax(axis=0)], minlength=n) / drawn.shape[1]
    return Measure(float(drawn.max(axis=0).mean() - weights @ size), weights)


def corrected_largest(panel: Panel, largest: Measure) -> Measure:
    """The largest slope less what chance adds to the largest of noisy slopes, on average."""
    size = np.abs(panel.slope)
    excess = expected_largest(panel).of(size) - largest.of(size)
    return Measure(largest.constant - min(excess, 0.9 * largest.of(size)), largest.weights)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
