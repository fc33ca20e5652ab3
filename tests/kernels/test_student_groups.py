"""Compiled groups of ratings are those of the readable code."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from raterlens.kernels.student_groups import add_row_keys, paired_raters
from raterlens.likelihood import cells
from raterlens.likelihood.cells import _add_keys
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import _one_and_others

STUDENTS, RATERS, ITEMS = 40, 30, 3


def drawn(*, in_order: bool) -> Ratings:
    """One student has all raters; one student, and one rater with one item, are absent."""
    random = np.random.default_rng(5)
    student = np.append(random.integers(1, STUDENTS, size=400), np.full(3 * RATERS, 7))
    rater = np.append(random.integers(RATERS, size=400), random.permutation(np.tile(np.arange(RATERS), 3)))
    item = random.integers(ITEMS, size=len(student))
    kept = (rater != 4) | (item != 1)
    order = np.argsort(student[kept], kind="stable") if in_order else random.permutation(int(kept.sum()))
    student, rater, item = (each[kept][order].astype(np.int32) for each in (student, rater, item))
    score = random.integers(4, size=len(order)).astype(np.int16)
    students, raters, items = (pl.Series(range(size)) for size in (STUDENTS, RATERS, ITEMS))
    return Ratings(student, rater, item, score, students, raters, items)


@pytest.mark.parametrize("slopes", ["raters", "items", "one"])
def test_they_equal_the_readable_groups(slopes, monkeypatch):
    ratings = drawn(in_order=True)
    contexts = Contexts.of(ratings)
    slope = {"raters": contexts.rater, "items": contexts.item, "one": np.zeros(len(contexts), dtype=int)}[
        slopes
    ]
    monkeypatch.setattr(cells, "compiled_code_pays", lambda _: True)
    compiled = cells._compiled_groups(ratings, contexts, slope)
    assert compiled is not None
    for found, expected in zip(compiled, cells._groups(ratings, contexts, slope), strict=True):
        assert found.shape == expected.shape
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_students_out_of_order_are_left_to_readable_code(monkeypatch):
    ratings = drawn(in_order=False)
    contexts = Contexts.of(ratings)
    monkeypatch.setattr(cells, "compiled_code_pays", lambda _: True)
    assert cells._compiled_groups(ratings, contexts, contexts.rater) is None


def test_keys_of_rows_are_those_of_the_readable_code():
    random = np.random.default_rng(0)
    matrix = sparse.csr_array(random.integers(0, 3, size=(50, 7)).astype(float))
    of_column = random.integers(2**64, size=7, dtype=np.uint64)
    compiled, readable = np.zeros((2, 50), dtype=np.uint64)
    assert add_row_keys(matrix, of_column, compiled)
    assert _add_keys(matrix, of_column, readable)
    np.testing.assert_array_equal(compiled, readable)
    assert not add_row_keys(sparse.csr_array(matrix / 2), of_column, compiled)


def test_raters_are_paired_as_by_readable_code():
    ratings = drawn(in_order=True)
    found = paired_raters(ratings.student, ratings.rater, STUDENTS, RATERS)
    assert found is not None
    one, seen = found
    readable, pairs = _one_and_others(ratings)
    rated = np.unique(ratings.student)
    np.testing.assert_array_equal(one[rated], readable[rated])
    np.testing.assert_array_equal(np.flatnonzero(seen), pairs)
    apart = drawn(in_order=False)
    assert paired_raters(apart.student, apart.rater, STUDENTS, RATERS) is None
