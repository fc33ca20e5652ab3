"""Sensitivity of an ordered score to ability, averaged over a standard normal population.

    T(a, eta) = (1 / (K - 1)) * integral (d E[y | t] / dt) phi(t) dt

for scores 0 .. K - 1 with thresholds tau. Adjacent categories: dE/dt = a Var(y | t). Graded: every threshold is
a pass/fail decision of its own, so T is the mean of the binary sensitivities at severities eta + tau_k. With two
categories both are the binary index.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.links import get_link
from raterlens.moments import moments

Array = NDArray[np.float64]

_END = 9.0
# Candidates for the best severity around the thresholds, refined by Newton steps.
_SEARCH = np.linspace(-1.5, 1.5, 61)


class Sensitivity(NamedTuple):
    rate: Array
    by_slope: Array
    by_severity: Array


@dataclass(frozen=True, slots=True, eq=False)
class OrderedScore:
    """Thresholds (scales, steps) of one rating scale, or of every item; T averages over scales."""

    thresholds: Array
    graded: bool
    link: str = "logit"

    def sensitivity(self, a: Array, eta: Array) -> Sensitivity:
        """T and its derivatives, in the shape of `a` and `eta`."""
        a, eta = np.broadcast_arrays(np.asarray(a, float), np.asarray(eta, float))
        parts = [self._one_scale(a.ravel(), eta.ravel(), tau) for tau in self.thresholds]
        return Sensitivity(*(np.mean([p[i] for p in parts], axis=0).reshape(a.shape) for i in range(3)))

    def best(self, sigma: float) -> tuple[float, float]:
        """(severity, T) of the most capable rater with slope `sigma`."""
        reach = float(np.abs(self.thresholds).max()) + 1.0
        candidates = _SEARCH * reach
        rate = self.sensitivity(np.full(len(candidates), sigma), candidates).rate
        best = int(np.argmax(rate))
        low, high = candidates[max(best - 1, 0)], candidates[min(best + 1, len(candidates) - 1)]
        for _ in range(60):  # bisection on the derivative, which changes sign once between the neighbours
            middle = (low + high) / 2
            rising = self.sensitivity(np.array(sigma), np.array(middle)).by_severity > 0
            low, high = (middle, high) if rising else (low, middle)
        severity = (low + high) / 2
        return severity, float(self.sensitivity(np.array(sigma), np.array(severity)).rate)

    def _one_scale(self, a: Array, eta: Array, tau: Array) -> tuple[Array, Array, Array]:
        if self.graded:
            m0, m1, m2 = moments(a[:, None], eta[:, None] + tau, get_link(self.link), 2).mean(axis=-1)
            return a * m0, m2, -m1
        # Logistic poles lie pi / a from the real line: this step leaves an error below 1e-10.
        step = min(0.4, 0.8 / max(float(np.abs(a).max(initial=0.0)), 1.0))
        t = np.arange(-_END, _END + step / 2, step)
        weight = step * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
        k = np.arange(len(tau) + 1)
        logits = (np.multiply.outer(a, t) - eta[:, None])[..., None] * k - np.concatenate(
            [[0.0], np.cumsum(tau)]
        )
        p = special.softmax(logits, axis=-1)
        centred = k - (p @ k)[..., None]
        variance, skew = np.sum(p * centred**2, axis=-1), np.sum(p * centred**3, axis=-1)
        steps = len(tau)
        by_severity = -a * (skew @ weight)
        by_slope = variance @ weight + a * (skew @ (weight * t))
        return a * (variance @ weight) / steps, by_slope / steps, by_severity / steps
