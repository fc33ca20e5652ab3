"""The compiled library: there, in every level that the processor has, and given nothing but what it can read."""

import numpy as np
import pytest

from raterlens.kernels import library
from raterlens.kernels.library import (
    LARGE,
    NUMBERS,
    Doubles,
    Integer,
    Ints,
    Real,
    available,
    compiled_code_pays,
    kernel,
    missed,
    padded,
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
