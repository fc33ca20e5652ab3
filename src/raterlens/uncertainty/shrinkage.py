"""Empirical-Bayes shrinkage: raters as a sample from a population of raters.

Each rater's slope and severity x_r are estimated with error covariance B_r. With raters drawn from a normal
population, x_r ~ N(mu, S), the mean of x_r given all estimates is

    m_r = mu + G_r (x_r - mu),     G_r = S inv(S + B_r)

mu and S are estimated from the panel itself by restricted maximum likelihood (EM). S has a correlation: where
severe raters tend to discriminate less, a rater's severity, which is known well, tells about the slope.

All raters share the uncertainty of the scale and origin of ability. It says nothing about how raters differ, so it
is taken off before shrinking and put back after. What is not known about mu and S is carried by a parametric
bootstrap of them (Laird and Louis, 1987).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from raterlens.capability.yardstick import Measure
from raterlens.models.panel import Panel
from raterlens.types import Array

_MOST_ROUNDS = 2_000
# Relative change of S in a round of EM.
_SETTLED = 1e-7
_ROUGHLY_SETTLED = 1e-4
# Populations that the bootstrap draws, and draws for the expected largest slope.
_POPULATIONS, _DRAWS = 100, 4_000
# Error variance of a slope that ran to its limit: the data say nothing about it but that it is large.
_UNKNOWN = 1e4
_SEED = 20250212


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Of raters: mean and covariance of (slope, severity). Leading axes for several populations at once."""

    mean: Array
    spread: Array


