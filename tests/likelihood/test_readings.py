"""Particulars of a reading effect; its value and derivatives are in test_likelihood."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.inference.covariance import in_full
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.likelihood.readings import LEAST_SPREAD, rule
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.responses import Graded
from raterlens.models.terms.draws import DRAW, Draws
from raterlens.ratings.groupings import counted_once, inconsistent_raters, with_draws
from tests.support.check_term import check_term
from tests.support.facets_models import assert_gradient, by_differences, somewhere
from tests.support.halo_problems import KINDS, NODES, problem_of


def test_without_spread_it_is_the_plain_likelihood_and_not_level():
    ratings, problem, x = problem_of(*KINDS[0])
    x[problem.model.blocks["halo"]] = 0.0
    options = Options(MODELS["gmf"], get_link("logit"))
    plain, response = build(ratings, options)
    y = np.delete(x, problem.model.blocks["halo"].start)
    nobody = Pseudo(np.zeros((len(plain.contexts), 2)))
    expected = marginal(ratings, plain, response, nobody).value(y, NODES)
    found = problem.value(x, NODES)
    assert found.loglik == pytest.approx(expected.loglik, abs=100 * LEAST_SPREAD**2)
    assert abs(found.gradient[problem.model.blocks["halo"]][0]) > 1e-3


def test_many_kinds_are_gone_over_twice_instead_of_kept(monkeypatch):
    _, problem, x = problem_of(*KINDS[1])
    kept = problem.value(x, NODES)
    monkeypatch.setattr("raterlens.likelihood.readings._KEPT", 0)
    again = problem.value(x, NODES)
    assert again.loglik == pytest.approx(kept.loglik, rel=1e-12)
    np.testing.assert_allclose(again.gradient, kept.gradient, rtol=1e-9, atol=1e-9)


def test_kinds_of_one_rater_are_gone_over_in_parts(monkeypatch):
    _, problem, x = problem_of(*KINDS[2])
    whole, information = problem.value(x, NODES), in_full(problem.information(x, NODES))
    monkeypatch.setattr("raterlens.likelihood.readings._LARGEST", 1)
    parts = problem.value(x, NODES)
    assert parts.loglik == pytest.approx(whole.loglik, rel=1e-12)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-9, atol=1e-9)
    again = in_full(problem.information(x, NODES))
    np.testing.assert_allclose(again, information, rtol=1e-9, atol=1e-9)


def test_the_rule_is_as_fine_as_the_spread_asks():
    _, problem, x = problem_of(*KINDS[2])
    assert len(x[problem.model.blocks["halo"]]) == 3
    sizes = []
    for variances in ((0.0, 1.0, 9.0), (1e6, 1e6, 1e6)):
        x[problem.model.blocks["halo"]] = variances
        up: Any = problem.up(x, NODES)
        for some in sorted((some for some, _ in up.raters), key=lambda some: some.contexts[0]):
            sizes.append(len(some.u))
            assert np.exp(some.log_weights) @ some.u**2 == pytest.approx(1.0, abs=1e-7)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert len(sizes) == 4, "raters of the same rule are gone over together"
    assert sizes[-1] < 140
    assert len(rule(0.5)[0]) == 29


@pytest.mark.parametrize("kind", KINDS[:2])
def test_odds_that_could_overflow_are_not_multiplied(monkeypatch, kind):
    _, problem, x = problem_of(*kind)
    multiplied = problem.value(x, NODES)
    monkeypatch.setattr("raterlens.likelihood.readings._LARGEST_EXPONENT", -1.0)
    afresh = problem.value(x, NODES)
    assert afresh.loglik == pytest.approx(multiplied.loglik, rel=1e-12)
    np.testing.assert_allclose(afresh.gradient, multiplied.gradient, rtol=1e-9, atol=1e-9)
    monkeypatch.undo()
    x[problem.model.blocks["slope"]] = 90.0
    assert np.isfinite(problem.value(x, NODES).gradient).all()


# ----------------------------------------------------------------------------------------------------
# Draws: all answers of a rater to one question, averaged over the rater's reading of it.


def panel(n_categories=2, items=2, seed=3) -> rl.Ratings:
    """Raters A and B answer each question 2-4 times, C once."""
    random = np.random.default_rng(seed)
    rows = [
        (student, rater, f"i{item}", int(random.integers(n_categories)))
        for student in range(12)
        for rater, most in (("A", 4), ("B", 2), ("C", 1))
        for item in range(items)
        for _ in range(random.integers(most) + 1)
    ]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return with_draws(rl.read(table, duplicates="keep"))


def problem_of_draws(ratings, link="logit", scale="rating scale", **options):
    wanted = Options(MODELS["gmf"], get_link(link), scale, draws=inconsistent_raters(ratings), **options)
    model, response = build(ratings, wanted)
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    return model, response, marginal(ratings, model, response, nobody)


@pytest.mark.parametrize(
    ("n_categories", "link", "options"),
    [
        (2, "logit", {}),
        (2, "probit", {}),
        (2, "cloglog", {"item_slopes": True}),
        (3, "logit", {"scale": "partial credit"}),
        (3, "logit", {"scale": "graded"}),
        pytest.param(2, "logit", {"halo": "common"}, marks=pytest.mark.nightly),
    ],
)
def test_the_term_of_draws(n_categories, link, options):
    ratings = panel(n_categories)
    model, response, _ = problem_of_draws(ratings, link, **options)
    check_term(DRAW, model, response, ratings)


@pytest.mark.parametrize("spread", [0.01, 0.3, 1.0, 5.0, 20.0, 60.0])
def test_likelihood_and_gradient_by_adaptive_quadrature(spread):
    """The log-probability of every question by `scipy.integrate.quad`, split where the curve is steep."""
    ratings = panel(items=1)
    model, _, problem = problem_of_draws(ratings)
    term = model.term(DRAW, Draws)
    x = somewhere(model)
    x[model.blocks[DRAW]] = 0.5 * np.log1p(term.flattening * spread**2)
    t = np.linspace(-2.0, 2.0, 5)
    log = problem.response.log_prob(problem.model.predictor(x), t)
    at, stretch = problem.model.single.predictor(x), np.sqrt(1 + term.flattening * spread**2)
    for context, q in [(0, 0), (0, 3), (1, 2)]:
        s = stretch * (at.slope[context] * t[q] + at.intercepts[context, 0])
        for outcome, (fails, passes) in enumerate(problem.response.patterns[context]):

            def density(u, s=s, fails=fails, passes=passes):
                curve = passes * special.log_expit(s + spread * u) + fails * special.log_expit(
                    -s - spread * u
                )
                return np.exp(curve - u**2 / 2) / np.sqrt(2 * np.pi)

            steep = -s / spread
            edges = np.unique(np.clip([-12, *(steep + np.array([-40, -5, 0, 5, 40]) / spread), 12], -12, 12))
            pieces = [
                integrate.quad(density, *span, epsabs=1e-14, epsrel=1e-12)[0] for span in pairwise(edges)
            ]
            assert log[context, outcome, q] == pytest.approx(np.log(sum(pieces)), abs=1e-9)
    nodes = Nodes.equally_spaced(-6, 6, 0.1)
    assert_gradient(lambda y: problem.value(y, nodes), x)


def test_the_information_of_large_spreads_by_differences():
    ratings = panel(items=1)
    model, _, problem = problem_of_draws(ratings)
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.1)
    x[model.blocks[DRAW]] = [2.5, 3.5]
    expected = by_differences(problem, x, nodes)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_products_give_what_logarithms_give():
    """Pass or fail through the logit, by the shorter way and by the one that any response takes."""
    model, response, problem = problem_of_draws(panel())
    logistic, graded = problem.response, replace(problem.response, answer=Graded(get_link("logit"), 2))
    at, t = problem.model.predictor(somewhere(model)), np.linspace(-3, 3, 7)
    counts = np.random.default_rng(0).random((len(model.contexts), logistic.n_categories, len(t)))
    assert response.n_categories == 2
    np.testing.assert_allclose(logistic.log_prob(at, t), graded.log_prob(at, t), atol=1e-9)
    np.testing.assert_allclose(logistic.scores(at, t), graded.scores(at, t), atol=1e-7)
    one, other = (each.curvature(at, t, counts) for each in (logistic, graded))
    drawn = logistic.drawn
    np.testing.assert_allclose(one[drawn], other[drawn], atol=1e-6)


def test_without_a_spread_answers_are_independent():
    """At tau = 0, draws are ratings like others: the likelihood is that of the model without draws."""
    ratings = panel()
    model, _, problem = problem_of_draws(ratings)
    x, nodes = somewhere(model), Nodes.equally_spaced(-7, 7, 0.2)
    x[model.blocks[DRAW]] = 0.0
    plain, response = build(ratings, Options(MODELS["gmf"], get_link("logit")))
    nobody = Pseudo(np.zeros((len(plain.contexts), 2)))
    apart = marginal(ratings, plain, response, nobody)
    expected = apart.value(x[: plain.blocks.size], nodes).loglik
    assert problem.value(x, nodes).loglik == pytest.approx(expected, abs=1e-6)


def test_raters_whose_draws_never_differ_answer_once():
    ratings = panel()
    copied = ratings.subset(np.repeat(np.flatnonzero(ratings.rater == 2), 3))
    assert not inconsistent_raters(copied).any()
    once = counted_once(copied)
    assert once.n_ratings == int((ratings.rater == 2).sum())
    assert inconsistent_raters(ratings).tolist() == [True, True, False]
