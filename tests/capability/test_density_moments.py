"""Moments of a link's density against adaptive quadrature; the best severity against a search."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize

from raterlens.capability.integrals import highest, moments
from raterlens.capability.links import LINKS, get_link
from tests.support.capability_values import adaptive

# Adaptive quadrature itself is good to about 1e-13.
EXACT = 1e-11


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("power", [1, 2])
def test_higher_moments_are_integrals(link, power):
    for slope, eta in product((0.01, 0.49, 0.51, 1.0, 1.01, 2.51, 30.0, 100.0), (0.0, -0.7, 3.0, -10.0)):
        value = moments(slope, eta, LINKS[link], order=2)[power]
        assert value == pytest.approx(adaptive(slope, eta, link, power), abs=EXACT), (slope, eta)


@pytest.mark.parametrize("link", LINKS)
def test_a_negative_slope_mirrors_ability(link):
    here, there = moments(0.8, 0.3, LINKS[link], 2), moments(-0.8, 0.3, LINKS[link], 2)
    np.testing.assert_allclose(there, here * [1, -1, 1], rtol=1e-14)


@pytest.mark.parametrize("link", ["cloglog", "log", "logit"])
@pytest.mark.parametrize("slope", [0.2, 1.0, 5.0])
def test_the_best_severity_is_that_of_a_search(link, slope):
    found = highest(np.array([slope]), LINKS[link])
    searched = optimize.minimize_scalar(
        lambda eta: -float(slope * moments(slope, eta, LINKS[link])[0]), bounds=(-3, 3), method="bounded"
    )
    assert found.severity[0] == pytest.approx(searched.x, abs=1e-4)
    assert found.rate[0] == pytest.approx(-searched.fun, abs=1e-9)


def test_compiled_code_gives_the_same(monkeypatch):
    a, eta = np.random.default_rng(0).normal(size=(2, 50))
    plain = moments(a, eta, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    np.testing.assert_allclose(moments(a, eta, get_link("logit")), plain, rtol=1e-13)
