"""Compiled mixtures equal the readable ones."""

import numpy as np
import pytest
from scipy import special

from raterlens.capability import integrals as moments
from raterlens.capability.integrals import pass_and_fail, rates_and_density
from raterlens.capability.links import get_link
from raterlens.kernels.capability_sums import mean_tail


def test_it_equals_the_readable_sum(monkeypatch):
    random = np.random.default_rng(0)
    slope, severity = random.exponential(1.5, 5000), random.normal(0, 4, 5000)
    slope[:3], severity[:6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    expected = moments.moments(slope, severity, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    np.testing.assert_allclose(
        moments.moments(slope, severity, get_link("logit")), expected, rtol=1e-13, atol=1e-300
    )


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit"])
def test_shares_of_passes_equal_the_readable_ones(link, monkeypatch):
    random = np.random.default_rng(1)
    slope, severity = random.exponential(1.5, 3000), random.normal(0, 4, 3000)
    slope[:3], severity[:6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    severity[6:8] = [900.0, -900.0]  # where nothing is left
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", np.inf)
    expected = pass_and_fail(slope, severity, get_link(link))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    found = pass_and_fail(slope, severity, get_link(link))
    assert link == "cauchit" or found[0, 6] == found[1, 7] == 0
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=1e-300)


def test_shares_and_densities_together_equal_the_readable_ones(monkeypatch):
    random = np.random.default_rng(2)
    slope, severity = random.normal(1, 1, (60, 50)), random.normal(0, 4, (60, 50))
    slope[0, :3], severity[0, :6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", np.inf)
    expected = rates_and_density(slope, severity, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    found = rates_and_density(slope, severity, get_link("logit"))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-13, atol=1e-300)


def test_tails_of_a_normal_distribution():
    """Against SciPy's, down to where doubles end; the square of a distance is rounded, in its exponent."""
    distance, alone = np.linspace(0, 37, 5000), np.ones(1)
    found = mean_tail(np.zeros(5000), distance, alone, alone)
    np.testing.assert_allclose(found, special.ndtr(-distance), rtol=5e-13)
