"""Score tests against likelihood ratios, and the scores behind them against differences of the log-likelihood."""

import numpy as np
import pytest
from scipy import sparse, stats

import raterlens as rl
from raterlens.inference.projected_scores import ScoredFit, ScoreTest, projected_score, projection_left
from raterlens.models.terms.halo import HALO, IMPRESSION
from raterlens.models.terms.students import SHAPE
from raterlens.models.terms.thresholds import THRESHOLD


def at(fit: rl.Fit, *terms: str) -> ScoredFit:
    assert fit.calibration is not None
    assert fit.ratings is not None
    return ScoredFit.of(fit.calibration, fit.ratings, terms)


def from_scores(own: np.ndarray, fitted: np.ndarray) -> ScoreTest | None:
    left = projection_left(own, sparse.csr_array(fitted))
    return projected_score(own, left, fitted.shape[1])


def test_a_projected_score_is_that_of_added_variables_in_regression():
    """Scores of a normal regression whose residual variance is 1: e x for what is fitted, e z for what is new."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    y = x @ [1.0, -0.5, 0.2] + z @ [0.15, 0.0] + rng.normal(size=500)
    residual = y - x @ np.linalg.lstsq(x, y)[0]
    own, fitted = residual[:, None] * z, residual[:, None] * x
    left = own - fitted @ np.linalg.lstsq(fitted, own)[0]
    spare = 500 - 3 - 2 + 1
    expected = own.sum(axis=0) @ np.linalg.solve(left.T @ left * 500 / spare, own.sum(axis=0))
    found = from_scores(own, fitted)
    assert found is not None
    assert found.statistic == pytest.approx(expected, rel=1e-4)
    assert found.df == 2
    assert found.p == pytest.approx(stats.f.sf(expected / 2, 2, spare), rel=1e-3)


def test_some_of_the_students_that_were_fitted_are_tested_by_themselves():
    """Their scores in the fitted parameters do not add up to 0; the test is as if they alone had been fitted."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4000, 1))
    z = 0.9 * x + 0.4 * rng.normal(size=(4000, 1))
    y = x[:, 0] + rng.normal(size=4000)
    some = slice(0, 400)
    by_all, own = (y[some] - x[some] @ np.linalg.lstsq(x[part], y[part])[0] for part in (slice(None), some))
    found, alone = (from_scores(one[:, None] * z[some], one[:, None] * x[some]) for one in (by_all, own))
    assert found is not None
    assert alone is not None
    assert found.statistic == pytest.approx(alone.statistic, rel=0.1)


def test_what_the_fit_has_absorbed_is_not_tested():
    rng = np.random.default_rng(1)
    fitted = rng.normal(size=(100, 3))
    own = np.column_stack([fitted @ [1.0, 2.0, 0.0], rng.normal(size=100)])
    found = from_scores(own, fitted)
    assert found is not None
    assert found.df == 1


def test_too_few_students_tell_nothing():
    rng = np.random.default_rng(1)
    assert from_scores(rng.normal(size=(5, 1)), rng.normal(size=(5, 6))) is None


@pytest.mark.parametrize("steps", [None, [-1.0, 0.0, 1.0]])
def test_halo_is_seen_as_by_the_likelihood_ratio(steps):
    ratings = rl.simulate(
        students=300, raters=6, items=4, raters_per_student=2, halo=0.3, thresholds=steps, seed=3
    ).ratings
    fit = rl.fit(ratings, model="gmf", assumptions="ignore")
    for kind, term, near in (("common", HALO, 0.6), ("ability", IMPRESSION, 1.0)):
        found = at(fit, term).test(term)
        assert found is not None
        ratio = 2 * (fit.refit(halo=kind).loglik - fit.loglik)
        assert found.statistic == pytest.approx(np.sqrt(ratio), abs=near)


def test_shape_and_item_slopes_are_seen_as_by_the_likelihood_ratio():
    rng = np.random.default_rng(5)
    ability = (rng.chisquare(3, 600) - 3) / np.sqrt(6)
    ratings = rl.simulate(
        students=600, raters=5, items=3, raters_per_student=3, ability=ability, seed=3
    ).ratings
    fit = rl.fit(ratings, model="gmf", assumptions="ignore", standard_errors=False)
    tested = at(fit, SHAPE, "item_slope")
    found = tested.test(SHAPE)
    assert found is not None
    assert found.df == 2
    assert found.statistic == pytest.approx(2 * (fit.refit(ability="smooth").loglik - fit.loglik), rel=0.4)
    slopes = tested.test("item_slope")
    assert slopes is not None
    assert slopes.df == 2
    assert slopes.statistic == pytest.approx(2 * (fit.refit(item_slopes=True).loglik - fit.loglik), abs=1.0)


def test_thresholds_of_items_are_seen_as_by_the_likelihood_ratio():
    ratings = rl.simulate(
        students=400, raters=5, items=3, raters_per_student=2, thresholds=[-1.0, 0.2, 1.0], seed=3
    ).ratings
    fit = rl.fit(ratings, model="gmf", assumptions="ignore", standard_errors=False)
    found = at(fit, THRESHOLD).test(THRESHOLD)
    assert found is not None
    assert found.df == 4
    ratio = 2 * (fit.refit(scale="partial credit").loglik - fit.loglik)
    assert found.statistic == pytest.approx(ratio, rel=0.2)


def test_scores_of_students_with_halo_add_up_to_the_gradient():
    """Those that sums of a reading's scores leave out as well; against a difference of the log-likelihood."""
    ratings = rl.simulate(
        students=60, raters=3, items=3, raters_per_student=2, halo=0.8, thresholds=[-0.5, 0.5], seed=3
    ).ratings
    fit = rl.fit(ratings, model="gmf", halo="rater", assumptions="ignore")
    placed, nodes = at(fit).placed, at(fit).nodes
    x = placed.parameters + np.random.default_rng(1).normal(0, 0.1, len(placed.parameters))
    found = np.asarray(placed.problem.student_scores(x, nodes).sum(axis=0)).ravel()
    for parameter in range(len(x)):
        step = 1e-5 * np.eye(len(x))[parameter]
        up, down = (placed.problem.loglik(x + move, nodes) for move in (step, -step))
        assert found[parameter] == pytest.approx((up - down) / 2e-5, abs=2e-3)
