"""Numbers of raters: slopes, how well a rater tells students apart, and severities, how much lower than others it
scores. Each is a rater's own, shared, or explained by covariates."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE, LARGEST_SLOPE
from raterlens.models.requested import Candidate, Setting, unsaid
from raterlens.models.term import START_SLOPE, Beginning, Contexts, Effect, LevelTerm, Offsets, Term

SLOPE, SEVERITY = "slope", "severity"
SMALLEST_COMMON_SLOPE = 0.01
# Slopes below it change no probability that could be seen: they are 0 within rounding.
NO_SLOPE = 1e-4


class Severities(LevelTerm):
    """b_r, which is subtracted from the predictor."""

    name = SEVERITY
    covarying = True

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        covariates = at.options.covariates
        yield cls(
            Effect.each(at.rows.n_raters) if covariates is None else Effect(sparse.csr_array(covariates))
        )

    def start(self, given: Beginning) -> Array:
        return self.effect.invert(-given.stretch * given.predictor(given.rates("rater")))


class Slopes(LevelTerm):
    """a_r, by which ability is multiplied."""

    name = SLOPE
    covarying = True
    candidates = (
        Candidate(
            "panel prior",
            {"prior": "panel"},
            lambda ratings, config: unsaid(config, "prior", "anchors", "trusted") and ratings.known is None,
            order=1,
            spread="Raters are treated as a random sample: they {differ}.",
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        yield cls(at.options.spec.slopes(at.rows.n_raters, at.options.covariates))

    @property
    def common(self) -> bool:
        """All raters have the same one."""
        return not self.effect.by_logarithm and self.effect.size == 1

    @property
    def predictor(self) -> str:  # type: ignore[override]  # of this effect
        return "log_slope" if self.effect.by_logarithm else "slope"

    def offsets(self, rows: Contexts) -> Offsets:
        if not self.effect.by_logarithm:
            return {}
        return {"slope": np.where(rows.rater < rows.n_raters, 1.0, 0.0)}

    def start(self, given: Beginning) -> Array:
        return self.effect.invert(np.full(given.ratings.n_raters, START_SLOPE))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        if self.effect.by_logarithm:
            # Each explains the logarithms of the slopes of raters a standard deviation apart.
            most = np.full(self.size, np.log(LARGEST_ITEM_SLOPE))
            return -most, most
        # A rater's slope may be 0. One common to all may not quite: by symmetry the likelihood is level there,
        # and an optimiser that a long step takes to 0 would stay.
        lowest = SMALLEST_COMMON_SLOPE if self.common else 0.0
        upper = np.full(self.size, LARGEST_SLOPE)
        return np.full(self.size, -LARGEST_SLOPE if allow_reversed else lowest), upper

    def at_limit(self, x: Array) -> Mask:
        """A slope of 0 is an answer, not a limit."""
        return np.asarray(x >= LARGEST_SLOPE) if self.common else LevelTerm.at_limit(self, x)

    def nobody(self, x: Array) -> bool:
        """Whether no rater's slope is above 0, or above the least that a common one may be."""
        return bool((np.abs(self.effect(x)) <= (SMALLEST_COMMON_SLOPE if self.common else NO_SLOPE)).all())
