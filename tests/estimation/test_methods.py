"""The three estimators on the writing data against the paper and other programs; gradients by differences."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.engine.protocol import Moments, Nodes
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.extremes import pseudo_ratings
from raterlens.estimation.grid import MOST_NODES, accuracy_for, finer, first_nodes, nodes_for
from raterlens.estimation.hierarchical import ratings_given_abilities
from raterlens.estimation.laplace import Laplace
from raterlens.estimation.marginal import CellMarginal, marginal
from raterlens.estimation.methods import Known, estimate
from raterlens.estimation.starting_values import starting_values
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec

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


@pytest.mark.parametrize(("model", "link"), MARGINAL)
def test_marginal_loglik_on_the_writing_data(writing, model, link):
    fit = rl.fit(writing, model=model, link=link, standard_errors=False)
    assert fit.converged
    assert fit.loglik == pytest.approx(MARGINAL[model, link], abs=0.001)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_a_start_without_any_discrimination_does_not_hold_the_optimiser(small, method):
    """With all slopes at 0 the gradient by each is 0, though it is no maximum."""
    options = Options(facets_spec("gmf"), get_link("logit"))
    model, response = build(small, options, 2)
    level = np.full(model.blocks.size, np.nan)
    level[model.blocks["slope"]] = 0.0
    usual, stuck = (
        estimate(small, model, response, options.link, method, Known(begin=begin)) for begin in (None, level)
    )
    assert stuck.loglik == pytest.approx(usual.loglik, abs=1e-4)


def test_marginal_estimates_on_the_writing_data(writing):
    fit = rl.fit(writing)
    assert fit.sigma == pytest.approx(2.1007, abs=1e-4)
    assert fit.alpha == pytest.approx(0.0876, abs=1e-3)
    delta = dict(zip(fit.items["item"], fit.items["delta"], strict=True))
    assert delta == pytest.approx(
        {"spe": -1.430, "coh": -1.345, "str": 0.170, "gra": 0.701, "con": 1.904}, abs=0.001
    )
    kappa = fit.raters.sort("kappa").select("rater", "kappa").rows()
    assert kappa[0] == ("AM:Sport", pytest.approx(0.580, abs=0.001))
    assert kappa[-1] == ("CO:School", pytest.approx(0.948, abs=0.001))


def test_laplace_agrees_with_glmmtmb(writing):
    # R 4.2, glmmTMB 1.1.5: glmmTMB(y ~ rater + item + (1 | pid), family = binomial) |> logLik()
    assert rl.fit(writing, model="tfm", method="laplace").loglik == pytest.approx(-3313.5807, abs=0.001)


def test_hierarchical_likelihood_reproduces_the_paper_s_table(writing):
    fit = rl.fit(writing, method="hl")
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
    best, paper = rl.fit(writing, standard_errors=False), rl.fit(writing, method="hl", standard_errors=False)
    assert best.loglik - paper.loglik == pytest.approx(11.5, abs=0.2)


def setting(ratings, link: str, model: str = "gmf"):
    options = Options(facets_spec(model), get_link(link))
    facets, response = build(ratings, options)
    x = starting_values(ratings, facets, options.link)
    x += np.random.default_rng(0).normal(scale=0.1, size=len(x))
    return facets, response, pseudo_ratings(facets, response.n_categories), options.link, x


def assert_gradient(value, x) -> None:
    step = 1e-5
    differences = [
        (value(x + d).objective - value(x - d).objective) / (2 * step) for d in step * np.eye(len(x))
    ]
    np.testing.assert_allclose(value(x).gradient, differences, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit", "cloglog"])
def test_marginal_gradient(small, link):
    model, response, pseudo, _, x = setting(small, link)
    problem, nodes = marginal(small, model, response, pseudo), Nodes.equally_spaced(-6, 6, 0.25)
    assert_gradient(lambda p: problem.value(p, nodes), x)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_laplace_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    assert_gradient(Laplace(Conditional(small, model, link), model, pseudo).value, x)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_hierarchical_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    theta = np.random.default_rng(1).normal(size=small.n_students)
    conditional = Conditional(small, model, link)
    assert_gradient(lambda p: ratings_given_abilities(conditional, model, pseudo, theta, p), x)


def test_essays_and_cells_give_the_same_likelihood(small):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    essays = marginal(small, model, response, pseudo).value(x, nodes)
    cells = CellMarginal(small, model, response, pseudo).value(x, nodes)
    assert essays.loglik == pytest.approx(cells.loglik, rel=1e-13)
    np.testing.assert_allclose(essays.gradient, cells.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("students", "raters", "items", "slope"),
    [(50, 20, 40, (0.025, 0.5)), (40, 20, 250, (0.5, 2.0))],
    ids=["study 1", "5,000 ratings a student"],
)
@pytest.mark.parametrize("model", ["tfm", "gmf"])
def test_the_grid_is_fine_enough_where_posteriors_are_narrow(students, raters, items, slope, model):
    ratings = rl.simulate(
        students=students, raters=raters, items=items, slope=np.linspace(*slope, raters), seed=1
    ).ratings
    facets, response, _, link, _ = setting(ratings, "logit", model)

    found = estimate(ratings, facets, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 5)
    assert found.loglik == pytest.approx(found.problem.value(found.parameters, fine).loglik, abs=1e-4)


def test_nodes_follow_the_widths_of_the_posteriors():
    wide = nodes_for(Moments(np.zeros(10), np.full(10, 0.5)))
    narrow = nodes_for(Moments(np.zeros(10), np.full(10, 0.05)))
    assert wide.step == pytest.approx(10 * narrow.step, rel=0.1)
    assert finer(wide).step == pytest.approx(wide.step / 2)
    assert finer(wide).low < wide.low


def test_nodes_do_not_grow_with_the_number_of_students_who_are_alike():
    few, many = (nodes_for(Moments(np.zeros(n), np.full(n, 0.5))) for n in (1_000, 1_000_000))
    assert len(few.points) == len(many.points)


def test_each_of_many_students_is_integrated_well():
    """On more students than the error of the whole log-likelihood is held to a constant for."""
    n = 20_000
    ratings = rl.simulate(students=n, raters=8, items=5, raters_per_student=2, seed=3).ratings
    facets, response, _, link, _ = setting(ratings, "logit", "gmf")
    found = estimate(ratings, facets, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 5)
    exact = found.problem.value(found.parameters, fine)
    assert accuracy_for(n) > accuracy_for(1_000)
    assert found.loglik == pytest.approx(exact.loglik, abs=accuracy_for(n))
    np.testing.assert_allclose(exact.gradient, found.value.gradient, atol=1e-3)


def test_a_fit_whose_tolerance_follows_rounding_can_be_saved(monkeypatch, small, tmp_path):
    """On millions of ratings; here the rounding is made coarse instead."""
    monkeypatch.setattr("raterlens.estimation.optimiser._ROUNDING", 1e-9)
    fit = rl.fit(small)
    assert fit.optimiser.tolerance > 1e-5
    fit.save(tmp_path / "fit.json")
    assert rl.load(tmp_path / "fit.json").converged


def test_the_grid_resolves_steep_flanks_of_wide_posteriors():
    """Four ratings a student leave a posterior wide, but the cauchit with a slope of 8 turns within a tenth."""
    slope = [8, 7, 6, 2, 1, 8] * 2
    ratings = rl.simulate(
        students=1000, raters=12, items=2, raters_per_student=2, link="cauchit", slope=slope, seed=2
    ).ratings
    link = get_link("cauchit")
    model, response = build(ratings, Options(facets_spec("gmf"), link, "rating scale", False), 2)
    found = estimate(ratings, model, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 8)
    assert found.problem.value(found.parameters, fine).loglik == pytest.approx(found.loglik, abs=2e-5)


def test_a_posterior_without_width_gets_the_finest_grid_there_is():
    widths = np.array([0.0, 0.5, 1.0])
    for nodes in (nodes_for(Moments(np.zeros(3), widths)), first_nodes(widths)):
        assert 0.99 * MOST_NODES < len(nodes.points) < 1.01 * MOST_NODES
