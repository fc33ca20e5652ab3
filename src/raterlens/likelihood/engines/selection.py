"""Which engine for which data: compiled code where it pays, readable code everywhere else."""

from typing import TYPE_CHECKING

from scipy import sparse

from raterlens.kernels.library import compiled_code_pays
from raterlens.likelihood.cells import Grouping, Kinds, grouped_by
from raterlens.likelihood.engines.by_piece import PieceEngine
from raterlens.likelihood.engines.contract import Engine
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Ratings
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


def bind(
    ratings: Ratings,
    contexts: Contexts,
    grouping: Grouping,
    client: "Client | None" = None,
    *,
    pieces: bool = False,
) -> tuple[Engine, Kinds | None]:
    """An engine on these ratings, and what kinds its cells are; on the workers of a Dask client, where there is one.

    `pieces`: a student's pieces of work differ.
    """
    if client is not None:
        from raterlens.likelihood.engines.dask import on_cluster  # an optional package

        return on_cluster(client, ratings, contexts, grouping, pieces=pieces)
    if isinstance(ratings, StoredRatings):
        from raterlens.likelihood.engines.disk import by_parts  # may be missing

        return by_parts(ratings, contexts, grouping, pieces=pieces)
    found, student = grouped_by(ratings, contexts, grouping, pieces)
    if student is not None:
        return PieceEngine(found.counts, found.sums, student, engine_for), found.kinds
    return engine_for(found.counts, found.sums), found.kinds
