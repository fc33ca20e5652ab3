import pytest

from raterlens.kernels import break_even
from raterlens.kernels.break_even import LARGE, NUMBERS, compiled_code_pays, missed


def test_compiled_code_pays_from_the_break_even_on():
    assert not compiled_code_pays(NUMBERS - 1)
    assert compiled_code_pays(NUMBERS)
    assert missed(LARGE) == ()


def test_without_compiled_code_large_fits_say_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(break_even, "available", lambda: False)
    assert not compiled_code_pays(NUMBERS)
    assert missed(LARGE - 1) == ()
    (words,) = missed(LARGE)
    assert "ziglang" in words
