"""The compiled engine gives the numbers of its readable twin."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.likelihood.engines.compiled import Arrangement, CompiledEngine, neighbours
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Nodes
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


def test_students_whose_products_leave_the_range_of_numbers_are_counted_too():
    """Every tenth has hundreds of ratings, as who calibrates raters has."""
    counts, sums, tables, nodes = random_problem()
    many = sparse.csr_array(counts.toarray() * np.where(np.arange(300) % 10, 1, 700)[:, None])
    expected, found = (
        engine.evaluate(tables, nodes) for engine in (NumpyEngine(many, sums), CompiledEngine(many, sums))
    )
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)


def test_tables_that_leave_the_range_of_numbers():
    """A cell that cannot be at some nodes, and one that is steeper than factors can hold."""
    counts, sums, tables, nodes = random_problem()
    cells = tables.cells.copy()
    cells[0, nodes.points < -1] = -np.inf
    cells[1] = -3_000.0 * (nodes.points - 0.4) ** 2
    hard = Tables(cells, tables.linear)
    expected, found = (
        engine.evaluate(hard, nodes) for engine in (NumpyEngine(counts, sums), CompiledEngine(counts, sums))
    )
    assert np.isfinite(expected.loglik)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)
    np.testing.assert_allclose(found.linear, expected.linear, **CLOSE)


@pytest.mark.parametrize("linear", [True, False])
def test_a_pass_knows_nothing_of_the_one_before(linear):
    """Posteriors move, and other weights of the same nodes come."""
    counts, sums, tables, nodes, _ = logistic_problem(linear=linear, nodes=Nodes.equally_spaced(-9, 9, 0.1))
    # Passes beside fails, and many of both: posteriors with two ends.
    tables = Tables(np.concatenate([3 * tables.cells, 3 * tables.cells[:, ::-1]]), tables.linear)
    counts = sparse.csr_array(sparse.hstack([3 * counts, 3 * counts[::-1]], format="csr"))
    engine, twin = CompiledEngine(counts, sums, arrange=True), NumpyEngine(counts, sums)
    engine.evaluate(tables, nodes)
    for by in (0.0, 0.05, 3.0, -3.0, 0.0):
        moved = Tables(tables.cells + by * nodes.points, tables.linear)
        weights = nodes if by else Nodes(nodes.points, nodes.log_weights + 0.2 * nodes.points)
        found, expected = engine.evaluate(moved, weights), twin.evaluate(moved, weights)
        assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
        np.testing.assert_allclose(found.counts, expected.counts, **CLOSE)
        np.testing.assert_allclose(
            engine.moments(moved, weights).sd, twin.moments(moved, weights).sd, **CLOSE
        )


def test_students_without_ratings_keep_the_prior():
    nodes = Nodes.equally_spaced(-8, 8, 0.25)
    engine, tables = CompiledEngine(sparse.csr_array((3, 1))), Tables(np.zeros((1, len(nodes.points))))
    np.testing.assert_allclose(engine.moments(tables, nodes).sd, 1, rtol=1e-12)
    assert engine.evaluate(tables, nodes).loglik == pytest.approx(0, abs=1e-12)


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


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dense", [0, 5_000], ids=["sparse", "full"])
@pytest.mark.parametrize("weighted", [True, False])
def test_covariances_of_scores_are_the_sums_over_nodes(linear, dense, weighted):
    """As pairs of parameters that some student's ratings depend on, or in a full matrix."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear)
    times = np.arange(counts.shape[0]) % 3 + 1.0 if weighted else None
    often = np.repeat(np.arange(counts.shape[0]), 1 if times is None else times.astype(int))
    expected = written_out_covariance(
        counts[often], None if sums is None else sums[often], tables, nodes, scores
    )
    engine = CompiledEngine(counts, sums, weight=times, dense=dense)
    found = engine.covariance(tables, nodes, scores)
    assert sparse.issparse(found) == (dense == 0)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(found, found.T)


def test_log_likelihoods_of_weighted_rows_are_added_up_as_often():
    counts, sums, tables, nodes = random_problem()
    assert sums is not None
    times = np.arange(300) % 4 + 1.0
    often = np.repeat(np.arange(300), times.astype(int))
    expected = NumpyEngine(counts[often], sums[often]).evaluate(tables, nodes)
    for threads in (1, 3):
        found = CompiledEngine(counts, sums, weight=times, threads=threads).evaluate(tables, nodes)
        assert found.loglik == pytest.approx(expected.loglik, rel=1e-13)
        np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.linear, expected.linear, rtol=1e-10, atol=1e-10)


def test_posteriors_come_in_blocks(monkeypatch):
    counts, sums, tables, nodes = random_problem()
    ((_, posterior, loglik),) = NumpyEngine(counts, sums).posteriors(tables, nodes)
    monkeypatch.setattr("raterlens.likelihood.engines.compiled._POSTERIORS", 70 * len(nodes.points))
    blocks = list(CompiledEngine(counts, sums).posteriors(tables, nodes))
    assert [(rows.start, rows.stop) for rows, _, _ in blocks] == [
        (0, 70),
        (70, 140),
        (140, 210),
        (210, 280),
        (280, 300),
    ]
    np.testing.assert_allclose(np.concatenate([block[1] for block in blocks]), posterior, **CLOSE)
    np.testing.assert_allclose(np.concatenate([block[2] for block in blocks]), loglik, **CLOSE)


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


def test_students_with_parts_of_ratings_are_not_merged():
    """Half ratings have no whole number to be known by."""
    counts = sparse.csr_array(np.tile([[0.5, 1.0], [1.0, 0.0]], (50, 1)))
    arranged = Arrangement.of(counts, None)
    assert arranged.weight is None
    np.testing.assert_array_equal(np.sort(arranged.rows), np.arange(100))
    np.testing.assert_array_equal(arranged.rows[arranged.place], np.arange(100))
    halves = Arrangement.of(sparse.csr_array(2 * counts), sparse.csr_array(counts))
    assert halves.weight is None
    whole = Arrangement.of(sparse.csr_array(2 * counts), None)
    assert sorted(whole.weight) == [50, 50]
