"""Starting values from pass rates, and the scale of each parameter from the information they imply."""

import numpy as np
from numpy.typing import NDArray

from raterlens.links import Link
from raterlens.models.facets import FacetsModel
from raterlens.ratings import Ratings

Array = NDArray[np.float64]

_SLOPE = 1.0
# Information of one rating about its predictor: p (1 - p) of a logistic model, averaged over a typical panel.
_INFORMATION = 0.15


def starting_values(ratings: Ratings, model: FacetsModel, link: Link) -> Array:
    """Severities and difficulties from pass rates through the link, all slopes equal."""
    start = np.zeros(model.blocks.size)
    start[model.blocks["slope"]] = _SLOPE
    overall = _through(link, np.array([ratings.score.mean()]))
    # Averaging over ability flattens the curve; sqrt(1 + a^2 / 3) undoes it (exact for the probit link up to scale).
    stretch = np.sqrt(1 + _SLOPE**2 / 3)
    start[model.blocks["severity"]] = -stretch * _through(link, _rates(ratings.rater, ratings.score))
    start[model.blocks["difficulty"]] = stretch * (overall - _through(link, _rates(ratings.item, ratings.score)))
    return start


def information_scale(model: FacetsModel) -> Array:
    """Diagonal of the complete-data information, roughly: what scales the optimiser's coordinates."""
    per_pair = _INFORMATION * np.bincount(model.pairs.of_rating, minlength=len(model.pairs))
    return np.asarray((model.design.power(2)).T @ np.concatenate([per_pair, per_pair]))


def starting_widths(ratings: Ratings) -> Array:
    """Posterior standard deviations of the students at the starting slope: what the first grid must resolve."""
    given = np.bincount(ratings.student, minlength=ratings.n_students)
    return 1 / np.sqrt(1 + _SLOPE**2 * _INFORMATION * given)


def _rates(codes: NDArray[np.int32], score: NDArray[np.int16]) -> Array:
    return (np.bincount(codes, score) + 0.5) / (np.bincount(codes) + 1)


def _through(link: Link, rate: Array) -> Array:
    """The predictor at which a pass has this probability: F inverted on a table, precise enough for a start."""
    s = np.linspace(-12, 12, 4801)
    return np.interp(rate, np.exp(link.log_pass(s)), s)
