"""Starting values, and the scale of each parameter from the information they imply."""

import numpy as np

from raterlens.base.arrays import Array, take_in_blocks
from raterlens.capability.links import Link
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Marks, Response
from raterlens.models.term import RATING_INFORMATION, START_SLOPE, Beginning
from raterlens.models.terms.noise import NOISE
from raterlens.ratings.coded import Ratings

# Of the largest information: less is none.
_NOTHING = 1e-12


def starting_values(ratings: Ratings, model: FacetsModel, link: Link) -> Array:
    """As each term begins: severities and difficulties from pass rates through the link, all slopes equal."""
    # Averaging over ability flattens the curve; sqrt(1 + a^2 / 3) undoes most of it.
    return model.start(Beginning(ratings, model.contexts, link, float(np.sqrt(1 + START_SLOPE**2 / 3))))


def information_scale(model: FacetsModel, start: Array, n_students: int = 1) -> Array:
    """Diagonal of the complete-data information, roughly: what scales the optimiser's coordinates."""
    given = model.contexts.given.sum(axis=1)
    each = 1.0 if NOISE in model else RATING_INFORMATION
    per_row = each * np.concatenate([given, np.repeat(given, len(model.lever))])
    found = np.asarray(model.jacobian(start).power(2).T @ per_row)
    for term in model.terms:
        own = term.information(model, start, n_students)
        if own is not None:
            found[model.blocks[term.name]] = own
    # Where every slope begins at 0, nothing tells of the students, and coordinates need a scale all the same.
    return np.where(found > _NOTHING * found.max(initial=0.0), found, 1.0)


def starting_widths(ratings: Ratings, response: Response) -> Array:
    """Posterior standard deviations of the students at the starting slope: what the first grid must resolve."""
    given = ratings.tally("student").n
    # The more scores there are, the more a rating varies, if less than the square of their range.
    marks = isinstance(response, Marks)
    each = 1.0 if marks else RATING_INFORMATION * (ratings.n_categories - 1) ** 1.75
    # Of students there can be millions, but few numbers of ratings.
    widths = 1 / np.sqrt(1 + START_SLOPE**2 * each * np.arange(int(given.max(initial=0)) + 1))
    return take_in_blocks(widths, given)
