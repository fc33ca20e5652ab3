"""How each rater uses the scale: thresholds of its own around those of all.

    tau_rk = tau_k + e_rk,      sum_k e_rk = 0,      e_r ~ N(0, s²)

What a rater adds to all thresholds alike is its severity. A rater whose outer thresholds are far apart keeps to the
middle of the scale; one whose are close uses its ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from raterlens.base.arrays import Array
from raterlens.config import FitConfig
from raterlens.config.limits import ADAPTED_PARAMETERS
from raterlens.models.requested import Candidate, Setting, unsaid
from raterlens.models.term import Contexts, Designs, Term, one_per_row
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel

RATER_THRESHOLD = "rater threshold"


def _may_have_own_scales(ratings: Ratings, config: FitConfig, *, items: bool) -> bool:
    thresholds = ratings.n_raters * (int(np.count_nonzero(ratings.score_counts)) - 2)
    plain = unsaid(config, "scale", "anchors") and config.link in (None, "logit") and ratings.known is None
    return plain and 0 < thresholds <= ADAPTED_PARAMETERS and items == (ratings.n_items > 1)


_OF_ITEMS = Candidate(
    "thresholds per rater",
    {"scale": "partial credit, rater"},
    lambda ratings, config: _may_have_own_scales(ratings, config, items=True),
    RATER_THRESHOLD,
    missed="Raters use the scale alike.",
    order=3,
    spread="Raters' thresholds vary around the shared ones by {size}.",
)


@dataclass(frozen=True, slots=True, eq=False)
class RaterThresholds(Term):
    """e_r, written in contrasts between the steps of the scale."""

    n_raters: int
    n_steps: int
    graded: bool
    drawn: bool = True
    """Free where not: each rater's by its own ratings alone, which takes some hundred of them."""
    name = RATER_THRESHOLD
    uses_scale = True
    levels = ("rater",)
    asks = (("rater_thresholds", "drawn"),)
    candidates = (
        _OF_ITEMS,
        replace(
            _OF_ITEMS,
            options={"scale": "rater"},
            applies=lambda ratings, config: _may_have_own_scales(ratings, config, items=False),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n_steps, kind = at.response.n_categories - 1, at.options.rater_thresholds
        if kind != "none" and n_steps > 1:
            yield cls(at.rows.n_raters, n_steps, at.options.scale == "graded", kind == "drawn")

    @property
    def size(self) -> int:
        return self.n_raters * (self.n_steps - 1)

    @property
    def contrasts(self) -> Array:
        """(steps, steps - 1): orthonormal, each with sum 0."""
        return np.asarray(linalg.helmert(self.n_steps).T)

    def designs(self, rows: Contexts) -> Designs:
        own = self.contrasts if self.graded else np.cumsum(self.contrasts, axis=0)
        return {"steps": sparse.csr_array(sparse.kron(one_per_row(rows.rater, self.n_raters), own))}

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Redundancy of free thresholds: all raters' against those that they share."""
        thresholds = model.thresholds
        if self.drawn or thresholds is None:
            return
        for place, contrast in enumerate(self.contrasts.T):
            alike = np.tile(np.eye(self.n_steps - 1)[place], self.n_raters)
            shared = -thresholds.parameters(np.tile(contrast, (thresholds.n_scales, 1)))
            yield (
                model.vector(**{self.name: alike}),
                model.vector(**{self.name: alike, thresholds.name: shared}),
            )

    def table(self, x: Array) -> Array:
        """(raters, steps)"""
        return np.asarray(x.reshape(self.n_raters, -1) @ self.contrasts.T)

    def parameters(self, table: Array) -> Array:
        return np.asarray(table @ self.contrasts).ravel()


CLEAR_USE = 2.58
"""Standard errors from which on a rater's use of the scale is named: one in a hundred by chance."""


def uses_of_scale(known: "Calibration") -> list[str]:
    """How each rater uses the scale, in words, where the model has thresholds for each and it is clearly unusual."""
    n = len(known.effects["slope"])
    if RATER_THRESHOLD not in known.effects:
        return [""] * n
    return [_use_of_scale(known, rater) for rater in range(n)]


def _use_of_scale(known: "Calibration", rater: int) -> str:
    """Whether a rater keeps to the middle, uses the ends, or avoids a score, if more than chance shows it.

    The further apart two thresholds are, the more often the score between them is given.
    """
    moved, spread = known.effects[RATER_THRESHOLD][rater], known.curve_covariance
    steps = len(moved)
    if spread is None or steps < 2:
        return ""
    term = RaterThresholds(len(known.effects[RATER_THRESHOLD]), steps, known.scale == "graded")
    variance = term.contrasts @ spread[rater, 2:, 2:] @ term.contrasts.T

    def shown(weights: Array) -> float:
        error = float(np.sqrt(max(float(weights @ variance @ weights), 1e-12)))
        return float(weights @ moved) / error

    gaps = np.diff(np.eye(steps), axis=0)
    of_gaps = np.array([shown(gap) for gap in gaps])
    narrowest = int(of_gaps.argmin())
    width = shown(gaps.sum(axis=0))
    if steps > 2 and of_gaps[narrowest] < -CLEAR_USE and of_gaps[narrowest] < width:
        return f"avoids {known.values[narrowest + 1]:g}"
    if abs(width) > CLEAR_USE:
        return "keeps to the middle" if width > 0 else "uses the ends"
    return ""
