"""Information of marks on a continuous scale, in closed form: of a design, and of one reading more.

A student's marks are normal, with the covariance D + a a' of raters' slopes a and the variances of their noise D. With
u = a / D, q = a'u and v = 1 / (1 + q), the posterior of ability has variance v and mean m = v u'(y + b + delta).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.planning.assumed_panel import AssumedPanel
from raterlens.ratings.coded import Ratings

_REACH, _LOOKS = 6.0, 601
"""Posterior means that are looked at for how many decisions are right, in standard deviations."""


def told_by_marks(panel: AssumedPanel, raters: NDArray[np.int64], cut: float) -> tuple[Array, ...]:
    """Information of students of sets of raters (B, readings): (B, local, local) in slopes, severities, difficulties
    and logarithms of noise; the variance of abilities; second and first moments of how their estimates move with these
    parameters; the chance that the likelier side of the cut is the right one.

    With x'inv(D + a a')y = <x, y>, e and f the marks of two raters, the information in their slopes is
    <a, e><a, f> + <a, a><e, f>, and in what moves means <e, f>.
    """
    size, readings = raters.shape
    items, a = panel.n_items, panel.slope[raters]
    known = np.exp(-2 * _log_noise(panel)[raters])  # of each mark, were ability known
    u = a * known
    w = a * u
    q = items * w.sum(axis=1)
    v = 1 / (1 + q)
    own, n = np.eye(readings), readings
    slope, severity = slice(0, n), slice(n, 2 * n)
    item, noise = slice(2 * n, 2 * n + items), slice(2 * n + items, 3 * n + items)
    lever, each = v[:, None] * items * u, items * known[:, None] * own

    between = each - _times(lever, items * u)
    found = np.zeros((size, 3 * n + items, 3 * n + items))
    found[:, slope, slope] = _times(lever, lever) + (q * v)[:, None, None] * between
    found[:, slope, noise] = 2 * between * (v[:, None] * a)[:, None]
    found[:, noise, slope] = found[:, slope, noise].swapaxes(1, 2)
    shared = v[:, None] * w
    found[:, noise, noise] = 2 * items * (items * _times(shared, shared) + (1 - 2 * shared)[:, None] * own)
    found[:, severity, severity] = between
    total, all_known = u.sum(axis=1, keepdims=True), known.sum(axis=1)[:, None, None]
    found[:, severity, item] = (known - lever * total)[..., None]
    found[:, item, severity] = found[:, severity, item].swapaxes(1, 2)
    found[:, item, item] = all_known * np.eye(items) - (v * total[:, 0] ** 2)[:, None, None]

    # m moves by a sum of raters' residuals e = y + b + delta - a m, whose covariance is D - v a a', and by itself.
    of_residuals = np.zeros((size, n + 1, n + 1))
    of_residuals[:, :n, :n] = items * own / known[:, None] - items**2 * v[:, None, None] * _times(a, a)
    of_residuals[:, :n, n] = of_residuals[:, n, :n] = items * v[:, None] * a
    of_residuals[:, n, n] = v * q
    through = np.zeros((size, found.shape[1], n + 1))
    through[:, slope, :n], through[:, slope, n] = (v[:, None] * known)[:, None] * own, -lever
    through[:, noise, :n] = -2 * (v[:, None] * u)[:, None] * own
    drift = np.zeros(found.shape[:2])
    drift[:, severity], drift[:, item] = lever, v[:, None] * total
    moved = through @ of_residuals @ through.swapaxes(1, 2) + _times(drift, drift)

    z = np.linspace(-_REACH, _REACH, _LOOKS)
    density = np.exp(-(z**2) / 2)
    away = np.abs(np.sqrt(q * v)[:, None] * z - cut) / np.sqrt(v)[:, None]
    return found, v, moved, drift, special.ndtr(away) @ density / density.sum()


def _times(x: Array, y: Array) -> Array:
    return x[:, :, None] * y[:, None, :]


def _log_noise(panel: AssumedPanel) -> Array:
    assert panel.own is not None
    return panel.own[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class MarkState:
    """Knowledge of students from their marks so far."""

    panel: AssumedPanel
    marked: Mask
    """(students, raters)"""
    given: Array
    """(students, raters): marks"""
    residual: Array
    """(students, raters): their sum, less what is expected of the student"""
    mean: Array
    variance: Array
    """(students,) each: of abilities"""

    @staticmethod
    def of(panel: AssumedPanel, ratings: Ratings) -> "MarkState":
        assert panel.marks is not None
        shape = ratings.n_students, ratings.n_raters
        cell = ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
        above = panel.marks.values[ratings.score]
        above += panel.severity[ratings.rater] + panel.difficulty[ratings.item]
        size = ratings.n_students * ratings.n_raters
        given = np.bincount(cell, minlength=size).reshape(shape).astype(float)
        sums = np.bincount(cell, above, size).reshape(shape)
        u = panel.slope * np.exp(-2 * _log_noise(panel))
        variance = 1 / (1 + given @ (panel.slope * u))
        mean = variance * (sums @ u)
        residual = sums - given * panel.slope * mean[:, None]
        return MarkState(panel, given > 0, given, residual, mean, variance)

    def gradients(self, students: Indices) -> tuple[Array, Array, Array, Array]:
        """For some students and every reader: the mean mark of a reading is normal, and its information is that of two
        outcomes, of "probability" 1 each (students, raters, 2), whose derivatives are those of its mean and of its
        variance, standardised: by own slope and severity, and by those of earlier readers (students, 2 raters, raters,
        2)."""
        panel, m, v = self.panel, self.mean[students, None], self.variance[students, None]
        a, known = panel.slope, np.exp(-2 * _log_noise(panel))
        spread = a**2 * v + 1 / (known * panel.n_items)
        scale = np.stack([1 / np.sqrt(spread), 1 / (np.sqrt(2) * spread)], axis=-1)
        nothing = np.zeros_like(spread)
        by_slope = np.stack([m + nothing, 2 * a * v], axis=-1) * scale
        by_severity = np.stack([nothing - 1, nothing], axis=-1) * scale
        lever = v * self.given[students] * a * known
        of_mean = np.concatenate([v * known * self.residual[students] - lever * m, lever], axis=1)
        of_variance = np.concatenate([-2 * v * lever, np.zeros_like(lever)], axis=1)
        through = np.stack([of_mean[..., None] * a, of_variance[..., None] * a**2], axis=-1)
        return np.ones_like(scale), by_slope, by_severity, through * scale[:, None]

    def gradients_of(self, student: int, rater: int) -> tuple[Array, Array, Array, Array]:
        """The same for one reading: (2,), and (2 raters, 2)."""
        p, by_slope, by_severity, through = self.gradients(np.array([student]))
        return p[0, rater], by_slope[0, rater], by_severity[0, rater], through[0, :, rater]
