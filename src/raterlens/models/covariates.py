"""Covariates of raters, to explain severity and discrimination."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError
from raterlens.base.text import listed, shortened
from raterlens.reading.read import read_rater_table

RATER, INTERCEPT = "rater", "intercept"


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """Columns of numbers, one row per rater in the order of the ratings' labels."""

    names: tuple[str, ...]
    values: Array
    """(raters, columns), in the user's units."""

    @property
    def design(self) -> Array:
        """(raters, 1 + columns): ones, then the columns at mean 0 and deviation 1, so that all are of one size."""
        units = (self.values - self.values.mean(axis=0)) / self.values.std(axis=0)
        return np.column_stack([np.ones(len(self.values)), units])

    @property
    def to_units(self) -> Array:
        """Coefficients of `design` -> intercept and coefficients in the user's units."""
        mean, deviation = self.values.mean(axis=0), self.values.std(axis=0)
        back = np.diag(np.append(1.0, 1 / deviation))
        back[0, 1:] = -mean / deviation
        return back


def covariate_columns(source: Any) -> dict[str, list[Any]]:
    """The path of a table, a dataframe, or columns by name, as columns by name."""
    if isinstance(source, Mapping):
        for name, values in source.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                what = f"covariates have {shortened(values)} for {shortened(name)}, not a column"
                raise _error(what, "give each name a list with a value for every rater", values)
        columns = {str(name): list(values) for name, values in source.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len({*lengths.values()}) > 1:
            found = ", ".join(f"{shortened(name)} {length}" for name, length in lengths.items())
            raise _error(
                f"covariates have columns of different lengths: {found}", "give every rater one row", lengths
            )
        return columns
    return read_rater_table(source).to_dict(as_series=False)


def read_covariates(columns: Mapping[str, Sequence[Any]], raters: pl.Series) -> Covariates:
    """Check columns of numbers beside the column `rater`, a row for every rater."""
    frame = pl.DataFrame(dict(columns), strict=False)
    if RATER not in frame.columns or len(frame.columns) < 2:
        raise _error(
            f"covariates have the columns {listed(frame.columns)}",
            "put the raters' labels into one called 'rater', with at least one column of numbers beside it",
            frame.columns,
        )
    frame, wanted = frame.with_columns(pl.col(RATER).cast(pl.String)), raters.cast(pl.String)
    labels, names = frame[RATER], [name for name in frame.columns if name != RATER]
    if len(twice := labels.filter(labels.is_duplicated())):
        what = f"covariates have rater {shortened(twice[0])} more than once"
        raise _error(what, "give every rater one row", twice[0])
    if len(missing := wanted.filter(~wanted.is_in(labels.implode()))):
        what = f"covariates lack {listed(missing)}"
        raise _error(what, "give every rater of the ratings a row", list(missing))
    rows = pl.DataFrame({RATER: wanted}).join(frame, on=RATER, how="left", maintain_order="left")
    found = Covariates(tuple(names), np.column_stack([_numbers(rows[name], wanted) for name in names]))
    if len(names) >= len(wanted):
        what = f"{len(names)} covariates for {len(wanted)} raters"
        raise _error(what, "give fewer columns than raters", len(names))
    for last, name in enumerate(names, start=1):
        if np.linalg.matrix_rank(found.design[:, : last + 1], tol=1e-8) <= last:
            what = f"covariate {shortened(name)} is determined by the columns before it"
            raise _error(what, "leave it out", name)
    return found


def _numbers(column: pl.Series, raters: pl.Series) -> Array:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        what = f"covariate {column.name!r} has values like {column[0]!r}, which are not numbers"
        raise _error(what, "code categories as 0 and 1", column[0])
    values = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if (unknown := ~np.isfinite(values)).any():
        what = (
            f"covariate {column.name!r} has no finite number for {listed(raters.filter(pl.Series(unknown)))}"
        )
        raise _error(what, "fill it in, or leave the column out", column.name)
    if np.ptp(values) == 0:
        what = f"covariate {column.name!r} is {values[0]:g} for every rater and explains nothing"
        raise _error(what, "leave it out", values[0])
    return values


def _error(what: str, remedy: str, value: object) -> InputError:
    return InputError(what, remedy, value=value, option="covariates")
