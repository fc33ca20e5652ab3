"""The three estimators on the writing data against the paper and other programs; gradients by differences; and the
record that every estimation ends in.
"""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special, stats

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import (
    REPLICATES,
    information_scale,
    judged,
    settled,
    starting_values,
    starting_widths,
)
from raterlens.estimation.latent_estimate import estimate_latent_class
from raterlens.estimation.methods import Conditional, Laplace, corner_step, estimate, ratings_given_abilities
from raterlens.estimation.optimiser import Estimate
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.responses import CORNER, Adjacent
from raterlens.models.signal_detection import LatentClassModel
from tests.support.facets_models import assert_gradient, by_hand, make, setting

# Marginal log-likelihoods on 161 equally spaced nodes over [-8, 8], computed apart from this package. TFM with
# the logit link also by PyPI's mirt 1.2.0:  fit_mfrm(ManyFacetRaschModel(...), ...).log_likelihood
MARGINAL = {
    ("tfm", "logit"): -3310.3655,
    ("gmf", "logit"): -3297.7409,
    ("tfm", "probit"): -3317.3326,
    ("tfm", "cauchit"): -3334.1992,
    ("tfm", "cloglog"): -3407.4336,
    ("gmf", "probit"): -3303.5770,
    ("gmf", "cauchit"): -3323.1519,
    ("gmf", "cloglog"): -3388.2754,
}


@pytest.mark.parametrize(("model", "link"), MARGINAL)
def test_marginal_loglik_on_the_writing_data(writing, model, link):
    fit = rl.fit(writing, model=model, link=link, standard_errors=False)
    assert fit.converged
    assert fit.loglik == pytest.approx(MARGINAL[model, link], abs=0.001)


def test_the_hierarchical_likelihood_refuses_ratings_that_are_likelier_without_ability():
    """Coins: what students have in common is chance, which it takes for ability."""
    random = np.random.default_rng(0)
    pairs = [(s, r) for s in range(40) for r in random.choice(3, 2, replace=False)]
    coins = by_hand([(s, f"r{r}", "i", random.integers(2)) for s, r in pairs])
    with pytest.raises(OptionError, match=r"takes chance for ability.*; use method='mml'") as refused:
        rl.fit(coins, model="gmf", method="hl")
    # Without ability raters are coins of their own bias: the likelihood has a closed form.
    passes, n = (coins.tally("rater").total, coins.tally("rater").n)
    without = float(np.sum(special.xlogy(passes, passes / n) + special.xlogy(n - passes, 1 - passes / n)))
    assert f"with none at all {without:.1f}" in str(refused.value)
    assert rl.fit(rl.load_example(), model="gmf", method="hl").sigma > 0.5


