"""Tests of one rater's peculiarities at the fitted model: score tests, without fitting anything again.

A peculiarity is a moment with expectation 0 under the model. Its sum over a rater's students is compared with its
standard deviation, after taking out what the rater's own severity and slope, being estimated, have already absorbed:
the moment is projected on the derivatives of the log-likelihood in the two (Newey 1985; the information equality
makes the projection the same for every moment). Students are independent; a rater's ratings of one student are not,
so they are summed first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array
from raterlens.diagnostics.residuals import Residuals

LEVEL = 0.05
"""Share of false flags among all flags of a kind (Benjamini-Hochberg)."""

_ABSORBED = 3
"""Degrees of freedom that a rater's severity, slope and the moment's own mean take."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A sum with expectation 0 for every rater, and its standard deviation."""

    sum: Array
    sd: Array
    n: NDArray[np.int64]
    """Students that it comes from"""

    @property
    def z(self) -> Array:
        """Standardised, allowing for few students: a t statistic as the normal one of the same probability."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = self.sum / self.sd
        degrees = np.maximum(self.n - _ABSORBED, 1)
        # In the tail where probabilities keep their digits.
        z = special.ndtri(np.maximum(special.stdtr(degrees, -np.abs(t)), 1e-300))
        return np.asarray(np.where(np.isfinite(t), -np.sign(t) * z, 0.0))


def rater_moment(found: Residuals, of_pair: Array) -> Moment:
    """Sum a moment of pairs for every rater, severity and slope projected out."""
    pairs, n = found.pairs, found.ratings.n_raters
    nuisance = [found.score_of_pair, found.tilt_of_pair] if found.own_slopes else [found.score_of_pair]
    cross = np.stack([_by_rater(found, of_pair * part) for part in nuisance], axis=1)
    inner = np.stack([[_by_rater(found, one * two) for two in nuisance] for one in nuisance]).transpose(
        2, 0, 1
    )
    weights = _solve(inner, cross)
    own = np.stack([_by_rater(found, part) for part in nuisance], axis=1)
    total = _by_rater(found, of_pair) - np.einsum("ri,ri->r", weights, own)
    variance = _by_rater(found, of_pair**2) - np.einsum("ri,ri->r", weights, cross)
    return Moment(total, np.sqrt(np.maximum(variance, 0.0)), np.bincount(pairs.rater, minlength=n))


def _by_rater(found: Residuals, of_pair: Array) -> Array:
    return np.bincount(found.pairs.rater, of_pair, found.ratings.n_raters).astype(np.float64)


def _solve(matrix: Array, right: Array) -> Array:
    """By the pseudo-inverse where a rater's ratings leave it singular."""
    return np.asarray(np.einsum("rij,rj->ri", np.linalg.pinv(matrix, rcond=1e-10, hermitian=True), right))


def two_sided(z: Array) -> Array:
    """Probability of a standard normal number as far from 0."""
    return np.asarray(2 * special.ndtr(-np.abs(z)))


def adjusted(p: Array) -> Array:
    """Benjamini-Hochberg: the level at which each hypothesis would just be rejected. NaN stays out.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.04, 0.04,  nan])
    """
    out = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    if len(known) == 0:
        return out
    order = known[np.argsort(p[known], kind="stable")]
    raised = p[order] * len(order) / np.arange(1, len(order) + 1)
    out[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return out
