"""Runs, sums, counts and look-ups, against the plain way."""

from itertools import groupby

import numpy as np
import pytest

from raterlens.ratings.long_columns import distinct, distinct_counts, looked_up, run_starts, run_sums

ROWS = 300_000  # more than a block


@pytest.fixture(scope="module")
def columns():
    random = np.random.default_rng(0)
    return [np.repeat(random.integers(0, 9, ROWS), 2)[:ROWS].astype(np.int32), random.integers(0, 2, ROWS)]


def test_runs_begin_where_a_column_changes(columns):
    pairs = zip(*(column.tolist() for column in columns), strict=True)
    lengths = [len(list(run)) for _, run in groupby(pairs)]
    np.testing.assert_array_equal(run_starts(*columns), np.cumsum([0, *lengths[:-1]]))
    assert run_starts(np.empty(0, dtype=np.int32)).tolist() == []


def test_distinct_numbers(columns):
    numbers = columns[0].astype(np.int64)
    np.testing.assert_array_equal(distinct(numbers), np.unique(numbers))
    assert distinct(np.empty(0, dtype=np.int64)).tolist() == []


def test_sums_of_runs(columns):
    starts = run_starts(columns[0])
    sums = run_sums(columns[1], starts, np.int64)
    np.testing.assert_array_equal(sums, np.add.reduceat(columns[1], starts))


@pytest.mark.parametrize("size", [9, 10_000_000])
def test_distinct_values_and_how_often(columns, size):
    found, expected = distinct_counts(columns[0], size), np.unique(columns[0], return_counts=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_looking_up(columns):
    table = np.arange(9) ** 2
    np.testing.assert_array_equal(looked_up(table, columns[0]), table[columns[0]])
