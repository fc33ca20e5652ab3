"""Noise of marks on a fine scale: how far a rater's marks scatter around what the student can do."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.models.requested import Part, Setting, says
from raterlens.models.term import Contexts, Designs, Term, one_per_row
from raterlens.models.terms.per_rater import Effect, RaterTerm

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

NOISE = "noise"
LARGEST_NOISE = 10.0
"""Standard deviation, in units of the model, of which there are six on the scale of marks."""
# Of what marks vary, so much is noise at the start.
_START = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Noise(RaterTerm):
    """log s_r, the logarithm of the standard deviation: each rater's own, or one for all."""

    effect: Effect
    least: float
    """Standard deviation of marks that are exact but for rounding."""
    name = NOISE
    begin = math.log(_START)
    parts = (
        Part(
            "marks",
            "scale",
            says("scale", "continuous"),
            (
                *(
                    "probit",
                    "method",
                    "link",
                    "halo",
                    "covariates",
                    "anchors",
                    "trusted",
                    "known",
                    "piece",
                    "draw",
                ),
                "perfect reference",
            ),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n, least = at.rows.n_raters, at.response.least_noise
        if least:
            common = at.options.spec.slopes(n, None).size == 1
            yield cls(Effect.common(n) if common else Effect.each(n), least)

    def designs(self, rows: Contexts) -> Designs:
        """It is the second intercept; the first is a mark's mean."""
        own = one_per_row(rows.rater, rows.n_raters) @ self.effect.design
        return {"steps": sparse.csr_array(sparse.kron(own, np.array([[0.0], [-1.0]])))}

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        """Two per mark; most of it is left, though abilities are not known."""
        given = np.bincount(model.contexts.rater, model.contexts.given.sum(axis=1), model.n_raters)
        return np.asarray(2 * self.effect.design.T @ given)

    @property
    def bound(self) -> tuple[float, float]:  # type: ignore[override]  # of this scale
        return math.log(self.least), math.log(LARGEST_NOISE)
