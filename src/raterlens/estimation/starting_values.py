"""Starting values from pass rates, and the scale of each parameter from the information they imply."""

import numpy as np
from scipy import special

from raterlens.base.arrays import Array, take_in_blocks
from raterlens.capability.links import Link
from raterlens.models.facets import PIECE, SHAPE, FacetsModel
from raterlens.models.known_rows import KNOWN, KnownModel
from raterlens.models.thresholds import Thresholds
from raterlens.ratings.coded import Ratings, Tally

_SLOPE = 1.0
# Between graded thresholds, at least.
_GAP = 0.01
# Of the reading effect.
_SPREAD = 0.5
# Information of one rating about its predictor: p (1 - p) of a logistic model, averaged over a typical panel.
_INFORMATION = 0.15
# Of what the shape of the students' distribution could be known by, were abilities known, so much is.
_OF_SHAPE = 0.2
# Of the largest information: less is none.
_NOTHING = 1e-12
# Of a student about the variance of the piece effect.
_OF_PIECE = 0.1


def starting_values(ratings: Ratings, model: FacetsModel, link: Link) -> Array:
    """Severities and difficulties from pass rates through the link, all slopes equal; graded thresholds from how often
    each score is reached, others evenly spread."""
    blocks, n = model.blocks, ratings.n_raters
    start = np.zeros(blocks.size)
    start[blocks["slope"]] = model.slope.invert(np.full(n, _SLOPE))
    rater, item = ratings.tally("rater"), ratings.tally("item")
    most = ratings.n_categories - 1
    overall = _through(link, np.array([item.total.sum() / (most * item.n.sum())]))
    # Averaging over ability flattens the curve; sqrt(1 + a^2 / 3) undoes most of it.
    stretch = np.sqrt(1 + _SLOPE**2 / 3)
    start[blocks["severity"]] = model.severity.invert(-stretch * _through(link, _rates(rater, most)))
    # On the scale of ability, divided by the slope, which starts at 1.
    start[blocks["difficulty"]] = stretch * (overall - _through(link, _rates(item, most)))
    if model.halo is not None:
        # Away from 0, where the likelihood is level in the spread.
        start[blocks["halo"]] = model.halo.invert(np.full(n, _SPREAD**2))
    if model.pieces:
        start[blocks[PIECE]] = _SPREAD**2
    if model.thresholds is not None:
        start[blocks["threshold"]] = _first_thresholds(model, model.thresholds, link, stretch)
    if isinstance(model, KnownModel):
        start[blocks[KNOWN]] = _first_answers(ratings, model)
    return start


def information_scale(model: FacetsModel, start: Array, n_students: int = 1) -> Array:
    """Diagonal of the complete-data information, roughly: what scales the optimiser's coordinates."""
    given = model.contexts.given.sum(axis=1)
    per_row = _INFORMATION * np.concatenate([given, np.repeat(given, len(model.lever))])
    found = np.asarray(model.jacobian(start).power(2).T @ per_row)
    if model.halo is not None:
        found[model.blocks["halo"]] = information_of_halo(model, start)
    if model.pieces:
        found[model.blocks[PIECE]] = _OF_PIECE * n_students
    if model.smooth:
        found[model.blocks[SHAPE]] = _OF_SHAPE * n_students * np.array([6.0, 24.0])
    # Where every slope begins at 0, nothing tells of the students, and coordinates need a scale all the same.
    return np.where(found > _NOTHING * found.max(initial=0.0), found, 1.0)


def information_of_halo(model: FacetsModel, parameters: Array) -> Array:
    """Its part of that diagonal: of a reading of n ratings about the variance, half the square of what they tell about
    its effect."""
    assert model.halo is not None
    given, n = model.contexts.given.sum(axis=1), model.contexts.n_items
    told = _INFORMATION * n * float(model.lever[-1]) ** 2
    each = 0.5 * (told / (1 + model.halo_variances(parameters) * told)) ** 2
    readings = np.bincount(model.contexts.rater, given, model.contexts.n_raters) / n
    return np.asarray(model.halo.jacobian(parameters[model.blocks["halo"]]).T @ (each * readings))


def _first_answers(ratings: Ratings, model: KnownModel) -> Array:
    """Thresholds that divide a standard normal population as the known answers are divided."""
    given = model.contexts.given[model.n_rated :]
    at_least = np.cumsum(given[:, ::-1], axis=1)[:, ::-1][:, 1:]
    share = (at_least + 0.5) / (given.sum(axis=1, keepdims=True) + 1)
    values = np.zeros((model.known.n_scales, model.known.n_steps))
    values[:, : share.shape[1]] = -model.fixed * special.ndtri(share)
    if model.known.graded:
        values = np.maximum.accumulate(values, axis=1) + 0.1 * np.arange(values.shape[1])
    return model.known.parameters(values)


def starting_widths(ratings: Ratings) -> Array:
    """Posterior standard deviations of the students at the starting slope: what the first grid must resolve."""
    given = ratings.tally("student").n
    # The more scores there are, the more a rating varies, if less than the square of their range.
    each = _INFORMATION * (ratings.n_categories - 1) ** 1.75
    # Of students there can be millions, but few numbers of ratings.
    widths = 1 / np.sqrt(1 + _SLOPE**2 * each * np.arange(int(given.max(initial=0)) + 1))
    return take_in_blocks(widths, given)


def _reached_thresholds(given: Array, link: Link, stretch: float) -> Array:
    """(1, steps): where each score is reached as often as ratings, of all raters and items, do; around zero."""
    reached = np.cumsum(given[::-1])[::-1][1:]
    values = -stretch * _through(link, (reached + 0.5) / (given.sum() + 1))
    # A score that nobody gave would leave no room between its thresholds.
    return np.asarray(values - values.mean() + _GAP * np.arange(len(values)))[None]


def _first_thresholds(model: FacetsModel, thresholds: Thresholds, link: Link, stretch: float) -> Array:
    """Around zero: graded ones, which all items share, by how often each score is reached; others half a unit apart."""
    if thresholds.graded:
        given = model.contexts.counts(thresholds.n_steps + 1)[: model.n_rated].sum(axis=0)
        return thresholds.parameters(_reached_thresholds(given, link, stretch))
    return thresholds.parameters(
        0.5 * (np.arange(thresholds.n_steps) - (thresholds.highest[:, None] - 1) / 2)
    )


def _rates(tally: Tally, most: int) -> Array:
    return np.asarray((tally.total / most + 0.5) / (tally.n + 1))


def _through(link: Link, rate: Array) -> Array:
    """The predictor at which a pass has this probability: F inverted on a table, precise enough for a start."""
    s = np.linspace(-12, 12, 4801)
    return np.interp(rate, np.exp(link.log_pass(s)), s)
