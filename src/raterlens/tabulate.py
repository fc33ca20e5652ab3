"""Estimates as tables: a row a rater, item, student, facet level or threshold."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.estimation.estimate import Estimate
from raterlens.inference.kappa import RaterEstimates
from raterlens.models.facets import LARGEST_SLOPE
from raterlens.ratings import Codes, Ratings

Array = NDArray[np.float64]

_RATER_COLUMNS = ("rho", "rho_se", "eta", "eta_se", "kappa", "kappa_se", "kappa_low", "kappa_high")


def tabulate(ratings: Ratings, found: Estimate, raters: RaterEstimates, se: Array) -> dict[str, pl.DataFrame]:
    """All tables of a facets fit; `se` are the parameters' standard errors (NaN where unknown)."""
    blocks, x = found.model.blocks, found.parameters
    tables = {
        "raters": rater_table(ratings, raters),
        "items": level_table(
            ratings,
            "item",
            ratings.item,
            ratings.items,
            {"delta": x[blocks["difficulty"]], "delta_se": se[blocks["difficulty"]]},
        ),
        "students": level_table(
            ratings,
            "student",
            ratings.student,
            ratings.students,
            {"theta": found.moments.mean, "theta_se": found.moments.sd},
        ),
    }
    if found.model.item_slopes:
        slope = np.exp(x[blocks["item_slope"]])
        tables["items"] = tables["items"].with_columns(
            pl.Series("slope", slope), pl.Series("slope_se", slope * se[blocks["item_slope"]])
        )
    if ratings.facets:
        tables["facets"] = pl.concat(
            [_facet_table(ratings, found, se, f) for f in range(len(ratings.facets))]
        )
    if found.model.thresholds is not None:
        tables["thresholds"] = _threshold_table(ratings, found)
    return tables


def rater_table(ratings: Ratings, raters: RaterEstimates) -> pl.DataFrame:
    estimates = {name: getattr(raters, name) for name in _RATER_COLUMNS}
    table = level_table(ratings, "rater", ratings.rater, ratings.raters, estimates)
    flags = flag_raters(table["mean_score"].to_numpy(), raters.slope, ratings.n_categories)
    return table.with_columns(pl.Series("flag", flags, dtype=pl.String))


def level_table(
    ratings: Ratings, name: str, codes: Codes, labels: pl.Series, estimates: dict[str, Array]
) -> pl.DataFrame:
    """Label, number of ratings and mean score of every level, then its estimates."""
    n = np.bincount(codes, minlength=len(labels))
    mean = np.bincount(codes, ratings.score, minlength=len(labels)) / n
    return pl.DataFrame({name: labels, "n": n, "mean_score": mean, **estimates})


def flag_raters(mean: Array, slope: Array, n_categories: int) -> list[str]:
    """What is peculiar about a rater's estimates, in a word or two; empty where nothing is."""
    flags = np.full(len(slope), "", dtype=object)
    flags[slope == 0] = "slope at 0"
    flags[np.abs(slope) >= LARGEST_SLOPE] = "slope at limit"
    flags[mean == 0] = "all fail" if n_categories == 2 else "all lowest"
    flags[mean == n_categories - 1] = "all pass" if n_categories == 2 else "all highest"
    return list(flags)


def _facet_table(ratings: Ratings, found: Estimate, se: Array, which: int) -> pl.DataFrame:
    facet = ratings.facets[which]
    block = found.model.blocks[f"facet {facet.name}"]
    estimates = {"effect": found.parameters[block], "effect_se": se[block]}
    table = level_table(ratings, "level", facet.codes, facet.labels.cast(pl.String), estimates)
    return table.select(pl.lit(facet.name).alias("facet"), pl.all())


def _threshold_table(ratings: Ratings, found: Estimate) -> pl.DataFrame:
    thresholds = found.model.thresholds
    assert thresholds is not None
    values = thresholds.values(found.parameters[found.model.blocks["threshold"]])
    scales, steps = values.shape
    labels = ratings.items.cast(pl.String) if scales > 1 else pl.Series(["all"])
    return pl.DataFrame(
        {
            "item": labels.gather(np.repeat(np.arange(scales), steps)),
            "step": np.tile(np.arange(1, steps + 1), scales),
            "threshold": values.ravel(),
        }
    )
