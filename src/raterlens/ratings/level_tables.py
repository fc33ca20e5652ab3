"""A table of the levels of one role: students, raters, items or a further facet."""

import polars as pl

from raterlens.base.types import Array
from raterlens.ratings.coded import Ratings


def level_table(ratings: Ratings, labels: pl.Series, role: str, estimates: dict[str, Array]) -> pl.DataFrame:
    """Label, number of ratings and mean score (as the file counts) of every level of a role, then its estimates."""
    mean = ratings.mean_scores(role)
    return pl.DataFrame({labels.name: labels, "n": ratings.tally(role).n, "mean_score": mean, **estimates})
