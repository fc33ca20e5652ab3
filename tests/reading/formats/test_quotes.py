"""Quotes in their places, as Python's strict csv reader has them, and rows that a misplaced one swallows."""

import csv
import io
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from raterlens.reading.formats.quotes import has_quotes, swallowed, well_quoted


def strictly_read(text: str) -> bool:
    """As RFC 4180 has it: the strict reader takes it, and no quote stands in a field that does not begin with one."""
    inside = False
    for before, character in zip("\n" + text, text, strict=False):
        if character == '"':
            if not inside and before not in ',\n"':
                return False
            inside = not inside
    try:
        return bool(list(csv.reader(io.StringIO(text, newline=""), strict=True))) or not text
    except csv.Error:
        return False


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_every_short_text_is_judged_as_by_the_strict_reader(piece: int) -> None:
    for letters in product('a,"\n', repeat=5):
        text = "".join(letters)
        assert well_quoted(text.encode(), ",", piece) == strictly_read(text), text


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbf"a";"b"\n')
    assert well_quoted(tmp_path / "x.csv", ";")
    assert has_quotes(tmp_path / "x.csv", piece=2)
    assert not has_quotes(b"a;b")


@pytest.mark.parametrize(
    ("field", "place", "found"),
    [
        ("a,b,c\nd", 0, True),
        ("a,b,c\nd,e,f\ng", 0, True),
        ("b,c\r\nd,e", 1, True),
        ("b,c\nd,", 1, True),
        ("b,c\nd", 1, False),
        ("c\nd,e,f", 2, True),
        ("two\nlines", 0, False),
        ("two\nlines", 2, False),
    ],
)
def test_a_field_that_reads_as_rows(field: str, place: int, found: bool) -> None:
    # Of three columns: what follows the quote ends its row, and what precedes the closing quote begins another.
    assert swallowed(pl.Series(["x", field, None]), place, 3, ",") == (1 if found else None)