def test_hierarchical_likelihood_on_16_ratings_is_refused_or_ends_in_numbers():
    rows = [(n // 8, f"r{n // 4 % 2}", f"i{n % 4}", int(score)) for n, score in enumerate("1001110111011001")]
    with pytest.raises(OptionError, match="takes chance for ability"):
        rl.fit(by_hand(rows), model="probit", method="hl")
    fit = rl.fit(by_hand(rows), model="probit", method="hl", max_iterations=3)  # not converged, which it says
    assert np.isfinite(fit.loglik)
    assert np.isfinite(fit.raters["kappa"].to_numpy()).all()


def test_marginal_estimates_on_the_writing_data(writing):
    fit = rl.fit(writing, model="gmf")
    assert fit.sigma == pytest.approx(2.1007, abs=1e-4)
    assert fit.alpha == pytest.approx(0.0876, abs=1e-3)
    delta = dict(zip(fit.items["item"], fit.items["delta"], strict=True))
    assert delta == pytest.approx(
        {"spe": -1.430, "coh": -1.345, "str": 0.170, "gra": 0.701, "con": 1.904}, abs=0.001
    )
    kappa = fit.raters.sort("kappa").select("rater", "kappa").rows()
    assert kappa[0] == ("AM:Sport", pytest.approx(0.580, abs=0.001))
    assert kappa[-1] == ("CO:School", pytest.approx(0.948, abs=0.001))


def test_a_fit_whose_tolerance_follows_rounding_can_be_saved(monkeypatch, small, tmp_path):
    """On millions of ratings; here the rounding is made coarse instead."""
    monkeypatch.setattr("raterlens.estimation.optimiser._ROUNDING", 1e-9)
    fit = rl.fit(small, model="gmf")
    assert fit.optimiser.tolerance > 1e-5
    fit.save(tmp_path / "fit.json")
    assert rl.load(tmp_path / "fit.json").converged


@pytest.mark.parametrize("kind", ["gmf", "hrm", "dawid-skene"])
def test_the_value_is_that_of_the_problem_at_the_estimates(small, kind):
    found: Estimate
    if kind == "gmf":
        gmf, response = make(small, "gmf")
        found = estimate(small, gmf, response, get_link("logit"), "mml")
    else:
        model = LatentClassModel(small.n_raters, small.n_items, get_link("logit"), kind == "hrm")
        found = estimate_latent_class(small, model, starts=1)
    value = found.problem.value(found.parameters, found.nodes)
    assert found.loglik == pytest.approx(value.loglik, abs=1e-6)
    assert len(found.moments.mean) == small.n_students
    assert np.isnan(found.moments.mean).all() == (kind == "dawid-skene")
    assert not found.held.any()


def test_the_steepest_context_has_its_corner_resolved(small):
    model, response = build(small, Options(MODELS["gmf"], get_link("log")))
    problem = marginal(small, model, response, pseudo_ratings(model, 2))
    x = np.zeros(model.blocks.size)
    x[model.blocks["slope"]] = [0.1, 2.0, 0.5, 1.0, 0.7]
    assert corner_step(problem, x, within=4) == pytest.approx(CORNER / 8)
    assert corner_step(problem, 0 * x, within=1) == pytest.approx(CORNER / 0.5)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_modes_maximise_each_student_s_posterior(small, link):
    model, _, _, found_link, x = setting(small, link)
    conditional, predictor = Conditional(small, model, found_link), model.predictor(x)
    modes = conditional.modes(predictor, np.zeros(small.n_students))

    def minus_posterior(theta: float, student: int) -> float:
        mine = conditional.student == student
        value = conditional.derivatives(predictor, np.full(small.n_students, theta)).value
        return theta**2 / 2 - float(value[mine].sum())

    for student in range(0, small.n_students, 7):
        best = optimize.minimize_scalar(minus_posterior, (-3, 3), args=(student,), tol=1e-10)
        assert modes[student] == pytest.approx(best.x, abs=1e-5)


def test_laplace_agrees_with_glmmtmb(writing):
    # R 4.2, glmmTMB 1.1.5: glmmTMB(y ~ rater + item + (1 | pid), family = binomial) |> logLik()
    assert rl.fit(writing, model="tfm", method="laplace").loglik == pytest.approx(-3313.5807, abs=0.001)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_laplace_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    assert_gradient(Laplace(Conditional(small, model, link), model, pseudo).value, x)


# The paper's table of the empirical study: rho and eta by rater and topic.
PRINTED = {
    "AM:Family": (1.00, -2.24, 0.76),
    "AM:School": (0.50, -1.57, 0.54),
    "AM:Sport": (0.48, -1.77, 0.48),
    "AM:Work": (0.52, -1.78, 0.51),
    "BE:Family": (0.71, -0.88, 0.82),
    "BE:School": (0.61, -1.09, 0.72),
    "BE:Sport": (0.71, -1.17, 0.78),
    "BE:Work": (0.54, -1.01, 0.68),
    "CO:Family": (0.65, 0.85, 0.78),
    "CO:School": (0.88, 0.99, 0.90),
    "CO:Sport": (0.76, 1.52, 0.75),
    "CO:Work": (0.63, 0.85, 0.77),
    "DA:Family": (0.79, 2.04, 0.67),
    "DA:School": (0.66, 1.83, 0.62),
    "DA:Sport": (0.55, 1.67, 0.56),
    "DA:Work": (0.82, 1.76, 0.74),
}


def test_hierarchical_likelihood_reproduces_the_paper_s_table(writing):
    fit = rl.fit(writing, model="gmf", method="hl")
    assert fit.sigma == pytest.approx(2.51, abs=0.03)
    # The difficulties that the paper prints in its text.
    delta = dict(zip(fit.items["item"], fit.items["delta"], strict=True))
    assert delta == pytest.approx(
        {"spe": -1.54, "coh": -1.45, "str": 0.19, "gra": 0.76, "con": 2.04}, abs=0.01
    )
    for rater, rho, eta, kappa in fit.raters.select("rater", "rho", "eta", "kappa").iter_rows():
        printed = PRINTED[rater]
        assert rho == pytest.approx(printed[0], abs=0.01)
        assert eta == pytest.approx(printed[1], abs=0.05)
        assert kappa == pytest.approx(printed[2], abs=0.015)


def test_the_paper_s_estimates_are_not_the_marginal_maximum(writing):
    best, paper = (
        rl.fit(writing, model="gmf", standard_errors=False),
        rl.fit(writing, model="gmf", method="hl", standard_errors=False),
    )
    assert best.loglik - paper.loglik == pytest.approx(11.5, abs=0.2)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_hierarchical_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    theta = np.random.default_rng(1).normal(size=small.n_students)
    conditional = Conditional(small, model, link)
    assert_gradient(lambda p: ratings_given_abilities(conditional, model, pseudo, theta, p), x)


# ----------------------------------------------------------------------------------------------------
# Where an estimation begins, what it says of a slope at its least, and when a second ability is shared: which
# ratios need no draws, and how many settle the others.


@pytest.mark.parametrize(("kind", "link"), [("gmf", "logit"), ("tfm", "logit"), ("probit", "probit")])
def test_severities_start_in_the_order_of_the_pass_rates(small, kind, link):
    model, _ = make(small, kind)
    start = starting_values(small, model, get_link(link))
    rates = small.tally("rater").total / small.tally("rater").n
    np.testing.assert_array_equal(np.argsort(start[model.blocks["severity"]]), np.argsort(-rates))
    slope = model.slope(start[model.blocks["slope"]])
    np.testing.assert_allclose(slope, slope[0])


def test_scales_grow_with_the_ratings_of_a_parameter(small):
    model, _ = make(small, "gmf")
    scale = information_scale(model, starting_values(small, model, get_link("logit")))
    given = small.tally("rater").n
    np.testing.assert_allclose(scale[model.blocks["severity"]] / given, scale[0] / given[0])
    assert (scale > 0).all()


def test_a_fit_may_begin_and_be_anchored_where_nobody_tells_students_apart():
    """Nothing is known there of the students' mean and spread; the optimiser divided by it."""
    rows = {"student": [0, 0, 1, 1, 2, 2], "rater": ["a", "b"] * 3, "score": [0, 1] * 3}
    earlier = rl.fit(pl.DataFrame(rows), model="gmf")
    assert earlier.sigma == 0
    fit = rl.fit(pl.DataFrame(rows), model="gmf", anchors=earlier, start=earlier)
    assert fit.converged
    assert fit.loglik == pytest.approx(
        rl.fit(pl.DataFrame(rows), model="gmf", anchors=earlier).loglik, abs=1e-6
    )


def test_students_with_more_ratings_start_with_narrower_posteriors(small):
    widths, n = starting_widths(small, Adjacent(2)), small.tally("student").n
    assert (widths < 1).all()
    assert np.all(np.diff(widths[np.argsort(n, kind="stable")]) <= 0)


def test_a_common_slope_at_its_least_is_said():
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), model="tfm")
    assert any("hold no information about ability" in warning for warning in fit.warnings)


