"""Score tests: levels against R, moments against regression."""

import numpy as np
import pytest
from scipy import stats

import raterlens as rl
from raterlens.diagnostics.rater_effects import Moment, adjusted, rater_moment, two_sided
from raterlens.diagnostics.residuals import residuals


def test_adjusted_levels_are_those_of_r():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH"); p.adjust(c(0.001, 0.5, 0.04, 0.9), "BH")
    assert adjusted(np.array([0.01, 0.02, 0.03, 0.04, 0.05])) == pytest.approx([0.05] * 5)
    assert adjusted(np.array([0.001, 0.5, 0.04, 0.9])) == pytest.approx([0.004, 2 / 3, 0.08, 0.9])


def test_a_moment_is_what_regression_on_the_scores_leaves():
    """Sum of the moment less its least-squares part in the derivatives by severity and slope, rater by rater."""
    ratings = rl.simulate(students=80, raters=4, items=3, raters_per_student=2, seed=5).ratings
    found = residuals(rl.fit(ratings, model="gmf", standard_errors=False), ratings)
    values = np.random.default_rng(0).normal(size=len(found.pairs))
    moment = rater_moment(found, values)
    for rater in range(4):
        mine = found.pairs.rater == rater
        scores = np.column_stack([found.score_of_pair[mine], found.tilt_of_pair[mine]])
        weights, *_ = np.linalg.lstsq(scores, values[mine], rcond=None)
        left = values[mine] - scores @ weights
        assert moment.sum[rater] == pytest.approx(left.sum(), abs=1e-9)
        assert moment.sd[rater] == pytest.approx(np.sqrt(left @ left), rel=1e-9)
        assert moment.n[rater] == mine.sum()


def test_few_students_count_as_a_t_statistic():
    """t = 2 of 9 students less 3 degrees of freedom: the normal number with the same tail."""
    moment = Moment(np.array([2.0, -2.0]), np.ones(2), np.array([9, 9]))
    expected = stats.norm.isf(stats.t.sf(2.0, 6))
    np.testing.assert_allclose(moment.z, [expected, -expected])
    np.testing.assert_allclose(two_sided(moment.z), 2 * stats.t.sf(2.0, 6))


def test_adjusted_levels_are_those_of_scipy():
    p = np.random.default_rng(1).random(50)
    np.testing.assert_allclose(adjusted(p), stats.false_discovery_control(p))
