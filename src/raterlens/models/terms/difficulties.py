"""Difficulty of items, and of the levels of further facets: what makes a rating harder to get from any rater."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.models.requested import Setting
from raterlens.models.term import Beginning, Columns, Effect, Estimated, LevelTerm, Tables, Term
from raterlens.ratings.coded import level_table

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel


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

    def columns(self, found: Estimated) -> Columns:
        delta, error = found.of(self.name)
        return {"items": {"delta": delta, "delta_se": error}}


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

    def columns(self, found: Estimated) -> Columns:
        return {}

    def tables(self, found: Estimated) -> Tables:
        """facet, level, n, mean_score, effect, effect_se"""
        (facet,) = (each for each in found.ratings.facets if self.name == f"facet {each.name}")
        effect, error = found.of(self.name)
        level = facet.labels.cast(pl.String).alias("level")
        table = level_table(found.ratings, level, self.name, {"effect": effect, "effect_se": error})
        return {"facets": table.select(pl.lit(facet.name).alias("facet"), pl.all())}
