"""Ratings to the sparse matrices an engine works on. Time and memory are linear in the ratings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import run_starts, run_sums, take_in_blocks
from raterlens.base.threads import in_blocks
from raterlens.kernels.library import compiled_code_pays
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.groupings import by_piece, occurrence


def rating_cells(
    ratings: Ratings, contexts: Contexts, n_categories: int, *, n_groups: int = 0
) -> sparse.csr_array:
    """(students, contexts x categories): how often a student has each score of each context.

    `n_groups`, here and below: one more cell for each group of students, after all others, which its students have
    once. Their tables say how students are distributed, where that is estimated.
    """
    cell = contexts.places(ratings).astype(np.int64) * n_categories + ratings.score
    shape = ratings.n_students, len(contexts) * n_categories
    found = _summed(ratings.student, cell, np.ones(ratings.n_ratings), shape)
    return _with_people(found, ratings, n_groups)


def _with_people(counts: sparse.csr_array, ratings: Ratings, n_groups: int) -> sparse.csr_array:
    if not n_groups:
        return counts
    n, groups = counts.shape[0], ratings.student_groups
    group = np.zeros(n, dtype=np.int64) if n_groups == 1 or groups is None else groups
    once = sparse.csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, n_groups))
    return sparse.csr_array(sparse.hstack([counts, once], format="csr"))


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of groups of ratings (essays, readings) that occur, each of which is one cell."""

    keys: NDArray[np.uint64]
    """(kinds,): sorted; a kind has the same key wherever it occurs."""
    members: sparse.csr_array
    """(kinds, contexts or contexts x categories): how often a context, or one with a score, occurs in a group."""
    total: NDArray[np.float64]
    """(kinds,): sum of the scores of a group, where it belongs to the kind; else 0."""
    given: NDArray[np.float64]
    """(contexts, categories): how often each score was given."""
    n_groups: int
    """Groups of all students, whatever their kinds."""

    @staticmethod
    def merged(found: "Sequence[Kinds | None]") -> "Kinds | None":
        """The kinds of all parts of the students; None where cells are single ratings."""
        parts = [part for part in found if part is not None]
        if not parts:
            return None
        keys, first = np.unique(np.concatenate([part.keys for part in parts]), return_index=True)
        members = sparse.csr_array(sparse.vstack([part.members for part in parts], format="csr")[first])
        total = np.concatenate([part.total for part in parts])[first]
        given = np.sum([part.given for part in parts], axis=0)
        return Kinds(keys, members, total, given, sum(part.n_groups for part in parts))


@dataclass(frozen=True, slots=True)
class Grouped:
    """Students by the kinds of their groups of ratings."""

    counts: sparse.csr_array
    """(students, kinds), and the cells of groups of students, where there are some"""
    sums: sparse.csr_array | None
    """(students, slopes): sum of a student's scores among the ratings that share a slope, where cells leave it out."""
    kinds: Kinds | None
    """None where cells are single ratings, the same for all students."""


Grouping: TypeAlias = Callable[[Ratings, Contexts], Grouped]
"""How ratings are grouped into cells; can be sent to the workers of a cluster."""


def ungrouped(ratings: Ratings, contexts: Contexts, n_categories: int, *, n_groups: int = 0) -> Grouped:
    """Every rating as a cell: a context with a score."""
    return Grouped(rating_cells(ratings, contexts, n_categories, n_groups=n_groups), None, None)


def grouped_by(
    ratings: Ratings, contexts: Contexts, grouping: Grouping, pieces: bool
) -> tuple[Grouped, Codes | None]:
    """The rows of an engine, and whose each is where a student's pieces of work differ, so that rows are pieces."""
    if not pieces:
        return grouping(ratings, contexts), None
    split = by_piece(ratings)
    return grouping(split.ratings, contexts), split.student


def essays(
    ratings: Ratings,
    contexts: Contexts,
    slope_of_context: NDArray[np.int64],
    n_categories: int,
    *,
    n_groups: int = 0,
) -> Grouped:
    """All ratings of a student by a rater as one cell, known by the items (and how often each): for log-probabilities
    that depend on the scores only through their sum, linearly."""
    columns = Columns(ratings.rater, ratings.n_raters)
    compiled = _compiled_groups(ratings, contexts, slope_of_context)
    per_rater, sums = compiled or _groups(ratings, contexts, slope_of_context)
    counts, keys, shown_by = _kinds(per_rater)

    def row(rating: NDArray[np.int64]) -> Codes:
        return np.searchsorted(contexts.codes, ratings.context_codes(rating)).astype(np.int32)

    in_order = compiled is not None
    members = _members(ratings, columns, row, len(contexts), per_rater, shown_by, in_order=in_order)
    given = _given(ratings, contexts, n_categories)
    kinds = Kinds(keys, members, np.zeros(len(keys)), given, counts.nnz)
    return Grouped(_with_people(counts, ratings, n_groups), sums, kinds)


