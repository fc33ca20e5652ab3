"""Ordered scores and partial credit against other programs on the same data, and scores that nobody gave."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.capability.population import Normal

# --------------------- ordered scores against other programs on the same data, and scores that nobody gave


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


# --- partial credit where items have different highest scores, beside a maximisation written out from the formula


HIGHEST = (1, 2, 4)
N_STUDENTS, N_RATERS = 40, 2
# BFGS by finite differences leaves less than this.
LOGLIK, ESTIMATE = 1e-5, 2e-3


def scores() -> np.ndarray:
    """(students, raters, items): drawn from the model."""
    rng = np.random.default_rng(11)
    ability, severity = rng.normal(size=N_STUDENTS), np.array([-0.4, 0.4])
    found = np.empty((N_STUDENTS, N_RATERS, len(HIGHEST)), dtype=int)
    for s, r, i in np.ndindex(found.shape):
        k = np.arange(HIGHEST[i] + 1)
        p = special.softmax(k * (1.3 * ability[s] - severity[r]) - 0.3 * k * (k - HIGHEST[i]))
        found[s, r, i] = rng.choice(k, p=p)
    return found


def table(given: np.ndarray) -> pl.DataFrame:
    rows = [(s, f"r{r}", f"i{i}", int(given[s, r, i])) for s, r, i in np.ndindex(given.shape)]
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


def negative_loglik(x: np.ndarray, given: np.ndarray) -> float:
    """A slope and a severity for each rater, the steps of each item: the product over ratings, integrated."""
    t = np.linspace(-8, 8, 161)
    weight = np.exp(-(t**2) / 2)
    slope, severity, steps = x[:2], x[2:4], np.split(x[4:], np.cumsum(HIGHEST)[:-1])
    log_prob = np.zeros((len(given), len(t)))
    for r in range(N_RATERS):
        for i, top in enumerate(HIGHEST):
            k = np.arange(top + 1)
            reach = np.multiply.outer(k, slope[r] * t - severity[r])
            logits = reach - np.append(0.0, np.cumsum(steps[i]))[:, None]
            log_prob += special.log_softmax(logits, axis=0)[given[:, r, i]]
    # A severity trades against all steps: the penalty of a redundant direction costs nothing.
    return -float(np.log(np.exp(log_prob) @ weight / weight.sum()).sum()) + float(severity.sum() ** 2)


@pytest.fixture(scope="module")
def given() -> np.ndarray:
    found = scores()
    assert tuple(found.max(axis=(0, 1))) == HIGHEST
    assert all(set(range(top + 1)) == set(found[..., i].ravel()) for i, top in enumerate(HIGHEST))
    return found


def test_the_likelihood_is_that_of_the_scores_that_items_have(given):
    fit = rl.fit(table(given), model="gmf", scale="partial credit")
    start = np.concatenate([np.ones(2), np.zeros(2 + sum(HIGHEST))])
    best = optimize.minimize(negative_loglik, start, args=(given,), method="BFGS", options={"gtol": 1e-6})
    assert fit.loglik == pytest.approx(-best.fun, abs=LOGLIK)
    # Two slopes, two severities and seven steps, less what severities trade against steps.
    assert fit.n_parameters == 2 + 2 + sum(HIGHEST) - 1
    slopes = fit.raters["rho"].to_numpy() * fit.sigma
    np.testing.assert_allclose(slopes, best.x[:2], atol=ESTIMATE)
    steps = fit.table("thresholds").join(fit.items, on="item")
    assert steps["step"].to_list() == [k for top in HIGHEST for k in range(1, top + 1)]
    found = (steps["threshold"] + steps["delta"]).to_numpy()
    np.testing.assert_allclose(found - found.mean(), best.x[4:] - best.x[4:].mean(), atol=ESTIMATE)
    assert not [warning for warning in fit.warnings if "Half a rating" in warning]


def test_a_fit_with_different_highest_scores_is_kept_and_scores_students(given, tmp_path):
    fit = rl.fit(table(given), model="gmf", scale="partial credit")
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json")
    few = table(given[:3])
    np.testing.assert_allclose(
        again.score(few)["theta"].to_numpy(), fit.students["theta"].to_numpy()[:3], atol=1e-6
    )
    assert again.capability(item="i0")["kappa"].is_finite().all()
    with pytest.raises(InputError, match="item 'i0' has a score of 2, but the fit knows it only up to 1"):
        fit.score(few.with_columns(score=pl.lit(2)))


# ------------------------------- partial credit, items of different highest scores, against R's TAM 4.3-25


def drawn() -> pl.DataFrame:
    random, rows = np.random.default_rng(11), []
    for student, ability in enumerate(random.standard_normal(300) * 1.4):
        for rater, severity in enumerate((-0.5, 0.0, 0.5)):
            for item, highest in enumerate((2, 3, 2)):
                steps = np.linspace(-0.8, 0.8, highest) + 0.2 * item
                p = special.softmax(np.append(0.0, np.cumsum(ability - severity - steps)))
                rows.append((student, rater, f"i{item}", int(random.choice(highest + 1, p=p))))
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


def test_items_of_different_highest_scores() -> None:
    fit = rl.fit(drawn(), model="tfm", scale="partial credit", halo="none", ability="normal")
    assert fit.loglik == pytest.approx(-2656.28318, abs=1e-4)
    assert fit.sigma**2 == pytest.approx(2.01388, abs=2e-4)
    assert fit.raters["eta"].to_numpy()[:2] == pytest.approx([-0.57666, 0.01522], abs=1e-4)
