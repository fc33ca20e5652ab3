"""Limits of slopes by profile likelihood, against the likelihood written out and maximised by SciPy."""

import numpy as np
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.inference import slope_limits as module
from raterlens.inference.intervals import AT_LIMIT, AT_ZERO

NODES = np.linspace(-6, 6, 241)


@pytest.fixture(scope="module")
def steep():
    """Three raters, of whom one ordered forty students as if it never erred."""
    made = rl.simulate(
        students=40,
        raters=3,
        items=1,
        difficulty=0.0,
        slope=[3.0, 1.0, 1.2],
        severity=[0.2, 0.0, -0.2],
        seed=10,
    )
    return made, rl.fit(made.ratings, model="gmf")


def loglik(x, passed) -> float:
    """One item, everybody rated by all: passed is (students, raters)."""
    a, b = x[:3], x[3:]
    s = np.outer(a, NODES) - b[:, None]
    weight = -0.5 * NODES**2 - np.log(np.exp(-0.5 * NODES**2).sum())
    each = passed @ special.log_expit(s) + (1 - passed) @ special.log_expit(-s) + weight
    return float(special.logsumexp(each, axis=1).sum())


def highest(passed, rater=None, slope=0.0) -> float:
    """The maximum, or that with a rater's slope held; the best of several starts."""
    bounds = [(0.0, 10.0)] * 3 + [(-30.0, 30.0)] * 3
    if rater is not None:
        bounds[rater] = (slope, slope)
    random = np.random.default_rng(1)
    found = []
    for _ in range(6):
        start = np.clip(np.append(random.uniform(0.3, 8, 3), np.zeros(3)), *np.transpose(bounds))
        end = optimize.minimize(lambda x: -loglik(x, passed), start, method="L-BFGS-B", bounds=bounds)
        found.append(-float(end.fun))
    return max(found)


def test_twice_the_loglikelihood_has_fallen_by_the_chi_squared_point_at_every_limit(steep):
    made, fit = steep
    limits = fit.calibration.limits
    passed = np.zeros((40, 3))
    passed[made.ratings.student, made.ratings.rater] = made.ratings.score
    top, looked_at = highest(passed), 0
    for rater in range(3):
        for end in (limits.low[rater], limits.high[rater]):
            if 0 < end < 10:
                # A slope that ran to its limit may be farther from it than others from their estimates.
                fall = AT_LIMIT if limits.high[rater] == fit.calibration.effects["slope"][rater] else 1.96
                assert np.sqrt(2 * (top - highest(passed, rater, end))) == pytest.approx(fall, abs=0.12)
                looked_at += 1
    assert looked_at == 3


def test_a_slope_at_zero_may_be_farther_from_its_estimate_than_others():
    """Two raters agree beyond what chance explains; the third contradicts both."""
    made = rl.simulate(
        students=40,
        raters=3,
        items=1,
        difficulty=0.0,
        slope=[3.0, 2.0, -0.4],
        severity=[0.2, 0.0, -0.2],
        seed=1,
    )
    fit = rl.fit(made.ratings, model="gmf")
    assert fit.calibration.effects["slope"][2] == 0
    high = fit.calibration.limits.high[2]
    passed = np.zeros((40, 3))
    passed[made.ratings.student, made.ratings.rater] = made.ratings.score
    fall = np.sqrt(2 * (highest(passed) - highest(passed, 2, high)))
    assert fall == pytest.approx(AT_ZERO, abs=0.12)
    assert fit.raters["sharpness_high"][2] == pytest.approx(
        rl.capability.sharpness(slope=high, severity=fit.raters["eta"][2]), abs=0.03
    )


def test_a_slope_at_its_limit_has_an_interval_and_abilities_know_of_it(steep, monkeypatch):
    made, fit = steep
    rater = int(np.flatnonzero(fit.calibration.at_limit)[0])
    row = fit.raters.row(rater, named=True)
    assert row["sharpness_low"] < 0.6
    assert row["sharpness_high"] > 0.98
    low = rl.capability.sharpness(slope=fit.calibration.limits.low)
    np.testing.assert_allclose(fit.raters["sharpness_low"], low, atol=0.06)
    monkeypatch.setattr(module, "SLOPE_LIMIT_WORK", 0)
    without = rl.fit(made.ratings, model="gmf")
    assert without.calibration.limits is None
    more = fit.students["theta_se"].to_numpy() - without.students["theta_se"].to_numpy()
    assert (more > 0).all()
    assert more.max() > 0.2


def test_the_severity_of_a_slope_at_its_limit_is_as_uncertain_as_the_slope(steep, monkeypatch):
    made, fit = steep
    rater = int(np.flatnonzero(fit.calibration.at_limit)[0])
    monkeypatch.setattr(module, "SLOPE_LIMIT_WORK", 0)
    without = rl.fit(made.ratings, model="gmf").raters["eta_se"].to_numpy()
    found, moved = fit.raters["eta_se"].to_numpy(), fit.calibration.limits.severity_low[rater]
    assert found[rater] == pytest.approx(np.hypot(without[rater], moved / AT_LIMIT))
    assert abs(moved) > 0.5
    np.testing.assert_allclose(np.delete(found, rater), np.delete(without, rater))


def test_limits_are_kept_with_a_fit(steep, tmp_path):
    _, fit = steep
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json")
    assert again.capability().equals(fit.capability())
    np.testing.assert_array_equal(again.calibration.limits.severity_low, fit.calibration.limits.severity_low)


def test_without_a_slope_near_a_limit_standard_errors_say_enough():
    made = rl.simulate(students=200, raters=4, items=2, slope=[0.8, 1.0, 1.2, 1.5], seed=1)
    assert rl.fit(made.ratings, model="gmf").calibration.limits is None
    assert rl.fit(made.ratings, model="tfm").calibration.limits is None
