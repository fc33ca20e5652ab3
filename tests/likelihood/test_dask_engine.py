"""Parts of students for workers; fits on a cluster are in tests/scenarios/test_fits_on_a_cluster.py."""

from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.base.processes import ClusterLostError
from raterlens.inference.covariance import in_full
from raterlens.likelihood.cells import essays, ungrouped
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.dask import (
    DaskEngine,
    OnFile,
    _edges,
    _held,
    on_cluster,
)
from raterlens.likelihood.engines.disk import Part
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.cluster_in_process import Cluster, Task
from tests.support.engine_problems import logistic_problem, written_out_covariance

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("status", "workers", "held"),
    [("finished", ["one"], True), ("finished", [], False), ("lost", ["one"], False)],
)
def test_a_part_is_held_where_it_is_done_and_a_worker_has_it(status, workers, held):
    client = SimpleNamespace(who_has=lambda futures: {futures[0].key: workers})
    assert _held(client, SimpleNamespace(status=status, key="part")) is held


@pytest.fixture
def source(small, tmp_path) -> OnFile:
    packed = open_packed(rl.pack(small.table(), tmp_path / "small.rlpack"))
    return OnFile(packed.path, packed.checksum, None, 10, 25)


def test_a_worker_reads_its_students_from_the_file(source, small):
    part = source.ratings()
    assert part.n_students == 15
    assert part.n_ratings == np.isin(small.student, np.arange(10, 25)).sum()


def test_files_that_are_missing_or_others_are_named(source, tmp_path):
    with pytest.raises(InputError, match=r"cannot open .*nowhere.rlpack.*put it where all workers find it"):
        replace(source, path=tmp_path / "nowhere.rlpack").ratings()
    with pytest.raises(InputError, match="not the same file"):
        replace(source, checksum=source.checksum + 1).ratings()


def test_parts_depend_on_the_data_alone():
    edges = _edges(np.arange(0, 100_001, 10))
    assert (edges[0], edges[-1]) == (0, 10_000)
    assert len(edges) - 1 == 8
    assert np.ptp(np.diff(edges)) <= 10


# ------------------------------------------------------------------------------- on a cluster within this process

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def tables_of(n_cells: int, n_sums: int, nodes: Nodes) -> Tables:
    random = np.random.default_rng(0)
    cells = -random.exponential(1.0, (n_cells, len(nodes.points)))
    return Tables(cells, random.normal(size=n_sums) if n_sums else None)


@pytest.fixture(params=["in memory", "on disk"])
def ratings(request, small, tmp_path) -> rl.Ratings:
    if request.param == "in memory":
        return small
    return StoredRatings(open_packed(rl.pack(small.table(), tmp_path / "small.rlpack")))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("one", "two")


def assert_same(found: DaskEngine, expected: NumpyEngine, tables: Tables, nodes: Nodes) -> None:
    assert found.n_students == expected.n_students
    one, other = found.evaluate(tables, nodes), expected.evaluate(tables, nodes)
    assert one.loglik == pytest.approx(other.loglik, rel=1e-12)
    np.testing.assert_allclose(one.counts, other.counts, **CLOSE)
    if other.linear is not None:
        np.testing.assert_allclose(one.linear, other.linear, **CLOSE)
    moments, twin = found.moments(tables, nodes), expected.moments(tables, nodes)
    np.testing.assert_allclose(moments.mean, twin.mean, **CLOSE)
    np.testing.assert_allclose(moments.sd, twin.sd, **CLOSE)
    parts = list(found.posteriors(tables, nodes))
    rows = np.concatenate([np.arange(rows.start, rows.stop) for rows, _, _ in parts])
    np.testing.assert_array_equal(rows, np.arange(expected.n_students))
    (_, posterior, loglik), *_ = expected.posteriors(tables, nodes)
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), posterior, **CLOSE)
    np.testing.assert_allclose(np.concatenate([part[2] for part in parts]), loglik, **CLOSE)


