"""Which form the likelihood takes, and that forms agree."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.inference.covariance import in_full
from raterlens.likelihood.density import Cells, Essays
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.marginal import bound
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo, pseudo_ratings
from raterlens.likelihood.readings import Readings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.facets_models import assert_gradient, make, ratings_of, setting, somewhere


@pytest.mark.parametrize(
    ("link", "halo", "form"),
    [("logit", "none", Essays), ("probit", "none", Cells), ("probit", "common", Readings)],
)
def test_the_cheapest_form_that_will_do(small, link, halo, form):
    model, response = build(small, Options(MODELS["gmf"], get_link(link), halo=halo))
    problem = marginal(small, model, response, Pseudo(np.zeros((len(model.contexts), 2))))
    assert type(problem.density) is form
    assert problem.n_students == small.n_students


def test_compiled_tables_give_the_same_likelihood(small, monkeypatch):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    readable = marginal(small, model, response, pseudo).value(x, nodes)
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    problem = marginal(small, model, response, pseudo)
    compiled = problem.value(x, nodes)
    assert compiled.loglik == pytest.approx(readable.loglik, rel=1e-13)
    np.testing.assert_allclose(compiled.gradient, readable.gradient, rtol=1e-9, atol=1e-9)
    assert_gradient(lambda p: problem.value(p, nodes), x)


def test_essays_and_cells_give_the_same_likelihood(small):
    model, response, pseudo, _, x = setting(small, "logit")
    nodes = Nodes.equally_spaced(-6, 6, 0.25)
    essays = marginal(small, model, response, pseudo).value(x, nodes)
    cells = bound(small, model, Cells(response, model), pseudo).value(x, nodes)
    assert essays.loglik == pytest.approx(cells.loglik, rel=1e-13)
    np.testing.assert_allclose(essays.gradient, cells.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["gmf", "rating scale"])
def test_essays_of_many_kinds_are_taken_apart(small, kind, monkeypatch):
    """Where a table of whole essays would be too large, single ratings give the same."""
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    by_essays, scores = in_full(problem.information(x, nodes)), problem.student_scores(x, nodes).toarray()
    monkeypatch.setattr("raterlens.likelihood.density.LARGEST_SCORES", 1)
    by_ratings = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(by_ratings, by_essays, atol=1e-7 * np.abs(by_essays).max())
    np.testing.assert_allclose(problem.student_scores(x, nodes).toarray(), scores, atol=1e-9)
