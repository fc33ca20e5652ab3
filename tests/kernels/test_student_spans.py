import numpy as np
import pytest

from raterlens.base.threads import spans
from raterlens.kernels import library as module
from raterlens.kernels.library import student_spans


@pytest.fixture(autouse=True)
def _three_threads(monkeypatch):
    monkeypatch.setattr("raterlens.base.threads.available_cores", lambda: 3)
    monkeypatch.setattr(module, "spans", lambda size: spans(size, 1))


def test_no_student_is_in_two_stretches():
    student = np.repeat(np.arange(9, dtype=np.int32), [1, 5, 2, 7, 1, 1, 3, 4, 2])
    found = student_spans(student)
    assert len(found) > 1
    assert [row for span in found for row in range(*span)] == list(range(len(student)))
    assert all(student[end - 1] < student[end] for _, end in found[:-1])


@pytest.mark.parametrize("size", [0, 1, 7])
def test_one_student_or_none_is_not_shared_out(size):
    assert student_spans(np.zeros(size, np.int32)) == ([(0, size)] if size else [])


@pytest.mark.parametrize("seed", range(20))
def test_stretches_in_order_are_in_order_together(seed):
    student = np.random.default_rng(seed).integers(0, 6, 12).astype(np.int32)
    found = student_spans(student)
    assert [row for span in found for row in range(*span)] == list(range(len(student)))
    assert all(student[end - 1] < student[end] for _, end in found[:-1])
