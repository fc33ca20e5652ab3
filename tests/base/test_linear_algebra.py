"""Threads of NumPy's linear algebra: one for small models, and afterwards as before."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  its threads count, too
from threadpoolctl import threadpool_info

import raterlens as rl
from raterlens.base.arrays import averaged, limit_blas_threads, mirrored, single_threaded_blas


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
