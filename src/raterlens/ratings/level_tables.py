"""A table of the levels of one role: students, raters, items or a further facet."""

import polars as pl

from raterlens.base.types import Array
from raterlens.ratings.coded import Tally


def level_table(labels: pl.Series, tally: Tally, estimates: dict[str, Array]) -> pl.DataFrame:
    """Label, number of ratings and mean score of every level, then its estimates."""
    return pl.DataFrame({labels.name: labels, "n": tally.n, "mean_score": tally.mean, **estimates})
