"""The compiled library: there, in every level that the processor has, and given nothing but what it can read."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.base.threads import spans
from raterlens.kernels import library
from raterlens.kernels import library as module
from raterlens.kernels.library import (
    LARGE,
    NUMBERS,
    Doubles,
    Integer,
    Ints,
    Real,
    SparseRows,
    available,
    compiled_code_pays,
    kernel,
    missed,
    padded,
    student_spans,
)


def test_it_was_compiled_when_this_was_installed():
    assert available()


@pytest.mark.parametrize("level", ["v1", "v3"])
def test_levels_of_the_processor_agree(level, monkeypatch):
    compiled, best = library._library()
    if level > best:
        pytest.skip("not on this processor")
    monkeypatch.setattr(library, "_library", lambda: (compiled, level))
    x = np.linspace(-700, 0, 1001)
    expected = np.exp(x)
    kernel("exponentials", Doubles, Integer, Real)(x, len(x), 0.0)
    np.testing.assert_allclose(x, expected, rtol=4e-16)


@pytest.mark.parametrize("values", [np.zeros(3, np.float32), np.zeros(6)[::2]], ids=["other type", "gaps"])
def test_arrays_that_would_be_misread_are_refused(values):
    exponentials = kernel("exponentials", Doubles, Integer, Real)
    with pytest.raises(Exception, match="float64 values without gaps"):
        exponentials(values, 3, 0.0)


def test_values_are_copied_only_where_they_must_be():
    codes = np.arange(3, dtype=np.int32)
    assert Ints.of(codes) is codes
    assert Ints.of(np.arange(3)).dtype == np.int32


def test_compiled_code_pays_from_the_break_even_on():
    assert not compiled_code_pays(NUMBERS - 1)
    assert compiled_code_pays(NUMBERS)
    assert missed(LARGE) == ()


def test_without_compiled_code_large_fits_say_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library, "available", lambda: False)
    assert not compiled_code_pays(NUMBERS)
    assert missed(LARGE - 1) == ()
    (words,) = missed(LARGE)
    assert "ziglang" in words


def test_arrays_are_padded_to_whole_vectors():
    assert [padded(size) for size in (1, 16, 17)] == [16, 16, 32]


# ----------------------------------------------------------------------------------------------------
# Rows of sparse matrices, as kernels take them.


def test_rows_are_those_of_the_matrix_in_the_types_of_the_kernels():
    matrix = sparse.csr_array(np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]], dtype=np.int8))
    rows = SparseRows.of(matrix)
    assert rows.indptr.tolist() == [0, 1, 1, 3]
    assert rows.indices.tolist() == [1, 0, 2]
    assert rows.data.tolist() == [2.0, 1.0, 3.0]
    assert [part.dtype for part in (rows.indptr, rows.indices, rows.data)] == [np.int64, np.int32, np.float64]


# ----------------------------------------------------------------------------------------------------
# Stretches of rows for threads, none of which ends within a student.


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr("raterlens.base.threads.available_cores", lambda: 3)
    monkeypatch.setattr(module, "spans", lambda size: spans(size, 1))


@pytest.mark.usefixtures("three_threads")
def test_no_student_is_in_two_stretches():
    student = np.repeat(np.arange(9, dtype=np.int32), [1, 5, 2, 7, 1, 1, 3, 4, 2])
    found = student_spans(student)
    assert len(found) > 1
    assert [row for span in found for row in range(*span)] == list(range(len(student)))
    assert all(student[end - 1] < student[end] for _, end in found[:-1])


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("size", [0, 1, 7])
def test_one_student_or_none_is_not_shared_out(size):
    assert student_spans(np.zeros(size, np.int32)) == ([(0, size)] if size else [])


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("seed", range(20))
def test_stretches_in_order_are_in_order_together(seed):
    student = np.random.default_rng(seed).integers(0, 6, 12).astype(np.int32)
    found = student_spans(student)
    assert [row for span in found for row in range(*span)] == list(range(len(student)))
    assert all(student[end - 1] < student[end] for _, end in found[:-1])
