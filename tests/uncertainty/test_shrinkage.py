"""Shrinkage against closed forms, a panel with known truth, and what must not change."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.yardstick import Measure
from raterlens.errors import OptionError
from raterlens.models.panel import Panel
from raterlens.uncertainty.shrinkage import (
    Population,
    corrected_largest,
    estimate_population,
    expected_largest,
    posterior,
    shrunk,
)


def panel_of(slope, severity, covariance) -> Panel:
    return Panel(np.asarray(slope, float), np.asarray(severity, float), covariance, np.zeros(len(slope)))


def test_without_error_the_population_is_the_sample():
    x = np.random.default_rng(1).normal(size=(30, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
    found = estimate_population(x, np.zeros((30, 2, 2)) + 1e-10 * np.eye(2))
    np.testing.assert_allclose(found.mean, x.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.spread, np.cov(x.T), rtol=1e-5)


def test_population_maximises_the_restricted_likelihood():
    """Equal errors b: S + b = sample covariance (n - 1), whatever the method."""
    random = np.random.default_rng(2)
    x, error = random.normal(size=(40, 2)) * [1.0, 2.0], np.diag([0.3, 0.5])
    found = estimate_population(x, np.broadcast_to(error, (40, 2, 2)))
    np.testing.assert_allclose(found.spread, np.cov(x.T) - error, atol=1e-4)


def test_posterior_is_regression():
    """One component without any correlation: m = mu + s / (s + b) (x - mu), variance s b / (s + b)."""
    population = Population(np.array([1.0, 0.0]), np.diag([0.5, 2.0]))
    mean, spread = posterior(np.array([[3.0, 1.0]]), np.diag([1.5, 0.0])[None], population)
    np.testing.assert_allclose(mean, [[1 + 0.5 / 2.0 * 2.0, 1.0]])
    np.testing.assert_allclose(spread[0], np.diag([0.5 * 1.5 / 2.0, 0.0]), atol=1e-10)


def test_a_sure_panel_is_left_alone_and_an_unsure_one_drawn_together():
    slope, severity = np.array([0.5, 1.0, 1.5, 2.0, 1.2]), np.array([-1.0, 0.3, 0.5, -0.4, 1.0])
    sure = shrunk(panel_of(slope, severity, 1e-8 * np.eye(10)))
    np.testing.assert_allclose(sure.slope, slope, atol=1e-4)
    unsure = shrunk(panel_of(slope, severity, np.eye(10)))
    assert np.ptp(unsure.slope) < 0.2 * np.ptp(slope)


def test_the_common_scale_is_not_shrunk():
    """All slopes uncertain together, and nothing else: nothing says that raters are more alike than they look."""
    slope = np.array([0.5, 1.0, 1.5, 2.0, 1.2])
    spread = np.zeros((10, 10))
    spread[:5, :5] = 0.2 * np.outer(slope, slope)
    spread += 1e-8 * np.eye(10)
    found = shrunk(panel_of(slope, np.linspace(-1, 1, 5), spread))
    np.testing.assert_allclose(found.slope, slope, atol=1e-3)
    assert isinstance(found.covariance, np.ndarray)
    np.testing.assert_allclose(found.covariance[:5, :5], spread[:5, :5], atol=1e-4)


def test_severity_tells_about_slope_where_they_go_together():
    severity = np.linspace(-1, 1, 12)
    slope = 1 - 0.5 * severity
    noisy = slope + np.random.default_rng(0).normal(0, 0.3, 12)
    found = shrunk(panel_of(noisy, severity, np.diag(np.r_[np.full(12, 0.09), np.full(12, 1e-4)])))
    assert np.std(found.slope - slope) < 0.5 * np.std(noisy - slope)


def test_a_slope_at_its_limit_takes_the_panels_mean():
    panel = panel_of(
        [1.0, 1.2, 0.9, 1.1, 10.0], np.zeros(5), np.diag(np.r_[np.full(4, 0.01), 0.0, np.full(5, 0.1)])
    )
    assert shrunk(panel).slope[4] == pytest.approx(1.05, abs=0.1)


def test_expected_largest_of_independent_normals():
    """E max of n standard normals: 0.5642 for 2, 1.1630 for 5 (Harter, 1961); each is it equally often."""
    for n, expected in ((2, 0.5642), (5, 1.1630)):
        found = expected_largest(panel_of(np.full(n, 9.0) - 4, np.zeros(n), np.eye(2 * n)))
        assert found.of(np.full(n, 5.0)) - 5 == pytest.approx(expected, abs=0.03)
        np.testing.assert_allclose(found.weights, 1 / n, atol=0.03)


def test_the_corrected_yardstick_takes_the_expected_excess_off():
    panel = panel_of(np.full(5, 5.0), np.zeros(5), np.eye(10))
    largest = Measure(0.0, np.eye(1, 5)[0])
    assert corrected_largest(panel, largest).of(panel.slope) == pytest.approx(5 - 1.163, abs=0.03)


@pytest.fixture(scope="module")
def made():
    slope = np.linspace(0.4, 1.6, 12)
    return rl.simulate(students=60, raters=12, items=4, slope=slope, severity=1.2 - slope, seed=8)


def test_shrunk_fits_are_closer_to_the_truth(made):
    """Slopes that follow severity, and few students: the example for which shrinkage is meant."""
    plain = rl.fit(made.ratings)
    kappa = plain.raters["kappa"].to_numpy()
    found = rl.fit(made.ratings, shrink=True).raters["kappa"].to_numpy()
    error, shrunk_error = np.abs(kappa - made.truth.kappa).mean(), np.abs(found - made.truth.kappa).mean()
    assert shrunk_error < 0.8 * error
    np.testing.assert_allclose(plain.capability(shrink=True)["kappa"], found)


def test_shrink_is_remembered_and_can_be_undone(made, tmp_path):
    fit = rl.fit(made.ratings, shrink=True)
    again = rl.load(fit.save(tmp_path / "fit.json"))
    np.testing.assert_allclose(again.capability()["kappa"], fit.raters["kappa"], atol=1e-12)
    np.testing.assert_allclose(again.capability(shrink=False)["kappa"], rl.fit(made.ratings).raters["kappa"])
    assert fit.raters["rho"].max() < 1


def test_wrong_uses_of_shrinkage_are_refused_before_any_work(made):
    with pytest.raises(OptionError, match="standard_errors=False"):
        rl.fit(made.ratings, shrink=True, standard_errors=False)
    with pytest.raises(OptionError, match="follows from standard errors"):
        rl.fit(made.ratings, reference="max corrected", standard_errors=False)
    two = rl.simulate(students=30, raters=2, items=2).ratings
    with pytest.raises(OptionError, match="with 2 raters"):
        rl.fit(two, shrink=True)
