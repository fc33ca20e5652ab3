import numpy as np
import pytest

from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import Pseudo
from tests.support.facets_models import KINDS, make, ratings_of, somewhere

NODES = Nodes.equally_spaced(-6, 6, 0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_the_expected_cells_add_up_to_the_gradient(small, kind):
    """Fisher's identity, cell by cell; what has no ability in it, the given intercepts of essays, is left out."""
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    problem, x = marginal(ratings, model, response, nobody), somewhere(model)
    scores = problem.scores(x, NODES)
    expected = problem.engine.evaluate(problem.tables(x, NODES), NODES)
    cell = np.repeat(np.arange(len(scores.first) - 1), np.diff(scores.first))
    each = np.sum(expected.counts[cell] * scores.table, axis=1)
    found = np.bincount(scores.parameter, each, scores.n_parameters)
    if expected.linear is not None:
        found += scores.slopes.T @ expected.linear
        found += model.pullback(x, np.zeros(len(model.contexts)), problem.kinds.given[:, 1:].astype(float))  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, problem.value(x, NODES).gradient, atol=1e-8)
