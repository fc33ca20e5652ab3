import numpy as np

from raterlens.kernels.exponential import exponentials, padded


def test_exponentials_are_exact_to_rounding():
    x = np.concatenate([np.linspace(-700, 3, 4001), [3.0, 3.0 - 1e-9]])
    expected = np.exp(x - 3.0)
    rounded, scale = np.empty_like(x), np.empty_like(x)
    exponentials(x, 3.0, rounded, rounded.view(np.int64), scale, scale.view(np.int64))
    np.testing.assert_allclose(x, expected, rtol=4e-16)


def test_what_vanishes_beside_the_largest_stays_finite():
    x = np.array([0.0, -1e5])
    rounded, scale = np.empty(2), np.empty(2)
    exponentials(x, 0.0, rounded, rounded.view(np.int64), scale, scale.view(np.int64))
    assert x[0] == 1
    assert 0 <= x[1] < 1e-300


def test_arrays_are_padded_to_whole_vectors():
    assert [padded(size) for size in (1, 16, 17)] == [16, 16, 32]
