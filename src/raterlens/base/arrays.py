"""Array types; runs, distinct values and look-ups in long columns; all-true masks; matrices on one thread.

NumPy's linear algebra shares out any product on all cores, and its threads spin while they wait for the next: a fit of
a few thousand ratings, which makes thousands of small products, then takes three times its processor time, and longer
on the clock where other work is under way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raterlens.base.threads import available_cores, in_blocks

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

NORMAL_95 = 1.959964
"""In standard errors, as far as 95 % limits are off."""

Number = TypeVar("Number", bound=np.generic)


def run_starts(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows at which any column changes, the first row included. Tables are often sorted, so whatever is
    constant within a run needs to be looked at only once."""
    n = len(columns[0])

    def block(rows: slice) -> NDArray[np.int64]:
        first = max(rows.start, 1)
        here, before = slice(first, rows.stop), slice(first - 1, rows.stop - 1)
        changed = np.zeros(rows.stop - first, dtype=bool)
        for column in columns:
            changed |= column[here] != column[before]
        return np.asarray(np.flatnonzero(changed) + first)

    return np.concatenate([np.arange(min(1, n)), *in_blocks(block, n)])


def run_sums(values: NDArray[Any], starts: NDArray[np.int64], dtype: DTypeLike) -> NDArray[Any]:
    """Sum the values of each run."""
    sums, ends = np.empty(len(starts), dtype=dtype), np.append(starts[1:], len(values))

    def block(runs: slice) -> None:
        first = starts[runs.start]
        np.add.reduceat(
            values[first : ends[runs.stop - 1]], starts[runs] - first, dtype=dtype, out=sums[runs]
        )

    in_blocks(block, len(starts))
    return sums


def sorted_unique(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sorted distinct numbers, as `np.unique` does. NumPy 2.3 and later use a hash table there; sorting
    takes a fortieth of the time if they are nearly in order, and never longer.

    Examples
    --------
    >>> sorted_unique(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(numbers)
    new = np.append(True, ordered[1:] != ordered[:-1])
    return np.asarray(ordered[new[: len(ordered)]])


def distinct_counts(numbers: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sorted distinct numbers below `size` and their counts; by counting if the range is small."""
    if size > 4 * len(numbers):
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers, minlength=size)
    return (seen := np.flatnonzero(times)), times[seen]


def take_in_blocks(table: NDArray[Number], places: NDArray[np.integer]) -> NDArray[Number]:
    """Return `table[places]` without converting all places to wide integers at once."""
    found = np.empty(len(places), dtype=table.dtype)

    def block(rows: slice) -> None:
        found[rows] = table[places[rows]]

    in_blocks(block, len(places))
    return found


def all_true(*shape: int) -> Mask:
    """Return a read-only mask that is True everywhere.

    Examples
    --------
    >>> all_true(2, 1).tolist(), is_all_true(all_true(2, 1)), is_all_true(np.ones(2, dtype=bool))
    ([[True], [True]], True, False)
    """
    return np.broadcast_to(np.True_, shape)


def is_all_true(mask: Mask) -> bool:
    """Whether `all_true` made this mask; other masks have to be examined."""
    return mask.size > 1 and not any(mask.strides) and bool(mask.flat[0])


def count(mask: Mask) -> int:
    return mask.size if is_all_true(mask) else int(np.count_nonzero(mask))


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
    """Run linear algebra on one thread if the model has few raters and items."""
    if panel.n_raters + panel.n_items > _SMALL:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield


@contextmanager
def single_threaded_blas(size: int) -> Iterator[None]:
    """Run linear algebra on one thread where threads would wait for each other thousands of times, such as in
    inverting a matrix with this many rows.

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
    """Cached, because finding the libraries takes as long as a small fit's evaluations."""
    import scipy.linalg  # noqa: F401  with NumPy's: what is not loaded is not found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_BLOCK = 128


def mirrored(upper: Array) -> Array:
    """Copy the upper triangle to the lower one, in place."""
    # In blocks, which stay in the cache: going over whole columns would read a cache line for every number.
    for rows in _blocks(len(upper)):
        for columns in _blocks(rows.start):
            upper[rows, columns] = upper[columns, rows].T
        own = upper[rows, rows]
        own[...] = np.triu(own) + np.triu(own, 1).T
    return upper


def averaged(matrix: Array) -> Array:
    """Average a matrix with its transpose, in place: rounding can leave it slightly asymmetric."""
    for rows in _blocks(len(matrix)):
        for columns in _blocks(rows.stop):
            both = (matrix[rows, columns] + matrix[columns, rows].T) / 2
            matrix[rows, columns], matrix[columns, rows] = both, both.T
    return matrix


def _blocks(size: int) -> list[slice]:
    return [slice(first, min(first + _BLOCK, size)) for first in range(0, size, _BLOCK)]
