"""Partial credit where items have different highest scores, beside a maximisation written out from the formula."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

import raterlens as rl
from raterlens.base.errors import InputError

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
