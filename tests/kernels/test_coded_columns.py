"""Compiled codes and copies are those of the readable twins."""

import numpy as np
import polars as pl
import pytest

from raterlens.kernels.coded_columns import (
    counted_cells,
    none_alike,
    recode_numbers,
    show_numbers,
    tallied_students,
)
from raterlens.reading.duplicates import duplicated_rows
from raterlens.reading.labels import code


def test_numbers_that_occur_are_shown_and_recoded():
    numbers, shown = np.array([5, 3, 5, 7, 3], dtype=np.int32), np.zeros(5, dtype=np.int8)
    show_numbers(numbers, 3, shown)
    assert shown.tolist() == [1, 0, 1, 0, 1]
    recode_numbers(numbers, 3, np.array([10, 0, 11, 0, 12], dtype=np.int32))
    assert numbers.tolist() == [11, 10, 11, 12, 10]


@pytest.mark.parametrize("kind", [pl.Int16, pl.Int32, pl.UInt32, pl.Int64, pl.Categorical])
def test_a_long_column_in_chunks_is_coded_as_a_short_one(kind, monkeypatch):
    numbers = np.random.default_rng(0).integers(-40 if kind in (pl.Int16, pl.Int32) else 2, 60, size=900)
    column = pl.Series("student", numbers)
    column = column.cast(pl.String).cast(kind) if kind == pl.Categorical else column.cast(kind)
    chunks = pl.concat([column[:300], column[300:450], column[450:]], rechunk=False)
    readable = code(column)
    monkeypatch.setattr("raterlens.reading.labels.compiled_code_pays", lambda _: True)
    compiled = code(chunks, many=10, block=64)
    np.testing.assert_array_equal(compiled.codes, readable.codes)
    assert compiled.labels.to_list() == readable.labels.to_list()
    assert compiled.labels.dtype == kind


@pytest.mark.parametrize("seed", range(20))
def test_rows_without_copies_are_seen_to_have_none(seed):
    """In half of the draws there is a copy."""
    random = np.random.default_rng(seed)
    student = np.repeat(np.arange(30, dtype=np.int32), 3)
    others = [random.permutation(np.tile(np.arange(3, dtype=np.int32), 30)) for _ in range(3)]
    others = others[: 1 + seed % 3]
    assert none_alike(student, others) == (not duplicated_rows([student, *others]).any())


def test_what_cannot_be_said_is_left_open():
    """Students out of order, and one with hundreds of rows."""
    assert none_alike(np.array([0, 1, 2], dtype=np.int32), [np.zeros(3, dtype=np.int32)])
    assert not none_alike(np.array([1, 2, 0, 1], dtype=np.int32), [np.zeros(4, dtype=np.int32)])
    rows = np.arange(300, dtype=np.int32)
    assert not none_alike(np.zeros(300, dtype=np.int32), [rows])


def test_cells_are_counted():
    random = np.random.default_rng(1)
    rater, item = random.integers(5, size=200, dtype=np.int32), random.integers(3, size=200, dtype=np.int32)
    score = random.integers(4, size=200, dtype=np.int16)
    expected = np.bincount((rater * 3 + item) * 4 + score, minlength=60)
    np.testing.assert_array_equal(counted_cells(rater, item, 3, score, 4, 60), expected)


def test_students_are_tallied():
    random = np.random.default_rng(2)
    student, score = (
        np.repeat(np.array([0, 1, 3], np.int32), [4, 1, 7]),
        random.integers(4, size=12, dtype=np.int16),
    )
    found = tallied_students(student, score, 5)
    assert found is not None
    given, total = found
    np.testing.assert_array_equal(given, np.bincount(student, minlength=5))
    np.testing.assert_array_equal(total, np.bincount(student, score, minlength=5))
    assert tallied_students(student[::-1], score, 5) is None
