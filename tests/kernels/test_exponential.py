"""Exponentials and logarithms in vectors of the processor (`c/exponential.c`), which other kernels use."""

import numpy as np

from raterlens.kernels.library import Doubles, Integer, Real, kernel

_exponentials = kernel("exponentials", Doubles, Integer, Real)
_logarithms = kernel("logarithms", Doubles, Integer)


def test_exponentials_are_exact_to_rounding():
    x = np.concatenate([np.linspace(-700, 3, 4001), [3.0, 3.0 - 1e-9]])
    expected = np.exp(x - 3.0)
    _exponentials(x, x.size, 3.0)
    np.testing.assert_allclose(x, expected, rtol=4e-16)


def test_exponentials_of_a_whole_range_of_doubles():
    x = np.linspace(-700, 700, 2801)
    expected = np.exp(x)
    _exponentials(x, x.size, 0.0)
    np.testing.assert_allclose(x, expected, rtol=4e-16)


def test_what_vanishes_beside_the_largest_stays_finite():
    x = np.array([0.0, -1e5, -np.inf])
    _exponentials(x, x.size, 0.0)
    assert x[0] == 1
    assert np.all((x[1:] >= 0) & (x[1:] < 1e-300))


def test_logarithms_are_exact_to_rounding():
    near_one = 1 + np.linspace(-0.5, 1.0, 3001)
    x = np.concatenate([near_one, 10.0 ** np.linspace(-307, 308, 4001), np.sqrt([0.5, 2.0]), [1.0]])
    expected = np.log(x)
    _logarithms(x, x.size)
    np.testing.assert_allclose(x, expected, rtol=6e-16, atol=1e-17)
