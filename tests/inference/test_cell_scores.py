import numpy as np
import pytest

from raterlens.engine.protocol import Nodes
from raterlens.estimation.extremes import Pseudo
from raterlens.estimation.marginal_forms import marginal
from raterlens.inference.cell_scores import cell_scores, few_kinds
from tests.support.facets_models import KINDS, make, ratings_of, somewhere

NODES = Nodes.equally_spaced(-6, 6, 0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_the_expected_cells_add_up_to_the_gradient(small, kind):
    """Fisher's identity, cell by cell; what has no ability in it, the given intercepts of essays, is left out."""
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    problem, x = marginal(ratings, model, response, nobody), somewhere(model)
    scores = cell_scores(problem, x, NODES)
    expected = problem.engine.evaluate(problem.tables(x, NODES), NODES)
    cell = np.repeat(np.arange(len(scores.first) - 1), np.diff(scores.first))
    each = np.sum(expected.counts[cell] * scores.table, axis=1)
    found = np.bincount(scores.parameter, each, scores.n_parameters)
    if expected.linear is not None:
        found += scores.slopes.T @ expected.linear
        found += model.pullback(x, np.zeros(len(model.contexts)), problem.kinds.given[:, 1:].astype(float))  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, problem.value(x, NODES).gradient, atol=1e-8)


def test_essays_of_many_kinds_are_noticed(small):
    model, response = make(small, "gmf")
    nobody = Pseudo(np.zeros((len(model.contexts), 2)))
    problem = marginal(small, model, response, nobody)
    size = 3 * problem.kinds.members.nnz * len(NODES.points)  # type: ignore[attr-defined]
    assert few_kinds(problem, NODES, largest=size)
    assert not few_kinds(problem, NODES, largest=size - 1)
