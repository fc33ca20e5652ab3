"""Compiled exponentials and logistic curves."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.kernels.library import Doubles, Integer, Real, kernel
from raterlens.kernels.response_tables import Essays
from raterlens.models.responses import Adjacent, Predictor

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


# ----------------------------------------------------------------------------------------------------
# Compiled tables of essays equal sums of those of the readable response.


def panel(*, far: bool):
    """Essays of several items by one rater, some of them marked twice; `far`: beyond the range of products."""
    random = np.random.default_rng(0)
    slope, intercept = np.repeat(random.normal(1, 0.7, 43), 7), random.normal(0, 3, 301)
    if far:
        slope[:4], intercept[:6] = [0.0, 90.0, -90.0, 1e-9], [0.0, 700.0, -700.0, 3000.0, -3000.0, 1e-12]
    members = random.integers(3, size=(60, 301)) * (np.arange(301) // 7 == np.arange(60)[:, None] % 43)
    members[0], members[1] = 0, 9  # nothing, and the logarithm of a product of thousands
    return sparse.csr_array(members.astype(float)), slope, intercept, np.arange(-37, 38) * 0.17


@pytest.mark.parametrize("far", [False, True])
def test_logs(far):
    members, slope, intercept, points = panel(far=far)
    expected = -(members @ Adjacent().log_partition(Predictor(slope, intercept[:, None]), points))
    found = Essays.of(members).logs(slope, intercept, points)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("far", [False, True])
def test_passes(far):
    members, slope, intercept, points = panel(far=far)
    of_kinds = np.random.default_rng(1).exponential(size=(members.shape[0], len(points)))
    expected = members.T @ of_kinds
    passes = expected * Adjacent().probabilities(Predictor(slope, intercept[:, None]), points)[:, 0]
    counts, by_ability, total = Essays.of(members).passes(slope, intercept, points, of_kinds)
    np.testing.assert_allclose(counts, expected, rtol=1e-14)
    np.testing.assert_allclose(by_ability, passes @ points, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(total, passes.sum(axis=1), rtol=1e-12, atol=1e-15)