def test_cells_on_workers(cluster, ratings, small):
    contexts, nodes = Contexts.of(small), Nodes.equally_spaced(-5, 5, 0.3)
    cells = partial(ungrouped, n_categories=2)
    engine = on_cluster(cluster, ratings, contexts, cells)[0]
    counts = cells(small, contexts).counts
    assert_same(engine, NumpyEngine(counts), tables_of(counts.shape[1], 0, nodes), nodes)
    assert len(engine._parts) == 8


def test_kinds_on_workers(cluster, ratings, small):
    contexts, nodes = Contexts.of(small), Nodes.equally_spaced(-5, 5, 0.3)
    grouping = partial(essays, slope_of_context=contexts.rater, n_categories=2)
    engine, kinds = on_cluster(cluster, ratings, contexts, grouping)
    whole = grouping(small, contexts)
    np.testing.assert_array_equal(kinds.keys, whole.kinds.keys)
    tables = tables_of(whole.counts.shape[1], whole.sums.shape[1], nodes)
    assert_same(engine, NumpyEngine(whole.counts, whole.sums), tables, nodes)
    # What a worker had and lost is built again.
    engine._parts[1].lose()
    assert_same(engine, NumpyEngine(whole.counts, whole.sums), tables, nodes)


def test_covariances_of_scores_are_added_up(cluster):
    counts, sums, tables, nodes, scores = logistic_problem()
    assert sums is not None
    half = counts.shape[0] // 2
    parts = [Part.of(counts[rows], sums[rows]) for rows in (slice(0, half), slice(half, None))]
    engine = DaskEngine(
        cluster, [cluster.scatter(part, None, False) for part in parts], lambda which: None, [0, 0]
    )
    expected = written_out_covariance(counts, sums, tables, nodes, scores)
    found = in_full(engine.covariance(tables, nodes, scores))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.fixture
def engine(cluster, small) -> DaskEngine:
    return on_cluster(cluster, small, Contexts.of(small), partial(ungrouped, n_categories=2))[0]


def test_lost_parts_are_built_again_so_often_and_no_oftener(engine, monkeypatch):
    nodes = Nodes.equally_spaced(-5, 5, 0.5)
    tables = tables_of(engine._parts[0].result().n_cells, 0, nodes)
    expected = engine.evaluate(tables, nodes).loglik
    built = []
    again = engine._again

    def build(which: int) -> Task:
        built.append(which)
        return again(which)

    monkeypatch.setattr(engine, "_again", build)
    for which in (0, 5):
        engine._parts[which].lose()
    assert engine.evaluate(tables, nodes).loglik == expected
    assert built == [0, 5]

    def in_vain(which: int) -> Task:
        built.append(which)
        found = again(which)
        found.lose()
        return found

    monkeypatch.setattr(engine, "_again", in_vain)
    built.clear()
    engine._parts[3].lose()
    with pytest.raises(CancelledError):
        engine.evaluate(tables, nodes)
    assert built == [3] * 9


def test_what_is_no_fault_of_the_cluster_is_not_tried_again(engine):
    tried = []

    def fails(error: Exception) -> None:
        tried.append(error)
        raise error

    for error in (ValueError("a bug"), InputError("a file", "another"), ClusterLostError("gone")):
        with pytest.raises(type(error)):
            engine._persistently(partial(fails, error))
    assert len(tried) == 3


def test_parts_move_to_a_worker_that_comes(engine, cluster):
    """Once all are there, they are not looked for again."""
    nodes = Nodes.equally_spaced(-5, 5, 0.5)
    tables = tables_of(engine._parts[0].result().n_cells, 0, nodes)
    assert [part.workers for part in engine._parts] == [["one"]] * 4 + [["two"]] * 4
    cluster.workers = ["new", "one", "two"]
    engine.evaluate(tables, nodes)
    homes = [["new"]] * 3 + [["one"]] * 3 + [["two"]] * 2
    assert [part.workers for part in engine._parts] == homes
    assert engine._placed_on == frozenset({"one", "two"})  # looked at once more
    engine.evaluate(tables, nodes)
    assert engine._placed_on == frozenset({"new", "one", "two"})
    cluster.sent.clear()
    engine.evaluate(tables, nodes)
    assert cluster.sent == [[]]  # the tables alone
