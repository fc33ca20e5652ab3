"""Ratings that occur again (the same student, rater and item), and the readings that ratings are of."""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.types import Indices
from raterlens.ratings.coded import Facet, Ratings
from raterlens.ratings.long_columns import run_starts

DRAW = "draw"


def with_draws(ratings: Ratings) -> Ratings:
    """Number ratings of the same student, rater, item and facets from 1, in the order of the rows, as draws."""
    again = occurrence(ratings.student, ratings.context_codes(), np.zeros_like(ratings.item))
    if again is None:
        return ratings
    labels = pl.Series(DRAW, np.arange(1, int(again.max()) + 2))
    return replace(ratings, draw=Facet(DRAW, again.astype(np.int32), labels))


def occurrence(
    student: NDArray[np.integer], rater: NDArray[np.integer], item: NDArray[np.integer]
) -> Indices | None:
    """(ratings,): how often the same rater has scored the student on the item before, in the order of the rows; None
    where nobody ever has.

    Examples
    --------
    >>> occurrence(np.array([0, 0, 0]), np.array([1, 1, 1]), np.array([0, 1, 0]))
    array([0, 0, 1])
    """
    if not len(student):
        return None
    n_raters, n_items = int(rater.max()) + 1, int(item.max()) + 1
    code = (student.astype(np.int64) * n_raters + rater) * n_items + item
    # Rows are often in this order.
    if (code[1:] > code[:-1]).all() or pl.Series(code).n_unique() == len(code):
        return None
    order = np.argsort(code, kind="stable")
    first = run_starts(code[order])
    found = np.empty(len(code), dtype=np.int64)
    found[order] = np.arange(len(code)) - np.repeat(first, np.diff(first, append=len(code)))
    return found


def readings_of(
    student: NDArray[np.integer], rater: NDArray[np.integer], item: NDArray[np.integer]
) -> tuple[Indices, int]:
    """The reading that each rating is of, and how many there are: all that a rater gave a student; where the same item
    occurs again, it is of the next reading.

    Examples
    --------
    >>> readings_of(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 1]), np.array([0, 1, 0, 0]))
    (array([0, 0, 1, 2]), 3)
    """
    again = occurrence(student, rater, item)
    code = student.astype(np.int64) * (int(rater.max()) + 1) + rater
    if again is not None:
        code = code * (int(again.max()) + 1) + again
    distinct, which = np.unique(code, return_inverse=True)
    return which, len(distinct)
