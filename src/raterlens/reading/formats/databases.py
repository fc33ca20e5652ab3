"""A table of an SQLite or DuckDB database."""

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import polars as pl

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.config.limits import VIEW_ROWS, VIEW_SECONDS
from raterlens.reading.formats.table import (
    Rows,
    Table,
    choice,
    damaged,
    refusing,
    require,
    rows_of,
    series_of,
)


def read_sqlite(path: Path, config: ReadConfig) -> Table:
    """Open a table or view; its name may be left out where there is only one."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"

    def ask(query: str) -> tuple[list[str], list[tuple[object, ...]]]:
        faults = (sqlite3.Error, UnicodeDecodeError)
        with refusing(path.name, *faults), closing(sqlite3.connect(address, uri=True)) as connection:
            return _rows(connection, query, path)

    _check_whole(path)
    _, found = ask("PRAGMA quick_check(1)")
    if found != [("ok",)]:
        raise damaged(path.name, found[0][0])
    _, tables = ask(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    )
    name = choice("table", config.table, [str(row[0]) for row in tables], path.name)
    columns, _ = ask(f"SELECT * FROM {_quoted(name)} LIMIT 0")

    def take(wanted: Sequence[str]) -> Rows:
        _, rows = ask(f"SELECT {', '.join(map(_quoted, wanted))} FROM {_quoted(name)}")
        values = zip(*rows, strict=True) if rows else [[] for _ in wanted]
        return rows_of([series_of(column, list(of)) for column, of in zip(wanted, values, strict=True)])

    return Table(f"{path.name}::{name}", tuple(columns), take)


def _rows(
    connection: sqlite3.Connection, query: str, path: Path
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Columns and rows of a query that ends: of a view, no more rows than the file has bytes, and not too slowly."""
    asked = [time.monotonic()]
    connection.set_progress_handler(lambda: time.monotonic() - asked[0] > VIEW_SECONDS, 100_000)
    most, found = _most_rows(path), list[tuple[object, ...]]()
    try:
        cursor = connection.execute(query)
        while rows := cursor.fetchmany(100_000):
            found += rows
            asked[0] = time.monotonic()
            if len(found) > most:
                raise _endless(path)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise _endless(path) from error
        raise
    return [column[0] for column in cursor.description], found


def _most_rows(path: Path) -> int:
    return max(VIEW_ROWS, path.stat().st_size)


def _endless(path: Path) -> InputError:
    return InputError(
        f"a view of {path.name!r} does not end: it has more than {_most_rows(path):,} rows, or none for "
        f"{VIEW_SECONDS:g} s",
        "save what it gives as a table, and name that",
        value=str(path),
        option="table",
    )


def read_duckdb(path: Path, config: ReadConfig) -> Table:
    """Open a table or view; its name may be left out where there is only one."""
    duckdb = require("duckdb", "duckdb", path.name)
    with refusing(path.name, duckdb.Error), duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY ALL"
        ).fetchall()
        name = choice("table", config.table, [row[0] for row in tables], path.name)
        columns = [column[0] for column in connection.execute(f"FROM {_quoted(name)} LIMIT 0").description]

    def take(wanted: Sequence[str]) -> Rows:
        # By way of a parquet file: quick, exact in types, and without a third library between the two.
        chosen = f"SELECT {', '.join(map(_quoted, wanted))} FROM {_quoted(name)}"
        try:
            with TemporaryDirectory() as folder, duckdb.connect(str(path), read_only=True) as connection:
                stop = threading.Timer(VIEW_SECONDS, connection.interrupt)
                stop.start()
                try:
                    limit = f"LIMIT {_most_rows(path) + 1}"
                    connection.execute(f"COPY ({chosen} {limit}) TO '{folder}/rows.parquet' (FORMAT parquet)")
                finally:
                    stop.cancel()
                frame = pl.read_parquet(f"{folder}/rows.parquet", memory_map=False)
                if frame.height > _most_rows(path):
                    raise _endless(path)
                return rows_of(frame.get_columns())
        except duckdb.InterruptException as error:
            raise _endless(path) from error
        except duckdb.Error as error:
            raise damaged(path.name, error) from error

    return Table(f"{path.name}::{name}", tuple(columns), take)


def _check_whole(path: Path) -> None:
    """Raise where the file is shorter than its header says: SQLite takes what is missing for zeros."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big") if header[24:28] == header[92:96] else 0
    expected = pages * (65_536 if page == 1 else page)
    if (size := path.stat().st_size) < expected:
        raise damaged(path.name, f"{size:,} of {expected:,} bytes")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
