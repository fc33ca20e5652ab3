"""Tables of latent class models (hierarchical raters, Dawid-Skene), in the words of the other models.

rho = F(a / 2) - F(-a / 2)     the capability this rater would have with the best criterion, a / 2
eta = c - a / 2                how far above it the criterion stands: severity
"""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.capability.links import get_link
from raterlens.ratings.coded import Ratings
from raterlens.ratings.level_tables import level_table

if TYPE_CHECKING:
    from raterlens.estimation.latent_class_fit import LatentClassFit


def latent_class_tables(ratings: Ratings, found: "LatentClassFit") -> dict[str, pl.DataFrame]:
    """All tables of a latent class fit."""
    return {
        "raters": _raters(ratings, found),
        "items": _items(ratings, found),
        "students": _students(ratings, found),
        "truth": found.truth,
    }


def _raters(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    link, half = get_link(found.link), found.slope / 2
    columns = {
        "rho": np.exp(link.log_pass(half)) - np.exp(link.log_pass(-half)),
        "rho_se": link.density(half) * found.slope_se,
        "eta": found.bias,
        "eta_se": found.bias_se,
        **{name: getattr(found, name) for name in ("kappa", "kappa_se", "kappa_low", "kappa_high")},
    }
    table = level_table(ratings.raters, ratings.tally("rater"), columns)
    more = ("criterion", "criterion_se", "slope", "slope_se", "sensitivity", "specificity")
    return table.with_columns(
        pl.Series("flag", found.flags, dtype=pl.String),
        *(pl.Series(name, getattr(found, name)) for name in more),
    )


def _items(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    columns = {"delta": found.delta, "delta_se": found.delta_se, "prevalence": found.prevalence}
    return level_table(ratings.items, ratings.tally("item"), columns)


def _students(ratings: Ratings, found: "LatentClassFit") -> pl.DataFrame:
    """Dawid-Skene knows no ability; its students have none."""
    unknown = np.full(ratings.n_students, np.nan)
    theta, error = (unknown, unknown) if found.moments is None else (found.moments.mean, found.moments.sd)
    columns = {"theta": theta, "theta_se": error}
    return level_table(ratings.students, ratings.tally("student"), columns)
