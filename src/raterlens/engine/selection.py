"""Which engine for which data: compiled code where it pays for being loaded, readable code everywhere else."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from raterlens.engine.cells import Sets, essays, rating_cells
from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.protocol import Engine
from raterlens.kernels.break_even import compiling_pays
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings
from raterlens.ratings.stored import StoredRatings

if TYPE_CHECKING:
    from distributed import Client

# Nodes and evaluations of a typical fit: it goes over each nonzero count that often.
_PASSES = 40 * 25


def large_fit(n_counts: int) -> bool:
    """Whether a fit with this many nonzero counts is worth loading compiled code for."""
    return compiling_pays(n_counts * _PASSES)


def engine_for(counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> Engine:
    """An engine on these counts and sums; both kinds give the same numbers."""
    if not large_fit(counts.nnz):
        return NumpyEngine(counts, sums)
    from raterlens.engine.compiled_engine import CompiledEngine  # loads the compiler

    return CompiledEngine(counts, sums, arrange=True)


def cell_engine(
    ratings: Ratings, contexts: Contexts, n_categories: int, client: "Client | None" = None
) -> Engine:
    """An engine whose cells are contexts with scores; on the workers of a Dask client, where there is one."""
    if client is not None:
        from raterlens.engine.dask_engine import cells_on_cluster  # an optional package

        return cells_on_cluster(client, ratings, contexts, n_categories)
    if isinstance(ratings, StoredRatings):
        from raterlens.engine.disk_engine import cells_by_parts  # loads the compiler

        return cells_by_parts(ratings, contexts, n_categories)
    return engine_for(rating_cells(ratings, contexts, n_categories))


def essay_engine(
    ratings: Ratings,
    contexts: Contexts,
    slope_of_context: NDArray[np.int64],
    n_categories: int,
    client: "Client | None" = None,
) -> tuple[Engine, Sets]:
    """An engine whose cells are essays, and what these are."""
    if client is not None:
        from raterlens.engine.dask_engine import essays_on_cluster  # an optional package

        return essays_on_cluster(client, ratings, contexts, slope_of_context, n_categories)
    if isinstance(ratings, StoredRatings):
        from raterlens.engine.disk_engine import essays_by_parts  # loads the compiler

        return essays_by_parts(ratings, contexts, slope_of_context, n_categories)
    found = essays(ratings, contexts, slope_of_context, n_categories)
    return engine_for(found.counts, found.sums), found.sets
