"""The compiled engine gives the numbers of its readable twin."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.inference.covariance import in_full
from raterlens.likelihood.cells import essays, ungrouped
from raterlens.likelihood.engines.compiled import Arrangement, CompiledEngine, neighbours
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.disk import DiskEngine, Part
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import bind
from raterlens.likelihood.nodes import Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.engine_problems import logistic_problem, random_problem, written_out_covariance
from tests.support.packed_tables import uneven

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


# ----------------------------------------------------------------------------------------------------
# Students in parts, on disk: the same fit as of all at once, to rounding.


# Sums in another order; estimates stop where the gradient is within 1e-5 standard errors.
ROUNDING, ESTIMATES = 1e-11, 1e-6


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    ratings = rl.simulate(students=900, raters=12, items=4, raters_per_student=2, seed=8).ratings
    return rl.pack(uneven(ratings), tmp_path_factory.mktemp("packed") / "x.rlpack")


@pytest.mark.parametrize("kind", ["essays", "cells"])
def test_parts_add_up_to_the_whole(packed, kind):
    whole, parts = rl.read(packed), StoredRatings(open_packed(packed), part=1000)
    contexts, nodes = Contexts.of(whole), Nodes.equally_spaced(-5, 5, 0.3)
    assert len(Contexts.of(parts)) == len(contexts)
    random = np.random.default_rng(0)
    if kind == "essays":
        grouping = partial(essays, slope_of_context=contexts.rater, n_categories=2)
        one, kinds = bind(whole, contexts, grouping)
        other, by_parts = bind(parts, contexts, grouping)
        np.testing.assert_array_equal(kinds.keys, by_parts.keys)
        np.testing.assert_array_equal(kinds.given, by_parts.given)
        assert kinds.n_groups == by_parts.n_groups
        np.testing.assert_array_equal(kinds.members.toarray(), by_parts.members.toarray())
        tables = Tables(-random.random((len(kinds.keys), len(nodes.points))), random.random(12))
    else:
        cells = partial(ungrouped, n_categories=2)
        one, other = bind(whole, contexts, cells)[0], bind(parts, contexts, cells)[0]
        tables = Tables(-random.random((2 * len(contexts), len(nodes.points))), None)
    assert isinstance(other, DiskEngine)
    assert other.n_students == one.n_students == 900
    expected, found = one.evaluate(tables, nodes), other.evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=ROUNDING)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-9, atol=1e-9)
    if kind == "essays":
        np.testing.assert_allclose(found.linear, expected.linear, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.moments(tables, nodes).sd, one.moments(tables, nodes).sd, rtol=1e-10)
    rows = np.concatenate([np.arange(900)[rows] for rows, _, _ in other.posteriors(tables, nodes)])
    np.testing.assert_array_equal(rows, np.arange(900))
    posterior = np.concatenate([p for _, p, _ in other.posteriors(tables, nodes)])
    np.testing.assert_allclose(
        posterior, np.concatenate([p for _, p, _ in one.posteriors(tables, nodes)]), atol=1e-14
    )


@pytest.mark.parametrize(
    "options", [{"model": "gmf"}, {"model": "tfm"}, {"model": "gmf", "link": "probit"}, {"model": "probit"}]
)
def test_fits_of_data_on_disk(packed, options, monkeypatch):
    whole = rl.fit(packed, **{"model": "gmf"} | options)
    on_disk = StoredRatings(open_packed(packed), part=2000)
    monkeypatch.setattr(
        StoredRatings, "_whole", property(lambda self: pytest.fail("taken into memory whole"))
    )
    found = rl.fit(on_disk, **{"model": "gmf"} | options)
    assert found.loglik == pytest.approx(whole.loglik, rel=1e-10)
    assert found.converged
    assert found.warnings == whole.warnings
    for name in ("rho", "eta", "kappa", "kappa_se", "kappa_low"):
        np.testing.assert_allclose(found.raters[name], whole.raters[name], rtol=ESTIMATES, atol=ESTIMATES)
    assert found.raters["n"].to_list() == whole.raters["n"].to_list()
    np.testing.assert_allclose(found.items["delta_se"], whole.items["delta_se"], rtol=ESTIMATES)
    np.testing.assert_allclose(found.students["theta"], whole.students["theta"], atol=ESTIMATES)


def test_fits_of_students_marked_once(tmp_path, monkeypatch):
    """Most of them have the same ratings as others, and are gone over once: in memory, and on disk."""
    from raterlens.likelihood.engines.compiled import Arrangement

    ratings = rl.simulate(students=3000, raters=8, items=4, raters_per_student=1, seed=3).ratings
    contexts = Contexts.of(ratings)
    compressed = essays(ratings, contexts, contexts.rater, 2)
    assert len(Arrangement.of(compressed.counts, compressed.sums).rows) <= 8 * 5
    readable = rl.fit(ratings, model="gmf")
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    packed = rl.pack(ratings.table(), tmp_path / "once.rlpack")
    on_disk = StoredRatings(open_packed(packed), part=4000)
    for found in (rl.fit(ratings, model="gmf"), rl.fit(on_disk, model="gmf")):
        assert found.loglik == pytest.approx(readable.loglik, rel=1e-10)
        for name in ("kappa", "kappa_se", "kappa_low"):
            np.testing.assert_allclose(found.raters[name], readable.raters[name], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.students["theta"], readable.students["theta"], atol=1e-5)


def test_what_needs_all_ratings_gets_them(packed):
    """Methods and models that do not work by parts give the same as from memory."""
    whole = [rl.fit(packed, model="gmf", method="laplace"), rl.fit(packed, model="hrm", starts=1)]
    on_disk = StoredRatings(open_packed(packed))
    found = [rl.fit(on_disk, model="gmf", method="laplace"), rl.fit(on_disk, model="hrm", starts=1)]
    for one, other in zip(whole, found, strict=True):
        assert other.loglik == pytest.approx(one.loglik, rel=ROUNDING)
        np.testing.assert_allclose(other.raters["kappa"], one.raters["kappa"], atol=ESTIMATES)
    assert found[0].diagnose(on_disk).flags.equals(whole[0].diagnose(rl.read(packed)).flags)


def test_a_part_with_some_of_the_cells_adds_its_scores_where_they_belong():
    counts, sums, tables, nodes, scores = logistic_problem(linear=True)
    assert sums is not None
    few, own = counts[:5], np.unique(counts[:5].indices)
    part = replace(Part.of(few[:, own].tocsr(), sums[:5]), own=own, n_cells=counts.shape[1])
    found = in_full(part.covariance(tables, nodes, scores))
    expected = written_out_covariance(few, sums[:5], tables, nodes, scores)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
