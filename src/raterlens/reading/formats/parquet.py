"""Parquet files, and folders of them: the sizes that a file tells of itself are checked before polars decodes it."""

import io
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
from polars.exceptions import PanicException, PolarsError

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.config.limits import LARGE_FILE, READ_AT_ONCE
from raterlens.reading.formats.header_rows import TOP
from raterlens.reading.formats.table import (
    Rows,
    Table,
    check_unfolded,
    read_whole,
    refuse_changes,
    refusing,
    rows_of,
)

Record = dict[int, Any]
DEEPEST = 16
"""Records within records; parquet has seven."""
LONGEST = 10
"""Bytes of a number of 64 bits."""
_DOUBLE = struct.Struct("<d")


class Fields:
    """Reads record after record, in Thrift's compact protocol; raises ValueError or IndexError where there is none."""

    __slots__ = ("content", "place")

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content = content
        self.place = place

    def record(self, depth: int = 0) -> Record:
        """The fields of a record by their numbers."""
        found: Record = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            found[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, depth)
        return found

    def _byte(self) -> int:
        found = self.content[self.place]
        self.place += 1
        return found

    def _count(self) -> int:
        """A number without a sign, seven bits per byte."""
        found = 0
        for shift in range(0, 7 * LONGEST, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError(f"a number of more than {LONGEST} bytes")

    def _integer(self) -> int:
        """A number whose last bit is its sign."""
        found = self._count()
        return (found >> 1) ^ -(found & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"records within records, more than {DEEPEST} deep")
        match kind:
            case 1 | 2 | 3:  # a byte, or yes and no within a list
                return self._byte()
            case 4 | 5 | 6:
                return self._integer()
            case 7:
                return _DOUBLE.unpack(self._text(_DOUBLE.size))[0]
            case 8:
                return self._text(self._count())
            case 9 | 10:  # a list, or a set
                head = self._byte()
                size = self._sized(head >> 4 if head >> 4 < 15 else self._count())
                return [self._value(head & 15, depth + 1) for _ in range(size)]
            case 11:
                size = self._sized(self._count())
                kinds = self._byte() if size else 0
                pairs = ((kinds >> 4, kinds & 15) for _ in range(size))
                return {self._value(key, depth + 1): self._value(value, depth + 1) for key, value in pairs}
            case 12:
                return self.record(depth + 1)
        raise ValueError(f"a value of kind {kind}, which does not exist")

    def _text(self, length: int) -> bytes:
        found = bytes(self.content[self.place : self.place + length])
        if len(found) < length:
            raise ValueError(f"text of {length:,} bytes, of which {len(found):,} are there")
        self.place += length
        return found

    def _sized(self, size: int) -> int:
        """A number of values, each of which takes a byte at least."""
        if size > len(self.content) - self.place:
            raise ValueError(f"{size:,} values in {len(self.content) - self.place:,} bytes")
        return size


TAIL = 8
"""Bytes at the end: the length of the footer, and the mark."""
# Fields of parquet's records, by their numbers (parquet.thrift).
_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_ABOUT = 3
_VALUES, _BYTES, _PACKED, _FIRST_DATA, _FIRST_DICTIONARY = 5, 6, 7, 9, 11
_PAGE_BYTES, _PAGE_PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_PAGE_VALUES, _NULLS, _PAGE_ROWS, _LEVELS = 1, 2, 3, (5, 6)


def check_pages(file: BinaryIO) -> tuple[int, int]:
    """Count the rows of a file, and its bytes once unpacked.

    Raise ValueError where the sizes that it tells of itself cannot be.
    """
    size = file.seek(0, os.SEEK_END)
    end = size - TAIL
    footer = end - int.from_bytes(_part(file, end, end + 4), "little")
    if footer < 0:
        raise ValueError(f"a footer of {end - footer:,} bytes in a file of {size:,}")
    try:
        about = Fields(_part(file, footer, end)).record()
        rows = unpacked = 0
        for group in about[_GROUPS]:
            rows += _at_least_0("rows of a group", group[_GROUP_ROWS])
            for column in group[_COLUMNS]:
                _check_column(file, column[_ABOUT], footer)
                unpacked += column[_ABOUT][_BYTES]
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("what it says of its columns cannot be read") from error
    if rows != about[_ROWS]:
        raise ValueError(f"{about[_ROWS]:,} rows, but {rows:,} in its groups")
    return rows, unpacked


def _part(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _check_column(file: BinaryIO, about: Record, footer: int) -> None:
    """The values of a column in one group of rows: as many as its pages hold."""
    values = _at_least_0("values", about[_VALUES])
    start = about.get(_FIRST_DICTIONARY) or about[_FIRST_DATA]
    end = start + _at_least_0("bytes of a column", about[_PACKED])
    if start < 0 or end > footer:
        raise ValueError(f"a column from byte {start:,} to {end:,}, but there are {footer:,}")
    held = sum(_values(page, about) for page in _pages(_part(file, start, end)))
    if held != values:
        raise ValueError(f"{values:,} values in a column, but {held:,} in its pages")


def _pages(content: bytes) -> Iterator[Record]:
    fields = Fields(content)
    while fields.place < len(content):
        page = fields.record()
        fields.place += _at_least_0("bytes of a page", page[_PAGE_PACKED])
        yield page
    if fields.place > len(content):
        raise ValueError(f"a page up to byte {fields.place:,} of a column of {len(content):,}")


def _values(page: Record, about: Record) -> int:
    """How many a page of data holds; a dictionary is no page of data."""
    if _at_least_0("bytes of a page", page[_PAGE_BYTES]) > about[_BYTES]:
        raise ValueError(f"{page[_PAGE_BYTES]:,} bytes in a page, {about[_BYTES]:,} in its column")
    head = page.get(_DATA) or page.get(_DATA_2) or page.get(_DICTIONARY)
    if head is None:
        return 0
    values = _at_least_0("values of a page", head[_PAGE_VALUES])
    if _DATA_2 in page:
        for part in (_NULLS, _PAGE_ROWS):
            if _at_least_0("values of a page", head[part]) > values:
                raise ValueError(f"{head[part]:,} of {values:,} values in a page")
        if sum(_at_least_0("bytes of levels", head[part]) for part in _LEVELS) > page[_PAGE_PACKED]:
            raise ValueError(f"more bytes of levels than the page has ({page[_PAGE_PACKED]:,})")
    return 0 if _DICTIONARY in page else values


def _at_least_0(what: str, number: int) -> int:
    if number < 0:
        raise ValueError(f"{number:,} {what}")
    return number


MARK = b"PAR1"
SUFFIX = ".parquet"
AGAIN = "copy or write it again"
FAULTS = (PolarsError, PanicException, OSError)
"""Errors of polars where a file is damaged in a way that no check of it shows."""


def read_parquet(path: Path, config: ReadConfig) -> Table:
    """Open a parquet file. (An encoding is for text files; parquet is UTF-8 by definition.)"""
    if path.stat().st_size > READ_AT_ONCE:
        return _scanned(path.name, pl.scan_parquet(path, glob=False), _rows_on_disk(path), path)
    content = read_whole(path)
    rows = _checked_rows(io.BytesIO(content), path.name)
    return _scanned(path.name, pl.scan_parquet(io.BytesIO(content)), rows)


def read_folder(folder: Path, config: ReadConfig) -> Table:
    """Open all parquet files in a folder and those within it, as one table; `year=2025/` makes a column `year`."""
    files = [file for file in sorted(folder.rglob(f"*{SUFFIX}")) if not file.name.startswith((".", "_"))]
    if not files:
        what = f"{str(folder)!r} is a folder without parquet files"
        raise InputError(what, "give the path of one file in it, or a folder of them", value=str(folder))
    rows = sum(map(_rows_on_disk, files))
    partitioned = any("=" in part for file in files for part in file.relative_to(folder).parts[:-1])
    return _scanned(folder.name, pl.scan_parquet(files, glob=False, hive_partitioning=partitioned), rows)


def _rows_on_disk(path: Path) -> int:
    """As `_checked_rows`, of a file that need not fit into memory."""
    with path.open("rb") as file, refuse_changes(path):
        return _checked_rows(file, path.name)


def _checked_rows(file: BinaryIO, name: str) -> int:
    """Check that a file is complete; return how many rows it has."""
    size = file.seek(0, os.SEEK_END)
    start, end = _part(file, 0, len(MARK)), _part(file, max(size - len(MARK), 0), size)
    if start != MARK:
        raise InputError(f"{name!r} is not a parquet file: it begins with {start!r}", AGAIN, value=start)
    if end != MARK:
        raise InputError(f"{name!r} is cut short: it ends with {end!r}, not {MARK!r}", AGAIN, value=end)
    with refusing(name, ValueError, OSError):
        rows, unpacked = check_pages(file)
    check_unfolded(name, size, max(rows, unpacked))
    return rows


def _scanned(name: str, lazy: pl.LazyFrame, n_rows: int, path: Path | None = None) -> Table:
    def take(wanted: Sequence[str]) -> Rows:
        with refusing(name, *FAULTS), nullcontext() if path is None else refuse_changes(path):
            return rows_of(lazy.select(wanted).collect().get_columns())

    with refusing(name, *FAULTS):
        schema = lazy.collect_schema()
        small = n_rows < LARGE_FILE
        top = lazy.head(TOP).collect().to_dicts() if small and pl.String in schema.values() else []
    if small and any(dtype.is_nested() for dtype in schema.values()):
        from raterlens.reading.formats.json_files import table_of_records  # JSON is seldom needed here

        with refusing(name, *FAULTS):
            return table_of_records(lazy.collect().to_dicts(), name)
    return Table(name, tuple(schema), take, query=lazy, large=not small, top=tuple(top))
