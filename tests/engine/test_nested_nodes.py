"""Few narrow posteriors among many wide ones: the same numbers as on nodes that are fine for all."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.kernels import posterior_pass
from raterlens.likelihood.engines.compiled import CompiledEngine
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import STENCIL, NestedNodes, Nodes, error_between, weights_between
from tests.support.engine_problems import logistic_problem, written_out_covariance

# Interpolation is exact to 1e-11 here; posteriors on the nodes that they are not too narrow for, to 1e-9 each.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
COARSE, PARTS = NestedNodes.of(Nodes.equally_spaced(-9, 9, 0.2), 5), 5


def uneven(nodes, *, linear):
    """Every twentieth student has ratings enough for a standard deviation of half a step; half of them passes."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear, nodes=nodes)
    often = np.where(np.arange(counts.shape[0]) % 20, 1.0, 100.0)
    counts = sparse.csr_array(sparse.diags_array(often, format="csr") @ counts)
    cells = tables.cells + 0.5 * np.multiply.outer(scores.steepest, nodes.points)
    return counts, sums, Tables(cells, tables.linear), nodes, scores


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("kind", [NumpyEngine, CompiledEngine])
def test_engines_give_what_fine_nodes_give(kind, linear):
    counts, sums, tables, nodes, scores = uneven(COARSE, linear=linear)
    *_, fine_tables, fine, fine_scores = uneven(Nodes.equally_spaced(-9, 9, 0.02), linear=linear)
    engine, exact = kind(counts, sums), NumpyEngine(counts, sums)
    moments, expected_moments = engine.moments(tables, nodes), exact.moments(fine_tables, fine)
    assert expected_moments.sd.min() < 0.5 * nodes.step
    np.testing.assert_allclose(moments.mean, expected_moments.mean, **CLOSE)
    np.testing.assert_allclose(moments.sd, expected_moments.sd, **CLOSE)
    found, expected = engine.evaluate(tables, nodes), exact.evaluate(fine_tables, fine)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-10)
    # Whatever is smooth has the same average.
    curve, fine_curve = (np.tanh(0.4 * each.points) for each in (nodes, fine))
    np.testing.assert_allclose(found.counts @ curve, expected.counts @ fine_curve, **CLOSE)
    if linear:
        np.testing.assert_allclose(found.linear, expected.linear, **CLOSE)
    own = np.concatenate([posterior @ curve for _, posterior, _ in engine.posteriors(tables, nodes)])
    expected_own = [posterior @ fine_curve for _, posterior, _ in exact.posteriors(fine_tables, fine)]
    np.testing.assert_allclose(own, np.concatenate(expected_own), **CLOSE)
    covariance = engine.score_covariance(tables, nodes, scores)
    covariance = covariance if isinstance(covariance, np.ndarray) else covariance.toarray()
    written = written_out_covariance(counts, sums, fine_tables, fine, fine_scores)
    np.testing.assert_allclose(covariance, written, rtol=1e-6, atol=1e-6 * np.abs(written).max())


@pytest.mark.parametrize("above", [-9.0, 0.0], ids=["everywhere", "in part"])
def test_a_logarithm_that_is_infinite_is_left_alone(above):
    """Nothing can be interpolated there: the posterior is as it looks on the nodes."""
    counts, sums, tables, nodes, _ = uneven(COARSE, linear=True)
    tables.cells[0, nodes.points >= above] = -np.inf
    plain = Nodes(nodes.points, nodes.log_weights)
    has = counts[:, [0]].toarray()[:, 0] > 50
    assert has.any()
    of_cell = CompiledEngine(counts[has], sums[has])
    found, expected = (of_cell.evaluate(tables, grid) for grid in (nodes, plain))
    assert found.loglik == expected.loglik
    np.testing.assert_array_equal(found.counts, expected.counts)


def test_kernels_interpolate_between_as_many_nodes():
    assert posterior_pass.STENCIL == STENCIL


def test_weights_keep_polynomials():
    weights = weights_between(PARTS)
    at = np.arange(len(weights)) / PARTS / STENCIL
    for power in (0, 1, 5, 11):
        found = weights @ (np.arange(STENCIL) / STENCIL) ** power
        np.testing.assert_allclose(found, at**power, atol=1e-9)


def test_the_error_in_between_is_foreseen():
    nodes = Nodes.equally_spaced(-9, 9, 0.6)
    curve = np.log1p(np.exp(2 * nodes.points))[None]
    fine = NestedNodes.of(nodes, 2)
    found = curve @ fine.between().T - np.log1p(np.exp(2 * fine.fine().points))
    inside = np.abs(fine.fine().points) < 1
    error = np.abs(found[:, inside]).max()
    assert error > 1e-7
    assert error <= error_between(curve) < 3 * error


def test_the_fine_nodes_are_those_of_the_trapezoidal_rule():
    fine = COARSE.fine()
    same = Nodes.equally_spaced(fine.low, fine.high, fine.step)
    inside = np.abs(fine.points) < 5
    expected = -0.5 * fine.points**2 - 0.5 * np.log(2 * np.pi) + np.log(fine.step)
    assert fine.step == pytest.approx(same.step)
    np.testing.assert_allclose(fine.log_weights[inside], expected[inside], rtol=1e-11)
