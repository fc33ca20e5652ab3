"""Known answers: what is right for a student and item shows ability, too.

A known answer is a rating by somebody who hardly errs, of a slope that is not estimated, with thresholds of each item's
own (a fixed threshold would be wrong wherever most answers are right, or most are wrong):

    log-odds of the answer = slope theta - threshold_i

To an engine these are contexts like the others, which come last (`Contexts.n_rated`). Nobody else sees them: they are
not a rater's, and their levels are beyond those of raters, items and facets.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, listed
from raterlens.capability.yardstick import LARGEST_EFFECT
from raterlens.config import FitConfig
from raterlens.models.requested import WITHOUT, Part, Setting, of_ratings
from raterlens.models.term import Beginning, Contexts, Designs, Offsets, Term, at_answers
from raterlens.models.terms.thresholds import Thresholds, step_sums
from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswers(Term):
    """The thresholds of the items that have known answers, and the slope of these."""

    items: Indices
    """Which items these are."""
    n_items: int
    scales: Thresholds
    slope: float
    name = "known"
    levels = ("item",)
    parts = (
        Part(
            "known",
            of_ratings("known", lambda ratings: None if ratings.known is None else WITHOUT),
            ("method", "log link"),
        ),
    )

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        if ratings.known is None:
            return
        if strange := np.setdiff1d(ratings.known.answer, np.flatnonzero(ratings.score_counts)).tolist():
            raise InputError(
                f"the answer {listed(strange)} is known to be right for some, but nobody ever gave that score",
                Message("leave it blank, or combine scores, for example with ", Option("cut")),
                value=strange,
                option="known",
            )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        slope, n_steps = at.options.known_slope, at.response.n_categories - 1
        if slope is None or at.ratings is None or at.ratings.known is None:
            return
        items, graded = at.ratings.known.items, n_steps > 1 and at.options.scale == "graded"
        scales = Thresholds(n_steps, graded, np.full(len(items), n_steps), per_item=True)
        yield cls(items, at.rows.n_items, scales, slope)

    @property
    def size(self) -> int:
        return self.scales.size

    def designs(self, rows: Contexts) -> Designs:
        answers = np.where(at_answers(rows), rows.item - rows.n_items, len(self.items))
        return {"steps": step_sums(answers, self.scales.highest, self.scales.n_steps)}

    def offsets(self, rows: Contexts) -> Offsets:
        return {"slope": np.where(at_answers(rows), self.slope, 0.0)}

    def as_modelled(self, ratings: Ratings) -> Ratings:
        return ratings.with_answers()

    def start(self, given: Beginning) -> Array:
        """Thresholds that divide a standard normal population as the known answers are divided."""
        counts = given.contexts.given[given.contexts.n_rated :]
        at_least = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
        share = (at_least + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
        values = np.zeros((self.scales.n_scales, self.scales.n_steps))
        values[:, : share.shape[1]] = -self.slope * special.ndtri(share)
        if self.scales.graded:
            values = np.maximum.accumulate(values, axis=1) + 0.1 * np.arange(values.shape[1])
        return self.scales.parameters(values)

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        return self.scales.bounds(allow_reversed=allow_reversed)

    def at_limit(self, x: Array) -> Mask:
        return np.asarray(np.abs(x) >= LARGEST_EFFECT)

    def table(self, x: Array) -> Array:
        """(items, steps): NaN where an item has no known answers."""
        found = np.full((self.n_items, self.scales.n_steps), np.nan)
        found[self.items] = self.scales.table(x)
        return found

    def parameters(self, table: Array) -> Array:
        return self.scales.parameters(table[self.items])

    def check_known(self, table: Array, items: pl.Series, scores: tuple[int, ...]) -> None:
        if (missing := np.isnan(table[self.items]).any(axis=1)).any():
            unknown = items.gather(self.items[missing])
            raise InputError(
                f"items with known answers here, but with none in the fit: {listed(unknown)}",
                "leave their known answers out, or fit again with them",
                value=unknown.to_list(),
                option="known",
            )
