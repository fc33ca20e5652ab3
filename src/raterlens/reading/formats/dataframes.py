"""Dataframes of any library that narwhals knows. pandas and pyarrow are never imported here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import shortened
from raterlens.ratings.coded import Backend
from raterlens.reading.formats.lazy_table import Rows, Table, is_plain, rows_of, series_of

if TYPE_CHECKING:
    import narwhals as nw

NAME = "the table"


def read_frame(source: Any) -> Table:
    """Open a dataframe: polars as it is, every other kind through narwhals."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        lazy = source.lazy()
        with _answering():
            columns = tuple(lazy.collect_schema().names())

        def rows(wanted: Sequence[str]) -> Rows:
            with _answering():
                return rows_of(lazy.select(wanted).collect().get_columns())

        return Table(NAME, columns, rows, in_memory=True)
    # Imported on first need: files and polars frames do without it.
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source)
        names = {str(column): column for column in frame.columns}
    except DuplicateError as error:
        twice = "; ".join(line.strip("- ") for line in str(error).splitlines()[1:])
        raise InputError(
            f"{NAME} has doubled column names: {twice}", "give each column a name of its own"
        ) from error
    except TypeError as error:
        raise InputError(
            f"cannot read a table from an object of type {type(source).__name__!r}",
            "give the path of a file or a dataframe (polars, pandas, pyarrow)",
            value=source,
        ) from error

    def take(wanted: Sequence[str]) -> Rows:
        chosen = frame.select(*(nw.col(names[name]) for name in wanted))
        if isinstance(chosen, nw.LazyFrame):
            with _answering():
                chosen = chosen.collect(backend="polars")
        return rows_of([_column(chosen.get_column(names[name]), name) for name in wanted])

    return Table(NAME, tuple(str(column) for column in frame.columns), take, _backend(frame), in_memory=True)


@contextmanager
def _answering() -> Iterator[None]:
    """A lazy frame is a query: what is wrong with it shows when it is asked."""
    try:
        yield
    except (PolarsError, OSError) as error:
        why = shortened((str(error).splitlines() or [type(error).__name__])[0])
        raise InputError(
            f"the lazy table cannot be read ({type(error).__name__}: {why})",
            "collect it yourself to see the fault",
        ) from error


def _backend(frame: "nw.DataFrame[Any] | nw.LazyFrame[Any]") -> Backend:
    if frame.implementation.is_pandas():
        return "pandas"
    return "pyarrow" if frame.implementation.is_pyarrow() else "polars"


def _column(series: "nw.Series[Any]", name: str) -> pl.Series:
    if series.implementation.is_pyarrow() and str(series.dtype) == "Unknown":
        return _by_value(series, name)  # decimals of 256 bits, at which polars panics
    try:
        column = series.to_polars().alias(name)
    except (ValueError, TypeError, NotImplementedError, ImportError, PolarsError, PanicException):
        # Values of several types in one pandas column, pandas text without pyarrow, or a type that polars has not.
        return _by_value(series, name)
    if not is_plain(column.dtype):
        return _by_value(series, name)
    if column.dtype.is_float() and column.null_count():
        # pandas has no missing integers: 1, 2, missing arrives as 1.0, 2.0, NaN.
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count() and (whole == column).all():
            return whole
    return column


def _by_value(series: "nw.Series[Any]", name: str) -> pl.Series:
    missing = series.is_null().to_list()
    values = [None if gone else value for gone, value in zip(missing, series.to_list(), strict=True)]
    return series_of(name, values)
