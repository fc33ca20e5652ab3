"""The log link: its rounded corner, the grid that resolves it, recovery, and honest standard errors."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import get_link
from raterlens.estimation.methods import estimate
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.responses import CORNER, Capped, Linked, Predictor
from tests.support.facets_models import ordered

# Of the log-likelihood, a student: what a five times finer grid may change.
GRID_ERROR = 1e-6


@pytest.fixture(scope="module")
def made():
    return rl.simulate(
        students=500,
        raters=6,
        items=4,
        raters_per_student=3,
        link="log",
        slope=np.linspace(0.3, 0.8, 6),
        severity=np.linspace(-0.3, 0.3, 6),
        difficulty=[-0.2, 0.0, 0.1, 0.1],
        alpha=-1.2,
        seed=3,
    )


@pytest.fixture(scope="module")
def fit(made):
    return rl.fit(made.ratings, model="gmf", link="log")


def at(s: np.ndarray) -> Predictor:
    return Predictor(np.zeros(len(s)), s[:, None])


def test_probabilities_are_averages_over_the_corner():
    s = np.array([-3.0, -0.1, -0.4 * CORNER, 0.0, 0.2 * CORNER, 0.4 * CORNER])
    u = np.linspace(-CORNER / 2, CORNER / 2, 200_001)
    average = np.array([np.minimum(np.exp(x + u), 1.0).mean() for x in s])
    log_prob = Capped().log_prob(at(s), np.zeros(1))[..., 0]
    np.testing.assert_allclose(np.exp(log_prob[:, 1]), average, atol=1e-7)
    np.testing.assert_allclose(np.exp(log_prob[:, 0]), 1 - average, atol=1e-7)


def test_away_from_the_corner_it_is_the_log_link():
    s = np.array([-8.0, -1.0, -0.03])
    expected = Linked(get_link("log")).log_prob(at(s), np.zeros(1))
    found = Capped().log_prob(at(s), np.zeros(1))
    np.testing.assert_allclose(found[:, 1], expected[:, 1], atol=CORNER**2 / 20)
    far = Capped().log_prob(at(np.array([0.03, 5.0])), np.zeros(1))[..., 0]
    np.testing.assert_array_equal(far, [[-500.0, 0.0], [-500.0, 0.0]])


def test_derivatives_agree_with_differences():
    s, h = np.append([-2.0, -0.3], CORNER * np.array([-0.48, -0.2, 0.0, 0.3])), 1e-7
    response, t = Capped(), np.zeros(1)
    up, down = (response.log_prob(at(s + d), t) for d in (h, -h))
    np.testing.assert_allclose(response.scores(at(s), t)[0], (up - down) / (2 * h), rtol=1e-6, atol=1e-6)
    counts = np.random.default_rng(1).uniform(0.5, 2, (len(s), 2, 1))
    up, down = (np.sum(counts * response.scores(at(s + d), t)[0], axis=1) for d in (h, -h))
    np.testing.assert_allclose(
        response.curvature(at(s), t, counts)[..., 0, 0], (up - down) / (2 * h), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("model", ["tfm", "gmf"])
def test_the_log_likelihood_is_that_of_the_capped_exponential(made, model):
    """Against the log link itself on a grid five times as fine as the finest used."""
    facets, response = build(made.ratings, Options(MODELS[model], get_link("log")))
    found = estimate(made.ratings, facets, response, get_link("log"), "mml")
    assert found.record.converged
    fine = Nodes.equally_spaced(found.nodes.low, found.nodes.high, found.nodes.step / 20)
    exact = marginal(made.ratings, facets, Linked(get_link("log")), found.problem.pseudo)
    loglik = exact.engine.evaluate(exact.tables(found.parameters, fine), fine).loglik
    assert abs(loglik - found.loglik) < GRID_ERROR * made.ratings.n_students


@pytest.mark.nightly
def test_a_smaller_corner_changes_next_to_nothing(made, fit, monkeypatch):
    """Nor does it on the writing data, where 14 % of ratings are capped: -3557.8266 with corners 0.02, 0.01, 0.005."""
    small = CORNER / 2
    monkeypatch.setattr("raterlens.models.responses.CORNER", small)
    monkeypatch.setattr("raterlens.estimation.methods.CORNER", small)
    monkeypatch.setattr("raterlens.models.responses._EXCESS", np.sinh(small / 2) / (small / 2))
    sharper = rl.fit(made.ratings, model="gmf", link="log", standard_errors=False)
    assert sharper.loglik == pytest.approx(fit.loglik, abs=1e-3)
    n, spread = made.ratings.n_raters, np.sqrt(np.diag(fit.calibration.covariance))
    for place, name in enumerate(("slope", "severity")):
        moved = sharper.calibration.effects[name] - fit.calibration.effects[name]
        assert np.abs(moved / spread[place * n : (place + 1) * n]).max() < 0.02


def test_parameters_are_recovered(made, fit):
    truth, n = made.truth, made.ratings.n_raters
    spread = np.sqrt(np.diag(fit.calibration.covariance))
    slope = (fit.calibration.effects["slope"] - truth.slope) / spread[:n]
    severity = (fit.raters["eta"].to_numpy() - truth.severity) / fit.raters["eta_se"].to_numpy()
    difficulty = (fit.items["delta"].to_numpy() - truth.difficulty) / fit.items["delta_se"].to_numpy()
    assert np.abs(np.concatenate([slope, severity, difficulty])).max() < 3
    assert spread.max() < 0.1


def test_standard_errors_are_those_of_the_likelihood(made, fit):
    """How fast the likelihood falls with held difficulties is the inverse of their covariance."""
    along, h = np.array([1.0, -0.5, -0.2, -0.3]), 0.03
    first = 2 * fit.n_raters
    spread = fit.calibration.covariance[first : first + 4, first : first + 4]
    expected = h**2 / 2 * along @ np.linalg.pinv(spread, rcond=1e-8) @ along

    def loglik(shift: float) -> float:
        delta = fit.calibration.effects["difficulty"] + shift * along
        anchors = rl.Anchors(items=dict(zip(fit.items["item"], delta, strict=True)))
        return rl.fit(made.ratings, model="gmf", link="log", anchors=anchors, standard_errors=False).loglik

    assert fit.loglik - (loglik(h) + loglik(-h)) / 2 == pytest.approx(expected, rel=0.02)


def test_the_cap_is_pointed_out(fit):
    (warning,) = fit.warnings
    assert "exceeds 0 in" in warning
    assert "cloglog" in warning


def test_raters_who_always_pass_or_fail_stay_finite(small):
    score = np.array(small.score)
    score[small.rater == 0] = 1
    score[small.rater == 1] = 0
    fit = rl.fit(replace(small, score=score), model="gmf", link="log")
    assert np.isfinite(fit.raters.select("rho", "eta", "kappa").to_numpy()).all()
    assert fit.raters["flag"].to_list()[:2] == ["all pass", "all fail"]


def test_wrong_combinations_say_what_to_do(made):
    for method in ("laplace", "hl"):
        with pytest.raises(OptionError, match=r"link='log' does not go with method=.*use method='mml'"):
            rl.fit(made.ratings, model="gmf", link="log", method=method)
    with pytest.raises(InputError, match=r"link 'log' takes pass \(1\) or fail \(0\)"):
        rl.fit(ordered(made.ratings), model="gmf", link="log", scale="graded")
