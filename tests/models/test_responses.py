"""Scores' probabilities: they sum to one, and derivatives agree with differences."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import LINKS, get_link
from raterlens.estimation.methods import estimate
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.responses import (
    CORNER,
    Adjacent,
    AveragedResponse,
    Capped,
    Graded,
    Linked,
    Predictor,
)
from tests.support.facets_models import ordered

T = np.linspace(-3, 3, 7)
STEP = 1e-5
SMOOTH = ["logit", "probit", "cauchit", "cloglog"]
RESPONSES = [
    Adjacent(2),
    Adjacent(4),
    *(Linked(LINKS[name]) for name in SMOOTH),
    *(Graded(LINKS[name], 4) for name in SMOOTH),
]


def name(response) -> str:
    return f"{type(response).__name__}-{response.n_categories}-{getattr(response, 'link', None) and response.link.name}"


def at(response, shift: np.ndarray | float = 0.0) -> Predictor:
    random = np.random.default_rng(0)
    steps = response.n_categories - 1
    intercepts = -np.sort(random.normal(size=(5, steps)), axis=1) - 0.3 * np.arange(steps)
    return Predictor(random.uniform(0.3, 1.2, 5), intercepts + shift)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_probabilities_sum_to_one(response):
    np.testing.assert_allclose(np.exp(response.log_prob(at(response), T)).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_scores_and_curvature_agree_with_differences(response):
    steps = response.n_categories - 1
    counts = np.random.default_rng(1).uniform(size=(5, response.n_categories, len(T)))
    scores = response.scores(at(response), T)
    curvature = response.curvature(at(response), T, counts)
    for j in range(steps):
        e = STEP * np.eye(steps)[j]
        up, down = at(response, e), at(response, -e)
        first = (response.log_prob(up, T) - response.log_prob(down, T)) / (2 * STEP)
        np.testing.assert_allclose(scores[j], first, rtol=1e-6, atol=1e-8)
        counted = response.counted_scores(at(response), T, counts)[..., j]
        np.testing.assert_allclose(counted, np.einsum("cyq,cyq->cq", first, counts), rtol=1e-6, atol=1e-8)
        second = (response.scores(up, T) - response.scores(down, T)) / (2 * STEP)
        counted = np.einsum("kcyq,cyq->cqk", second, counts)
        np.testing.assert_allclose(curvature[..., j], counted, rtol=1e-5, atol=1e-7)


def test_two_ordered_categories_are_the_binary_model():
    logit = LINKS["logit"]
    one = Predictor(np.array([0.7]), np.array([[-0.4]]))
    np.testing.assert_allclose(Adjacent(2).log_prob(one, T), Linked(logit).log_prob(one, T), rtol=1e-13)
    np.testing.assert_allclose(Graded(logit, 2).log_prob(one, T), Linked(logit).log_prob(one, T), rtol=1e-13)


@pytest.mark.parametrize("link", SMOOTH)
def test_graded_middle_scores_keep_their_digits_in_both_tails(link):
    """P(1) between thresholds a hair apart is the density times the gap, however far out."""
    gap = 1e-6
    for centre in (-4.0, 4.0 if link != "cloglog" else 1.5):
        where = Predictor(np.zeros(1), np.array([[centre + gap / 2, centre - gap / 2]]))
        log_prob = Graded(LINKS[link], 3).log_prob(where, np.zeros(1))[0, 1, 0]
        assert log_prob == pytest.approx(LINKS[link].log_density(np.array(centre)) + np.log(gap), abs=1e-6)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_as_the_predictor_is_shifted(response):
    counts = np.random.default_rng(2).uniform(size=(5, response.n_categories, len(T)))
    lever = response.lever
    up, down = (at(response, sign * STEP * lever) for sign in (1, -1))
    first = (response.log_prob(up, T) - response.log_prob(down, T)) / (2 * STEP)
    np.testing.assert_allclose(response.shift_scores(at(response), T), first, rtol=1e-6, atol=1e-8)
    bend = -(response.curvature(at(response), T, counts) @ lever @ lever)
    found = response.shift_information(at(response), T, counts)
    np.testing.assert_allclose(found, bend, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("response", RESPONSES, ids=name)
def test_sums_over_nodes(response):
    counts = np.random.default_rng(3).uniform(size=(5, response.n_categories, len(T)))
    at_nodes = response.counted_scores(at(response), T, counts)
    by_slope, by_intercept = response.summed_scores(at(response), T, counts)
    np.testing.assert_allclose(by_slope, at_nodes @ response.lever @ T, rtol=1e-12)
    np.testing.assert_allclose(by_intercept, at_nodes.sum(axis=1), rtol=1e-12)


# -- Averaged response -------------------------------------------------------------------------------------------

ABILITIES = np.linspace(-2, 2, 5)
X = Predictor(np.array([1.0, 1.5]), np.array([[0.2], [-0.5]]))


@pytest.mark.parametrize("response", [Adjacent(), Linked(get_link("probit"))])
def test_probabilities_are_averages(response):
    spread = np.array([0.0, 1.3])
    averaged = AveragedResponse(response, spread)
    found = np.exp(averaged.log_prob(X, ABILITIES))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(found[0], np.exp(response.log_prob(X, ABILITIES))[0], atol=1e-12)
    if isinstance(response, Linked):  # a normal variable and another are one
        from scipy import special

        expected = special.ndtr((1.5 * ABILITIES - 0.5) / np.sqrt(1 + 1.3**2))
        np.testing.assert_allclose(found[1, 1], expected, atol=1e-9)
    h = 1e-5
    above, below = (
        averaged.log_prob(Predictor(X.slope, X.intercepts + sign * h), ABILITIES) for sign in (1, -1)
    )
    np.testing.assert_allclose(averaged.scores(X, ABILITIES)[0], (above - below) / (2 * h), atol=1e-7)


# -- The log link ------------------------------------------------------------------------------------------------

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


def capped_at(s: np.ndarray) -> Predictor:
    return Predictor(np.zeros(len(s)), s[:, None])


def test_probabilities_are_averages_over_the_corner():
    s = np.array([-3.0, -0.1, -0.4 * CORNER, 0.0, 0.2 * CORNER, 0.4 * CORNER])
    u = np.linspace(-CORNER / 2, CORNER / 2, 200_001)
    average = np.array([np.minimum(np.exp(x + u), 1.0).mean() for x in s])
    log_prob = Capped().log_prob(capped_at(s), np.zeros(1))[..., 0]
    np.testing.assert_allclose(np.exp(log_prob[:, 1]), average, atol=1e-7)
    np.testing.assert_allclose(np.exp(log_prob[:, 0]), 1 - average, atol=1e-7)


def test_away_from_the_corner_it_is_the_log_link():
    s = np.array([-8.0, -1.0, -0.03])
    expected = Linked(get_link("log")).log_prob(capped_at(s), np.zeros(1))
    found = Capped().log_prob(capped_at(s), np.zeros(1))
    np.testing.assert_allclose(found[:, 1], expected[:, 1], atol=CORNER**2 / 20)
    far = Capped().log_prob(capped_at(np.array([0.03, 5.0])), np.zeros(1))[..., 0]
    np.testing.assert_array_equal(far, [[-500.0, 0.0], [-500.0, 0.0]])


def test_derivatives_agree_with_differences():
    s, h = np.append([-2.0, -0.3], CORNER * np.array([-0.48, -0.2, 0.0, 0.3])), 1e-7
    response, t = Capped(), np.zeros(1)
    up, down = (response.log_prob(capped_at(s + d), t) for d in (h, -h))
    np.testing.assert_allclose(
        response.scores(capped_at(s), t)[0], (up - down) / (2 * h), rtol=1e-6, atol=1e-6
    )
    counts = np.random.default_rng(1).uniform(0.5, 2, (len(s), 2, 1))
    up, down = (np.sum(counts * response.scores(capped_at(s + d), t)[0], axis=1) for d in (h, -h))
    np.testing.assert_allclose(
        response.curvature(capped_at(s), t, counts)[..., 0, 0],
        (up - down) / (2 * h),
        rtol=1e-5,
        atol=1e-4,
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
