"""Shares of passes and fails over a normal population: adaptive quadrature, and both tails to their last digits."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.integrals import Grid, averages, pass_and_fail
from raterlens.capability.links import LINKS, get_link

# Adaptive quadrature is good to about 1e-12, relative to the share.
EXACT = 1e-9
A, ETA = np.array([0.0, 0.3, 1.0, 2.5, 9.0, -0.8]), np.array([0.4, -1.2, 0.9, 0.3, -4.0, 2.0])


def average(value):
    """E[value(t)] for a standard normal t."""
    parts = [(-9, -3), (-3, -1), (-1, 0), (0, 1), (1, 3), (3, 9)]
    return sum(integrate.quad(lambda t: value(t) * stats.norm.pdf(t), *part, epsabs=0)[0] for part in parts)


@pytest.mark.parametrize("name", LINKS)
def test_shares_are_averages_over_students(name):
    link = get_link(name)
    found = pass_and_fail(A, ETA, link)
    for place, (a, eta) in enumerate(zip(A, ETA, strict=True)):
        for log_share, share in zip((link.log_pass, link.log_fail), found[:, place], strict=True):
            expected = average(
                lambda t, a=a, eta=eta, of=log_share: float(np.exp(of(np.array([a * t - eta])))[0])
            )
            assert share == pytest.approx(expected, rel=EXACT, abs=1e-12), (name, a, eta)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_small_shares_keep_their_digits(name):
    """A severity at which next to nobody passes: the share is exp(a^2 / 2 - eta) for logit and cloglog."""
    if name == "probit":
        expected = stats.norm.sf(12 / np.sqrt(1.25))
        found = pass_and_fail(np.array(0.5), np.array(12.0), get_link(name))[0]
    else:
        expected = np.exp(0.125 - 32)
        found = pass_and_fail(np.array(0.5), np.array(32.0), get_link(name))[0]
    assert found == pytest.approx(expected, rel=1e-6)


def test_steps_of_ordered_scores_are_averages_over_students():
    curve = AdjacentCurve(np.array([[-1.0, 0.2, 0.8], [0.5, -0.7, np.nan]]))
    found = curve.rates(A, ETA)
    assert found.shape == (2, 5, len(A))
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-9)
    for place in (1, 3):
        for step in range(5):
            expected = average(
                lambda t, k=step, p=place: float(curve.cumulative(np.array([A[p] * t - ETA[p]]))[0, k, 0])
            )
            assert found[0, step, place] == pytest.approx(expected, abs=1e-9)
    assert curve.step_weights.sum() == pytest.approx(1)
    s = np.array([-1.0, 0.3])
    np.testing.assert_allclose(
        np.tensordot(curve.step_weights, curve.cumulative(s)[0], 1), curve.mean(s), rtol=1e-12
    )


@pytest.mark.parametrize("slope", [20.0, 80.0, 1e3, 1e7])
def test_steep_slopes_are_averaged_over_what_lies_beyond_the_nodes(slope):
    """Rates do not vanish at the ends of the nodes: of a slope of 10^7 nodes would have to reach to 10^9."""

    def rate(x, rows):
        return special.expit(x)[None]

    at = slope * np.array([0.0, 0.7, -1.5])
    found = averages(rate, np.full(3, slope), at, Grid(0.35, -40.0, 40.0), order=2)[:, 0]
    for k in range(3):
        for place, eta in enumerate(at):
            wanted, _ = integrate.quad(
                lambda t, k=k, eta=eta: special.expit(slope * t - eta) * t**k * stats.norm.pdf(t),
                *(-12, 12),
                points=[eta / slope + away / slope for away in (-40, 0, 40)],
                limit=400,
                epsabs=1e-13,
            )
            np.testing.assert_allclose(found[k, place], wanted, atol=1e-10)


def test_flat_and_steep_slopes_stand_side_by_side_in_a_row():
    """A slope of 0 takes no part in the rule of the steep ones, which divides by slopes."""
    grid, link = Grid(0.05, -38.0, 38.0), get_link("logit")

    def passes(s, rows):
        return np.exp(link.log_pass(s))[None]

    found = averages(passes, np.array([[0.0, 40.0, 0.5]]), np.array([[0.3, 0.3, -1.0]]), grid, own=True)
    wanted = [
        average(lambda t, a=a, e=e: special.expit(a * t - e)) for a, e in ((0, 0.3), (40, 0.3), (0.5, -1))
    ]
    assert found[0, 0, 0] == pytest.approx(wanted, abs=1e-9)
