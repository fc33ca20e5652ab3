"""Products of matrices on one thread where they are small, or where a second thread gains little.

NumPy's linear algebra shares out any product on all cores, and its threads spin while they wait for the next: a fit of
a few thousand ratings, which makes thousands of small products, then takes three times its processor time, and longer
on the clock where other work is under way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.threads import available_cores

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


# Raters and items up to which matrices, by parameters or by rating cells, are small.
_SMALL = 800
# Cores from which on threads that wait for each other gain much more than they can lose.
_MANY_CORES = 4


class Panel(Protocol):
    """Ratings, or a fit of them."""

    @property
    def n_raters(self) -> int: ...

    @property
    def n_items(self) -> int: ...


@contextmanager
def limit_blas_threads(panel: Panel) -> Iterator[None]:
    """Linear algebra of a model with this many raters and items: on one thread, or as everywhere else in this
    process."""
    if panel.n_raters + panel.n_items > _SMALL:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield


@contextmanager
def single_threaded_blas(size: int) -> Iterator[None]:
    """Linear algebra of a matrix of this many rows in which threads wait for each other thousands of times, such as
    inverting it.

    On two cores a second thread saves a fifth of the time (4,000 parameters: 1.1 s, not 1.4 s). But if another process
    has one of the cores, each wait lasts until it gives way: 19 s.
    """
    if size <= _SMALL or available_cores() >= _MANY_CORES:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield


@cache
def _controller() -> "ThreadpoolController":
    """Kept: looking for libraries takes as long as a small fit's evaluations."""
    import scipy.linalg  # noqa: F401  with NumPy's: what is not loaded is not found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_BLOCK = 128


def mirrored(upper: Array) -> Array:
    """Made symmetric in its place by what stands above the diagonal."""
    # In blocks, which stay in the cache: going over whole columns would read a cache line for every number.
    for rows in _blocks(len(upper)):
        for columns in _blocks(rows.start):
            upper[rows, columns] = upper[columns, rows].T
        own = upper[rows, rows]
        own[...] = np.triu(own) + np.triu(own, 1).T
    return upper


def averaged(matrix: Array) -> Array:
    """With its transpose, in its place: rounding can leave a matrix a little asymmetric."""
    for rows in _blocks(len(matrix)):
        for columns in _blocks(rows.stop):
            both = (matrix[rows, columns] + matrix[columns, rows].T) / 2
            matrix[rows, columns], matrix[columns, rows] = both, both.T
    return matrix


def _blocks(size: int) -> list[slice]:
    return [slice(first, min(first + _BLOCK, size)) for first in range(0, size, _BLOCK)]
