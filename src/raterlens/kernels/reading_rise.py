"""How the likelihood rises as readings begin to share an effect, students shared out over threads (`c/reading_rise.c`).

The same numbers as `rises_by_loop` of `inference/projected_scores.py`, its readable twin.
"""

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_threads, spans
from raterlens.kernels.library import (
    Doubles,
    Integer,
    Ints,
    Longs,
    begin_within,
    inside,
    kernel,
    refuse_unless,
)

_reading_rises = kernel(
    "reading_rises", Integer, Integer, Longs, Longs, Ints, *[Doubles] * 3, Integer, *[Doubles] * 2
)
# Students who are worth a thread of their own.
_LEAST = 200


def rises(
    begin: tuple[Indices, Indices], cell: NDArray[np.integer], first: Array, second: Array, posterior: Array
) -> Array:
    """(students,): sum over a student's readings of the mean of ((sum of first)^2 + sum of second) / 2.

    Parameters
    ----------
    begin
        Where the readings of each of these students begin, with the end; and where the ratings of every reading do.
    cell
        Of every rating.
    first, second
        (cells, nodes): derivatives of the log-probability.
    posterior
        (students, nodes)
    """
    (n, size), (reading, rating) = posterior.shape, map(Longs.of, begin)
    known = Ints.of(cell), *map(Doubles.of, (first, second, posterior))
    of_students = len(reading) == n + 1 and begin_within(reading, len(rating) - 1)
    of_readings = begin_within(rating, len(cell)) and inside(known[0], len(first))
    fitting = of_students and of_readings and first.shape == second.shape == (len(first), size)
    refuse_unless(fitting, "readings and their tables")
    out = np.empty(n)

    def part(span: tuple[int, int]) -> None:
        _reading_rises(*span, reading, rating, *known, size, np.empty((2, size)), out)

    in_threads(part, spans(n, _LEAST))
    return out
