"""Standard errors of latent class models: at the limits, and whatever the link."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import raterlens as rl
from tests.support.latent_class import fitted, long, rows_of


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    return rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings


def test_standard_errors_do_not_depend_on_the_parametrisation_of_f():
    ratings = rl.simulate(model="hrm", students=300, raters=6, items=2, raters_per_student=3, seed=5).ratings
    logit, probit = (fitted(ratings, link=link) for link in ("logit", "probit"))
    assert logit.loglik == pytest.approx(probit.loglik, abs=1e-4)
    np.testing.assert_allclose(logit.kappa, probit.kappa, atol=1e-3)
    np.testing.assert_allclose(logit.kappa_se, probit.kappa_se, atol=2e-3)
    np.testing.assert_allclose(logit.sigma_se, probit.sigma_se, rtol=1e-2)


def test_perfect_passing_and_failing_raters_are_finite_and_flagged():
    sample = rl.simulate(
        model="hrm",
        students=150,
        raters=3,
        items=2,
        slope=[3.0, 3.0, 3.0],
        criterion=[1.5, 1.5, 1.5],
        seed=11,
    )
    rows = [(s, f"R{r}", i, y) for s, r, i, y in rows_of(sample.ratings)]
    majority: dict[Any, list[int]] = {(s, i): [] for s, _, i, _ in rows}
    for s, _, i, y in rows:
        majority[s, i].append(y)
    for (s, i), scores in majority.items():
        rows += [(s, "all pass", i, 1), (s, "all fail", i, 0), (s, "perfect", i, int(np.mean(scores) > 0.5))]
    fit = fitted(long(rows))
    assert fit.flag.tolist() == ["", "", "", "all fail", "all pass", "slope at limit"]
    assert fit.optimiser.converged
    for name in ("criterion", "slope", "kappa", "kappa_se", "kappa_low", "kappa_high"):
        assert np.isfinite(getattr(fit, name)).all(), name
    assert (fit.kappa[3:5] < 0.01).all()
    assert (fit.kappa_high[3:5] < 0.1).all()
    assert fit.kappa[5] > 0.98
    assert 0.9 < fit.kappa_low[5] < fit.kappa[5]
    assert ((fit.kappa_low <= fit.kappa) & (fit.kappa <= fit.kappa_high)).all()
    assert any(w.startswith("no error of 'perfect'") for w in fit.warnings)


def test_a_rater_who_guesses_has_capability_zero_and_a_one_sided_interval():
    sample = rl.simulate(
        model="hrm", students=400, raters=4, items=1, slope=[4, 4, 4, 0], criterion=[2, 2, 2, 0], seed=2
    )
    fit = fitted(sample.ratings, rasch=False)
    assert fit.kappa[3] < 0.12
    assert fit.kappa_low[3] == 0
    assert 0.02 < fit.kappa_high[3] < 0.25
    rows = rows_of(sample.ratings)
    rows += [(s, 4, i, 1 - y) for s, r, i, y in rows if r == 0 and s < 200]
    against = fitted(long(rows), rasch=False)
    assert against.flag[4] == "slope at 0"
    assert against.kappa[4] == 0
    assert against.kappa_low[4] == 0
    assert 0 < against.kappa_high[4] < 0.2


def test_without_standard_errors_everything_else_stays(panel):
    quick, full = (fitted(panel, starts=1, standard_errors=wanted) for wanted in (False, True))
    np.testing.assert_array_equal(quick.kappa, full.kappa)
    assert np.isnan(quick.kappa_se).all()
    assert (quick.flag == full.flag).all()


def test_sharpness_is_kappa_at_the_best_criterion_and_covers():
    """Dawid-Skene: tanh(a / 4); the hierarchical model multiplies it by the sharpness of the true category."""
    slope, criterion = np.array([4.0, 3.0, 2.0, 1.0]), np.array([2.0, 2.2, 0.3, 0.5])
    sample = rl.simulate(
        model="hrm", students=400, raters=4, items=2, slope=slope, criterion=criterion, sigma=2.0, seed=2
    )
    fit = rl.fit(sample.ratings, model="hrm")
    raters = fit.table("raters")
    of_truth = rl.capability.sharpness(slope=fit.sigma)
    np.testing.assert_allclose(
        raters["sharpness"], np.tanh(raters["slope"].to_numpy() / 4) * of_truth, rtol=1e-9
    )
    true = np.tanh(slope / 4) * rl.capability.sharpness(slope=2.0)
    low, high = raters.select("sharpness_low", "sharpness_high").to_numpy().T
    assert ((low < true) & (true < high)).all()
    assert (raters["sharpness_se"] > 0).all()
    bias = criterion - slope / 2
    off = bias - bias.mean()
    passes = (special.expit(-(off + slope / 2)) + special.expit(-(off - slope / 2))) / 2
    low, high = raters.select("passes_low", "passes_high").to_numpy().T
    assert ((low < passes) & (passes < high)).all()
    alone = rl.fit(sample.ratings, model="dawid-skene").table("raters")
    np.testing.assert_allclose(alone["sharpness"], alone["rho"], rtol=1e-9)
