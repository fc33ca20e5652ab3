import pytest

from raterlens.kernels import break_even
from raterlens.kernels.break_even import LARGE, NUMBERS, compiling_pays, missed


def test_compiling_pays_from_the_break_even_on():
    assert not compiling_pays(NUMBERS - 1)
    assert compiling_pays(NUMBERS)
    assert missed(LARGE) == ()


def test_what_is_loaded_has_been_paid_for():
    assert compiling_pays(NUMBERS / 10, loaded=True)
    assert not compiling_pays(NUMBERS / 100, loaded=True)


def test_without_a_compiler_nothing_is_compiled_and_large_fits_say_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(break_even, "compiler_installed", lambda: False)
    assert not compiling_pays(NUMBERS)
    assert missed(LARGE - 1) == ()
    (words,) = missed(LARGE)
    assert "pip install 'raterlens[large]'" in words