def _groups(
    ratings: Ratings, contexts: Contexts, slope_of_context: NDArray[np.int64]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """(students, raters) the sum of the keys of what each rater rated, and (students, slopes) of the scores."""
    context, student = contexts.places(ratings), ratings.student
    columns = Columns(ratings.rater, ratings.n_raters)
    per_rater = _keys_of_groups(ratings, columns, take_in_blocks(_random_keys(len(contexts)), context))
    slope = take_in_blocks(slope_of_context.astype(np.int32), context)
    by_slope = run_starts(student, slope)
    total = run_sums(ratings.score, by_slope, np.float64)
    shape = ratings.n_students, int(slope_of_context.max()) + 1
    return per_rater, _summed(student[by_slope], slope[by_slope], total, shape)


def _compiled_groups(
    ratings: Ratings, contexts: Contexts, slope_of_context: NDArray[np.int64]
) -> tuple[sparse.csr_array, sparse.csr_array] | None:
    """The same by compiled code, where ratings are many and in the order of the students, and a context is a rater and
    an item."""
    size = ratings.n_raters * ratings.n_items
    if not compiled_code_pays(ratings.n_ratings) or ratings.facets or size > ratings.n_ratings:
        return None
    from raterlens.kernels.student_groups import Rated, rows_matrix, student_groups  # may be missing

    rated = Rated(
        ratings.student, ratings.rater, ratings.item, ratings.score, ratings.n_students, ratings.n_items
    )
    key_of = np.zeros(size, dtype=np.uint64)
    key_of[contexts.codes] = _random_keys(len(contexts))
    by_rater = student_groups(rated, ratings.n_raters, None, key_of)
    if by_rater is None:
        return None
    shape = ratings.n_students, ratings.n_raters
    per_rater = rows_matrix(by_rater.indptr, by_rater.groups, by_rater.keys, shape)
    n_slopes, by_slope = int(slope_of_context.max()) + 1, by_rater
    if not np.array_equal(slope_of_context, contexts.rater):
        group_of = np.zeros(size, dtype=np.int32)
        group_of[contexts.codes] = slope_of_context
        found = student_groups(rated, n_slopes, group_of, key_of)
        assert found is not None  # students stand in order, as they did before
        by_slope = found
    shape = ratings.n_students, n_slopes
    sums = rows_matrix(by_slope.indptr, by_slope.groups, by_slope.totals, shape)
    return per_rater, sums


def readings(
    ratings: Ratings, contexts: Contexts, n_categories: int, *, by_total: bool, n_groups: int = 0
) -> Grouped:
    """The same where something else than ability is shared within a reading, so that the sum of the scores is part of
    the kind (`by_total`), or else every single score."""
    row = contexts.places(ratings)
    size = len(contexts)
    if not by_total:
        row, size = (
            (row.astype(np.int64) * n_categories + ratings.score).astype(np.int32),
            size * n_categories,
        )
    random = _random_keys(size + 1)
    key = take_in_blocks(random, row)
    if by_total:
        key = key + ratings.score.astype(np.uint64) * random[-1]
    columns = reading_columns(ratings)
    per_reading = _keys_of_groups(ratings, columns, key)
    counts, keys, shown_by = _kinds(per_reading)
    members = _members(ratings, columns, lambda rating: row[rating], size, per_reading, shown_by)
    total = np.zeros(len(keys))
    if by_total:
        score = ratings.score.astype(np.float64)
        total = _summed(ratings.student, columns.of, score, per_reading.shape).data[shown_by]
    kinds = Kinds(keys, members, total, _given(ratings, contexts, n_categories), counts.nnz)
    return Grouped(_with_people(counts, ratings, n_groups), None, kinds)


class Columns(NamedTuple):
    """Which of a student's groups each rating is in."""

    of: Codes
    """(ratings,)"""
    number: int
    """All that a student could have."""


def reading_columns(ratings: Ratings) -> Columns:
    """A student's ratings by a rater are one reading, or where pieces are named, those of a piece; where the same item
    occurs again, it is of the next one."""
    if ratings.piece is not None:
        split = by_piece(ratings)
        own = reading_columns(split.ratings)
        first = np.searchsorted(split.student, split.student)  # of the same student
        place = (np.arange(len(first)) - first)[split.ratings.student]
        return Columns((place * own.number + own.of).astype(np.int32), (int(place.max()) + 1) * own.number)
    again = occurrence(ratings.student, ratings.rater, ratings.item)
    if again is None:
        return Columns(ratings.rater, ratings.n_raters)
    column = (again * ratings.n_raters + ratings.rater).astype(np.int32)
    return Columns(column, (int(again.max()) + 1) * ratings.n_raters)


def _random_keys(size: int) -> NDArray[np.uint64]:
    """A multiset is known by the sum of its members' random 64-bit keys (two differ with probability 1 - 2^-64)."""
    return np.random.default_rng(0).integers(2**64, size=size, dtype=np.uint64)


def _keys_of_groups(ratings: Ratings, columns: Columns, key: NDArray[np.uint64]) -> sparse.csr_array:
    """(students, columns): the sum of the keys of the ratings of each group."""
    runs = run_starts(ratings.student, columns.of)
    shape = ratings.n_students, columns.number
    return _summed(ratings.student[runs], columns.of[runs], run_sums(key, runs, np.uint64), shape)


def _kinds(per_rater: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.uint64], NDArray[np.int64]]:
    """(students, kinds) how often each occurs, their keys, and for each of them a group that shows it."""
    distinct = np.sort(pl.Series(per_rater.data).unique().to_numpy())
    which = np.empty(per_rater.nnz, dtype=np.int32)

    def block(groups: slice) -> None:
        which[groups] = np.searchsorted(distinct, per_rater.data[groups])

    in_blocks(block, per_rater.nnz)
    shown_by = np.empty(len(distinct), dtype=np.int64)
    shown_by[which] = np.arange(len(which))
    shape = (per_rater.shape[0], len(distinct))
    return (
        sparse.csr_array((np.ones(per_rater.nnz), which, per_rater.indptr), shape=shape),
        distinct,
        shown_by,
    )