def shrunk(panel: Panel) -> Panel:
    """The panel with slopes and severities drawn towards what the panel says of raters in general."""
    if panel.covariance is None or len(panel.slope) < 3:
        return panel
    x, common = _unbounded(panel), common_error(panel)
    error = own_error(panel, common)
    population = estimate_population(x, error)
    centre, own = posterior(x, error, population)
    drawn = _bootstrapped(x.shape, error, population)
    centres, _ = posterior(x, error, drawn)
    moves = centres - centres.mean(axis=0)
    slope, severity = centre[:, 0], centre[:, 1]
    if (panel.slope >= 0).all():
        slope = np.maximum(slope, 0.0)
    covariance = _assembled(panel, own, moves, common)
    # Drawn towards the others, no slope is at a limit any more.
    return replace(
        panel, slope=slope, severity=severity, covariance=covariance, falling=np.zeros_like(slope), ran=None
    )


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
    half = np.random.default_rng(_SEED).standard_normal((n, _DRAWS // 2))
    draws = np.abs(panel.slope[:, None] + root @ np.concatenate([half, -half], axis=1)) * settled[:, None]
    weights = np.bincount(draws.argmax(axis=0), minlength=n) / draws.shape[1]
    return Measure(float(draws.max(axis=0).mean() - weights @ size), weights)


def corrected_largest(panel: Panel, largest: Measure) -> Measure:
    """The largest slope less what chance adds to the largest of noisy slopes, on average."""
    size = np.abs(panel.slope)
    excess = expected_largest(panel).of(size) - largest.of(size)
    return Measure(largest.constant - min(excess, 0.9 * largest.of(size)), largest.weights)


# ------------------------------------------------------------------------------------ one rater among many


def estimate_population(x: Array, error: Array, *, settled: float = _SETTLED) -> Population:
    """Restricted maximum likelihood of x_r ~ N(mu, S + B_r), by EM.

    Parameters
    ----------
    x
        (..., raters, 2); leading axes are panels of their own.
    error
        (raters, 2, 2)
    """
    n = x.shape[-2]
    known = np.trace(error, axis1=1, axis2=2) < _UNKNOWN / 2
    centred = x[..., known, :] - x[..., known, :].mean(axis=-2, keepdims=True)
    total = np.einsum("...ni,...nj->...ij", centred, centred) / max(int(known.sum()) - 1, 1)
    spread = np.zeros_like(total)
    spread[..., [0, 1], [0, 1]] = np.maximum(total[..., [0, 1], [0, 1]], 1e-12)
    for _ in range(_MOST_ROUNDS):
        weight = _inverse(spread[..., None, :, :] + error)
        of_mean = _inverse(weight.sum(axis=-3))
        mean = np.einsum("...ij,...njk,...nk->...i", of_mean, weight, x)
        gain = spread[..., None, :, :] @ weight
        deviation = np.einsum("...nij,...nj->...ni", gain, x - mean[..., None, :])
        # E[(x_r - mu)(x_r - mu)'] given the estimates: what is seen, what is not, and what is not known of mu.
        left = spread[..., None, :, :] - gain @ spread[..., None, :, :]
        of_mean = gain @ of_mean[..., None, :, :] @ gain.swapaxes(-1, -2)
        update = (np.einsum("...ni,...nj->...ij", deviation, deviation) + (left + of_mean).sum(axis=-3)) / n
        change = np.abs(update - spread).max() / np.abs(spread).max()
        spread = update
        if change < settled:
            break
    return Population(mean, spread)


def posterior(x: Array, error: Array, population: Population) -> tuple[Array, Array]:
    """Mean (..., raters, 2) and covariance (..., raters, 2, 2) of every rater's slope and severity."""
    mean, spread = population.mean[..., None, :], population.spread[..., None, :, :]
    gain = spread @ _inverse(spread + error)
    return mean + np.einsum("...nij,...nj->...ni", gain, x - mean), spread - gain @ spread


def _bootstrapped(shape: tuple[int, ...], error: Array, population: Population) -> Population:
    """Populations that panels like this one would have given."""
    random = np.random.default_rng(_SEED)
    noise = random.standard_normal((_POPULATIONS, *shape))
    root = _root(population.spread + np.where(error > _UNKNOWN / 2, 0.0, error))
    panels = population.mean + np.einsum("nij,bnj->bni", root, noise)
    return estimate_population(panels, error, settled=_ROUGHLY_SETTLED)


# ------------------------------------------------------------------------------------------- the panel


def _unbounded(panel: Panel) -> Array:
    """Estimates (raters, 2) without the bound at 0: there the quadratic log-likelihood has its maximum at x - V g."""
    n = len(panel.slope)
    assert panel.covariance is not None
    pull = np.zeros(2 * n)
    pull[:n] = np.where(panel.slope == 0, np.maximum(panel.falling, 0.0), 0.0)
    x = np.concatenate([panel.slope, panel.severity]) - panel.covariance @ pull
    return np.stack([x[:n], x[n:]], axis=1)


def common_error(panel: Panel) -> Array:
    """(2 raters, 2): C with C C' the part of the covariance that comes from the scale and origin of ability.

    Both are set by the sample of students: scaling abilities moves all slopes in proportion to a, shifting them all
    severities.
    """
    n, covariance = len(panel.slope), panel.covariance
    common = np.zeros((2 * n, 2))
    if isinstance(covariance, np.ndarray):
        left = covariance[: 2 * n, : 2 * n].copy()
        for part, rows in enumerate((slice(0, n), slice(n, 2 * n))):
            common[:, part] = _along(left, rows, panel.slope)
            left -= np.outer(common[:, part], common[:, part])
    return common


def _along(covariance: Array, rows: slice, direction: Array) -> Array:
    """c with c c' the largest part of a covariance in which these rows move along d.

    With V the rows' own block, it is the regression of everything on d' inv(V) x.
    """
    own = covariance[rows, rows]
    scale = np.sqrt(np.maximum(np.diag(own), 0.0))
    known = scale > 0
    scale = np.where(known, scale, 1.0)
    inverse = np.linalg.pinv(own / np.outer(scale, scale), rcond=1e-10, hermitian=True) / np.outer(
        scale, scale
    )
    solved = inverse @ (direction * known)
    strength = float(direction @ solved)
    return (
        np.asarray(covariance[:, rows] @ solved / np.sqrt(strength))
        if strength > 0
        else np.zeros(len(covariance))
    )


def own_error(panel: Panel, common: Array) -> Array:
    """(raters, 2, 2): error covariance of each rater's slope and severity, less the common part."""
    n = len(panel.slope)
    assert panel.covariance is not None
    variance = np.asarray(panel.covariance.diagonal()) - np.sum(common**2, axis=1)
    blocks = np.empty((n, 2, 2))
    blocks[:, 0, 0], blocks[:, 1, 1] = np.maximum(variance[:n], 0.0), np.maximum(variance[n : 2 * n], 0.0)
    both = np.asarray(panel.covariance.diagonal(n))[:n] - np.sum(common[:n] * common[n:], axis=1)
    blocks[:, 0, 1] = blocks[:, 1, 0] = both
    blocks[panel.at_limit, 0, 0] = _UNKNOWN
    return blocks


def _assembled(panel: Panel, own: Array, moves: Array, common: Array) -> Array | sparse.csr_array:
    """(2 raters, 2 raters): each rater's own, what is not known of the population, and the common part."""
    n = len(own)
    diagonal = np.concatenate([own[:, 0, 0], own[:, 1, 1]])
    block = sparse.diags_array(
        [diagonal, own[:, 0, 1], own[:, 0, 1]], offsets=[0, n, -n], shape=(2 * n, 2 * n), format="csr"
    )
    if not isinstance(panel.covariance, np.ndarray):
        return block
    flat = moves.transpose(0, 2, 1).reshape(len(moves), -1)
    return np.asarray(block.toarray() + flat.T @ flat / (len(flat) - 1) + common @ common.T)


def _inverse(matrix: Array) -> Array:
    """Of (..., 2, 2), with a floor under the determinant: a population may have no spread in some direction."""
    a, b, d = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    determinant = np.maximum(a * d - b * b, 1e-14 * np.maximum(a * d, 1e-14))
    flipped = np.empty_like(matrix)
    flipped[..., 0, 0], flipped[..., 1, 1] = d, a
    flipped[..., 0, 1] = flipped[..., 1, 0] = -b
    return np.asarray(flipped / determinant[..., None, None])


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
