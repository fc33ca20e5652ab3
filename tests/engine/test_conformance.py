"""Every engine gives the same numbers: the readable one, the compiled one, parts on disk and parts on workers."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.inference.covariance import in_full
from raterlens.likelihood.cells import Kinds
from raterlens.likelihood.engines.compiled import CompiledEngine
from raterlens.likelihood.engines.contract import CellScores, Engine, Tables
from raterlens.likelihood.engines.disk import DiskEngine, Part, among
from raterlens.likelihood.engines.numpy import NumpyEngine, about_means
from raterlens.likelihood.nodes import NestedNodes, Nodes
from raterlens.ratings.packed import Scratch
from tests.support.cluster_in_process import Cluster

# Sums in another order.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
# Counts at single nodes, given back from between them.
BETWEEN = 1e-7
# What expansions of scores leave out, and single precision.
EXPANDED = 2e-6
PARAMETERS = 7


class Drawn:
    """Students who have some of the patterns of ratings, each group of students (three columns at the end) with a
    population of its own, and scores as smooth as a model's."""

    def __init__(self, seed: int, *, linear: bool, groups: int) -> None:
        random = np.random.default_rng(seed)
        students, patterns = 90, int(random.integers(6, 25))
        # The first third has none of the later patterns, the last none of the first: parts differ.
        which = np.linspace(0, patterns - 5, students).astype(int)[:, None] + random.integers(
            5, size=(students, 2)
        )
        counts = np.zeros((students, patterns))
        np.add.at(counts, (np.arange(students)[:, None], which), 1.0)
        own = np.eye(groups)[np.sort(random.integers(groups, size=students))] if groups else counts[:, :0]
        self.patterns = patterns
        self.counts = sparse.csr_array(np.column_stack([counts, own]))
        self.sums = sparse.csr_array(random.poisson(1.0, (students, 4)).astype(float)) if linear else None
        self.keys = np.sort(random.integers(2**63, size=patterns, dtype=np.uint64))
        self._random, self._groups = random, groups

    def tables(self, nodes: Nodes) -> Tables:
        random, t = np.random.default_rng(1), nodes.points
        steep, place = random.uniform(0.3, 1.5, (self.patterns, 1)), random.normal(size=(self.patterns, 1))
        people = 0.3 * np.arange(self._groups)[:, None] * t
        cells = np.concatenate([-np.log1p(np.exp(steep * t + place)), people])
        return Tables(cells, 0.4 * random.random(4) if self.sums is not None else None)

    def scores(self, nodes: Nodes) -> CellScores:
        random, t, cells = np.random.default_rng(2), nodes.points, self.counts.shape[1]
        steep, place = random.uniform(0.3, 1.5, (4 * cells, 1)), random.normal(size=(4 * cells, 1))
        table = random.normal(size=(4 * cells, 1)) / (1 + np.exp(-steep * t - place))
        # A student's sums are about parameters that its patterns depend on, too.
        every = np.tile([0, 1, 2], (cells, 1))
        parameter = np.column_stack([every, 3 + np.arange(cells) % 4]).ravel()
        slopes = np.eye(PARAMETERS)[[0, 1, 2, 0]] * random.normal(size=(4, 1))
        slopes = slopes if self.sums is not None else np.zeros((1, PARAMETERS))
        first = np.arange(0, 4 * cells + 1, 4)
        steepest = steep.reshape(-1, 4).max(axis=1)
        return CellScores(first, parameter, table, sparse.csr_array(slopes), steepest)

    def parts(self) -> list[Part]:
        """Three, which know the patterns of their students alone."""
        found = []
        for rows in (slice(0, 30), slice(30, 45), slice(45, None)):
            counts = self.counts[rows].tocsc()
            own = np.flatnonzero(np.diff(counts[:, : self.patterns].indptr))
            people = np.arange(self.patterns, counts.shape[1])
            some = sparse.csr_array(counts[:, np.append(own, people)])
            part = Part.of(some, None if self.sums is None else self.sums[rows])
            found.append(among(self._kinds(np.arange(self.patterns)), part, self._kinds(own)))
        return found

    def _kinds(self, own: Array) -> Kinds:
        members = sparse.csr_array((len(own), 1))
        return Kinds(self.keys[own], members, np.zeros(len(own)), np.zeros((1, 2)), 0)


def numpy_engine(drawn: Drawn) -> Engine:
    return NumpyEngine(drawn.counts, drawn.sums, block=500)


def compiled(drawn: Drawn) -> Engine:
    return CompiledEngine(drawn.counts, drawn.sums, arrange=True, threads=2)


def on_disk(drawn: Drawn) -> Engine:
    scratch = Scratch()
    return DiskEngine([part.on_disk(scratch) for part in drawn.parts()])


def on_workers(drawn: Drawn) -> Engine:
    pytest.importorskip("distributed")
    from raterlens.likelihood.engines.dask import DaskEngine

    cluster, parts = Cluster("one", "two"), drawn.parts()
    sent = [cluster.scatter(part, None, False) for part in parts]
    return DaskEngine(cluster, sent, lambda which: sent[which], [part.n_students for part in parts])


ENGINES: tuple[Callable[[Drawn], Engine], ...] = (numpy_engine, compiled, on_disk, on_workers)
GRIDS = {
    "plain": Nodes.equally_spaced(-9, 9, 0.25),
    "nested": NestedNodes.of(Nodes.equally_spaced(-9, 9, 0.25), 2),
}


