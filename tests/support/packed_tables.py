"""Tables to be packed."""

import polars as pl

from raterlens.ratings.coded import Ratings


def uneven(ratings: Ratings) -> pl.DataFrame:
    """The ratings without every seventh, so that essays differ in their items."""
    return ratings.table().filter(pl.int_range(pl.len()) % 7 > 0)
