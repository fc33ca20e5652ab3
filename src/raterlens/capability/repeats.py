"""Repeating a question: what the majority of several answers of a rater is worth.

Answers follow F(q (a theta - eta) + tau u), with u ~ N(0, 1) shared by all answers to a question and q = sqrt(1 + c
tau^2), so that a and eta are those of a single answer (`models/terms/draws.py`). The predictor is normal with standard
deviation R = sqrt(q^2 a^2 + tau^2), and the majority of m answers passes with probability B_m(F), B_m(p) = P(Bin(m, p)
> m / 2). By Stein's identity its expected score rises with ability by

    E[dP / dtheta] = q a / R^2  E[S B_m(F(S - q eta))],      S ~ N(0, R^2)

on average; capability is that over 1 / sqrt(2 pi), which a rater without noise reaches. As m grows, B_m becomes a step.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.links import Link, get_link

NUMBERS = (1, 3, 5, 11)
"""Answers per question that tables show, beside endlessly many."""
# Of the integral over S, in standard deviations; and steps within a unit of the predictor.
_REACH, _FINE = 9.0, 6


def majority_capability(
    slope: ArrayLike,
    severity: ArrayLike,
    spread: ArrayLike,
    n: float,
    link: Link | None = None,
    flattening: float = 0.346,
) -> Array:
    """Capability of the majority of n answers (odd, or infinite), against a rater without noise.

    Examples
    --------
    >>> [round(majority_capability(1.5, 0.5, 1.0, n).item(), 3) for n in (1, 3, np.inf)]
    [0.643, 0.734, 0.832]
    """
    a, eta, tau = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (slope, severity, spread)))
    stretch = np.sqrt(1 + flattening * tau**2)
    found = [
        _capability(float(q * s), float(q * e), float(t), n, link or get_link("logit"))
        for s, e, t, q in zip(a.ravel(), eta.ravel(), tau.ravel(), stretch.ravel(), strict=True)
    ]
    return np.array(found).reshape(a.shape)


def _capability(slope: float, severity: float, spread: float, n: float, link: Link) -> float:
    reach = float(np.hypot(slope, spread))
    if reach == 0:
        return 0.0
    middle = _median(link)
    if np.isinf(n):
        return slope / reach * float(np.exp(-(((severity + middle) / reach) ** 2) / 2))
    z = np.linspace(-_REACH, _REACH, 2 * int(np.ceil(_REACH * max(reach, 1.0) * _FINE)) + 1)
    passed = np.exp(link.log_pass(reach * z - severity))
    majority = special.betainc((n + 1) / 2, (n + 1) / 2, passed)
    density = np.exp(-0.5 * z**2) * (z[1] - z[0])
    return float(slope / reach * np.sum(density * z * majority))


def _median(link: Link) -> float:
    """Where an answer passes as often as not."""
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if link.log_pass(np.array(middle)) < np.log(0.5) else (low, middle)
    return middle


def mean_correlation(slope: Array, spread: Array, noise: float, n: float, flattening: float) -> Array:
    """Correlation of ability with the mean of n answers, on the scale of the predictor; `noise`: variance of one answer
    given its predictor."""
    signal = (1 + flattening * spread**2) * slope**2
    found = np.sign(slope) * np.sqrt(signal / np.maximum(signal + spread**2 + noise / n, 1e-300))
    return np.asarray(found)
