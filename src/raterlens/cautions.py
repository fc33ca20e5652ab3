"""What a user must know before trusting a fit: each warning says what, how much, and the next step."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from raterlens.estimation.estimate import Estimate
from raterlens.estimation.optimise import Optimiser
from raterlens.inference.covariance import Covariance
from raterlens.inference.kappa import RaterEstimates
from raterlens.ratings import Ratings
from raterlens.wording import listed


def facets_cautions(
    ratings: Ratings, found: Estimate, spread: Covariance | None, raters: RaterEstimates, table: pl.DataFrame
) -> Iterator[str]:
    """Cautions about a facets fit."""
    yield from convergence(found.record)
    limit = table.filter(pl.col("flag") == "slope at limit")["rater"]
    if len(limit):
        yield (
            f"the discrimination of {listed(limit)} ran to its limit: their few ratings order students "
            f"perfectly. They are shown as discriminating as {listed([ratings.raters[raters.yardstick]])}, the "
            "yardstick; give them more ratings before trusting their kappa"
        )
    groups = int(found.model.item_group.max()) + 1
    if groups > 1:
        smallest = np.argmin(np.bincount(found.model.rater_group))
        some = ratings.raters.filter(pl.Series(found.model.rater_group == smallest))
        yield (
            f"raters and items fall into {groups} groups that share no item, so severity and difficulty cannot "
            f"be told apart between them (one group: {listed(some)}). Severities across groups assume that "
            "their items are equally difficult on average; let some raters rate items of both groups"
        )
    if spread is not None and len(spread.undetermined):
        yield from _undetermined(ratings, found, spread)


def convergence(record: Optimiser) -> Iterator[str]:
    if not record.converged:
        yield (
            f"the estimates have not converged: {record.stopped} with a gradient of {record.gradient:.2g} "
            "standard errors left. Try, in this order: more iterations (max_iterations), model 'tfm', or "
            "leaving out raters with very few ratings"
        )


def _undetermined(ratings: Ratings, found: Estimate, spread: Covariance) -> Iterator[str]:
    """Name the raters and items behind the parameters that the data do not determine."""
    touched = np.zeros(found.model.blocks.size)
    touched[spread.undetermined] = 1.0
    effects, at = found.model.effect_jacobian(found.parameters) @ touched, found.model.effects
    who = (effects[at["slope"]] != 0) | (effects[at["severity"]] != 0)
    what = effects[at["difficulty"]] != 0
    names = [
        f"{kind} {listed(labels.filter(pl.Series(chosen)))}"
        for kind, labels, chosen in (("raters", ratings.raters, who), ("items", ratings.items, what))
        if chosen.any()
    ]
    yield (
        f"the ratings say next to nothing about {' and '.join(names) or 'some parameters'}; their standard "
        "errors are nominal. Have them rate students whom others rate, too, or leave them out"
    )
