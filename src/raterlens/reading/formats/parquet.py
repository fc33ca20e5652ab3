"""Parquet files."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from raterlens.errors import InputError
from raterlens.reading.formats.table import Rows, Table, rows_of

MARK = b"PAR1"


def read_parquet(path: Path, encoding: str) -> Table:
    """Open a parquet file. (`encoding` is for text files; parquet is UTF-8 by definition.)"""
    size = path.stat().st_size
    if not size:
        raise InputError(f"{path.name!r} is an empty file; write the table again")
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(size - 4, 0))
        end = file.read(4)
    if start != MARK:
        raise InputError(
            f"{path.name!r} is not a parquet file: it begins with {start!r}, not {MARK!r}; "
            "if it is a text table, rename it to .csv"
        )
    if end != MARK:
        raise InputError(
            f"{path.name!r} is cut short: it ends with {end!r}, not {MARK!r}; copy or write it again"
        )
    lazy = pl.scan_parquet(path, glob=False)

    def take(wanted: Sequence[str]) -> Rows:
        try:
            return rows_of(lazy.select(wanted).collect().get_columns())
        except (PolarsError, PanicException, OSError) as error:
            raise _damaged(path, error) from error

    try:
        columns = tuple(lazy.collect_schema().names())
    except (PolarsError, PanicException, OSError) as error:
        raise _damaged(path, error) from error
    return Table(path.name, columns, take)


def _damaged(path: Path, error: BaseException) -> InputError:
    reason = (str(error).splitlines() or ["unknown"])[0]
    return InputError(f"{path.name!r} is a damaged parquet file ({reason}); copy or write it again")
