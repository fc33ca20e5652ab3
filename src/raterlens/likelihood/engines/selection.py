"""Which engine for which data: compiled code where it pays, readable code everywhere else."""

from typing import TYPE_CHECKING

from scipy import sparse

from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import CellsOf, Kinds, KindsOf
from raterlens.likelihood.engines.by_piece import PieceEngine
from raterlens.likelihood.engines.contract import Engine
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import by_piece
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from distributed import Client


# Nodes and evaluations of a typical fit: it goes over each nonzero count that often.
_PASSES = 40 * 25


def large_fit(n_counts: int) -> bool:
    """Whether a fit with this many nonzero counts is worth compiled code."""
    return compiled_code_pays(n_counts * _PASSES)


def engine_for(counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> Engine:
    """An engine on these counts and sums; both kinds give the same numbers."""
    if not large_fit(counts.nnz):
        return NumpyEngine(counts, sums)
    from raterlens.likelihood.engines.compiled import CompiledEngine  # may be missing

    return CompiledEngine(counts, sums, arrange=True)


def cell_engine(
    ratings: Ratings,
    contexts: Contexts,
    cells_of: CellsOf,
    client: "Client | None" = None,
    *,
    pieces: bool = False,
) -> Engine:
    """An engine whose cells are contexts with scores; on the workers of a Dask client, where there is one.

    `pieces`, here and below: a student's pieces of work differ.
    """
    if client is not None:
        from raterlens.likelihood.engines.dask import cells_on_cluster  # an optional package

        return cells_on_cluster(client, ratings, contexts, cells_of, pieces=pieces)
    if isinstance(ratings, StoredRatings):
        from raterlens.likelihood.engines.disk import cells_by_parts  # may be missing

        return cells_by_parts(ratings, contexts, cells_of, pieces=pieces)
    if pieces:
        split = by_piece(ratings)
        return PieceEngine(cells_of(split.ratings, contexts), None, split.student, engine_for)
    return engine_for(cells_of(ratings, contexts))


def kind_engine(
    ratings: Ratings,
    contexts: Contexts,
    kinds_of: KindsOf,
    client: "Client | None" = None,
    *,
    pieces: bool = False,
) -> tuple[Engine, Kinds]:
    """An engine whose cells are kinds of essays or readings, and what these are."""
    if client is not None:
        from raterlens.likelihood.engines.dask import kinds_on_cluster  # an optional package

        return kinds_on_cluster(client, ratings, contexts, kinds_of, pieces=pieces)
    if isinstance(ratings, StoredRatings):
        from raterlens.likelihood.engines.disk import kinds_by_parts  # may be missing

        return kinds_by_parts(ratings, contexts, kinds_of, pieces=pieces)
    if pieces:
        split = by_piece(ratings)
        found = kinds_of(split.ratings, contexts)
        return PieceEngine(found.counts, found.sums, split.student, engine_for), found.kinds
    found = kinds_of(ratings, contexts)
    return engine_for(found.counts, found.sums), found.kinds
