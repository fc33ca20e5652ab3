"""The pages of a parquet file, before any is decoded: polars makes room for as many values as a page is said to hold.

A damaged number there (less than 0, or more than there is memory for) ends the process, which no caller can prevent.
"""

import mmap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.break_even import compiled_code_pays
from raterlens.reading.formats.compact_protocol import Fields, Record

TAIL = 8
"""Bytes at the end: the length of the footer, and the mark."""
# A number of bytes that compiled code can take.
_MOST = 2**62
# Fields of parquet's records, by their numbers (parquet.thrift).
_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_ABOUT = 3
_VALUES, _BYTES, _PACKED, _FIRST_DATA, _FIRST_DICTIONARY = 5, 6, 7, 9, 11
_PAGE_BYTES, _PAGE_PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_PAGE_VALUES, _NULLS, _PAGE_ROWS, _LEVELS = 1, 2, 3, (5, 6)


def check_pages(path: Path) -> int:
    """Return how many rows a file has; raise ValueError where the sizes that it tells of itself cannot be."""
    with path.open("rb") as file, closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as content:
        looked_at = np.memmap(path, dtype=np.int8, mode="r") if compiled_code_pays(len(content)) else None
        end = len(content) - TAIL
        footer = end - int.from_bytes(content[end : end + 4], "little")
        if footer < 0:
            raise ValueError(f"a footer of {end - footer:,} bytes in a file of {len(content):,}")
        try:
            about = Fields(content[footer:end], 0).record()
            rows = 0
            for group in about[_GROUPS]:
                rows += _at_least_0("rows of a group", group[_GROUP_ROWS])
                for column in group[_COLUMNS]:
                    _check_column(content, column[_ABOUT], footer, looked_at)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError("what it says of its columns cannot be read") from error
        if rows != about[_ROWS]:
            raise ValueError(f"{about[_ROWS]:,} rows, but {rows:,} in its groups")
        return rows


def _check_column(content: mmap.mmap, about: Record, footer: int, looked_at: NDArray[np.int8] | None) -> None:
    """The values of a column in one group of rows: as many as its pages hold. `looked_at`: the content for
    compiled code, where that pays."""
    values = _at_least_0("values", about[_VALUES])
    start = about.get(_FIRST_DICTIONARY) or about[_FIRST_DATA]
    end = start + _at_least_0("bytes of a column", about[_PACKED])
    if start < 0 or end > footer:
        raise ValueError(f"a column from byte {start:,} to {end:,}, but there are {footer:,}")
    held = None
    if looked_at is not None and 0 <= about[_BYTES] <= _MOST:
        from raterlens.kernels.parquet_pages import page_values  # may be missing

        held = page_values(looked_at, start, end, about[_BYTES])
    if held is None:
        held = sum(_values(page, about) for page in _pages(content, start, end))
    if held != values:
        raise ValueError(f"{values:,} values in a column, but {held:,} in its pages")


def _pages(content: bytes | mmap.mmap, start: int, end: int) -> Iterator[Record]:
    fields = Fields(content, start)
    while fields.place < end:
        page = fields.record()
        fields.place += _at_least_0("bytes of a page", page[_PAGE_PACKED])
        yield page
    if fields.place > end:
        raise ValueError(f"a page up to byte {fields.place:,}, but its column ends at {end:,}")


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
