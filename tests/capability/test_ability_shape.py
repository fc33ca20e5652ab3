"""The students' distribution: proper, on its quantile scale, with exact derivatives."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from raterlens.capability.population import AbilityShape

SHAPES = [(0.0, 0.0), (0.2, -0.02), (-0.3, 0.04), (0.0, -0.27), (0.4, -0.05)]
THETA = np.linspace(-4.0, 4.0, 17)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_a_density_with_median_0_and_its_middle_two_thirds_within_1(shape):
    """Against adaptive quadrature of the density itself."""
    found = AbilityShape.of(*shape)

    def share(low, high):
        return integrate.quad(lambda x: float(np.exp(found.log_density(np.array(x)))), low, high, limit=200)[
            0
        ]

    assert share(-15, 15) == pytest.approx(1, abs=1e-8)
    assert share(-15, 0) == pytest.approx(0.5, abs=1e-8)
    low, high = found.at(np.array([special.ndtr(-1), special.ndtr(1)]))
    assert high - low == pytest.approx(2, abs=1e-3)
    assert share(low, high) == pytest.approx(special.ndtr(1) - special.ndtr(-1), abs=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_its_ends_are_as_far_out_on_either_side(shape):
    """Ten on the scale of the polynomials."""
    found = AbilityShape.of(*shape)
    np.testing.assert_allclose(
        found.median + found.half_width * np.array(found.ends()), [-10, 10], rtol=1e-13
    )


def test_without_either_parameter_it_is_normal():
    found = AbilityShape.of(0.0, 0.0)
    np.testing.assert_allclose(found.log_density(THETA), stats.norm.logpdf(THETA), atol=1e-8)
    np.testing.assert_allclose(found.log_ratio(THETA), 0, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_by_differences(shape):
    found = AbilityShape.of(*shape)
    for j, step in enumerate(np.eye(2) * 1e-5):
        ahead, back = (AbilityShape.of(*(found.c + sign * step).tolist()) for sign in (1, -1))
        slope = (ahead.log_density(THETA) - back.log_density(THETA)) / 2e-5
        np.testing.assert_allclose(found.scores(THETA)[j], slope, rtol=1e-5, atol=1e-4)
        bend = (ahead.scores(THETA) - back.scores(THETA)) / 2e-5
        np.testing.assert_allclose(found.curvature(THETA)[j], bend, rtol=1e-4, atol=1e-2)


def test_c3_skews_it_and_c4_parts_it():
    skewed, parted = AbilityShape.of(0.25, -0.02), AbilityShape.of(0.0, -0.2)
    assert np.exp(skewed.log_density(np.array(3.0))) > 5 * np.exp(skewed.log_density(np.array(-3.0)))
    middle, side = np.exp(parted.log_density(np.array([0.0, 1.0])))
    assert side > middle
    low, high = skewed.ends()
    assert np.exp(skewed.log_density(np.array([low, high]))).max() < 1e-9
