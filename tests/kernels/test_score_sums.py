"""Students' scores summed by compiled code equal the readable ones."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.kernels.score_sums import quadratic_forms
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from tests.support.facets_models import KINDS, make, ratings_of, somewhere

WEIGHTS = {
    "posterior": lambda posterior: posterior,
    "about 0": lambda posterior: posterior * np.linspace(-1, 1, posterior.shape[1]),
    "nothing": np.zeros_like,
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_they_equal_the_readable_ones(small, kind, weights, monkeypatch):
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes, found = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2), []
    for numbers in (np.inf, 0):
        monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", numbers)
        found.append(problem.student_scores(x, nodes, WEIGHTS[weights]))
    readable, compiled = (scores.toarray() for scores in found)
    np.testing.assert_allclose(compiled, readable, rtol=1e-11, atol=1e-12)


def test_it_does_not_matter_how_many_students_are_gone_over_at_a_time(small, monkeypatch):
    model, response = make(small, "gmf")
    problem = marginal(small, model, response, pseudo_ratings(model, response.n_categories))
    x, nodes, found = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2), []
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", 0)
    for students in (1000, 7):
        monkeypatch.setattr("raterlens.likelihood.derivatives._NEAR", students * len(nodes.points))
        found.append(problem.student_scores(x, nodes, WEIGHTS["posterior"]).toarray())
    np.testing.assert_array_equal(*found)


def test_quadratic_forms_of_sparse_rows():
    """Rows without an entry and with the same one twice among them."""
    random = np.random.default_rng(0)
    begin, column = np.array([0, 3, 3, 5, 12]), np.array([2, 0, 4, 1, 1, 6, 5, 4, 3, 2, 1, 0])
    rows = sparse.csr_array((random.normal(size=12), column, begin), shape=(4, 7))
    half = random.normal(size=(7, 7))
    full = rows.toarray()
    expected = np.einsum("ni,ij,nj->n", full, half + half.T, full)
    np.testing.assert_allclose(quadratic_forms(rows, half + half.T), expected, rtol=1e-12, atol=1e-14)
