"""The engine against sums written out, and compression against the plain cells."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Nodes


@pytest.fixture
def problem() -> tuple[sparse.csr_array, sparse.csr_array, Tables, Nodes]:
    random = np.random.default_rng(0)
    counts = sparse.csr_array(random.poisson(0.6, (40, 7)).astype(float))
    sums = sparse.csr_array(random.poisson(0.6, (40, 3)).astype(float))
    nodes = Nodes.equally_spaced(-5, 5, 0.5)
    tables = Tables(-random.exponential(1.0, (7, len(nodes.points))), random.normal(size=3))
    return counts, sums, tables, nodes


def test_loglik_and_expected_counts_are_the_written_out_sums(problem):
    counts, sums, tables, nodes = problem
    joint = counts @ tables.cells + np.outer(sums @ tables.linear, nodes.points) + nodes.log_weights
    loglik = logsumexp(joint, axis=1)
    posterior = np.exp(joint - loglik[:, None])
    found = NumpyEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(loglik.sum(), rel=1e-13)
    np.testing.assert_allclose(found.counts, counts.T @ posterior, rtol=1e-11)
    np.testing.assert_allclose(found.linear, sums.T @ (posterior @ nodes.points), rtol=1e-11)


def test_blocks_of_students_change_nothing(problem):
    counts, sums, tables, nodes = problem
    whole = NumpyEngine(counts, sums).evaluate(tables, nodes)
    parts = NumpyEngine(counts, sums, block=3 * len(nodes.points)).evaluate(tables, nodes)
    assert parts.loglik == pytest.approx(whole.loglik, rel=1e-14)
    np.testing.assert_allclose(parts.counts, whole.counts, rtol=1e-12)


def test_moments_without_ratings_are_the_prior_s():
    nodes = Nodes.equally_spaced(-8, 8, 0.25)
    empty = NumpyEngine(sparse.csr_array((2, 1)))
    moments = empty.moments(Tables(np.zeros((1, len(nodes.points)))), nodes)
    np.testing.assert_allclose(moments.mean, 0, atol=1e-12)
    np.testing.assert_allclose(moments.sd, 1, rtol=1e-12)
