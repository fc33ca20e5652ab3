"""The largest of noisy slopes is too large on average: what it would be without the noise."""

import numpy as np
from scipy import sparse

from raterlens.capability.yardstick import Measure
from raterlens.models.panel import Panel
from raterlens.types import Array

_DRAWS, _MOST_NUMBERS = 4_000, 8_000_000
_SEED = 20250212


def expected_largest(panel: Panel) -> Measure:
    """The largest slope on average over what is known of the slopes, rather than the largest of their estimates.

    Its derivative in a slope is the probability that this one is the largest.
    """
    n, size = len(panel.slope), np.abs(panel.slope)
    settled = panel.candidates
    assert panel.covariance is not None
    if isinstance(panel.covariance, np.ndarray):
        root = _root(panel.covariance[:n, :n])
    else:
        root = sparse.diags_array(np.sqrt(np.maximum(panel.covariance.diagonal()[:n], 0.0)))
    draws = min(_DRAWS, max(_MOST_NUMBERS // n, 100))
    half = np.random.default_rng(_SEED).standard_normal((n, draws // 2))
    draws = np.abs(panel.slope[:, None] + root @ np.concatenate([half, -half], axis=1)) * settled[:, None]
    weights = np.bincount(draws.argmax(axis=0), minlength=n) / draws.shape[1]
    return Measure(float(draws.max(axis=0).mean() - weights @ size), weights)


def corrected_largest(panel: Panel, largest: Measure) -> Measure:
    """The largest slope less what chance adds to the largest of noisy slopes, on average."""
    size = np.abs(panel.slope)
    excess = expected_largest(panel).of(size) - largest.of(size)
    return Measure(largest.constant - min(excess, 0.9 * largest.of(size)), largest.weights)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
