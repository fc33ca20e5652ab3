"""Students' posteriors in one compiled pass, their scores, and true categories: equal to the readable twins."""

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.kernels import library
from raterlens.kernels.score_covariance import quadratic_forms
from raterlens.likelihood.engines.compiled import Arrangement, CompiledEngine
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import LatentClassMarginal
from raterlens.models.signal_detection import LatentClassModel
from tests.support.engine_problems import logistic_problem, random_problem, written_out_covariance

# Sums of a few dozen exponentials, each exact to the last bit or two.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def test_vanishing_and_impossible_cells_do_no_harm():
    """Log-probabilities far below the largest, down to minus infinity."""
    counts, sums, tables, nodes = random_problem(steepness=2000.0)
    tables.cells[3, :5] = -np.inf
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    found = CompiledEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


def test_counts_that_are_no_whole_numbers():
    """Students who have some are not merged, and take no products."""
    counts, sums, tables, nodes = random_problem()
    counts.data[::3] += 0.5
    assert Arrangement.of(sparse.vstack([counts, counts], format="csr"), None).weight is None
    found = CompiledEngine(counts, sums, arrange=True).evaluate(tables, nodes)
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


# ----------------------------------------------------------------------------------------------------
# Students whose products of probabilities would leave the range of doubles.


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dense", [7, 0], ids=["full", "sparse"])
@pytest.mark.parametrize("again", [False, True])
def test_covariances_of_scores(linear, dense, again):
    """In a full matrix, and in the pairs of parameters that students share; with students merged, too."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    if again:
        rows = np.random.default_rng(1).integers(0, 40, 300)
        counts, sums = counts[rows], None if sums is None else sums[rows]
    expected = written_out_covariance(counts, sums, tables, nodes, scores)
    found = CompiledEngine(counts, sums, arrange=True, dense=dense).covariance(tables, nodes, scores)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_quadratic_forms_of_sparse_rows():
    """Rows without an entry and with the same one twice among them."""
    random = np.random.default_rng(0)
    begin, column = np.array([0, 3, 3, 5, 12]), np.array([2, 0, 4, 1, 1, 6, 5, 4, 3, 2, 1, 0])
    rows = sparse.csr_array((random.normal(size=12), column, begin), shape=(4, 7))
    half = random.normal(size=(7, 7))
    full = rows.toarray()
    expected = np.einsum("ni,ij,nj->n", full, half + half.T, full)
    np.testing.assert_allclose(quadratic_forms(rows, half + half.T), expected, rtol=1e-12, atol=1e-14)


# ----------------------------------------------------------------------------------------------------
# The compiled pass over student-items equals the readable tables.


NODES = Nodes.equally_spaced(-6.0, 6.0, 0.23)


@pytest.mark.parametrize("items", [1, 3, 40])
@pytest.mark.parametrize("sigma", [1.3, 9.0])
def test_values_and_gradients(items, sigma, monkeypatch):
    ratings = rl.simulate(
        model="hrm", students=60, raters=7, items=items, raters_per_student=3, sigma=2.0, seed=items
    ).ratings
    problem = LatentClassMarginal.of(
        ratings, LatentClassModel(ratings.n_raters, ratings.n_items, get_link("logit"), rasch=True)
    )
    parameters = np.random.default_rng(0).normal(1, 0.5, problem.model.blocks.size)
    parameters[problem.model.blocks["sigma"]] = sigma
    parameters[0] = 30.0  # a rater who never passes anybody
    expected = problem.value(parameters, NODES)
    monkeypatch.setattr(library, "NUMBERS", 0)
    found = problem.value(parameters, NODES)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
