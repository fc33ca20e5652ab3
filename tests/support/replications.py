"""Rows of a study as its summary expects them."""

import polars as pl


def replicated(rows: pl.DataFrame) -> pl.DataFrame:
    """Two replications with the same rows: enough for every summary."""
    return pl.concat([rows.select(pl.lit(i, pl.Int32).alias("replication"), pl.all()) for i in range(2)])
