"""Array types; runs, distinct values and look-ups in long columns; masks that hold everywhere."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raterlens.base.threads import in_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


Number = TypeVar("Number", bound=np.generic)


def run_starts(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Rows at which one of the columns changes, the first row among them. Tables are often in some order: what is the
    same all along a run is looked at once."""
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
    """Sorted distinct numbers: `np.unique`, which looks each up in a hash table from NumPy 2.3 on. Sorting takes a
    fortieth of the time where they are nearly in order, and never longer.

    Examples
    --------
    >>> sorted_unique(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(numbers)
    new = np.append(True, ordered[1:] != ordered[:-1])
    return np.asarray(ordered[new[: len(ordered)]])


def distinct_counts(numbers: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted distinct numbers below `size` and how often each occurs; by counting where the range is small."""
    if size > 4 * len(numbers):
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers, minlength=size)
    return (seen := np.flatnonzero(times)), times[seen]


def take_in_blocks(table: NDArray[Number], places: NDArray[np.integer]) -> NDArray[Number]:
    """`table[places]`, without all places as wide integers at once."""
    found = np.empty(len(places), dtype=table.dtype)

    def block(rows: slice) -> None:
        found[rows] = table[places[rows]]

    in_blocks(block, len(places))
    return found


def all_true(*shape: int) -> Mask:
    """True throughout; cannot be written to.

    Examples
    --------
    >>> all_true(2, 1).tolist(), is_all_true(all_true(2, 1)), is_all_true(np.ones(2, dtype=bool))
    ([[True], [True]], True, False)
    """
    return np.broadcast_to(np.True_, shape)


def is_all_true(mask: Mask) -> bool:
    """Whether a mask is one of these; others have to be looked at."""
    return mask.size > 1 and not any(mask.strides) and bool(mask.flat[0])


def count(mask: Mask) -> int:
    return mask.size if is_all_true(mask) else int(np.count_nonzero(mask))