def never(number: int) -> float:
    raise AssertionError(number)


def test_ratios_that_need_no_drawing() -> None:
    point = stats.chi2.ppf(0.95, 10)
    for ratio, found in ((point - 0.1, False), (4 * point + 0.1, True)):
        test = judged(ratio, 10, never)
        assert (test.found, test.p, test.replicates) == (found, None, 0)
    assert settled(3.0).found


def test_the_second_ratio_beyond_settles_it() -> None:
    test = judged(30.0, 10, lambda number: [10.0, 31.0, 12.0, 33.0][number])
    assert (test.found, test.replicates, test.p) == (False, 4, 3 / 5)


def test_a_ratio_far_beyond_the_first_draws_needs_no_more() -> None:
    random = np.random.default_rng(1)
    test = judged(60.0, 10, lambda number: random.normal(12.0, 3.0))
    assert test.found
    assert test.replicates == 12
    assert test.p is not None
    assert test.p < 1e-3


def test_one_of_39_beyond_is_5_percent() -> None:
    random = np.random.default_rng(1)
    test = judged(24.0, 10, lambda number: 25.0 if number == 5 else float(random.normal(12.0, 4.0)))
    assert (test.found, test.replicates, test.p) == (True, REPLICATES, 0.05)
    assert test.table()["ratio"].to_list() == [24.0]
