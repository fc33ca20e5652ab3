"""Ordered scores against other programs on the same data, and scores that nobody gave."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.capability.population import Normal

# Both programs reach the maximum to about 1e-5.
SAME_MAXIMUM = 0.001

# PyPI mirt 1.2.0, with ratings r = rl.read(..., items=ITEMS) without a cut, laid out one row per student (Y = -1 where
# there is no further rating, I and R the item and rater of each):
#   model = mirt.models.PolytomousMFRM(5, 4, [mirt.models.Facet("rater", 16)], category_structure)
#   mirt.estimation.fit_mfrm(model, Y, {"rater": R}, item_indices=I, n_quadpts=161).log_likelihood
MIRT = {"rating scale": -6307.896618, "partial credit": -6243.809915}

# R 4.2, ordinal: long <- score, rater = rater:topic, item, pid as factors of all 7260 ratings
#   logLik(clmm(factor(score) ~ rater + item + (1 | pid), data = long, nAGQ = 15, link = "logit"))
CLMM = {"logit": -6385.543757, "probit": -6376.304481}


@pytest.mark.parametrize("scale", MIRT)
def test_adjacent_categories_agree_with_mirt(writing_scores, scale):
    fit = rl.fit(writing_scores, model="tfm", scale=scale, standard_errors=False)
    assert fit.loglik == pytest.approx(MIRT[scale], abs=SAME_MAXIMUM)
    # One slope, 16 severities, 5 difficulties less their origin, and 3 thresholds of mean 0, once or for each item.
    assert fit.n_parameters == 1 + 16 + 4 + (2 if scale == "rating scale" else 10)


@pytest.mark.parametrize("link", CLMM)
def test_graded_scores_agree_with_clmm(writing_scores, link):
    fit = rl.fit(writing_scores, model="tfm", scale="graded", link=link, standard_errors=False)
    assert fit.loglik == pytest.approx(CLMM[link], abs=SAME_MAXIMUM)
    assert fit.n_parameters == 23


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_kappa_is_the_expected_scores_slope(writing_scores, scale):
    """Every kappa from E[y | theta] by differences, at the fit's own estimates."""
    fit = rl.fit(writing_scores, model="gmf", scale=scale)
    assert fit.converged
    effects = fit.calibration.effects
    t = np.linspace(-8, 8, 1601)
    slope, eta = effects["slope"], fit.raters["eta"].to_numpy()
    predictor = np.multiply.outer(slope, t) - eta[:, None]
    mean = np.mean([expected(predictor, tau, scale) for tau in effects["threshold"]], axis=0)
    between = (t[1:] + t[:-1]) / 2
    rate = np.diff(mean) @ (np.exp(-(between**2) / 2) / np.sqrt(2 * np.pi))
    best = float(Normal().best(fit.calibration.curve(), np.array(fit.sigma)))
    np.testing.assert_allclose(fit.raters["kappa"], rate / best, rtol=1e-4)
    assert fit.raters["kappa"].max() <= 1
    assert (fit.raters["kappa_se"] > 0).all()


def expected(s: np.ndarray, tau: np.ndarray, scale: str) -> np.ndarray:
    if scale == "graded":
        return np.mean([1 / (1 + np.exp(-(s - cut))) for cut in tau], axis=0)
    weights = np.exp(np.multiply.outer(s, np.arange(4)) - np.append(0, np.cumsum(tau)))
    return weights @ np.arange(4) / weights.sum(axis=-1) / 3


def test_pass_and_fail_know_no_scale(small):
    fits = [rl.fit(small, model="gmf", scale=scale) for scale in ("rating scale", "partial credit", "graded")]
    for fit in fits[1:]:
        assert fit.loglik == fits[0].loglik
        assert fit.raters["kappa"].to_list() == fits[0].raters["kappa"].to_list()
        assert "thresholds" not in fit.tables


def test_two_scores_of_a_wider_scale_are_pass_and_fail(small):
    fit = rl.fit(replace(small, score=(2 * small.score).astype(np.int16)), model="gmf")
    binary = rl.fit(small, model="gmf")
    assert fit.loglik == binary.loglik
    assert any("a score of 1" in warning and "0, 2 count as 0, 1" in warning for warning in fit.warnings)


@pytest.fixture(scope="module")
def gap() -> rl.Ratings:
    """Scores 0, 1 and 3 of 0 .. 3."""
    made = rl.simulate(students=200, raters=4, items=3, thresholds=[-0.8, 0.8], seed=5).ratings
    return replace(made, score=np.where(made.score == 2, 3, made.score).astype(np.int16))


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_a_score_that_nobody_gave_is_left_out_of_the_scale(gap, scale):
    fit = rl.fit(gap, model="gmf", scale=scale)
    (warning,) = fit.warnings
    assert "nobody ever gave a score of 2" in warning
    assert "0, 1, 3 count as 0, 1, 2" in warning
    assert fit.calibration.scores == (0, 1, 3)
    assert fit.table("thresholds").filter(pl.col("step") > 2).is_empty()
    assert fit.table("thresholds")["threshold"].abs().max() < 3
    closed = replace(gap, score=np.where(gap.score == 3, 2, gap.score).astype(np.int16))
    assert rl.fit(closed, model="gmf", scale=scale).loglik == fit.loglik
    # Scoring knows the scale, and what is not on it.
    np.testing.assert_allclose(fit.score(gap)["theta"], fit.students["theta"], atol=1e-8)
    with pytest.raises(InputError, match="scores of 2 occur, but the fit knows only 0, 1, 3"):
        fit.score(closed)


def test_an_item_that_never_got_a_score_keeps_finite_thresholds(gap):
    """Item 2 is never given the lowest score: warned about, and nothing explodes. Item 1 never got the top score, so
    that it ends below."""
    score = gap.score.copy()
    score[(gap.item == 0) & (score == 3)] = 1
    score[(gap.item == 1) & (score == 0)] = 1
    score = np.where(score == 3, 2, score).astype(np.int16)
    fit = rl.fit(replace(gap, score=score), model="gmf", scale="partial credit")
    assert fit.converged
    numbers = fit.table("thresholds").select("threshold", "threshold_se").to_numpy()
    assert np.isfinite(numbers).all()
    assert np.abs(numbers).max() < 12
    (warning,) = fit.warnings
    assert "nobody ever gave item 'I2' a score of 0. " in warning
    assert fit.table("thresholds")["item"].to_list() == ["I1", "I2", "I2", "I3", "I3"]
    assert "'rating scale'" in warning
    for scale in ("rating scale", "graded"):  # whose thresholds the items share
        shared = rl.fit(replace(gap, score=score), model="gmf", scale=scale, ability="normal")
        assert shared.table("thresholds")["threshold"].abs().max() < 5
        assert shared.warnings == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "probit"}, "link 'probit' needs scale 'graded'"),
        ({"link": "cloglog", "scale": "partial credit"}, "needs scale 'graded'"),
        ({"method": "laplace"}, "use method='mml'"),
        ({"model": "probit"}, "or use model='gmf'"),
        ({"link": "log", "scale": "graded"}, "link='cloglog' with scale='graded'"),
    ],
)
def test_wrong_combinations_say_what_to_do(gap, options, message):
    with pytest.raises(InputError, match=message):
        rl.fit(gap, **{"model": "gmf"} | options)
