"""Whole numbers of a small range get the codes of any labels."""

import polars as pl
import pytest

from raterlens.reading.levels import code


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
    found = code(labels, many=10, block=7)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.labels.to_list() == expected.labels.to_list()
    assert found.labels.dtype == expected.labels.dtype
