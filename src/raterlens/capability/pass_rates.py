"""How many students of a normal population pass, and how many fail: E[F(a t − η)] and E[1 − F(a t − η)].

Both are sums of positive terms, so that neither loses digits where it is small. A symmetric link is a scale mixture of
normal distributions: a normal F of variance v gives Φ(−η / sqrt(v + a²)). The log link has a closed form. The rest is
the quadrature of `density_moments.py`: in t where slopes are flat, else in x = a t − η, E[Φ(−(x + η) / a)] over f.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.density_moments import (
    CLOGLOG_GRID,
    LOGISTIC_MIXTURE,
    ROOT_2PI,
    Grid,
    ability_nodes,
    blocks,
    many_steep,
    moments,
    predictor_nodes,
)
from raterlens.capability.links import Link
from raterlens.kernels.break_even import compiled_code_pays

# What readable code does for each component of a mixture is like going over this many numbers.
_PER_NUMBER = 10


def pass_and_fail(slope: Array, severity: Array, link: Link) -> Array:
    """(2, ...): the shares of a standard normal population that pass and that fail."""
    a, eta = np.broadcast_arrays(np.abs(np.asarray(slope, np.float64)), np.asarray(severity, np.float64))
    if link.name == "log":
        # E[exp(s); s < 0] is the moment of the density; beyond, everybody passes.
        below, end = moments(a, eta, link)[0], eta / np.maximum(a, 1e-100)
        return np.stack([special.ndtr(-end) + below, np.maximum(special.ndtr(end) - below, 0.0)])
    if link.name in _MIXTURES:
        small = _smaller_tail(a.ravel(), np.abs(eta).ravel(), *_MIXTURES[link.name]).reshape(a.shape)
        return _both(small, eta)

    def cumulative(s: Array) -> Array:
        return np.exp(np.stack([link.log_pass(s), link.log_fail(s)]))[:, None]

    return reached(a, eta, cumulative, lambda x: link.density(x)[None], CLOGLOG_GRID)[:, 0]


def rates_and_density(slope: Array, severity: Array, link: Link) -> tuple[Array, Array]:
    """`pass_and_fail`, and E[f(a t − η)]: for many raters through the logit in little more time than the former."""
    a, eta = np.broadcast_arrays(np.abs(np.asarray(slope, np.float64)), np.asarray(severity, np.float64))
    if link.name != "logit" or not compiled_code_pays(a.size * len(LOGISTIC_MIXTURE[1]) * _PER_NUMBER):
        return pass_and_fail(a, eta, link), moments(a, eta, link)[0]
    from raterlens.kernels.mixture_density import mean_tail_and_density  # may be missing

    small, density = mean_tail_and_density(a.ravel(), np.abs(eta).ravel(), *LOGISTIC_MIXTURE)
    return _both(small.reshape(a.shape), eta), density.reshape(a.shape) / ROOT_2PI


def reached(
    slope: Array,
    severity: Array,
    cumulative: Callable[[Array], Array],
    densities: Callable[[Array], Array],
    grid: Grid,
) -> Array:
    """(2, steps, ...): how often each step is reached, and how often not, by quadrature.

    Parameters
    ----------
    cumulative
        (2, steps, ...) at predictors of any shape: the probabilities that a step is reached, and that it is not.
    densities
        (steps, nodes): derivatives of the former in the predictor.
    """
    a, eta = np.broadcast_arrays(np.abs(np.asarray(slope, np.float64)), np.asarray(severity, np.float64))
    shape, a, eta = a.shape, a.ravel(), eta.ravel()
    t, of_ability = ability_nodes(grid)
    x = predictor_nodes(grid)
    of_step = grid.step * densities(x)
    out = np.empty((2, len(of_step), a.size))
    for block in blocks(np.flatnonzero(a <= grid.steep), 2 * len(of_step) * len(t)):
        out[:, :, block] = np.einsum(
            "t,skta->ska", of_ability, cumulative(np.multiply.outer(t, a[block]) - eta[block])
        )
    steep = a > grid.steep
    if (many := many_steep(a, eta, grid)) is not None:
        from raterlens.kernels.normal_averages import normal_averages  # may be missing

        # By parts: densities of normal distributions take less time than their tails.
        on_nodes = cumulative(x).reshape(-1, len(x))
        out[:, :, many] = normal_averages(on_nodes, x, a[many], eta[many]).reshape(2, len(of_step), -1)
        steep &= ~many
    for block in blocks(np.flatnonzero(steep), len(x)):
        z = np.add.outer(x, eta[block])
        z /= a[block]
        # The smaller of the two tails, and the other as what is left.
        small = special.ndtr(-np.abs(z))
        most = 1 - small
        out[0, :, block] = (of_step @ np.where(z > 0, small, most)).T
        out[1, :, block] = (of_step @ np.where(z > 0, most, small)).T
    return out.reshape(*out.shape[:2], *shape)


def _both(small: Array, eta: Array) -> Array:
    """(2, ...): passes and fails, from whichever is the smaller share."""
    severe, large = eta > 0, 1 - small
    return np.stack([np.where(severe, small, large), np.where(severe, large, small)])


def _smaller_tail(a: Array, distance: Array, variances: Array, weights: Array) -> Array:
    """Σ w Φ(−|η| / sqrt(v + a²)): whichever of the two shares is the smaller."""
    if compiled_code_pays(a.size * len(weights) * _PER_NUMBER):
        from raterlens.kernels.mixture_density import mean_tail  # may be missing

        return mean_tail(a, distance, variances, weights)
    out = np.empty_like(a)
    for block in blocks(np.arange(a.size)):
        precision = 1 / np.add.outer(variances, a[block] * a[block])
        out[block] = weights @ special.ndtr(-distance[block] * np.sqrt(precision))
    return out


def _cauchy_mixture() -> tuple[Array, Array]:
    """A Cauchy variable is normal with variance 1 / z², z itself normal; nodes in log z.

    What lies beyond the last node has next to no precision left, and passes half: it keeps its weight there.
    """
    step = 0.1
    z = np.exp(np.arange(-18.0, 2.2, step))
    weights = step * z * np.sqrt(2 / np.pi) * np.exp(-z * z / 2)
    weights[0] += 1 - weights.sum()
    return 1 / z**2, weights


_MIXTURES = {
    "probit": (np.ones(1), np.ones(1)),
    "logit": LOGISTIC_MIXTURE,
    "cauchit": _cauchy_mixture(),
}
