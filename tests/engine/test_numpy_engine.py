"""The engine against sums written out, and compression against the plain cells."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp

from raterlens import Ratings
from raterlens.engine.cells import essays, rating_cells
from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.protocol import Nodes, Tables
from raterlens.models.contexts import Contexts


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


def test_nodes_integrate_a_normal():
    nodes = Nodes.equally_spaced(-8, 8, 0.3)
    weight = np.exp(nodes.log_weights)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(weight, stats.norm.pdf(nodes.points) * nodes.step, rtol=1e-12)


def test_essays_hold_the_same_ratings_as_cells(small: Ratings):
    contexts = Contexts.of(small)
    cells = rating_cells(small, contexts, 2).toarray().reshape(small.n_students, len(contexts), 2)
    found = essays(small, contexts, contexts.rater, 2)
    np.testing.assert_array_equal((found.counts @ found.sets.members).toarray(), cells.sum(axis=2))
    passes = cells[:, :, 1] @ np.eye(small.n_raters)[contexts.rater]
    np.testing.assert_array_equal(found.sums.toarray(), passes)
    assert found.counts.nnz < rating_cells(small, contexts, 2).nnz


def test_a_repeated_rating_is_another_item_set():
    one = np.zeros(3, dtype=np.int32)
    ratings = _ratings([0, 0, 1], one, one, [1, 0, 1])
    found = essays(ratings, Contexts.of(ratings), np.zeros(1, dtype=np.int64), 2)
    np.testing.assert_array_equal((found.counts @ found.sets.members).toarray(), [[2], [1]])
    np.testing.assert_array_equal(found.sums.toarray(), [[1], [1]])


def _ratings(student, rater, item, score) -> Ratings:
    import polars as pl

    return Ratings(
        np.array(student, dtype=np.int32),
        np.array(rater, dtype=np.int32),
        np.array(item, dtype=np.int32),
        np.array(score, dtype=np.int16),
        *(pl.Series(name, [0, 1][:size]) for name, size in (("student", 2), ("rater", 1), ("item", 1))),
    )
