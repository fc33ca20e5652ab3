"""Difficulty of items, and of the levels of further facets: what makes a rating harder to get from any rater."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.capability.links import Link
from raterlens.models.requested import Setting
from raterlens.models.term import (
    Beginning,
    Columns,
    Contexts,
    Designs,
    Estimated,
    PredictorName,
    Tables,
    Term,
    one_per_row,
)
from raterlens.ratings.coded import Tally, level_table

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

DIFFICULTY = "difficulty"


@dataclass(frozen=True, slots=True, eq=False)
class Difficulties(Term):
    """delta_i, which is subtracted from the predictor; times the slope where it is on the scale of ability."""

    n_items: int
    on_ability_scale: bool
    name = DIFFICULTY
    covarying = True
    levels = ("item",)

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        yield cls(at.rows.n_items, at.options.spec.difficulty_on_ability_scale)

    @property
    def size(self) -> int:
        return self.n_items

    def codes(self, rows: Contexts) -> Indices:
        return rows.item

    def designs(self, rows: Contexts) -> Designs:
        where: PredictorName = "difficulty" if self.on_ability_scale else "intercept"
        return {where: one_per_row(self.codes(rows), self.size)}

    def start(self, given: Beginning) -> Array:
        """On the scale of ability, divided by the slope, which starts at 1."""
        tally, most = given.ratings.tally("item"), given.ratings.n_categories - 1
        overall = through(given.link, np.array([tally.total.sum() / (most * tally.n.sum())]))
        return np.asarray(given.stretch * (overall - through(given.link, pass_rates(tally, most))))

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Items of a connected group against the severities of its raters."""
        weight = self._weight(model, parameters)
        for group in range(int(model.item_group.max()) + 1):
            items = (model.item_group == group).astype(float)
            severity = -model.severity.invert(weight * (model.rater_group == group))
            yield model.vector(**{self.name: items}), model.vector(**{self.name: items, "severity": severity})

    at_limit_flag = "difficulty at limit"

    def columns(self, found: Estimated) -> Columns:
        delta, error = found.of(self.name)
        return {"items": {"delta": delta, "delta_se": error}}

    def _weight(self, model: "FacetsModel", parameters: Array) -> Array:
        """(raters,): by how much a unit of difficulty is one of severity."""
        slopes = model.slope(parameters[model.blocks["slope"]])
        return slopes if self.on_ability_scale else np.ones_like(slopes)


@dataclass(frozen=True, slots=True, eq=False)
class FacetLevels(Difficulties):
    """The levels of a further facet, such as topics."""

    name: str
    place: int = 0
    """Among the further facets."""
    covarying = False

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        on_ability = at.options.spec.difficulty_on_ability_scale
        for place, (facet, size) in enumerate(at.rows.facet_sizes.items()):
            yield cls(size, on_ability, facet_name(facet), place)

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]  # of this facet
        return (self.name,)

    def codes(self, rows: Contexts) -> Indices:
        return rows.facets[self.place]

    def start(self, given: Beginning) -> Array:
        return np.zeros(self.size)

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        severity = -model.severity.invert(self._weight(model, parameters))
        ones = np.ones(self.size)
        yield model.vector(**{self.name: ones}), model.vector(**{self.name: ones, "severity": severity})

    at_limit_flag = ""

    def columns(self, found: Estimated) -> Columns:
        return {}

    def tables(self, found: Estimated) -> Tables:
        """facet, level, n, mean_score, effect, effect_se"""
        facet, (effect, error) = found.ratings.facets[self.place], found.of(self.name)
        level = facet.labels.cast(pl.String).alias("level")
        table = level_table(found.ratings, level, self.name, {"effect": effect, "effect_se": error})
        return {"facets": table.select(pl.lit(facet.name).alias("facet"), pl.all())}


def facet_name(facet: str) -> str:
    """The name of the block, and of the labels, of a further facet."""
    return f"facet {facet}"


def pass_rates(tally: Tally, most: int) -> Array:
    """Shares of the marks, kept off 0 and 1."""
    return np.asarray((tally.total / most + 0.5) / (tally.n + 1))


def through(link: Link, rate: Array) -> Array:
    """The predictor at which a pass has this probability: F inverted on a table, precise enough for a start."""
    s = np.linspace(-12, 12, 4801)
    return np.interp(rate, np.exp(link.log_pass(s)), s)
