"""The marginal likelihood with a reading effect, against an average over u of every reading by itself."""

import numpy as np
import polars as pl
import pytest
from scipy import special

from raterlens.capability.links import get_link
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.likelihood.readings import LEAST_SPREAD
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec
from raterlens.models.responses import Predictor
from tests.support.halo_problems import KINDS, NODES, problem_of


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_is_the_average_over_every_reading(kind):
    ratings, problem, x = problem_of(*kind)
    model, predictor = problem.model, problem.model.predictor(x)
    u = np.arange(-8, 8.01, 0.05)
    weights = -0.5 * u**2 + np.log(0.05) - 0.5 * np.log(2 * np.pi)
    shift = np.sqrt(model.halo_variances(x))[model.contexts.rater]
    at = [
        Predictor(predictor.slope, predictor.intercepts + np.multiply.outer(each * shift, model.lever))
        for each in u
    ]
    logs = np.stack([problem.response.log_prob(each, NODES.points) for each in at])
    place, table, total = model.contexts.places(ratings), ratings.table().with_row_index(), 0.0
    again = table.select(rank=pl.int_range(pl.len()).over("student", "rater", "item"))["rank"].to_numpy()
    for student in range(ratings.n_students):
        joint = NODES.log_weights.copy()
        for rater in range(ratings.n_raters):
            for reading in (0, 1):
                rows = np.flatnonzero(
                    (ratings.student == student) & (ratings.rater == rater) & (again == reading)
                )
                if len(rows):
                    inside = sum(logs[:, place[row], ratings.score[row]] for row in rows)
                    joint = joint + special.logsumexp(weights[:, None] + inside, axis=0)
        total += special.logsumexp(joint)
    assert problem.value(x, NODES).loglik == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_exact(kind):
    _, problem, x = problem_of(*kind)
    found = problem.value(x, NODES).gradient
    for j in range(len(x)):
        step = np.eye(len(x))[j] * 1e-5
        above, below = (problem.value(x + sign * step, NODES).objective for sign in (1, -1))
        assert found[j] == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_without_spread_it_is_the_plain_likelihood_and_not_level():
    from raterlens.likelihood.forms import EssayMarginal

    ratings, problem, x = problem_of(*KINDS[0])
    x[problem.model.blocks["halo"]] = 0.0
    options = Options(facets_spec("gmf"), get_link("logit"))
    plain, response = build(ratings, options)
    y = np.delete(x, problem.model.blocks["halo"].start)
    expected = EssayMarginal(ratings, plain, response, Pseudo(np.zeros((len(plain.contexts), 2)))).value(
        y, NODES
    )
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


def test_the_rule_is_as_fine_as_the_spread_asks():
    _, problem, _ = problem_of(*KINDS[0])
    sizes = [len(problem.rule(spread)[0]) for spread in (0.0, 1.0, 3.0, 1e3)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert sizes[-1] < 140
    for spread in (0.0, 1.0, 3.0):
        points, log_weights = problem.rule(spread)
        assert np.exp(log_weights) @ points**2 == pytest.approx(1.0, abs=1e-7)


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
