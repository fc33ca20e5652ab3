"""The tables of a diagnosis that charts show, computed without the rest of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.fit_statistics import curves, rater_fit
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.pictures.rater_marks import calibration_of

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings
    from raterlens.result.record import Result

_TABLES: dict[str, Callable[[Residuals], pl.DataFrame]] = {"raters": rater_fit, "curves": curves}


def diagnosis_table(fit: Result, ratings: Ratings | Diagnosis, table: str) -> pl.DataFrame:
    """`raters` (fit statistics) or `curves` (observed and expected), with labels as text."""
    if isinstance(ratings, Diagnosis):
        found = ratings.tables[table]
    else:
        calibration_of(fit, "it expects nothing")
        found = _TABLES[table](residuals(fit, ratings))
    return found.with_columns(pl.col("rater").cast(pl.String))
