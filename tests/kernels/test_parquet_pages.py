"""Compiled code takes no page that its readable twin would refuse, and counts the same values."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from raterlens.kernels.coded_columns import page_values
from raterlens.reading.formats.parquet import Fields, _pages, _values

_BYTES = 6  # the field that the twin takes the most bytes of a page from


def column(version: str, text: bool) -> tuple[bytes, int, int, int]:
    """The bytes of a file, where a column of it begins and ends, and how many it has unpacked."""
    values = [None if i % 7 == 0 else f"r{i % 5}" if text else i for i in range(300)]
    file = io.BytesIO()
    pa.parquet.write_table(
        pa.table({"rater": values}), file, data_page_version=version, data_page_size=128, write_batch_size=32
    )
    about = pa.parquet.read_metadata(file).row_group(0).column(0)
    start = about.dictionary_page_offset or about.data_page_offset
    return file.getvalue(), start, start + about.total_compressed_size, about.total_uncompressed_size


def counted(content: bytes, start: int, end: int, most: int) -> int | None:
    """By the twin; None where it refuses."""
    try:
        return sum(_values(page, {_BYTES: most}) for page in _pages(content[start:end]))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("text", [False, True])
def test_values_are_those_that_the_twin_counts(version, text):
    content, start, end, most = column(version, text)
    found = page_values(np.frombuffer(content, np.int8), start, end, most)
    assert found == counted(content, start, end, most) == 300


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_damaged_is_left_to_the_twin_or_seen_alike(version, seed):
    content, start, end, most = column(version, text=True)
    random, fields, heads = np.random.default_rng(seed), Fields(content, start), list[int]()
    while fields.place < end:
        first, page = fields.place, fields.record()
        heads += range(first, fields.place)
        fields.place += page[3]
    for place in heads:
        damaged = bytearray(content)
        damaged[place] = random.integers(256)
        found = page_values(np.frombuffer(bytes(damaged), np.int8), start, end, most)
        assert found is None or found == counted(bytes(damaged), start, end, most)
