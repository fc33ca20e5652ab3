"""The compiled engine gives the numbers of its readable twin."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.engine.arrangement import Arrangement, neighbours
from raterlens.engine.compiled_engine import CompiledEngine
from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.protocol import Nodes, Tables
from raterlens.engine.selection import engine_for
from tests.support.engine_problems import logistic_problem, random_problem, written_out_covariance

# Sums of a few dozen exponentials, each exact to the last bit or two.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("arrange", [True, False])
def test_it_equals_the_readable_engine(threads, linear, arrange):
    counts, sums, tables, nodes = random_problem(linear=linear)
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    engine = CompiledEngine(counts, sums, threads=threads, arrange=arrange)
    found = engine.evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)
    if linear:
        np.testing.assert_allclose(found.linear, expected.linear, **CLOSE)
    moments, twin = engine.moments(tables, nodes), NumpyEngine(counts, sums).moments(tables, nodes)
    np.testing.assert_allclose(moments.mean, twin.mean, **CLOSE)
    np.testing.assert_allclose(moments.sd, twin.sd, **CLOSE)


def test_vanishing_and_impossible_cells_do_no_harm():
    """Log-probabilities far below the largest, down to minus infinity."""
    counts, sums, tables, nodes = random_problem(steepness=2000.0)
    tables.cells[3, :5] = -np.inf
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    found = CompiledEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


def test_students_without_ratings_keep_the_prior():
    nodes = Nodes.equally_spaced(-8, 8, 0.25)
    engine, tables = CompiledEngine(sparse.csr_array((3, 1))), Tables(np.zeros((1, len(nodes.points))))
    np.testing.assert_allclose(engine.moments(tables, nodes).sd, 1, rtol=1e-12)
    assert engine.evaluate(tables, nodes).loglik == pytest.approx(0, abs=1e-12)


def test_a_fit_does_not_depend_on_the_engine(small, monkeypatch):
    expected = rl.fit(small)
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", 0)
    found = rl.fit(small)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.raters["kappa"], expected.raters["kappa"], atol=1e-6)


def test_small_data_do_not_load_the_compiler():
    code = (
        "import sys, raterlens as rl; rl.fit(rl.load_example()); "
        "print('numba' in sys.modules, type(rl).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


def test_large_data_do():
    counts = sparse.csr_array((np.random.default_rng(0).random((2000, 200)) < 0.6).astype(float))
    assert isinstance(engine_for(counts), CompiledEngine)
    assert type(engine_for(counts[:100])) is NumpyEngine


@pytest.mark.parametrize("linear", [True, False])
def test_students_with_the_same_ratings_are_gone_over_once(linear):
    counts, sums, tables, nodes = random_problem(linear=linear)
    again = np.random.default_rng(1).integers(0, 40, 300)
    counts, sums = counts[again], None if sums is None else sums[again]
    arranged = Arrangement.of(counts, sums)
    assert len(arranged.rows) <= 40
    assert arranged.weight.sum() == 300
    np.testing.assert_array_equal(counts[arranged.rows[arranged.place]].toarray(), counts.toarray())
    engine, twin = CompiledEngine(counts, sums, arrange=True), NumpyEngine(counts, sums)
    found, expected = engine.evaluate(tables, nodes), twin.evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)
    if linear:
        np.testing.assert_allclose(found.linear, expected.linear, **CLOSE)
    np.testing.assert_allclose(engine.moments(tables, nodes).sd, twin.moments(tables, nodes).sd, **CLOSE)
    for some, others in zip(engine.posteriors(tables, nodes), twin.posteriors(tables, nodes), strict=True):
        np.testing.assert_allclose(some[1], others[1], **CLOSE)
        np.testing.assert_allclose(some[2], others[2], **CLOSE)


def test_counts_that_are_no_whole_numbers():
    """Students who have some are not merged, and take no products."""
    counts, sums, tables, nodes = random_problem()
    counts.data[::3] += 0.5
    assert Arrangement.of(sparse.vstack([counts, counts], format="csr"), None).weight is None
    found = CompiledEngine(counts, sums, arrange=True).evaluate(tables, nodes)
    expected = NumpyEngine(counts, sums).evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


def test_a_count_is_not_taken_for_a_sum():
    """Students who differ, however much their numbers look alike."""
    random = np.random.default_rng(2)
    counts, sums = random.integers(0, 4, (2, 400, 3)).astype(float)
    distinct = len(np.unique(np.hstack([counts, sums]), axis=0))
    arranged = Arrangement.of(
        sparse.csr_array(np.tile(counts, (3, 1))), sparse.csr_array(np.tile(sums, (3, 1)))
    )
    assert len(arranged.rows) == distinct


def test_neighbours_share_their_cells():
    random = np.random.default_rng(0)
    students, cells = np.repeat(np.arange(20_000), 2), random.integers(0, 400, 40_000)
    counts = sparse.csr_array((np.ones(40_000), (students, cells)), shape=(20_000, 400))
    order = neighbours(counts)
    np.testing.assert_array_equal(np.sort(order), np.arange(20_000))

    def distinct(rows):
        """Cells that a hundred students in turn touch."""
        return np.mean([len(np.unique(rows[at : at + 100].indices)) for at in range(0, 20_000, 100)])

    assert distinct(counts[order]) < 0.6 * distinct(counts)
    np.testing.assert_array_equal(neighbours(sparse.csr_array((5, 3))), np.arange(5))


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
    found = CompiledEngine(counts, sums, arrange=True, dense=dense).score_covariance(tables, nodes, scores)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
