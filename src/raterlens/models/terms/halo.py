"""Halo: what all scores of a reading share besides ability, the impression of one student by one rater.

    S = a_r theta - b_r - delta_i + tau_r u         `halo`: in logits, u ~ N(0, 1) for each reading
    S = a_r (theta + omega u) - b_r - delta_i       `impression`: on the scale of ability

An impression on the scale of ability is as if each reading were a piece of work of its own; pieces differ from what
their student can do in general, by a quality with standard deviation omega around ability.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Mask
from raterlens.models.term import RATING_INFORMATION, Beginning, Contexts, Designs, Term, rows_of
from raterlens.models.terms.per_rater import Effect, RaterTerm
from raterlens.ratings.coded import Facet, Ratings
from raterlens.ratings.groupings import readings_of

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

HALO, IMPRESSION, PIECE = "halo", "impression", "piece"
LARGEST_HALO = 10.0
"""Bound of its spread in logits, at which the scores of a reading are almost identical."""
# Away from 0, where the likelihood is level in a spread.
_START = 0.5
LARGEST_PIECE = 5.0
"""Bound of the spread of pieces, in standard deviations of ability."""
# Of a student about the variance.
_INFORMATION = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Term):
    """omega^2, the variance of the quality of a piece around its student's ability."""

    name: str = PIECE
    variance = True

    @property
    def size(self) -> int:
        return 1

    def start(self, given: Beginning) -> Array:
        return np.array([_START**2])

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.array([_INFORMATION * n_students])

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        return np.zeros(1), np.array([LARGEST_PIECE**2])

    def at_limit(self, x: Array) -> Mask:
        return np.asarray(x >= LARGEST_PIECE**2)


@dataclass(frozen=True, slots=True, eq=False)
class Halo(RaterTerm):
    """tau_r^2, the variance of the reading effect: as large for every rater, or each rater's own."""

    effect: Effect
    name: str = HALO
    variance = True

    def designs(self, rows: Contexts) -> Designs:
        return {"halo": rows_of(self.effect.design, rows.rater)}

    def start(self, given: Beginning) -> Array:
        return self.effect.invert(np.full(given.ratings.n_raters, _START**2))

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        """Information of a reading of n ratings about the variance: half the square of that about its effect."""
        given, n = model.contexts.given.sum(axis=1), model.n_items
        told = RATING_INFORMATION * n * float(model.lever.max()) ** 2
        each = 0.5 * (told / (1 + model.halo_variances(parameters) * told)) ** 2
        readings = np.bincount(model.contexts.rater, given, model.n_raters) / n
        return np.asarray(self.effect.design.T @ (each * readings))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        return np.zeros(self.size), np.full(self.size, LARGEST_HALO**2)

    def at_limit(self, x: Array) -> Mask:
        return np.asarray(x >= LARGEST_HALO**2)


@dataclass(frozen=True, slots=True, eq=False)
class Impressions(Pieces):
    """omega^2, the variance of a rater's impressions around ability, the same for all raters."""

    name: str = IMPRESSION


def readings_as_pieces(ratings: Ratings) -> Ratings:
    """The ratings with each reading in the place of a piece of work."""
    reading, number = readings_of(ratings.student, ratings.rater, ratings.item)
    labels = pl.Series("reading", np.arange(number))
    return replace(ratings, piece=Facet("reading", reading.astype(np.int32), labels))
