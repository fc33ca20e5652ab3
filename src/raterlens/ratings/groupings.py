"""Pieces of work, repeats and readings, times and groups that ratings belong to; and rows put together by codes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Indices, Mask, run_starts
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import counted, shortened
from raterlens.kernels.library import compiled_code_pays
from raterlens.ratings.coded import Codes, Facet, Ratings, Tally


class ByPiece(NamedTuple):
    """The same ratings with pieces in place of students."""

    ratings: Ratings
    student: Codes
    """(pieces,): the student of each, ascending."""
    label: Indices
    """(pieces,): the label of each."""


def by_piece(ratings: Ratings) -> ByPiece:
    """Recode ratings by piece; two students may use the same label for theirs."""
    assert ratings.piece is not None
    n_labels = len(ratings.piece.labels)
    code = ratings.student.astype(np.int64) * n_labels + ratings.piece.codes
    distinct, which = np.unique(code, return_inverse=True)
    student, label = np.divmod(distinct, n_labels)
    pieces = replace(
        ratings,
        student=which.astype(np.int32),
        students=pl.Series("student", np.arange(len(distinct))),
        piece=None,
    )
    return ByPiece(pieces, student.astype(np.int32), label)


def one_each(ratings: Ratings) -> bool:
    """Whether no student has two pieces."""
    return all(len(by_piece(part).student) == part.n_students for part in ratings.parts())


def read_once(ratings: Ratings) -> bool:
    """Whether no piece was read by two raters."""
    return all(_read_once(part) for part in ratings.parts())


def _read_once(ratings: Ratings) -> bool:
    pieces = by_piece(ratings)
    reading = pieces.ratings.student.astype(np.int64) * ratings.n_raters + ratings.rater
    return bool(pl.Series(reading).n_unique() == len(pieces.student))


def piece_tallies(ratings: Ratings) -> tuple[Codes, Indices, Tally]:
    """(pieces,): the student, label and tally of each, student after student."""
    found, before = [], 0
    for part in ratings.parts():
        pieces = by_piece(part)
        tally = pieces.ratings.tally("student")
        found.append((pieces.student + np.int32(before), pieces.label, tally.n, tally.total))
        before += part.n_students
    student, label, n, total = (np.concatenate(each) for each in zip(*found, strict=True))
    return student, label, Tally(n, total)


DRAW = "draw"


def with_draws(ratings: Ratings) -> Ratings:
    """Number ratings of the same student, rater, item and facets from 1, in the order of the rows, as draws."""
    again = occurrence(ratings.student, ratings.context_codes(), np.zeros_like(ratings.item))
    if again is None:
        return ratings
    labels = pl.Series(DRAW, np.arange(1, int(again.max()) + 2))
    return replace(ratings, draw=Facet(DRAW, again.astype(np.int32), labels))


def with_sets_of_raters(ratings: Ratings) -> Ratings:
    """The same ratings, students in groups by who marked them.

    Examples
    --------
    >>> import raterlens as rl
    >>> table = pl.DataFrame({"student": [1, 1, 2, 3], "rater": ["A", "B", "A", "A"], "score": [1, 0, 1, 0]})
    >>> ratings = rl.read(table)
    >>> found = with_sets_of_raters(ratings)
    >>> found.group.labels.to_list(), found.student_groups.tolist()
    (['A', 'A + B'], [1, 0, 0])
    """
    student, rater = np.divmod(ratings.marked_pairs(), ratings.n_raters)
    keys = np.random.default_rng(1).integers(2**63, size=ratings.n_raters)  # sums of which tell sets apart
    key = np.zeros(ratings.n_students, np.int64)
    np.add.at(key, student, keys[rater])
    _, shown_by, of_student = np.unique(key, return_index=True, return_inverse=True)
    begin = np.searchsorted(student, [shown_by, shown_by + 1])
    names = ratings.raters.cast(pl.String).to_list()
    labels = [_label_of_set([names[each] for each in rater[first:end]]) for first, end in begin.T]
    order = np.argsort(labels)
    place = np.argsort(order).astype(np.int32)[of_student]
    group = Facet(SET_OF_RATERS, place[ratings.student], pl.Series([labels[each] for each in order]))
    return replace(ratings, group=group)


SET_OF_RATERS = "set of raters"
_NAMED = 4


def _label_of_set(names: list[str]) -> str:
    """The names of a set's raters; of many the first, and a checksum of all that tells the set from others."""
    if len(names) <= _NAMED:
        return " + ".join(names)
    checksum = sha256("\0".join(names).encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{' + '.join(names[: _NAMED - 1])} + {len(names) - _NAMED + 1} more ({checksum})"


class Questions(NamedTuple):
    """Ratings by what was asked: a student's work (or one piece of it), rated by a rater on an item."""

    of: Indices
    """(ratings,): the question that each rating answers; questions stand in the order of students."""
    first: Indices
    """(questions,): the first answer to each, in the order of the rows."""
    differ: Mask
    """(questions,): whether its answers differ."""


def questions(ratings: Ratings) -> Questions:
    """Group ratings by question: answers to the same question are draws."""
    return ratings.once("questions", lambda: _questions(ratings))


def _questions(ratings: Ratings) -> Questions:
    whose = ratings.student if ratings.piece is None else by_piece(ratings).ratings.student
    code = whose.astype(np.int64) * math.prod(ratings.sizes) + ratings.context_codes()
    _, first, of = np.unique(code, return_index=True, return_inverse=True)
    differ = np.zeros(len(first), dtype=bool)
    differ[of[ratings.score != ratings.score[first][of]]] = True
    return Questions(of, first, differ)


def inconsistent_raters(ratings: Ratings) -> Mask:
    """(raters,): who gave different answers to the same question."""
    found = np.zeros(ratings.n_raters, dtype=bool)
    if ratings.draw is not None:
        asked = questions(ratings)
        found[ratings.rater[asked.first[asked.differ]]] = True
    return found


def counted_once(ratings: Ratings) -> Ratings:
    """Keep one answer per question of raters whose draws never differ: the others are copies."""
    if ratings.draw is None:
        return ratings
    asked = questions(ratings)
    keep = inconsistent_raters(ratings)[ratings.rater]
    keep[asked.first] = True
    return ratings if keep.all() else ratings.subset(keep, keep_levels=True)


def occurrence(
    student: NDArray[np.integer], rater: NDArray[np.integer], item: NDArray[np.integer]
) -> Indices | None:
    """(ratings,): how often the same rater has scored the student on the item in earlier rows; None if nobody ever
    has.

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
    """Return the reading of each rating and the number of readings. A reading is all that a rater gave a student; a
    repeated item starts the next one.

    Examples
    --------
    >>> readings_of(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 1]), np.array([0, 1, 0, 0]))
    (array([0, 0, 1, 2]), 3)
    """
    distinct, which = np.unique(_reading_codes(student, rater, item), return_inverse=True)
    return which, len(distinct)


def _reading_codes(
    student: NDArray[np.integer], rater: NDArray[np.integer], item: NDArray[np.integer]
) -> Indices:
    again = occurrence(student, rater, item)
    code = student.astype(np.int64) * (int(rater.max()) + 1) + rater
    return code if again is None else code * (int(again.max()) + 1) + again


# Ratings that nearly always tell what all of them do.
_GLANCE = 2**12


class Readings(NamedTuple):
    """The readings of the ratings."""

    long: bool
    """Whether any has two ratings or more."""
    second: bool
    """Whether any student has two or more."""


def readings_in(ratings: Ratings) -> Readings:
    student, rater, item = (codes[:_GLANCE] for codes in (ratings.student, ratings.rater, ratings.item))
    together, alike = student[1:] == student[:-1], rater[1:] == rater[:-1]
    long = together & alike & (item[1:] != item[:-1])
    if ratings.piece is None and long.any() and (together & ~alike).any():
        return Readings(True, True)  # no others can change that
    whose = ratings.student if ratings.piece is None else by_piece(ratings).ratings.student
    number = pl.Series(_reading_codes(whose, ratings.rater, ratings.item)).n_unique()
    return Readings(number < ratings.n_ratings, number > int(np.count_nonzero(np.bincount(ratings.student))))


MOST_PERIODS = 12
PERIODS = 4

# Values per label, from which on looking labels up is quicker than sorting all values.
_FEW = 16


def levels_of(name: str, values: Any, ratings: Ratings) -> tuple[NDArray[np.int32], pl.Series]:
    """Code labels, one per rating."""
    known = isinstance(values, pl.Series) or (isinstance(values, np.ndarray) and values.dtype.kind in "iufM")
    column = pl.Series(name, values if known else list(values))
    if len(column) != ratings.n_ratings:
        raise InputError(
            f"{name} has {len(column):,} values for {ratings.n_ratings:,} ratings",
            "give one for every rating, in their order",
            value=len(column),
            option=name,
        )
    if column.null_count():
        raise InputError(
            f"{name} is missing for {counted(column.null_count(), 'rating')}",
            "fill it in, or leave it out",
            option=name,
        )
    distinct = column.unique().sort()
    if len(distinct) < 2:
        raise InputError(
            f"{name} is {shortened(moment_words(distinct[0]))} for every rating",
            "leave it out",
            value=distinct[0],
            option=name,
        )
    if len(distinct) < len(column) // _FEW:
        places = pl.Series(np.arange(len(distinct), dtype=np.int32))
        return column.replace_strict(distinct, places).to_numpy(), distinct
    return column.rank("dense").to_numpy().astype(np.int32) - 1, distinct


def time_of(time: Any, ratings: Ratings) -> tuple[NDArray[np.int32], pl.Series]:
    """Code the times, in order."""
    if isinstance(time, str):
        facet = _column(time, ratings, "time")
        read = _read_times(facet.labels)
        if read is None:  # labels that sort
            return facet.codes, facet.labels
        time = read.gather(facet.codes)
    return levels_of("time", time, ratings)


GroupColumns = Mapping[str, Any] | Sequence[str]
"""Labels by name, one per rating; or names of columns that were read."""


def groups_of(groups: GroupColumns, ratings: Ratings) -> dict[str, tuple[NDArray[np.int32], pl.Series]]:
    """Code the groups, by name."""
    if isinstance(groups, Mapping):
        return {name: levels_of(name, values, ratings) for name, values in groups.items()}
    names = [groups] if isinstance(groups, str) else groups
    found = (_column(name, ratings, "groups") for name in names)
    return {facet.name: (facet.codes, facet.labels) for facet in found}


def _column(name: str, ratings: Ratings, option: str) -> Facet:
    """Find a column that was read, by name."""
    found = next((facet for facet in ratings.further if facet.name == name), None)
    if found is None:
        raise OptionError(
            f"column {shortened(name)} was not read with the ratings",
            f"name it when reading: rl.read(..., beside=[{name!r}])",
            value=name,
            option=option,
        )
    if len(found.labels) < 2:
        raise InputError(
            f"column {shortened(name)} is {shortened(found.labels[0])} in every row, so nothing can differ by it",
            "leave it out",
            value=found.labels[0],
            option=option,
        )
    return found


def periods_of(moment: NDArray[np.int32], labels: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """Return the times if there are few; otherwise periods with equal numbers of ratings, named by their start."""
    if len(labels) <= MOST_PERIODS:
        return moment, pl.Series([moment_words(label) for label in labels])
    edges = np.unique(np.quantile(moment, np.arange(1, PERIODS) / PERIODS, method="nearest"))
    starts = labels.gather(np.append(0, edges))
    names = pl.Series([f"{place + 1}: from {moment_words(start)}" for place, start in enumerate(starts)])
    return np.searchsorted(edges, moment, side="right").astype(np.int32), names


def set_aside(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """Move columns from the facets of the model to those beside it."""
    if not names:
        return ratings
    found = {facet.name: facet for facet in ratings.facets}
    beside = tuple(found.pop(name) for name in names)
    return replace(ratings, facets=tuple(found.values()), beside=(*ratings.beside, *beside))


def columns_by_name(ratings: Ratings, time: str | None, groups: Sequence[str]) -> dict[str, Any]:
    """Return columns that were read, as `diagnose` takes them; times have to be numbers or dates."""
    found: dict[str, Any] = {}
    if groups:
        columns = {name: _column(name, ratings, "groups") for name in groups}
        found["groups"] = {name: facet.labels.gather(facet.codes) for name, facet in columns.items()}
    if time:
        facet = _column(time, ratings, "time")
        found["time"] = times(facet.labels).gather(facet.codes)
    return found


def times(labels: pl.Series) -> pl.Series:
    """Read a column of times as numbers or dates, so that "10" comes after "9".

    Examples
    --------
    >>> times(pl.Series("week", ["10", "9"])).to_list()
    [10.0, 9.0]
    """
    if (read := _read_times(labels)) is not None:
        return read
    strange = labels.filter(
        labels.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).is_null()
    )[0]
    raise InputError(
        f"{strange!r} in the column of times, {labels.name!r}, is neither a number nor a date such as 2024-05-31 or "
        "2024-05-31 09:30:00",
        "write all times in one of these ways",
        value=strange,
        option="time",
    )


def _read_times(labels: pl.Series) -> pl.Series | None:
    """Return None if they are neither numbers nor dates."""
    if labels.dtype.is_numeric() or labels.dtype.is_temporal():
        return labels
    text = labels.cast(pl.String).str.strip_chars()
    for read in (
        text.cast(pl.Float64, strict=False),
        text.str.to_date("%Y-%m-%d", strict=False),
        text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False),
        text.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False),
        text.str.to_datetime("%Y-%m-%d %H:%M", strict=False),
    ):
        if not read.null_count():
            return read
    return None


def moment_words(moment: Any) -> str:
    """Write a time as people do.

    Examples
    --------
    >>> moment_words(12.0), moment_words(0.25)
    ('12', '0.25')
    """
    return f"{moment:.12g}" if isinstance(moment, float) else str(moment)


# ----------------------------------------------------------------------------------------------------
# Rows put together by what they share, in linear time.

_PER_RATING = 300


def large(n_ratings: int) -> bool:
    """Whether diagnostics of this many ratings are worth compiled code."""
    return compiled_code_pays(n_ratings * _PER_RATING)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows that share two codes, groups sorted by the first, then the second."""

    order: Indices
    """(rows,): the rows, group after group, in their order within a group"""
    first: Indices
    """(groups + 1,) where each group begins in `order`, and the end"""
    of_row: Indices
    """(rows,) the group of each row"""

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def example(self) -> Indices:
        """(groups,) the first row of each"""
        return self.order[self.first[:-1]]

    @property
    def size(self) -> Indices:
        return np.diff(self.first)


