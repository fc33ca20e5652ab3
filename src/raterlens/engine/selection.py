"""Which engine for which data: compiled code where it pays for being loaded, readable code everywhere else."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.cells import Sets, essays, rating_cells
from raterlens.engine.numpy_engine import ReferenceEngine
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.stored import StoredRatings

if TYPE_CHECKING:
    from distributed import Client

# Loading (and, the first time, compiling) takes a second or two; from about here on a fit saves more than that.
LARGE = 60_000
"""Nonzero counts: student-rater pairs where ratings collapse to sums, otherwise ratings."""


def engine_for(counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> ReferenceEngine:
    """An engine on these counts and sums; both kinds give the same numbers."""
    if counts.nnz < LARGE:
        return ReferenceEngine(counts, sums)
    from raterlens.engine.compiled_engine import FusedEngine

    return FusedEngine(counts, sums, arrange=True)


def cell_engine(
    ratings: Ratings, contexts: Contexts, n_categories: int, client: "Client | None" = None
) -> ReferenceEngine:
    """An engine whose cells are contexts with scores; on the workers of a Dask client, where there is one."""
    if client is not None:
        from raterlens.engine.dask_engine import cells_on_cluster

        return cells_on_cluster(client, ratings, contexts, n_categories)
    if isinstance(ratings, StoredRatings):
        from raterlens.engine.disk_engine import cells_by_parts

        return cells_by_parts(ratings, contexts, n_categories)
    return engine_for(rating_cells(ratings, contexts, n_categories))


def essay_engine(
    ratings: Ratings,
    contexts: Contexts,
    slope_of_context: NDArray[np.int64],
    n_categories: int,
    client: "Client | None" = None,
) -> tuple[ReferenceEngine, Sets]:
    """An engine whose cells are essays, and what these are."""
    if client is not None:
        from raterlens.engine.dask_engine import essays_on_cluster

        return essays_on_cluster(client, ratings, contexts, slope_of_context, n_categories)
    if isinstance(ratings, StoredRatings):
        from raterlens.engine.disk_engine import essays_by_parts

        return essays_by_parts(ratings, contexts, slope_of_context, n_categories)
    found = essays(ratings, contexts, slope_of_context, n_categories)
    return engine_for(found.counts, found.sums), found.sets
