"""Ratings to the sparse matrices an engine works on. Time and memory are linear in the ratings."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.long_columns import looked_up, run_starts, run_sums


def rating_cells(ratings: Ratings, contexts: Contexts, n_categories: int) -> sparse.csr_array:
    """(students, contexts x categories): how often a student has each score of each context."""
    cell = contexts.places(ratings).astype(np.int64) * n_categories + ratings.score
    shape = ratings.n_students, len(contexts) * n_categories
    return _summed(ratings.student, cell, np.ones(ratings.n_ratings), shape)


@dataclass(frozen=True, slots=True)
class Sets:
    """The distinct essays that occur: which items of which rater, and how often each."""

    keys: NDArray[np.uint64]
    """(item sets,): sorted; a set has the same key wherever it occurs."""
    members: sparse.csr_array
    """(item sets, contexts): how often a context occurs in the set."""
    given: NDArray[np.float64]
    """(contexts, categories): how often each score was given."""
    n_essays: int
    """Essays of all students, whatever their sets."""

    @staticmethod
    def merged(parts: "list[Sets]") -> "Sets":
        """The sets of all parts of the students."""
        keys, first = np.unique(np.concatenate([part.keys for part in parts]), return_index=True)
        members = sparse.csr_array(sparse.vstack([part.members for part in parts], format="csr")[first])
        given = np.sum([part.given for part in parts], axis=0)
        return Sets(keys, members, given, sum(part.n_essays for part in parts))


@dataclass(frozen=True, slots=True)
class Essays:
    """All ratings of a student by a rater as one cell: which items (and how often each), and their sum."""

    counts: sparse.csr_array
    """(students, item sets)"""
    sums: sparse.csr_array
    """(students, slopes): sum of a student's scores among the ratings that share a slope."""
    sets: Sets


def essays(
    ratings: Ratings, contexts: Contexts, slope_of_context: NDArray[np.int64], n_categories: int
) -> Essays:
    """Collapse ratings whose log-probability depends on the scores only through their sum."""
    # A multiset of items is known by the sum of its items' random 64-bit keys (two differ with probability 1 - 2^-64).
    keys = np.random.default_rng(0).integers(2**64, size=len(contexts), dtype=np.uint64)
    context, student = contexts.places(ratings), ratings.student
    by_rater = run_starts(student, ratings.rater)
    key = run_sums(looked_up(keys, context), by_rater, np.uint64)
    shape = ratings.n_students, ratings.n_raters
    per_rater = _summed(student[by_rater], ratings.rater[by_rater], key, shape)
    distinct = np.sort(pl.Series(per_rater.data).unique().to_numpy())
    which = np.searchsorted(distinct, per_rater.data).astype(np.int32)
    shown_by = np.empty(len(distinct), dtype=np.int64)
    shown_by[which] = np.arange(len(which))
    counts = sparse.csr_array(
        (np.ones(per_rater.nnz), which, per_rater.indptr), shape=(ratings.n_students, len(distinct))
    )
    slope = looked_up(slope_of_context.astype(np.int32), context)
    by_slope = run_starts(student, slope)
    total = run_sums(ratings.score, by_slope, np.float64)
    shape = ratings.n_students, int(slope_of_context.max()) + 1
    sums = _summed(student[by_slope], slope[by_slope], total, shape)
    members = _members(ratings, context, len(contexts), per_rater, shown_by)
    given = _given(ratings, contexts, n_categories)
    return Essays(counts, sums, Sets(distinct, members, given, counts.nnz))


def _members(
    ratings: Ratings,
    context: Codes,
    n_contexts: int,
    per_rater: sparse.csr_array,
    shown_by: NDArray[np.int64],
) -> sparse.csr_array:
    """Spell out each set from one of the (student, rater) that show it."""
    student = np.repeat(np.arange(ratings.n_students), np.diff(per_rater.indptr))[shown_by]
    shown = student * ratings.n_raters + per_rater.indices[shown_by]
    order = np.argsort(shown)
    showing = np.zeros(ratings.n_students, dtype=bool)
    showing[student] = True
    rating = np.flatnonzero(showing[ratings.student])
    essay = ratings.student[rating].astype(np.int64) * ratings.n_raters + ratings.rater[rating]
    place = np.minimum(np.searchsorted(shown[order], essay), len(shown) - 1)
    inside = shown[order][place] == essay
    sets = sparse.coo_array(
        (np.ones(int(inside.sum())), (order[place[inside]], context[rating[inside]])),
        shape=(len(shown_by), n_contexts),
    ).tocsr()
    sets.sum_duplicates()
    return sets


def _given(ratings: Ratings, contexts: Contexts, n_categories: int) -> NDArray[np.float64]:
    cells, times = ratings.cell_counts()
    code, score = np.divmod(cells, ratings.n_categories)
    given = np.zeros((len(contexts), n_categories))
    given[np.searchsorted(contexts.codes, code), score] = times
    return given


def _summed(
    student: Codes, column: NDArray[np.integer], values: NDArray[np.generic], shape: tuple[int, int]
) -> sparse.csr_array:
    """Sum `values` of each (student, column)."""
    table = sparse.coo_array((values, (student, column)), shape=shape).tocsr()
    table.sum_duplicates()
    return table
