"""The profile's parts: whitened coordinates, gradients by differences, and ends of intervals."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.inference.profile import Profiler
from raterlens.inference.slope_limits import deviance_end


@pytest.fixture(scope="module")
def profile():
    ratings = rl.simulate(students=80, raters=3, items=2, slope=[1.5, 1.0, 0.6], seed=3).ratings
    return Profiler.of(rl.fit(ratings, model="gmf"), ratings).profile(1)


def test_in_whitened_coordinates_the_likelihood_is_nearly_a_sphere(profile):
    """Falls by |z|^2 / 2 around the maximum, whatever the direction."""
    random = np.random.default_rng(0)
    size = profile.likelihood.unwhiten.shape[1]
    for _ in range(5):
        z = random.normal(size=size)
        z *= 0.02 / np.linalg.norm(z)
        assert profile.likelihood.falls(z)[0] == pytest.approx(0.02**2 / 2, rel=0.02)


def test_gradients_agree_with_differences(profile):
    size, step = profile.likelihood.unwhiten.shape[1], 1e-5
    z = np.random.default_rng(1).normal(scale=0.3, size=size)
    fall, gradient = profile.likelihood.falls(z)
    assert fall > 0
    expected = [
        (profile.likelihood.falls(z + d)[0] - profile.likelihood.falls(z - d)[0]) / (2 * step)
        for d in step * np.eye(size)
    ]
    np.testing.assert_allclose(gradient, expected, atol=1e-5)
    own = profile._of(1.4)
    expected = [
        (profile._kappa(z + d, own)[0] - profile._kappa(z - d, own)[0]) / (2 * step)
        for d in step * np.eye(size)
    ]
    np.testing.assert_allclose(profile._kappa(z, own)[1], expected, atol=1e-7)


@pytest.mark.parametrize(("guess", "limit", "expected"), [(0.6, 1.0, 0.8), (0.95, 1.0, 0.8), (0.3, 0.0, 0.2)])
def test_an_end_is_where_the_deviance_reaches_its_limit(guess, limit, expected):
    """|k - 0.5| = 0.3, from a guess within and beyond it."""
    end, root, there = deviance_end(
        lambda k, _: (abs(k - 0.5) ** 1.3, f"at {k}"), 0.5, "", guess, limit, 0.3**1.3, close=1e-4, looks=20
    )
    assert end == pytest.approx(expected, abs=1e-3)
    assert root == pytest.approx(0.3**1.3, abs=1e-4)
    assert there == f"at {end}"


def test_an_interval_that_reaches_the_bound_ends_there():
    end, root, _ = deviance_end(lambda k, _: (abs(k - 0.5), None), 0.5, None, 0.7, 1.0, 3.0)
    assert (end, root) == (1.0, 0.5)
