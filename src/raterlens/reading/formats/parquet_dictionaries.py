"""Texts of a large parquet file as the file has them: places in a dictionary. Polars, which makes texts of them or
numbers of its own, takes ten times as long."""

import mmap
import struct
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.threads import in_threads, spans
from raterlens.base.types import Indices
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.ratings.coded import Codes
from raterlens.reading.formats.compact_protocol import Fields, Record
from raterlens.reading.formats.parquet_pages import TAIL

# Fields of parquet's records, by their numbers (parquet.thrift), and what is understood here.
_SCHEMA, _GROUPS, _COLUMNS, _GROUP_ROWS, _ABOUT = 2, 4, 1, 3, 3
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED = 1, 3, 4, 5, 6
_PATH, _CODEC, _VALUES, _BYTES, _PACKED, _FIRST_DICTIONARY, _STATISTICS = 3, 4, 5, 6, 7, 11, 13
_PAGE_TYPE, _ENCODING, _DICTIONARY_PAGE, _PLACES = 1, 2, 2, (2, 8)
_PAGE_BYTES, _PAGE_PACKED, _DICTIONARY = 2, 3, 7
_BYTE_ARRAY, _UTF8, _REQUIRED, _OPTIONAL, _SNAPPY = 6, 0, 0, 1, 1

MOST = 2**20
"""Texts that are numbered one by one: polars is quicker at more."""


class NumberedTexts(NamedTuple):
    """A column without missing values."""

    numbers: Codes
    """(rows,): places in `texts`"""
    texts: pl.Series
    """Each once."""
    present: Indices
    """Places in `texts` that occur."""


class _Stretch(NamedTuple):
    """Rows of a column that share a dictionary."""

    about: Record
    optional: bool
    """Whether values could be missing."""
    rows: slice
    codes: Codes
    """(places,): which of all texts stands there"""
    seen: NDArray[np.int8]


def numbered_texts(path: Path, column: str, n_rows: int) -> NumberedTexts | None:
    """A column of texts by numbers; None where it is something else, or not written as places in dictionaries."""
    if not compiled_code_pays(n_rows):
        return None
    from raterlens.kernels.parquet_pages import decoded_codes  # may be missing

    content = np.memmap(path, dtype=np.int8, mode="r")
    number_of: dict[bytes, int] = {}
    stretches = _stretches(path, content, column, number_of)
    if not stretches:
        return None
    numbers = np.empty(stretches[-1].rows.stop, dtype=np.int32)

    def part(span: tuple[int, int]) -> bool:
        return all(
            decoded_codes(
                content,
                about[_FIRST_DICTIONARY],
                about[_FIRST_DICTIONARY] + about[_PACKED],
                codes,
                seen,
                numbers[rows],
                about[_BYTES],
                snappy=about[_CODEC] == _SNAPPY,
                optional=optional,
            )
            for about, optional, rows, codes, seen in stretches[slice(*span)]
        )

    if not all(in_threads(part, spans(len(stretches), 1))):
        return None
    occurs = np.zeros(len(number_of), dtype=np.bool_)
    for stretch in stretches:
        occurs[stretch.codes[stretch.seen == 1]] = True
    texts = pl.Series(column, [text.decode() for text in number_of], dtype=pl.String)
    return NumberedTexts(numbers, texts, np.flatnonzero(occurs))


def _stretches(
    path: Path, content: NDArray[np.int8], column: str, number_of: dict[bytes, int]
) -> list[_Stretch]:
    """All of a column; none where it is not understood. New texts are numbered as they come."""
    found, begin, known = list[_Stretch](), 0, b""
    codes = np.empty(0, dtype=np.int32)
    with path.open("rb") as file, closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as raw:
        end = len(raw) - TAIL
        file_says = Fields(raw[end - int.from_bytes(raw[end : end + 4], "little") : end], 0).record()
        place = _text_column(file_says[_SCHEMA], column)
        if place is None:
            return []
        optional = file_says[_SCHEMA][1 + place][_REPETITION] == _OPTIONAL
        for group in file_says[_GROUPS]:
            about, rows = group[_COLUMNS][place][_ABOUT], group[_GROUP_ROWS]
            dictionary = _dictionary(raw, content, about)
            if about[_PATH] != [column.encode()] or about[_VALUES] != rows or dictionary is None:
                return []
            if dictionary != known:  # Often all are the same.
                known = dictionary
                numbers = [number_of.setdefault(text, len(number_of)) for text in _texts(dictionary)]
                codes = np.array(numbers, dtype=np.int32)
            if len(number_of) > MOST:
                return []
            seen = np.zeros(len(codes), dtype=np.int8)
            found.append(_Stretch(about, optional, slice(begin, begin + rows), codes, seen))
            begin += rows
    return found


def _text_column(schema: list[Record], name: str) -> int | None:
    """Which column of a table without nested ones it is, where it holds texts."""
    if schema[0].get(_CHILDREN) != len(schema) - 1:
        return None
    place = [element.get(_NAME) for element in schema[1:]].index(name.encode())
    about = schema[1 + place]
    text = about.get(_TYPE) == _BYTE_ARRAY and about.get(_CONVERTED) == _UTF8
    return place if text and about.get(_REPETITION) in (_REQUIRED, _OPTIONAL) else None


def _dictionary(raw: mmap.mmap, content: NDArray[np.int8], about: Record) -> bytes | None:
    """The content of the page before those of data, where there is one, packed in a way that is understood."""
    from raterlens.kernels.parquet_pages import unpacked_page  # may be missing

    start = about.get(_FIRST_DICTIONARY)
    data = (kind for kind in about.get(_STATISTICS, ()) if kind[_PAGE_TYPE] != _DICTIONARY_PAGE)
    if not start or about[_CODEC] not in (0, _SNAPPY) or any(kind[_ENCODING] not in _PLACES for kind in data):
        return None
    fields = Fields(raw, start)
    page = fields.record()
    end, size = fields.place + page[_PAGE_PACKED], page[_PAGE_BYTES]
    if _DICTIONARY not in page or size > about[_BYTES] or end > start + about[_PACKED]:
        return None
    found = unpacked_page(content, fields.place, end, size, snappy=about[_CODEC] == _SNAPPY)
    return None if found is None else found.tobytes()


def _texts(dictionary: bytes) -> list[bytes]:
    """Each after its length; a damaged one runs out of bytes."""
    found, at = list[bytes](), 0
    while at < len(dictionary):
        (length,) = struct.unpack_from("<I", dictionary, at)
        found.append(dictionary[at + 4 : at + 4 + length])
        at += 4 + length
    if at > len(dictionary):
        raise ValueError(f"a text of {length:,} bytes in a dictionary of {len(dictionary):,}")
    return found
