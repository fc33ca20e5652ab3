"""A table of raters: what is known of each beforehand, to explain severity and discrimination by."""

import os
from typing import Any

import polars as pl

from raterlens.config import ReadConfig
from raterlens.reading.formats.file_formats import open_table

RATER = "rater"


def read_rater_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """The columns of any kind of table; `rater` as text, other columns as numbers where they all are numbers."""
    with open_table(str(path), ReadConfig()) as table:
        frame = table.take(table.columns).frame
    return frame.select(
        frame[name].cast(pl.String) if name == RATER else _numbers(frame[name]) for name in frame.columns
    )


def _numbers(column: pl.Series) -> Any:
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column