def _members(
    ratings: Ratings,
    columns: Columns,
    row: Callable[[NDArray[np.int64]], Codes],
    n_rows: int,
    groups: sparse.csr_array,
    shown_by: NDArray[np.int64],
    *,
    in_order: bool = False,
) -> sparse.csr_array:
    """Spell out each kind from one of the groups that show it. `in_order`: the ratings are, by their students."""
    student = np.searchsorted(groups.indptr, shown_by, side="right") - 1
    shown = student * columns.number + groups.indices[shown_by]
    order = np.argsort(shown)
    if in_order:
        showing = np.unique(student).astype(np.int32)
        begin, end = (np.searchsorted(ratings.student, showing, side=side) for side in ("left", "right"))
        rating = np.concatenate([np.arange(*span) for span in zip(begin, end, strict=True)])
    else:
        chosen = np.zeros(ratings.n_students, dtype=bool)
        chosen[student] = True
        rating = np.flatnonzero(take_in_blocks(chosen, ratings.student))
    group = ratings.student[rating].astype(np.int64) * columns.number + columns.of[rating]
    place = np.minimum(np.searchsorted(shown[order], group), len(shown) - 1)
    inside = shown[order][place] == group
    members = sparse.coo_array(
        (np.ones(int(inside.sum())), (order[place[inside]], row(rating[inside]))),
        shape=(len(shown_by), n_rows),
    ).tocsr()
    members.sum_duplicates()
    return members


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


def row_keys(*matrices: sparse.csr_array | None) -> NDArray[np.uint64] | None:
    """(rows,) a number that rows share where they are the same, and others with probability 2^-64 or little more; None
    where not all entries are whole numbers."""
    present = [matrix for matrix in matrices if matrix is not None]
    random, keys = np.random.default_rng(0), np.zeros(present[0].shape[0], dtype=np.uint64)
    add = _add_keys
    if compiled_code_pays(sum(matrix.nnz for matrix in present)):
        from raterlens.kernels.student_groups import add_row_keys as add  # may be missing
    of_columns = (random.integers(2**64, size=matrix.shape[1], dtype=np.uint64) for matrix in present)
    whole = all(add(matrix, of_column, keys) for matrix, of_column in zip(present, of_columns, strict=True))
    return keys if whole else None


def _add_keys(matrix: sparse.csr_array, of_column: NDArray[np.uint64], keys: NDArray[np.uint64]) -> bool:
    """To each row's key the sum of its columns' keys, as often as they count; False where one counts in part."""
    whole = matrix.data.astype(np.uint64)
    if not np.array_equal(whole, matrix.data):
        return False
    total = np.zeros(matrix.nnz + 1, dtype=np.uint64)
    np.cumsum(of_column[matrix.indices] * whole, out=total[1:])
    keys += total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
    return True


def distinct_rows(*matrices: sparse.csr_array | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For matrices of whole numbers side by side: a row that shows each distinct one, and which of them each row is."""
    keys = row_keys(*matrices)
    assert keys is not None
    _, shown_by, which = np.unique(keys, return_index=True, return_inverse=True)
    return shown_by, which