def order_of(codes: NDArray[np.integer], n: int) -> Indices:
    """Sort rows by their codes (0 .. n - 1), stably: `argsort` by counting.

    Examples
    --------
    >>> order_of(np.array([1, 0, 1, 0]), 2)
    array([1, 3, 0, 2])
    """
    from scipy import sparse  # heavy, and reading alone does without

    rows = np.arange(len(codes))
    # Turning coordinates into compressed rows is a counting sort.
    return np.asarray(sparse.csr_array((rows, (codes, rows)), shape=(n, len(codes))).data)


def order_of_two(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Indices:
    """Sort rows by the first code, then by the second, stably.

    Examples
    --------
    >>> order_of_two(np.array([1, 0, 1, 1]), 2, np.array([0, 0, 1, 0]), 2)
    array([1, 0, 3, 2])
    """
    if np.all(one[1:] >= one[:-1]):
        # Runs that are in order are merged: a tenth of the time of counting.
        return np.argsort(one.astype(np.int64) * n_two + two, kind="stable")
    order = order_of(two, n_two)
    return order[order_of(one[order], n_one)]


def grouped(one: NDArray[np.integer], n_one: int, two: NDArray[np.integer], n_two: int) -> Groups:
    """Put rows with the same two codes together.

    Examples
    --------
    >>> found = grouped(np.array([1, 0, 1, 1]), 2, np.array([0, 0, 1, 0]), 2)
    >>> found.of_row, found.size, found.example
    (array([1, 0, 2, 1]), array([1, 2, 1]), array([1, 0, 2]))
    """
    order = order_of_two(one, n_one, two, n_two)
    first, second = one[order], two[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    of_row = np.empty(len(order), np.int64)
    of_row[order] = np.cumsum(new) - 1
    return Groups(order, np.append(np.flatnonzero(new), len(order)), of_row)
