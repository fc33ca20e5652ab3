"""Files of SPSS, Stata and R, and tables of SQLite and DuckDB databases."""

import bz2
import gzip
import lzma
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig
from raterlens.config.limits import VIEW_ROWS, VIEW_SECONDS
from raterlens.reading.formats.table import (
    Rows,
    Table,
    check_unfolded,
    choice,
    damaged,
    read_frame,
    refusing,
    require,
    rows_of,
    series_of,
    suffix_of,
    unfold,
    whole,
)

END_OF_STATA = b"</stata_dta>"
_ZSAV, _ZLIB_AT_MOST = b"$FL3", 1_032
"""Compressed files of SPSS, and how far they are compressed at most."""
BYTES = "latin1"
"""An encoding in which every byte is a letter: nothing is lost."""


def read_spss_or_stata(path: Path, config: ReadConfig) -> Table:
    """Open a .sav or .dta file; value labels become the labels of students, raters and items."""
    pyreadstat = require("pyreadstat", "stats", path.name)
    read = pyreadstat.read_dta if suffix_of(path, config) == ".dta" else pyreadstat.read_sav
    _check_end(path)
    given = None if config.codec == "utf-8" else config.codec
    advice = Message("give its encoding, for example ", Option("encoding", "latin1"))

    def ask(by_bytes: bool, **how: Any) -> Any:
        try:
            found = read(path, encoding=BYTES if by_bytes else given, **how)
            return _as_utf8(*found) if by_bytes else found
        except UnicodeDecodeError as error:
            byte, text = error.object[error.start], error.object[:60]
            what = f"{path.name!r} is not UTF-8: byte 0x{byte:02x} in {text!r} does not belong there"
            raise InputError(what, advice, value=config.codec) from error
        except Exception as error:  # the library's own, or what it stumbles over in a damaged file
            if "character set" in str(error) or "byte sequence" in str(error):
                what = f"{path.name!r} cannot be read as {config.codec!r}"
                another = Message("give another encoding, for example ", Option("encoding", "latin1"))
                raise InputError(what, another, value=config.codec) from error
            raise damaged(path.name, error) from error

    _, about = ask(False, metadataonly=True)
    # Where a file of SPSS says UTF-8 and is not, the library drops the end of a label, and says nothing.
    by_bytes = given is None and read is pyreadstat.read_sav and about.file_encoding == "UTF-8"
    if by_bytes:
        _, about = ask(by_bytes, metadataonly=True)
    if None in about.column_names:
        raise damaged(path.name, "a column has no name")
    _check_rows(path, about)

    def take(wanted: Sequence[str]) -> Rows:
        stored = [name.encode().decode(BYTES) if by_bytes else name for name in dict.fromkeys(wanted)]
        columns, _ = ask(by_bytes, usecols=stored, output_format="dict")
        return rows_of([whole(pl.Series(name, columns[name], strict=False)) for name in wanted])

    return Table(path.name, tuple(about.column_names), take, labels=about.variable_value_labels)


def _check_rows(path: Path, about: Any) -> None:
    """Raise where a file says that it has more rows than it can hold."""
    # Each number takes at least a byte; the library makes room for all rows before it looks for them.
    with path.open("rb") as file:
        compressed = file.read(len(_ZSAV)) == _ZSAV
    most = path.stat().st_size * (_ZLIB_AT_MOST if compressed else 1)
    if (about.number_rows or 0) * about.number_columns > most:
        raise damaged(path.name, f"said to hold {about.number_rows:,} rows, in {path.stat().st_size:,} bytes")
    check_unfolded(path.name, path.stat().st_size, 8 * (about.number_rows or 0) * about.number_columns)


def _as_utf8(columns: Any, about: Any) -> tuple[dict[str, list[Any]], Any]:
    """Text that was read byte by byte, as the UTF-8 that it is; raises where it is not."""

    @cache
    def decoded(text: str) -> str:
        return text.encode(BYTES).decode()

    def text(value: Any) -> Any:
        return decoded(value) if isinstance(value, str) else value

    about.column_names = [text(name) for name in about.column_names]
    about.variable_value_labels = {
        text(name): {text(value): text(label) for value, label in labels.items()}
        for name, labels in about.variable_value_labels.items()
    }
    return {text(name): [text(value) for value in columns[name]] for name in columns}, about


def read_r(path: Path, config: ReadConfig) -> Table:
    """Open the data frame in an .rda, .RData or .rds file."""
    rdata = require("rdata", "rda", path.name)
    is_rds = suffix_of(path, config) == ".rds"
    _check_unfolded(path)
    try:
        with warnings.catch_warnings(action="ignore"):  # classes of R that Python has not
            found = rdata.read_rds(path) if is_rds else rdata.read_rda(path)
    except Exception as error:  # whatever the decompressor or the parser stumbles over
        raise damaged(path.name, f"{type(error).__name__}: {error}") from error
    objects: Mapping[str, Any] = {path.stem: found} if is_rds else found
    frames = {name: value for name, value in objects.items() if hasattr(value, "columns")}
    if not frames:
        kinds = ", ".join(f"{name} ({type(value).__name__})" for name, value in objects.items())
        raise InputError(f"{path.name!r} holds no data frame, but {kinds or 'nothing'}", "save one in R")
    asked = None if is_rds else config.table
    name = choice("data frame", asked, list(frames), path.name, lambda name: frames[name].columns)
    table = read_frame(frames[name])

    def take(wanted: Sequence[str]) -> Rows:
        rows = table.take(wanted)
        return replace(rows, frame=rows.frame.with_columns(map(whole, rows.frame.get_columns())))

    return Table(path.name, table.columns, take)


_OPEN: dict[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}


def _check_unfolded(path: Path) -> None:
    """Raise where a file of R unfolds to far more than its size."""
    with path.open("rb") as file:
        opened = _OPEN.get(file.read(2))
    if opened is None:
        return
    with suppress(OSError, EOFError, lzma.LZMAError, zlib.error), opened(path) as stream:
        unfold(path, stream)


def _check_end(path: Path) -> None:
    with path.open("rb") as file:
        modern = file.read(11) == b"<stata_dta>"
        file.seek(max(path.stat().st_size - 64, 0))
        if modern and END_OF_STATA not in file.read():
            raise damaged(path.name, "it does not end as a Stata file does")


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

    def columns_of(table: str) -> list[str]:
        return ask(f"SELECT * FROM {_quoted(table)} LIMIT 0")[0]

    def columns_to_look_at(table: str) -> list[str]:
        with suppress(InputError):
            return columns_of(table)
        return []  # a view of tables that are gone

    name = choice("table", config.table, [str(row[0]) for row in tables], path.name, columns_to_look_at)
    columns = columns_of(name)

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
        found = connection.execute(
            "SELECT table_name, list(column_name ORDER BY ordinal_position) FROM information_schema.columns "
            "WHERE table_schema = 'main' GROUP BY ALL ORDER BY ALL"
        )
        columns = dict(found.fetchall())
    name = choice("table", config.table, list(columns), path.name, columns.__getitem__)

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

    return Table(f"{path.name}::{name}", tuple(columns[name]), take)


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
