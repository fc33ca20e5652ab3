"""Item slopes: how strongly each item reflects ability, relative to the others."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Mask
from raterlens.base.text import Message, Option, listed
from raterlens.capability.yardstick import LARGEST_ITEM_SLOPE
from raterlens.config import FitConfig
from raterlens.config.limits import COMPARED_ITEMS
from raterlens.models.requested import Candidate, Part, Setting, says
from raterlens.models.term import SLOPE_AT_LIMIT, Effect, Estimated, LevelTerm, Tables, Term
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel

ITEM_PAIR = "item pair"
"""A dependence of two items beyond ability: no term of a model, but tested like one."""


def _comparable(ratings: Ratings, config: FitConfig) -> bool:
    few = COMPARED_ITEMS[0] <= ratings.n_items <= COMPARED_ITEMS[1]
    return few and config.scale != "continuous" and ratings.known is None and ratings.draw is None


class ItemSlopes(LevelTerm):
    """log g_i, which is added to the logarithm of the slope."""

    name = "item_slope"
    levels = ("item",)
    predictor = "log_slope"
    bound = (-math.log(LARGEST_ITEM_SLOPE), math.log(LARGEST_ITEM_SLOPE))
    covarying = True
    asks = (("item_slopes", True),)
    parts = (Part("item slopes", says("item_slopes", True)),)
    at_limit_flag = SLOPE_AT_LIMIT
    simpler = (Option("item_slopes", False), "since item slopes take many ratings to tell from raters' own")
    candidates = (
        Candidate(
            "item slopes",
            {"item_slopes": True},
            lambda ratings, config: not config.item_slopes and ratings.n_items > 1 and config.anchors is None,
            name,
            "Items differ in how strongly they reflect ability ({p})",
            "Severities and abilities lean towards the items that show it best",
            order=3,
            needs=("partial credit", "halo", "rater x item"),
        ),
        Candidate(
            "item dependence",
            {},
            _comparable,
            ITEM_PAIR,
            "Two items depend on each other more than other pairs do ({p})",
            "Intervals of ability are too narrow: combine the two into one item if they ask for the same thing",
            order=4,
            needs=("item slopes",),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        if at.options.item_slopes:
            yield cls(Effect.each(at.rows.n_items))

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Against the raters' slopes."""
        scaled = -model.slope.scaling(parameters[model.blocks["slope"]])
        ones = np.ones(self.size)
        yield model.vector(**{self.name: ones}), model.vector(**{self.name: ones, "slope": scaled})

    def centred(self, model: "FacetsModel", parameters: Array, held: Mask) -> Array:
        own, slopes = model.blocks[self.name], model.blocks["slope"]
        if held[own].any() or held[slopes].any():
            return parameters
        found, mean = parameters.copy(), parameters[own].mean()
        found[own] -= mean
        found[slopes] = model.slope.invert(model.slope(found[slopes]) * np.exp(mean))
        return found

    def warnings(self, found: Estimated) -> Iterator[str]:
        if (ran := found.at_limit(self.name)).any():
            yield Message(
                f"the slope of {listed(found.ratings.items.filter(pl.Series(ran)))} ran to its limit, "
                f"{LARGEST_ITEM_SLOPE:g} times an average item's or the inverse: these ratings cannot tell item slopes "
                "from raters' own. Use ",
                self.simpler[0],
                ", or collect more ratings",
            )

    @classmethod
    def null(cls, known: "Calibration", ratings: Ratings) -> Array | None:
        return np.zeros_like(known.effects["difficulty"])

    def tables(self, found: Estimated) -> Tables:
        logarithm, error = found.of(self.name)
        slope = np.exp(logarithm)
        return {"items": pl.DataFrame({"slope": slope, "slope_se": slope * error})}
