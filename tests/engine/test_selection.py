"""Which engine for which data."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.likelihood.cells import essays, rating_cells, readings
from raterlens.likelihood.engines.by_piece import PieceEngine
from raterlens.likelihood.engines.compiled import CompiledEngine
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.engines.selection import cell_engine, engine_for, kind_engine
from raterlens.models.contexts import Contexts
from tests.support.cluster_in_process import Cluster
from tests.support.piece_ratings import ratings_of as pieces_of


def test_a_fit_does_not_depend_on_the_engine(small, monkeypatch):
    found = []
    for numbers in (0, np.inf):
        monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", numbers)
        found.append(rl.fit(small))
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
    cells = cell_engine(ratings, contexts, partial(rating_cells, n_categories=2), pieces=True)
    kinds, found = kind_engine(
        ratings, contexts, partial(readings, n_categories=2, by_total=True), pieces=True
    )
    assert isinstance(cells, PieceEngine)
    assert isinstance(kinds, PieceEngine)
    assert cells.n_students == kinds.n_students == 6
    assert found.given.sum() == ratings.n_ratings


def test_a_client_s_workers_do_the_work(small):
    pytest.importorskip("distributed")
    client, contexts = Cluster("one"), Contexts.of(small)
    assert (
        type(cell_engine(small, contexts, partial(rating_cells, n_categories=2), client)).__name__
        == "DaskEngine"
    )
    grouping = partial(essays, slope_of_context=contexts.rater, n_categories=2)
    engine, kinds = kind_engine(small, contexts, grouping, client)
    assert type(engine).__name__ == "DaskEngine"
    assert len(kinds.keys) == kinds.members.shape[0]
