"""Every engine gives the same numbers: the readable one, the compiled one, parts on disk and parts on workers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.inference.covariance import in_full
from raterlens.likelihood.cells import Kinds, essays, readings, ungrouped
from raterlens.likelihood.engines.by_piece import PieceEngine, points_of
from raterlens.likelihood.engines.compiled import CompiledEngine
from raterlens.likelihood.engines.contract import CellScores, Engine, Tables, about_means
from raterlens.likelihood.engines.disk import DiskEngine, Part, among
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.marginal import bind, engine_for
from raterlens.likelihood.nodes import Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Codes
from raterlens.ratings.packed import Scratch
from tests.support.cluster_in_process import Cluster
from tests.support.piece_ratings import ratings_of as pieces_of

# Sums in another order.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
# Counts at single nodes, given back from between them.
BETWEEN = 1e-7
# What compiled code loses by going over every second or fourth node of a wide posterior.
THINNED = 1e-7
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
        found = CellScores(first, parameter, table, sparse.csr_array(slopes), steepest)
        if not self._groups:
            return found
        # Rows that serve several entries.
        row, factor = random.integers(len(table), size=len(table)), random.normal(size=len(table))
        steepest = np.maximum(steepest, steep.max())
        return replace(found, row=row, factor=factor, steepest=steepest)

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
    "nested": Nodes.equally_spaced(-9, 9, 0.25, parts=2),
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
    entries = scores.table
    if scores.row is not None and scores.factor is not None:
        entries = entries[scores.row] * scores.factor[:, None]
    rows = np.zeros((counts.shape[1], PARAMETERS, len(nodes.points)))
    for cell in range(counts.shape[1]):
        for row in range(scores.first[cell], scores.first[cell + 1]):
            rows[cell, scores.parameter[row]] += entries[row]
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
    found = in_full(make(drawn).covariance(tables, nodes, drawn.scores(nodes)))
    close = 1e-10 if make is numpy_engine else THINNED
    np.testing.assert_allclose(found, expected, rtol=close, atol=close * np.abs(expected).max())


@pytest.mark.parametrize("make", ENGINES)
def test_scores(drawn, make):
    nodes = GRIDS["plain"]
    tables, own, engine = drawn.tables(nodes), written_out(drawn, nodes), make(drawn)
    posterior, _ = posteriors(drawn, tables, nodes)
    gradient = engine.scores(tables, nodes, drawn.scores(nodes), posterior_itself)
    np.testing.assert_allclose(gradient.scores.toarray(), np.einsum("npq,nq->np", own, posterior), **CLOSE)
    np.testing.assert_allclose(gradient.weight, 1.0, rtol=1e-12)
    away = posterior * (nodes.points - (posterior @ nodes.points)[:, None])
    moved = np.einsum("npq,nq->np", own, away)
    about = partial(about_means, points=nodes.points)
    found = engine.scores(tables, nodes, drawn.scores(nodes), about)
    np.testing.assert_allclose(found.scores.toarray(), moved, **CLOSE)
    np.testing.assert_allclose(found.weight, 0.0, atol=1e-12)


def posterior_itself(posterior: Array) -> Array:
    return posterior


def test_a_fit_does_not_depend_on_the_engine(small, monkeypatch):
    found = []
    for numbers in (0, np.inf):
        monkeypatch.setattr("raterlens.kernels.library.NUMBERS", numbers)
        found.append(rl.fit(small, model="gmf"))
    one, other = found
    assert one.loglik == pytest.approx(other.loglik, rel=1e-12)
    np.testing.assert_allclose(one.raters["kappa"], other.raters["kappa"], atol=1e-6)


def test_large_data_go_through_compiled_code():
    counts = sparse.csr_array((np.random.default_rng(0).random((2000, 200)) < 0.6).astype(float))
    assert isinstance(engine_for(counts), CompiledEngine)
    assert isinstance(engine_for(counts[:1, :20]), NumpyEngine)


def test_pieces_have_their_own_engine():
    ratings = pieces_of(students=6, pieces=2)
    contexts = Contexts.of(ratings)
    cells = bind(ratings, contexts, partial(ungrouped, n_categories=2), pieces=True)[0]
    kinds, found = bind(ratings, contexts, partial(readings, n_categories=2, by_total=True), pieces=True)
    assert isinstance(cells, PieceEngine)
    assert isinstance(kinds, PieceEngine)
    assert cells.n_students == kinds.n_students == 6
    assert found.given.sum() == ratings.n_ratings


def test_a_client_s_workers_do_the_work(small):
    pytest.importorskip("distributed")
    client, contexts = Cluster("one"), Contexts.of(small)
    assert type(bind(small, contexts, partial(ungrouped, n_categories=2), client)[0]).__name__ == "DaskEngine"
    grouping = partial(essays, slope_of_context=contexts.rater, n_categories=2)
    engine, kinds = bind(small, contexts, grouping, client)
    assert type(engine).__name__ == "DaskEngine"
    assert len(kinds.keys) == kinds.members.shape[0]


# -- pieces of work that differ ------------------------------------------------------------------------------------


def pieces_on_disk(drawn: Drawn, student: Codes) -> Engine:
    scratch = Scratch()
    return DiskEngine([part.on_disk(scratch) for part in piece_parts(drawn, student)])


def pieces_on_workers(drawn: Drawn, student: Codes) -> Engine:
    pytest.importorskip("distributed")
    from raterlens.likelihood.engines.dask import DaskEngine

    cluster, parts = Cluster("one", "two"), piece_parts(drawn, student)
    sent = [cluster.scatter(part, None, False) for part in parts]
    return DaskEngine(cluster, sent, lambda which: sent[which], [part.n_students for part in parts])


def piece_parts(drawn: Drawn, student: Codes) -> list[Part]:
    """Two, of ten and of twenty students with three pieces each."""
    found = []
    for rows in (slice(0, 30), slice(30, None)):
        counts = drawn.counts[rows].tocsc()
        own = np.flatnonzero(np.diff(counts.indptr))
        whose = student[rows] - student[rows.start]
        part = Part.of(
            sparse.csr_array(counts[:, own]), None if drawn.sums is None else drawn.sums[rows], whose
        )
        found.append(replace(part, own=own, n_cells=drawn.patterns))
    return found


@pytest.mark.parametrize("make", [pieces_on_disk, pieces_on_workers])
@pytest.mark.parametrize(("linear", "omega"), [(True, 0.6), (False, 0.1)])
def test_pieces_in_parts(make, linear, omega):
    """The engine of pieces itself is held to sums written out in test_latent_variables and test_likelihood."""
    drawn, student = Drawn(3, linear=linear, groups=0), np.repeat(np.arange(30, dtype=np.int32), 3)
    whole, engine = PieceEngine(drawn.counts, drawn.sums, student), make(drawn, student)
    nodes = GRIDS["plain"]
    points = points_of(nodes, omega**2)
    inner = Nodes(points, np.zeros_like(points))
    tables = replace(drawn.tables(inner), piece_variance=omega**2)
    scores = replace(drawn.scores(inner), piece=PARAMETERS - 1)
    one, two = whole.evaluate(tables, nodes), engine.evaluate(tables, nodes)
    assert two.loglik == pytest.approx(one.loglik, rel=1e-12)
    assert two.d_piece == pytest.approx(one.d_piece, rel=1e-10)
    np.testing.assert_allclose(two.counts, one.counts, **CLOSE)
    for pieces in (False, True):
        moments = [each.moments(tables, nodes, pieces=pieces) for each in (whole, engine)]
        assert len(moments[0].mean) == (90 if pieces else 30)
        np.testing.assert_allclose(moments[1].mean, moments[0].mean, **CLOSE)
        np.testing.assert_allclose(moments[1].sd, moments[0].sd, **CLOSE)
    for found, expected in zip(
        all_posteriors(engine, tables, nodes), all_posteriors(whole, tables, nodes), strict=True
    ):
        np.testing.assert_allclose(found, expected, **CLOSE)
    summed = [each.scores(tables, nodes, scores, posterior_itself) for each in (whole, engine)]
    np.testing.assert_allclose(summed[1].scores.toarray(), summed[0].scores.toarray(), **CLOSE)
    covariance = [in_full(each.covariance(tables, nodes, scores)) for each in (whole, engine)]
    np.testing.assert_allclose(covariance[1], covariance[0], **CLOSE)
