"""Noise of marks on a fine scale: how far a rater's marks scatter around what the student can do.

    log s_r = m + e_r,      e_r ~ N(0, s²)

A rater with few marks is drawn to the others: its own marks alone could not tell noise from what students differ by.
As with any variance, what is estimated of a rater's mean takes its share of the residuals, so that the likelihood puts
noise too low. Integrated over a rater's severity and its slope, which are known to within s_r, it rises by log s_r for
each (REML).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.base.text import Message, Option, listed
from raterlens.models.requested import Part, Setting, says
from raterlens.models.term import Contexts, Designs, Effect, Estimated, LevelTerm, Tables, Term, rows_of

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

NOISE, OWN_NOISE = "noise", "rater noise"
LARGEST_NOISE = 10.0
"""Standard deviation, in units of the model, of which there are six on the scale of marks."""
# Of what marks vary, so much is noise at the start.
_START = 0.7
_MANY_AT_AN_END = 0.05
"""Share of marks at one end of the scale from which on they are not taken for normal in silence."""
_NEXT_TO_NONE = 1.5
"""Times the noise of rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise(LevelTerm):
    """m, the logarithm of the standard deviation that is usual."""

    least: float
    """Standard deviation of marks that are exact but for rounding."""
    name = NOISE
    uses_scale = True
    told = 1.0
    begin = math.log(_START)
    parts: ClassVar[tuple[Part, ...]] = (
        Part(
            "marks",
            says("scale", "continuous"),
            (
                *("probit", "method", "link", "halo", "covariates", "anchors", "trusted", "known", "piece"),
                *("draw", "perfect reference"),
            ),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if least := at.response.least_noise:
            yield cls(Effect.common(at.rows.n_raters), least)

    def designs(self, rows: Contexts) -> Designs:
        """It is the second intercept; the first is a mark's mean."""
        own = rows_of(self.effect.design, rows.rater)
        return {"steps": sparse.csr_array(sparse.kron(own, np.array([[0.0], [-1.0]])))}

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        """Two per mark; most of it is left, though abilities are not known."""
        given = np.bincount(model.contexts.rater, model.contexts.given.sum(axis=1), model.n_raters)
        return np.asarray(2 * self.effect.design.T @ given)

    @property
    def bound(self) -> tuple[float, float]:  # type: ignore[override]  # of this scale
        return math.log(self.least), math.log(LARGEST_NOISE)

    def warnings(self, found: Estimated) -> Iterator[str]:
        """Marks that the ends of the scale cut off, and raters whose marks have no noise."""
        ratings, counts = found.ratings, found.ratings.score_counts
        given = np.flatnonzero(counts)
        for end, what in ((given[0], "lowest"), (given[-1], "highest")):
            share = counts[end] / counts.sum()
            if share > _MANY_AT_AN_END:
                yield Message(
                    f"{share:.0%} of the marks are {end * ratings.score_step:g}, the {what} of all: the scale ends "
                    "there, and normal marks go on. Severities of raters who often give it are too close to the "
                    "average, and so are their slopes to 0; compare with ordered bands (",
                    Option("bands"),
                    ")",
                )
        own, noise = OWN_NOISE in found.model, np.exp(self._of_raters(found) @ found.parameters)
        if own and (exact := noise <= _NEXT_TO_NONE * self.least).any():
            yield (
                f"the marks of {listed(ratings.raters.filter(pl.Series(exact)))} follow ability without any noise but "
                "rounding: their ratings are too few to tell, or copy others'"
            )

    @staticmethod
    def _of_raters(found: Estimated) -> sparse.csr_array:
        """(raters, parameters): usual noise and that of each rater, together."""
        every = [term.name for term in found.model.terms if isinstance(term, Noise)]
        return sparse.csr_array(sum(found.model.effect_jacobian(found.parameters, name) for name in every))

    def tables(self, found: Estimated) -> Tables:
        through = self._of_raters(found)
        noise = found.unit * np.exp(through @ found.parameters)
        return {"raters": pl.DataFrame({"noise": noise, "noise_se": noise * found.errors(through)})}


class OwnNoise(Noise):
    """e_r, how far the logarithm of a rater's noise is from what is usual."""

    name = OWN_NOISE
    begin = 0.0
    drawn = True
    parts = ()
    asks = (("own_noise", True),)
    bound = (-math.log(LARGEST_NOISE), math.log(LARGEST_NOISE))
    certain = True
    unitless = True

    def warnings(self, found: Estimated) -> Iterator[str]:
        return iter(())

    def tables(self, found: Estimated) -> Tables:
        return {}

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if at.options.own_noise and at.response.least_noise:
            yield cls(Effect.each(at.rows.n_raters), at.response.least_noise)


def restricted(model: "FacetsModel") -> Array | None:
    """(parameters,): by how much that rises per unit of each; None where raters have no noise of their own."""
    if OWN_NOISE not in model:
        return None
    blocks, found = model.blocks, np.zeros(model.blocks.size)
    each = (blocks.sizes["severity"] + blocks.sizes["slope"]) / model.n_raters
    found[blocks[NOISE]], found[blocks[OWN_NOISE]] = each * model.n_raters, each
    return found


def log_noise(effects: Mapping[str, Array]) -> Array:
    """(raters,): from a fit's effects by name."""
    return np.asarray(effects[NOISE] + effects.get(OWN_NOISE, 0.0))
