"""A table of raters: what is known of each beforehand, to explain severity and discrimination by."""

import polars as pl

from raterlens.config import ReadConfig
from raterlens.reading.formats.file_formats import open_table

RATER = "rater"


def read_rater_table(source: object) -> pl.DataFrame:
    """A path or a dataframe: `rater` as text, other columns as numbers where they all are numbers."""
    with open_table(source, ReadConfig()) as table:
        frame = table.take(table.columns).frame
    return frame.select(
        frame[name].cast(pl.String) if name == RATER else _numbers(frame[name]) for name in frame.columns
    )


def _numbers(column: pl.Series) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column
