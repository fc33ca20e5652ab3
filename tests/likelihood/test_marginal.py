import gc
import weakref

import numpy as np
import pytest

import raterlens as rl
from raterlens.likelihood.forms import CellMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from tests.support.facets_models import assert_gradient, setting


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit", "cloglog"])
def test_marginal_gradient(small, link):
    model, response, pseudo, _, x = setting(small, link)
    problem, nodes = marginal(small, model, response, pseudo), Nodes.equally_spaced(-6, 6, 0.25)
    assert_gradient(lambda p: problem.value(p, nodes), x)


def test_compiled_tables_give_the_same_likelihood(small, monkeypatch):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    readable = marginal(small, model, response, pseudo).value(x, nodes)
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", 0)
    problem = marginal(small, model, response, pseudo)
    compiled = problem.value(x, nodes)
    assert compiled.loglik == pytest.approx(readable.loglik, rel=1e-13)
    np.testing.assert_allclose(compiled.gradient, readable.gradient, rtol=1e-9, atol=1e-9)
    assert_gradient(lambda p: problem.value(p, nodes), x)


def test_essays_and_cells_give_the_same_likelihood(small):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    essays = marginal(small, model, response, pseudo).value(x, nodes)
    cells = CellMarginal(small, model, response, pseudo).value(x, nodes)
    assert essays.loglik == pytest.approx(cells.loglik, rel=1e-13)
    np.testing.assert_allclose(essays.gradient, cells.gradient, rtol=1e-9, atol=1e-9)


def test_ratings_are_arranged_once_for_those_who_ask_alike_and_let_go_of():
    ratings = rl.simulate(students=300, raters=8, items=5, raters_per_student=2, seed=1).ratings
    model, response, pseudo, *_ = setting(ratings, "logit")
    first, second = (marginal(ratings, model, response, pseudo) for _ in range(2))
    assert second.engine is first.engine
    one_slope, *_ = setting(ratings, "logit", "tfm")
    assert marginal(ratings, one_slope, response, pseudo).engine is not first.engine
    gone = weakref.ref(ratings)
    del ratings, model, one_slope, first, second
    gc.collect()
    assert gone() is None
