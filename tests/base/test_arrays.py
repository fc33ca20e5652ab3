"""Long columns, masks and matrices."""

from itertools import groupby
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  its threads count, too
from threadpoolctl import threadpool_info

import raterlens as rl
from raterlens.base.arrays import (
    all_true,
    averaged,
    count,
    distinct_counts,
    is_all_true,
    limit_blas_threads,
    mirrored,
    run_starts,
    run_sums,
    single_threaded_blas,
    sorted_unique,
    take_in_blocks,
)

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
    np.testing.assert_array_equal(sorted_unique(numbers), np.unique(numbers))
    assert sorted_unique(np.empty(0, dtype=np.int64)).tolist() == []


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
    np.testing.assert_array_equal(take_in_blocks(table, columns[0]), table[columns[0]])


def test_a_mask_that_holds_everywhere_is_known_without_looking() -> None:
    mask = all_true(3, 2)
    assert mask.shape == (3, 2)
    assert mask.all()
    assert mask.base is not None
    assert is_all_true(mask)
    assert is_all_true(mask[:, 0])
    assert count(mask) == 6
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 0] = False


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.zeros(3, bool), np.broadcast_to(np.False_, (3,))])
def test_other_masks_have_to_be_looked_at(mask: np.ndarray) -> None:
    assert not is_all_true(mask)
    assert count(mask) == int(mask.sum())


def test_an_empty_mask_is_counted() -> None:
    assert count(all_true(0, 1)) == 0
    assert count(all_true(1)) == 1


def threads() -> list[int]:
    return [int(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_small_models_take_one_thread_and_large_ones_all():
    before = threads()
    with limit_blas_threads(SimpleNamespace(n_raters=16, n_items=4)):
        assert set(threads()) <= {1}
    assert threads() == before
    with limit_blas_threads(SimpleNamespace(n_raters=790, n_items=11)):
        assert threads() == before


def test_a_fit_leaves_threads_as_they_were(monkeypatch):
    before, seen = threads(), []
    rl.fit(
        rl.simulate(students=40, raters=3, items=2, seed=1).ratings,
        model="gmf",
        progress=lambda _: seen.extend(threads()),
    )
    assert set(seen) == {1}
    assert threads() == before


def test_a_second_core_is_left_alone_by_work_that_would_wait_for_it(monkeypatch):
    before = threads()
    for cores, expected in ((2, {1}), (16, set(before))):
        monkeypatch.setattr("raterlens.base.arrays.available_cores", lambda cores=cores: cores)
        with single_threaded_blas(1_000):
            assert set(threads()) == expected
    assert threads() == before


@pytest.mark.parametrize("size", [1, 5, 300])
def test_what_stands_above_the_diagonal_gives_the_whole(size):
    root = np.random.default_rng(0).normal(size=(size, size))
    whole = root + root.T
    for below in (np.zeros_like(root), root):
        np.testing.assert_array_equal(mirrored(np.triu(whole) + np.tril(below, -1)), whole)


@pytest.mark.parametrize("size", [1, 7, 128, 300])
def test_a_matrix_is_averaged_with_its_transpose(size: int) -> None:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    expected = (matrix + matrix.T) / 2
    np.testing.assert_array_equal(averaged(matrix), expected)
