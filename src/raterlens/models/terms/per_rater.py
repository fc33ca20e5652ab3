"""Numbers of raters: each rater's own, shared, or explained by covariates. Slopes, how well a rater tells students
apart, and severities, how much lower than others it scores."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE, LARGEST_SLOPE
from raterlens.models.requested import Candidate, Setting, unsaid
from raterlens.models.term import START_SLOPE, Beginning, Contexts, Designs, Offsets, Term, rows_of
from raterlens.models.terms.difficulties import pass_rates, through

SLOPE, SEVERITY = "slope", "severity"
SMALLEST_COMMON_SLOPE = 0.01
# Slopes below it change no probability that could be seen: they are 0 within rounding.
NO_SLOPE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """One number per rater, linear in a block of parameters, or with a logarithm that is."""

    design: sparse.csr_array
    """(raters, parameters): of the effect, or of its logarithm. The identity gives every rater its own, a column of
    ones a common one."""
    by_logarithm: bool = False

    @staticmethod
    def each(n: int) -> "Effect":
        return Effect(sparse.eye_array(n, format="csr"))

    @staticmethod
    def common(n: int) -> "Effect":
        return Effect(sparse.csr_array(np.ones((n, 1))))

    @staticmethod
    def explained(covariates: Array, *, by_logarithm: bool = False) -> "Effect":
        return Effect(sparse.csr_array(covariates), by_logarithm)

    @staticmethod
    def of_some(some: Mask) -> "Effect":
        """One for each of these raters; 0 for the others."""
        return Effect(sparse.csr_array(sparse.eye_array(len(some), format="csr")[:, np.flatnonzero(some)]))

    @property
    def size(self) -> int:
        """Parameters in the block."""
        return int(self.design.shape[1])

    @property
    def n_raters(self) -> int:
        return int(self.design.shape[0])

    @property
    def own(self) -> bool:
        """Whether each rater has one to itself."""
        return not self.by_logarithm and self.size == self.n_raters

    def __call__(self, x: Array) -> Array:
        found = np.asarray(self.design @ x)
        return np.exp(found) if self.by_logarithm else found

    def jacobian(self, x: Array) -> sparse.csr_array:
        """(raters, parameters)"""
        return (
            sparse.csr_array(sparse.diags_array(self(x)) @ self.design) if self.by_logarithm else self.design
        )

    def invert(self, effect: Array) -> Array:
        """Parameters whose effects are nearest to these: starting values, and redundant directions."""
        if self.own:
            return effect
        values = np.log(effect) if self.by_logarithm else effect
        return np.asarray(np.linalg.lstsq(self.design.toarray(), values)[0])

    def scaling(self, x: Array) -> Array:
        """The direction that scales all effects alike."""
        return self.invert(np.full(self.n_raters, np.e)) if self.by_logarithm else x


class RaterTerm(Term):
    """A term whose parameters stand for one number per rater."""

    __slots__ = ()

    levels = ("rater",)
    effect: Effect

    @property
    def size(self) -> int:
        return self.effect.size

    def effect_of(self, x: Array) -> Array:
        return self.effect(x)

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        return self.effect.jacobian(x)

    def table(self, x: Array) -> Array:
        return self.effect(x)

    def parameters(self, table: Array) -> Array:
        return self.effect.invert(table)


@dataclass(frozen=True, slots=True, eq=False)
class Severities(RaterTerm):
    """b_r, which is subtracted from the predictor; each rater's own, or explained by covariates."""

    effect: Effect
    name = SEVERITY
    covarying = True

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n, covariates = at.rows.n_raters, at.options.covariates
        yield cls(Effect.each(n) if covariates is None else Effect.explained(covariates))

    def designs(self, rows: Contexts) -> Designs:
        return {"intercept": rows_of(self.effect.design, rows.rater)}

    def start(self, given: Beginning) -> Array:
        tally = given.ratings.tally("rater")
        rates = pass_rates(tally, given.ratings.n_categories - 1)
        return self.effect.invert(-given.stretch * through(given.link, rates))


@dataclass(frozen=True, slots=True, eq=False)
class Slopes(RaterTerm):
    """a_r, by which ability is multiplied."""

    effect: Effect
    name = SLOPE
    covarying = True

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        yield cls(at.options.spec.slopes(at.rows.n_raters, at.options.covariates))

    @property
    def common(self) -> bool:
        """All raters have the same one."""
        return not self.effect.by_logarithm and self.effect.size == 1

    def designs(self, rows: Contexts) -> Designs:
        design = rows_of(self.effect.design, rows.rater)
        return {"log_slope": design} if self.effect.by_logarithm else {"slope": design}

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
        return np.asarray(x >= LARGEST_SLOPE) if self.common else RaterTerm.at_limit(self, x)

    def nobody(self, x: Array) -> bool:
        """Whether no rater's slope is above 0, or above the least that a common one may be."""
        return bool((np.abs(self.effect(x)) <= (SMALLEST_COMMON_SLOPE if self.common else NO_SLOPE)).all())


PANEL = Candidate(
    "panel prior",
    {"prior": "panel"},
    lambda ratings, config: unsaid(config, "prior", "anchors", "trusted") and ratings.known is None,
)
"""Raters as a sample of raters, whose slopes and severities have a spread."""
