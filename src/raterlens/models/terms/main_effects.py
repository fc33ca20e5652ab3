"""Effects that every model has: slopes, how well a rater tells students apart; severities, how much lower than others
it scores; and difficulties of items and of levels of further facets, what makes a score harder to get from any rater.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE, LARGEST_SLOPE
from raterlens.models.requested import Candidate, Setting, unsaid
from raterlens.models.term import (
    START_SLOPE,
    Beginning,
    Contexts,
    Effect,
    Estimated,
    LevelTerm,
    Offsets,
    Tables,
    Term,
)
from raterlens.ratings.coded import level_table

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

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


@dataclass(frozen=True, slots=True, eq=False)
class Difficulties(LevelTerm):
    """delta_i, which is subtracted from the predictor; times the slope where it is on the scale of ability."""

    on_ability_scale: bool
    name = "difficulty"
    covarying = True
    levels = ("item",)
    at_limit_flag = "difficulty at limit"

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        yield cls(Effect.each(at.rows.n_items), at.options.spec.difficulty_on_ability_scale)

    @property
    def predictor(self) -> str:  # type: ignore[override]  # of this scale
        return "difficulty" if self.on_ability_scale else "intercept"

    def start(self, given: Beginning) -> Array:
        """On the scale of ability, divided by the slope, which starts at 1."""
        tally = given.ratings.tally("item")
        overall = tally.total.sum() / ((given.ratings.n_categories - 1) * tally.n.sum())
        return given.stretch * (given.predictor(overall) - given.predictor(given.rates("item")))

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Items of a connected group against the severities of its raters."""
        for group in range(int(model.item_group.max()) + 1):
            raters, items = model.rater_group == group, (model.item_group == group).astype(float)
            yield self._against_severities(model, parameters, items, raters)

    def _against_severities(
        self, model: "FacetsModel", parameters: Array, levels: Array, raters: Array | float = 1.0
    ) -> tuple[Array, Array]:
        """By as much as a unit of difficulty is one of severity."""
        slopes = model.slope(parameters[model.blocks["slope"]])
        severity = -model.severity.invert(
            raters * (slopes if self.on_ability_scale else np.ones_like(slopes))
        )
        return model.vector(**{self.name: levels}), model.vector(**{self.name: levels, "severity": severity})

    def tables(self, found: Estimated) -> Tables:
        delta, error = found.of(self.name)
        return {"items": pl.DataFrame({"delta": delta, "delta_se": error})}


@dataclass(frozen=True, slots=True, eq=False)
class FacetLevels(Difficulties):
    """The levels of a further facet, such as topics."""

    name: str
    covarying = False
    at_limit_flag = ""

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        on_ability = at.options.spec.difficulty_on_ability_scale
        for facet, size in at.rows.facet_sizes.items():
            yield cls(Effect.each(size), on_ability, f"facet {facet}")

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]  # of this facet
        return (self.name,)

    def start(self, given: Beginning) -> Array:
        return np.zeros(self.size)

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        yield self._against_severities(model, parameters, np.ones(self.size))

    def tables(self, found: Estimated) -> Tables:
        """facet, level, n, mean_score, effect, effect_se"""
        (facet,) = (each for each in found.ratings.facets if self.name == f"facet {each.name}")
        effect, error = found.of(self.name)
        level = facet.labels.cast(pl.String).alias("level")
        table = level_table(found.ratings, level, self.name, {"effect": effect, "effect_se": error})
        return {"facets": table.select(pl.lit(facet.name).alias("facet"), pl.all())}
