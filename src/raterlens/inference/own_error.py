"""The part of a rater's error that its own ratings decide, and the part that all raters share."""

import numpy as np

from raterlens.base.types import Array
from raterlens.models.panel import Panel

# Error variance of a slope that ran to its limit: the data say nothing about it but that it is large.
_UNKNOWN = 1e4


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
