"""Pages of memory that NumPy asks for."""

import pytest
from numpy._core import multiarray

from raterlens.base.memory_pages import usual_pages


def huge() -> bool:
    return bool(multiarray._get_madvise_hugepage())  # type: ignore[attr-defined]  # NumPy's own, not in its stubs


def test_numpy_asks_for_no_huge_pages_meanwhile_and_for_what_it_did_afterwards():
    before = huge()
    with usual_pages():
        assert not huge()
    assert huge() == before


def test_does_nothing_where_numpy_has_no_such_switch(monkeypatch: pytest.MonkeyPatch):
    before = huge()
    monkeypatch.delattr(multiarray, "_set_madvise_hugepage")
    with usual_pages():
        assert huge() == before


def test_of_several_at_once_the_last_to_end_puts_it_back():
    before = huge()
    first, second = usual_pages(), usual_pages()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not huge()
    second.__exit__(None, None, None)
    assert huge() == before
