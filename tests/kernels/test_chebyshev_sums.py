"""Tables read off by compiled code equal those read off by NumPy."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from raterlens.capability.chebyshev_table import read_off
from raterlens.kernels.capability_sums import chebyshev_sums

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("places", [1, 15, 16, 33])
def test_it_equals_numpys_sum_of_polynomials(places):
    coefficients = RANDOM.normal(size=(2, 3, 4, 5))
    slope, severity = RANDOM.normal(size=(2, 3, places))
    centre, half = RANDOM.normal(size=(2, 3)), RANDOM.uniform(1, 2, (2, 3))
    found, rows = np.full((2, 5, places), np.nan), np.array([4, 0, 3])
    spread = np.full((2, 5, places), np.nan)
    spread[:, rows] = slope, severity
    chebyshev_sums(coefficients, tuple(spread), centre, half, rows, found)
    assert np.isnan(found[:, [1, 2]]).all()
    for row in range(3):
        x, y = (slope[row] - centre[0, row]) / half[0, row], (severity[row] - centre[1, row]) / half[1, row]
        for value in range(2):
            expected = chebyshev.chebval2d(x, y, coefficients[value, row])
            np.testing.assert_allclose(found[value, rows[row]], expected, rtol=1e-12, atol=1e-12)


def test_one_polynomial_is_a_constant():
    one, found = np.ones((2, 2)), np.empty((1, 2, 4))
    places = RANDOM.normal(size=(2, 4)), np.ones((2, 4))
    chebyshev_sums(np.full((1, 2, 1, 1), 7.0), places, one, one, np.arange(2), found)
    np.testing.assert_array_equal(found, 7.0)


def test_a_table_is_the_same_with_and_without_compiled_code(monkeypatch):
    a, eta = RANDOM.normal(1.5, 0.2, (4, 800)), RANDOM.normal(0, 0.2, (4, 800))

    def function(a, eta, _):
        return np.stack([np.exp(-a) * np.cos(eta), np.tanh(a - eta), np.tanh(8 * a + eta)])

    found = []
    for compiled in (True, False):
        monkeypatch.setattr("raterlens.capability.chebyshev_table.available", lambda known=compiled: known)
        found.append(read_off(function, a, eta))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[0], function(a, eta, None), rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("places", (np.ones((2, 4)), np.ones((3, 4)))),
        ("places", (np.ones((3, 4)), np.ones((3, 5)))),
        ("centre", np.ones((2, 4))),
        ("half", np.ones((1, 3))),
        ("row", np.arange(2)),
        ("row", np.array([0, 1, 3])),
        ("row", np.array([0, 1, -1])),
        ("out", np.ones((2, 3, 3))),
    ],
)
def test_what_does_not_fit_is_refused(name, wrong):
    given = {
        "coefficients": np.ones((2, 3, 4, 5)),
        "places": (np.ones((3, 4)), np.ones((3, 4))),
        "centre": np.ones((2, 3)),
        "half": np.ones((2, 3)),
        "row": np.arange(3),
        "out": np.ones((2, 3, 4)),
    }
    chebyshev_sums(**given)
    with pytest.raises(ValueError, match="a kernel would leave its arrays"):
        chebyshev_sums(**given | {name: wrong})
