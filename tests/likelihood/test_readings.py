"""Particulars of a reading effect; its value and derivatives are in test_likelihood."""

from typing import Any

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.priors import Pseudo
from raterlens.likelihood.readings import LEAST_SPREAD
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
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


def test_the_rule_is_as_fine_as_the_spread_asks():
    density: Any = problem_of(*KINDS[0])[1].density
    sizes = [len(density.rule(spread)[0]) for spread in (0.0, 1.0, 3.0, 1e3)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert sizes[-1] < 140
    for spread in (0.0, 1.0, 3.0):
        points, log_weights = density.rule(spread)
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
