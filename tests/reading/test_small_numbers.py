"""Whole numbers of a small range, in a column that is whole or comes in parts, get the codes of any labels."""

import polars as pl
import pytest

from raterlens.reading.levels import code, code_parts


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([30, -12, 5, 5, 30, 7] * 9, dtype=pl.Int16),
        pl.Series([-128, 127, 0] * 90, dtype=pl.Int8),
        pl.Series([2**64 - 1, 2**64 - 2] * 20, dtype=pl.UInt64),
        pl.Series([2**62, 2**62 + 3] * 20),
        pl.Series([1, None, 2] * 20),
        pl.Series(["10", "9", "010", "9"] * 10, dtype=pl.Categorical),
        pl.Series(["b", " ", "a", "b"] * 10, dtype=pl.Categorical),
        pl.Series(["b", "a", "b"] * 10, dtype=pl.Enum(["c", "b", "a"])),
    ],
    ids=str,
)
def test_numbers_get_the_codes_of_other_labels(labels):
    """A table of all numbers between the lowest and the highest, where it is small."""
    expected = code(labels)
    parts = [labels[start : start + 9] for start in range(0, len(labels), 9)]
    for found in (code(labels, many=10, block=7), code_parts(parts, len(labels)) or expected):
        assert found.codes.tolist() == expected.codes.tolist()
        assert found.labels.to_list() == expected.labels.to_list()
        assert found.labels.dtype == expected.labels.dtype


@pytest.mark.parametrize(
    "parts",
    [
        [pl.Series([1, 2]), pl.Series([3, None])],
        [pl.Series([1, 2]), pl.Series([3, 400])],
        [pl.Series([2**40, 2**40 + 1]), pl.Series([5, 6])],
        [pl.Series(["a", "b"]), pl.Series(["a", "c"])],
        [pl.Series([1, 2, 3])],
    ],
    ids=["missing", "wide", "wider", "text", "short"],
)
def test_other_parts_of_a_column_are_left_to_those_who_have_it_whole(parts):
    assert code_parts(parts, 4) is None
