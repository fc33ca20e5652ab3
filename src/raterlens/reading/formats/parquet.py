"""Parquet files, and folders of them."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.lazy_table import Rows, Table, rows_of
from raterlens.reading.formats.parquet_pages import check_pages

MARK = b"PAR1"
SUFFIX = ".parquet"
AGAIN = "copy or write it again"
LARGE = 5_000_000
"""Rows from which on columns are taken one at a time."""


def read_parquet(path: Path, config: ReadConfig) -> Table:
    """Open a parquet file. (An encoding is for text files; parquet is UTF-8 by definition.)"""
    rows = _checked_rows(path)
    return _scanned(path.name, pl.scan_parquet(path, glob=False), rows)


def read_folder(folder: Path, config: ReadConfig) -> Table:
    """Open all parquet files in a folder and those within it, as one table; `year=2025/` makes a column `year`."""
    files = sorted(folder.rglob(f"*{SUFFIX}"))
    files = [file for file in files if not file.name.startswith((".", "_"))]
    if not files:
        raise InputError(
            f"{str(folder)!r} is a folder without parquet files",
            "give the path of one file in it, or a folder of them",
            value=str(folder),
        )
    rows = sum(map(_checked_rows, files))
    partitioned = any("=" in part for file in files for part in file.relative_to(folder).parts[:-1])
    lazy = pl.scan_parquet(files, glob=False, hive_partitioning=partitioned)
    return _scanned(folder.name, lazy, rows)


def _checked_rows(path: Path) -> int:
    """How many rows a file has that is whole."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(path.stat().st_size - 4, 0))
        end = file.read(4)
    if start != MARK:
        raise InputError(f"{path.name!r} is not a parquet file: it begins with {start!r}", AGAIN, value=start)
    if end != MARK:
        raise InputError(f"{path.name!r} is cut short: it ends with {end!r}, not {MARK!r}", AGAIN, value=end)
    try:
        return check_pages(path)
    except (ValueError, OSError) as error:
        raise damaged(path.name, error) from error


def _scanned(name: str, lazy: pl.LazyFrame, n_rows: int) -> Table:
    def take(wanted: Sequence[str]) -> Rows:
        try:
            return rows_of(lazy.select(wanted).collect().get_columns())
        except (PolarsError, PanicException, OSError) as error:
            raise damaged(name, error) from error

    try:
        schema = lazy.collect_schema()
    except (PolarsError, PanicException, OSError) as error:
        raise damaged(name, error) from error
    if n_rows < LARGE and any(dtype.is_nested() for dtype in schema.values()):
        return _spread_out(name, lazy)
    return Table(name, tuple(schema), take, query=lazy, large=n_rows >= LARGE)


def _spread_out(name: str, lazy: pl.LazyFrame) -> Table:
    """Lists and structs of judgements as flat records; an export of Argilla as such."""
    from raterlens.reading.formats.json_records import table_of_records  # JSON is seldom needed here

    try:
        records = lazy.collect().to_dicts()
    except (PolarsError, PanicException, OSError) as error:
        raise damaged(name, error) from error
    return table_of_records(records, name)


def damaged(name: str, error: BaseException) -> InputError:
    reason = (str(error).splitlines() or ["unknown"])[0]
    return InputError(f"{name!r} is a damaged parquet file ({reason})", AGAIN)