def posteriors(drawn: Drawn, tables: Tables, nodes: Nodes) -> tuple[Array, Array]:
    """Posteriors and log-likelihoods, student by student."""
    found, logs = [], []
    for student, row in enumerate(drawn.counts.toarray()):
        joint = nodes.log_weights + row @ tables.cells
        if drawn.sums is not None:
            joint = joint + nodes.points * (drawn.sums.toarray()[student] @ tables.linear)
        logs.append(np.log(np.exp(joint - joint.max()).sum()) + joint.max())
        found.append(np.exp(joint - logs[-1]))
    return np.array(found), np.array(logs)


def all_posteriors(engine: Engine, tables: Tables, nodes: Nodes) -> tuple[Array, Array]:
    blocks = [(rows, p.copy(), logs.copy()) for rows, p, logs in engine.posteriors(tables, nodes)]
    rows = np.concatenate([np.arange(engine.n_students)[rows] for rows, _, _ in blocks])
    np.testing.assert_array_equal(rows, np.arange(engine.n_students))
    return np.concatenate([p for _, p, _ in blocks]), np.concatenate([logs for *_, logs in blocks])


@pytest.fixture(params=[(0, True, 0), (1, False, 1), (2, True, 3)], ids=["sums", "shape", "groups"])
def drawn(request) -> Drawn:
    seed, linear, groups = request.param
    return Drawn(seed, linear=linear, groups=groups)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("make", ENGINES)
def test_expected_counts_and_moments(drawn, make, grid):
    engine, nodes = make(drawn), GRIDS[grid]
    tables = drawn.tables(nodes)
    posterior, logs = posteriors(drawn, tables, nodes)
    found, moments = engine.evaluate(tables, nodes), engine.moments(tables, nodes)
    mean = posterior @ nodes.points
    assert engine.n_students == 90
    assert found.loglik == pytest.approx(logs.sum(), rel=1e-10)
    close = CLOSE if grid == "plain" else {"atol": BETWEEN}
    np.testing.assert_allclose(found.counts, drawn.counts.T @ posterior, **close)
    if drawn.sums is not None:
        np.testing.assert_allclose(found.linear, drawn.sums.T @ mean, **CLOSE)
    np.testing.assert_allclose(moments.mean, mean, **CLOSE)
    np.testing.assert_allclose(moments.sd, np.sqrt(posterior @ nodes.points**2 - mean**2), **CLOSE)


@pytest.mark.parametrize("make", ENGINES)
def test_posteriors(drawn, make):
    nodes = GRIDS["plain"]
    tables = drawn.tables(nodes)
    found, logs = all_posteriors(make(drawn), tables, nodes)
    expected, expected_logs = posteriors(drawn, tables, nodes)
    np.testing.assert_allclose(found, expected, **CLOSE)
    np.testing.assert_allclose(logs, expected_logs, **CLOSE)


def written_out(drawn: Drawn, nodes: Nodes) -> Array:
    """(students, parameters, nodes): scores."""
    scores, counts = drawn.scores(nodes), drawn.counts.toarray()
    rows = np.zeros((counts.shape[1], PARAMETERS, len(nodes.points)))
    for cell in range(counts.shape[1]):
        for row in range(scores.first[cell], scores.first[cell + 1]):
            rows[cell, scores.parameter[row]] += scores.table[row]
    found = np.einsum("nc,cpq->npq", counts, rows)
    if drawn.sums is not None:
        found += np.multiply.outer(drawn.sums.toarray() @ scores.slopes.toarray(), nodes.points)
    return np.asarray(found)


@pytest.mark.parametrize("make", ENGINES)
def test_covariance(drawn, make):
    nodes = GRIDS["plain"]
    tables, own = drawn.tables(nodes), written_out(drawn, nodes)
    posterior, _ = posteriors(drawn, tables, nodes)
    away = own - np.einsum("npq,nq->np", own, posterior)[..., None]
    expected = np.einsum("npq,nrq,nq->pr", away, away, posterior)
    found = in_full(make(drawn).score_covariance(tables, nodes, drawn.scores(nodes)))
    np.testing.assert_allclose(found, expected, rtol=EXPANDED, atol=EXPANDED * np.abs(expected).max())


@pytest.mark.parametrize("make", ENGINES)
def test_scores_and_variances_of_means(drawn, make):
    nodes = GRIDS["plain"]
    tables, own, engine = drawn.tables(nodes), written_out(drawn, nodes), make(drawn)
    posterior, _ = posteriors(drawn, tables, nodes)
    gradient = engine.scores(tables, nodes, drawn.scores(nodes), posterior_itself).toarray()
    np.testing.assert_allclose(gradient, np.einsum("npq,nq->np", own, posterior), **CLOSE)
    away = posterior * (nodes.points - (posterior @ nodes.points)[:, None])
    moved = np.einsum("npq,nq->np", own, away)
    about = partial(about_means, points=nodes.points)
    found = engine.scores(tables, nodes, drawn.scores(nodes), about).toarray()
    np.testing.assert_allclose(found, moved, **CLOSE)
    spread = np.cov(np.random.default_rng(4).normal(size=(PARAMETERS, 20)))
    variances = engine.mean_variances(tables, nodes, drawn.scores(nodes), spread)
    np.testing.assert_allclose(variances, np.einsum("np,pr,nr->n", moved, spread, moved), rtol=EXPANDED)


def posterior_itself(posterior: Array) -> Array:
    return posterior
