"""Thrift's compact protocol: a footer says what pyarrow says, and bytes that are no record are refused."""

import io
import struct

import polars as pl
import pyarrow.parquet
import pytest

from raterlens.reading.formats.compact_protocol import DEEPEST, Fields


def test_a_footer_says_what_pyarrow_says() -> None:
    file = io.BytesIO()
    frame = pl.DataFrame({"student": ["a", None, "b"] * 50, "score": [0, 1, 200] * 50})
    pyarrow.parquet.write_table(frame.to_arrow(), file, row_group_size=70)
    content = file.getvalue()
    length = struct.unpack("<I", content[-8:-4])[0]
    found = Fields(content, len(content) - 8 - length).record()
    expected = pyarrow.parquet.read_metadata(file)
    assert found[3] == expected.num_rows
    assert found[6].decode() == expected.created_by
    assert [element[4].decode() for element in found[2][1:]] == expected.schema.names
    for i, group in enumerate(found[4]):
        assert group[3] == expected.row_group(i).num_rows
        for j, column in enumerate(group[1]):
            theirs, ours = expected.row_group(i).column(j), column[3]
            assert (ours[5], ours[6], ours[7], ours[9], ours.get(11)) == (
                *(theirs.num_values, theirs.total_uncompressed_size, theirs.total_compressed_size),
                *(theirs.data_page_offset, theirs.dictionary_page_offset),
            )
            assert ours[12][3] == theirs.statistics.null_count


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\0", {}),
        (b"\x15\x60\x15\x5f\0", {1: 48, 2: -48}),
        (b"\x15\xac\x02\0", {1: 150}),
        (b"\x05\x40\x06\0", {32: 3}),  # a number too far off for the short form
        (b"\x11\x12\0", {1: True, 2: False}),
        (b"\x13\x07\x18\x02hi\0", {1: 7, 2: b"hi"}),
        (b"\x17" + struct.pack("<d", 1.5) + b"\0", {1: 1.5}),
        (b"\x19\x25\x02\x04\0", {1: [1, 2]}),
        (b"\x19\xf3\x0f" + bytes(range(15)) + b"\0", {1: list(range(15))}),
        (b"\x1b\x01\x85\x01k\x06\0", {1: {b"k": 3}}),
        (b"\x1b\0\0", {1: {}}),
        (b"\x1c\x15\x02\0\0", {1: {1: 1}}),
    ],
)
def test_kinds_of_fields(content: bytes, expected: dict) -> None:
    fields = Fields(content, 0)
    assert fields.record() == expected
    assert fields.place == len(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x1e\0", "a value of kind 14"),
        (b"\x15" + b"\xff" * 11, "a number of more than 10 bytes"),
        (b"\x18\x7fhi", "text of 127 bytes, of which 2 are there"),
        (b"\x19\xf5\xff\x7f", "16,383 values in 0 bytes"),
        (b"\x1b\xff\x7f", "16,383 values in 0 bytes"),
        (b"\x1c" * 99, f"more than {DEEPEST} deep"),
        (b"\x19" * 20 + bytes(20), f"more than {DEEPEST} deep"),
    ],
)
def test_no_record(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Fields(content, 0).record()


def test_a_record_without_an_end() -> None:
    with pytest.raises(IndexError):
        Fields(b"\x15\x60", 0).record()
