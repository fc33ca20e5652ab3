"""Ratings: validated, integer-coded, immutable. Everything after reading works on this one object."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices, distinct_counts, run_starts, run_sums, sorted_unique
from raterlens.base.errors import InputError
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, shortened
from raterlens.base.threads import BLOCK, in_blocks
from raterlens.config.limits import SCORE_CATEGORIES
from raterlens.kernels.library import inside

Backend = Literal["polars", "pandas", "pyarrow"]


def to_backend(table: pl.DataFrame, backend: Backend) -> Any:
    """Convert a table to the kind of dataframe that came in.

    Examples
    --------
    >>> type(to_backend(pl.DataFrame({"n": [1]}), "pandas")).__module__.split(".")[0]
    'pandas'
    """
    if backend == "polars":
        return table
    import narwhals as nw  # polars in, polars out needs no other library

    columns = {column: table[column].to_list() for column in table.columns}
    return nw.from_dict(columns, backend=backend).to_native()


Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswers:
    """The right scores of some students on some items, sorted by student, then by item."""

    student: Codes
    item: Codes
    answer: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.answer)

    @property
    def items(self) -> Indices:
        """Items with at least one known answer."""
        return np.unique(self.item).astype(np.int64)

    def between(self, first: int, last: int) -> "KnownAnswers | None":
        """Answers of students `first` to `last - 1`, recoded from 0; None if there are none."""
        own = slice(*np.searchsorted(self.student, [first, last]))
        if own.start == own.stop:
            return None
        return KnownAnswers(self.student[own] - np.int32(first), self.item[own], self.answer[own])

    def with_scores(self, places: NDArray[np.int16]) -> "KnownAnswers":
        """Replace answer s by `places[s]`."""
        return replace(self, answer=places[self.answer])

    def among(self, students: Indices, items: Indices) -> "KnownAnswers | None":
        """Answers of the students and items that remain, by their new codes (-1: removed); None if there are none."""
        student, item = students[self.student], items[self.item]
        left = (student >= 0) & (item >= 0)
        if not left.any():
            return None
        return KnownAnswers(student[left].astype(np.int32), item[left].astype(np.int32), self.answer[left])

    def of_students(self, drawn: Indices) -> "KnownAnswers | None":
        """Answers of the students drawn, who may repeat, by their position among the draws."""
        first = np.searchsorted(self.student, np.arange(int(drawn.max()) + 2))
        size = first[drawn + 1] - first[drawn]
        if not size.any():
            return None
        begin = np.repeat(first[drawn] - np.cumsum(size) + size, size)
        rows = begin + np.arange(size.sum())
        student = np.repeat(np.arange(len(drawn), dtype=np.int32), size)
        return KnownAnswers(student, self.item[rows], self.answer[rows])


_NONE = np.empty(0, dtype=np.int32)
NO_ANSWERS = KnownAnswers(_NONE, _NONE, np.empty(0, dtype=np.int16))
TWO_GROUPS = Message(
    "correct the group, or, where groups use the same names for their students, name both columns with ",
    Option("student"),
)
"""Advice if a student is in two groups."""


def renumbered(codes: NDArray[np.integer], size: int) -> Indices:
    """(size,): the new code of each level if only the levels in `codes` remain; -1 for the others."""
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    return np.where(present, np.cumsum(present) - 1, -1)


def joined_answers(parts: "list[tuple[int, KnownAnswers | None]]") -> KnownAnswers | None:
    """Join the answers of parts of the students; each part comes with the number of students before it."""
    found = [replace(known, student=known.student + np.int32(n)) for n, known in parts if known is not None]
    if not found:
        return None
    return KnownAnswers(
        *(np.concatenate([getattr(part, name) for part in found]) for name in ("student", "item", "answer"))
    )


T = TypeVar("T")
ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Facet:
    """A further facet that ratings differ in, such as the topic of an essay: codes into its labels."""

    name: str
    codes: Codes
    labels: pl.Series


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many ratings each level has, and the sum of their scores."""

    n: NDArray[np.int64]
    total: NDArray[np.float64]

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.n + other.n, self.total + other.total)

    @property
    def mean(self) -> NDArray[np.float64]:
        return np.asarray(self.total / self.n)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Ratings:
    """One entry per rating; students, raters and items are codes into their sorted labels.

    Levels are sorted, so the order of the rows never changes a result. A (student, rater, item) may
    occur more than once: repeated ratings are data.

    Columns beside these are `Facet`s: a code per rating into labels of their own. `facets` are part of the model, those
    `beside` it are for diagnostics; `piece`, `draw` and `group` say more about a rating or its student. `draw` numbers
    a rater's answers to the same question (student, item and facets), from the column that the table has for it or,
    where plain repeats are many, in the order of the rows. `group` is the same for all ratings of a student:
    `student_groups` has it by student.
    """

    student: Codes
    rater: Codes
    item: Codes
    score: NDArray[np.int16]
    students: pl.Series
    raters: pl.Series
    items: pl.Series
    notes: tuple[str, ...] = ()
    """Notes of reading, in plain words: columns recognised, rows left out and why."""
    backend: Backend = field(default="polars")
    """The kind of dataframe to return: the kind that came in."""
    facets: tuple[Facet, ...] = ()
    known: KnownAnswers | None = None
    """The right scores for some students and items."""
    piece: Facet | None = None
    """The piece of work rated, if students have several; labels count within a student."""
    draw: Facet | None = None
    """Which of a rater's answers to the same question this is, if the table says so."""
    group: Facet | None = None
    """The group that the rated student belongs to, such as a school; one per student. Labels are numbers where the
    column holds numbers."""
    beside: tuple[Facet, ...] = ()
    """Columns outside the model, such as the day of the rating: `Fit.diagnose` takes them by name."""
    trusted: tuple[str, ...] = ()
    """Raters whom the table marks as trusted."""
    score_step: float = 1.0
    """The file's score is the code times this: 0.5 where half marks were doubled."""
    _counted: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """Cached counts, by name."""

    def __post_init__(self) -> None:
        n = len(self.score)
        for codes, labels in (
            (self.student, self.students),
            (self.rater, self.raters),
            (self.item, self.items),
            *((facet.codes, facet.labels) for facet in self.further),
        ):
            if len(codes) != n or not inside(codes, len(labels)):
                raise ValueError(f"{labels.name} codes must be {n} numbers from 0 to {len(labels) - 1}")
        for array in (self.student, self.rater, self.item, self.score):
            array.setflags(write=False)

    @property
    def further(self) -> tuple[Facet, ...]:
        """Columns besides student, rater and item."""
        aside = (self.piece, self.draw, self.group)
        return (*self.facets, *(facet for facet in aside if facet is not None), *self.beside)

    def with_each_facet(self, change: Callable[[Facet], Facet]) -> dict[str, Any]:
        """All columns besides student, rater and item, changed, by their fields."""
        aside = {"piece": self.piece, "draw": self.draw, "group": self.group}
        found: dict[str, Any] = {role: change(facet) for role, facet in aside.items() if facet is not None}
        return found | {name: tuple(map(change, getattr(self, name))) for name in ("facets", "beside")}

    @property
    def student_groups(self) -> Codes | None:
        """(students,): the code of each student's group; None without groups."""
        if self.group is None:
            return None
        codes = np.zeros(self.n_students, dtype=np.int32)
        codes[self.student] = self.group.codes
        return codes

    def parts(self) -> "Iterator[Ratings]":
        """Yield consecutive students with all their ratings, coded within the part. Here that is one part; stored
        ratings come in several, so that a pass needs memory for one at a time."""
        yield self

    def tally(self, role: str) -> Tally:
        """Tally the levels of `student`, `rater`, `item` or a further facet ("facet NAME")."""
        return self.once(role, lambda: self._by_student() if role == "student" else self._by_cells(role))

    def mean_scores(self, role: str) -> NDArray[np.float64]:
        """(levels,): the mean score of each, on the file's scale."""
        return self.tally(role).mean * self.score_step

    def once(self, what: str, count: Callable[[], T]) -> T:
        """Return a count, computed on first use and cached."""
        if what not in self._counted:
            self._counted[what] = count()
        return self._counted[what]  # type: ignore[no-any-return]

    def _by_student(self) -> Tally:
        runs = run_starts(self.student)
        whose, length = self.student[runs], np.diff(runs, append=self.n_ratings)
        total = run_sums(self.score, runs, np.int64)
        n, total = (np.bincount(whose, each, self.n_students) for each in (length, total))
        return Tally(n.astype(np.int64), total.astype(np.float64))

    def _by_cells(self, role: str) -> Tally:
        cells, times = self.cell_counts()
        codes, scores = np.divmod(cells, self.n_categories)
        which = ["rater", "item", *(f"facet {facet.name}" for facet in self.facets)].index(role)
        level, size = np.unravel_index(codes, self.sizes)[which], self.sizes[which]
        total = np.bincount(level, times * scores, size).astype(np.float64)
        return Tally(np.bincount(level, times, size).astype(np.int64), total)

    @property
    def sizes(self) -> list[int]:
        """Numbers of raters, items and levels of further facets, which form a rating's context."""
        return [self.n_raters, self.n_items, *(len(facet.labels) for facet in self.facets)]

    def context_codes(self, rows: slice | NDArray[np.int64] = ALL) -> NDArray[np.int64]:
        """(ratings,): rater, item and further facets of each rating as one number."""
        code = self.rater[rows].astype(np.int64)
        others = (self.item, *(facet.codes for facet in self.facets))
        for codes, size in zip(others, self.sizes[1:], strict=True):
            code *= size
            code += codes[rows]
        return code

    def marked_pairs(self) -> NDArray[np.int64]:
        """The distinct `student x raters + rater`, sorted: who marked whom."""

        def found() -> NDArray[np.int64]:
            runs = run_starts(self.student, self.rater)
            return sorted_unique(self.student[runs].astype(np.int64) * self.n_raters + self.rater[runs])

        return self.once("pairs", found)

    def cell_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct `context code x categories + score`, sorted, and how often each occurs."""
        return self.once("cells", self._count_cells)

    def _count_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        k, n = self.n_categories, self.n_ratings
        size = math.prod(self.sizes) * k

        def cells(rows: slice) -> NDArray[np.int64]:
            return self.context_codes(rows) * k + self.score[rows]

        if size > min(n, BLOCK):
            return distinct_counts(cells(ALL), size)
        times = np.sum(in_blocks(lambda rows: np.bincount(cells(rows), minlength=size), n), axis=0)
        return (distinct := np.flatnonzero(times)), times[distinct]

    def with_scores(self, places: NDArray[np.int16]) -> "Ratings":
        """Replace score s by `places[s]`."""
        known = None if self.known is None else self.known.with_scores(places)
        return replace(self, score=places[self.score], known=known)

    def with_answers(self) -> "Ratings":
        """Add known answers as ratings by one more rater, on items and facet levels of their own, which come last."""
        return answers_as_ratings(self, (self.known or NO_ANSWERS).items)

    def drawn(self, n_ratings: int, seed: int = 0) -> NDArray[np.bool_]:
        """(students,): a random choice of students who have about this many ratings in all."""
        return np.random.default_rng(seed).random(self.n_students) < n_ratings / self.n_ratings

    def sample(self, n_ratings: int, seed: int = 0) -> "Ratings":
        """The ratings of a random choice of students; levels without ratings are dropped."""
        drawn, first, found = self.drawn(n_ratings, seed), 0, []
        for part in self.parts():
            chosen = drawn[first : first + part.n_students]
            found.append(part.subset(chosen[part.student], keep_levels=True))
            first += part.n_students
        return joined(found).subset(ALL)

    def subset(self, rows: slice | NDArray[Any], *, keep_levels: bool = False) -> "Ratings":
        """Select ratings by a slice, a mask, or positions, which may repeat.

        Students without any are left out; so are raters, items and levels of further facets, unless `keep_levels`.
        """

        def left(codes: Codes, labels: pl.Series, keep: bool = keep_levels) -> tuple[Codes, pl.Series]:
            return (codes[rows], labels) if keep else used_levels(codes[rows], labels)

        student, students = left(self.student, self.students, keep=False)
        rater, raters = left(self.rater, self.raters)
        item, items = left(self.item, self.items)

        there = set(raters.cast(pl.String)) if self.trusted else ()
        known = self.known
        if known is not None:
            every = np.arange(self.n_items) if keep_levels else renumbered(self.item[rows], self.n_items)
            known = known.among(renumbered(self.student[rows], self.n_students), every)
        return Ratings(
            student=student,
            rater=rater,
            item=item,
            score=self.score[rows],
            students=students,
            raters=raters,
            items=items,
            notes=self.notes,
            backend=self.backend,
            known=known,
            **self.with_each_facet(lambda facet: Facet(facet.name, *left(facet.codes, facet.labels))),
            trusted=tuple(rater for rater in self.trusted if rater in there),
            score_step=self.score_step,
        )

    def table(self) -> pl.DataFrame:
        """One row per rating: student, rater, item and score, then all further columns.

        Examples
        --------
        >>> import raterlens as rl
        >>> rl.load_example().table().columns
        ['student', 'rater', 'item', 'score']
        """
        columns = {
            "student": self.students.gather(self.student),
            "rater": self.raters.gather(self.rater),
            "item": self.items.gather(self.item),
            "score": pl.Series(self.score),
        }
        further = {facet.name: facet.labels.gather(facet.codes) for facet in self.further}
        return pl.DataFrame(columns | further)

    def check_estimable(self) -> None:
        """Raise if the ratings say nothing about raters; a fit can still score a single student."""
        n = self.n_ratings
        if n < 2:
            raise InputError(
                f"{counted(n, 'rating')} in the table", "give at least two, of different students", value=n
            )
        if len(self.students) < 2:
            raise InputError(
                f"all {n:,} ratings are of one student, {shortened(self.students[0])}",
                "raters are judged by how they tell students apart: check the student column, or add students",
                value=self.students[0],
                option="student",
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {size_words(self)}>"

    def _repr_html_(self) -> str:
        own = self.tally("rater")
        most = max(self.n_categories - 1, 1)
        nothing = float("nan")
        points: list[Point] = [
            (str(self.raters[int(r)]), float(own.mean[r]), nothing, nothing) for r in np.argsort(-own.mean)
        ]
        picture = intervals(points, (0.0, float(most)), "mean score of each rater")
        return shown(size_words(self), lines(self.notes), picture)

    @property
    def n_ratings(self) -> int:
        return len(self.score)

    @property
    def n_students(self) -> int:
        return len(self.students)

    @property
    def n_raters(self) -> int:
        return len(self.raters)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def score_counts(self) -> NDArray[np.int64]:
        """(categories,): how often each score from 0 to the highest was given."""
        cells, times = self.cell_counts()
        return np.bincount(cells % self.n_categories, times).astype(np.int64)

    @property
    def on_fine_scale(self) -> bool:
        """Whether there are too many different scores to treat each as a category."""
        many = self.n_categories > SCORE_CATEGORIES
        return many and int(np.count_nonzero(self.score_counts)) > SCORE_CATEGORIES

    @property
    def n_categories(self) -> int:
        """Score categories 0 .. highest score seen (2 where ratings are pass or fail)."""
        highest = self.once("highest", lambda: int(self.score.max()))
        return 1 + (highest if self.known is None else max(highest, int(self.known.answer.max())))


def size_words(sized: Any) -> str:
    """Say how large ratings, or a fit of some, are: "720 ratings of 120 students by 5 raters on 3 items"."""
    return (
        f"{counted(sized.n_ratings, 'rating')} of {counted(sized.n_students, 'student')} by "
        f"{counted(sized.n_raters, 'rater')} on {counted(sized.n_items, 'item')}"
    )


def used_levels(codes: Codes, labels: pl.Series) -> tuple[Codes, pl.Series]:
    """Keep only the labels that codes refer to (none of them -1), and recode."""
    present = np.zeros(len(labels), dtype=bool)
    present[codes] = True
    if present.all():
        return codes, labels
    renumbered = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return renumbered[codes], labels.filter(pl.Series(present))


def joined(parts: Sequence[Ratings]) -> Ratings:
    """Join parts of the same ratings: different students in each, the same raters, items and facets in all."""
    first = parts[0]
    if len(parts) == 1:
        return first
    before = np.cumsum([0, *(part.n_students for part in parts)], dtype=np.int32)

    codes = {
        own[0].name: np.concatenate([facet.codes for facet in own])
        for own in zip(*(part.further for part in parts), strict=True)
    }

    return replace(
        first,
        student=np.concatenate([part.student + n for part, n in zip(parts, before[:-1], strict=True)]),
        rater=np.concatenate([part.rater for part in parts]),
        item=np.concatenate([part.item for part in parts]),
        score=np.concatenate([part.score for part in parts]),
        students=pl.concat([part.students for part in parts]),
        **first.with_each_facet(lambda facet: replace(facet, codes=codes[facet.name])),
        known=joined_answers([(int(n), part.known) for n, part in zip(before[:-1], parts, strict=True)]),
    )


def answers_as_ratings(ratings: Ratings, items: Indices) -> Ratings:
    """Like `Ratings.with_answers`, for part of ratings whose known answers are all on these items."""
    known = ratings.known or NO_ANSWERS
    n, student = len(known), np.concatenate([ratings.student, known.student])
    order = np.argsort(student, kind="stable")

    def added(codes: Codes, more: NDArray[np.integer]) -> Codes:
        return np.concatenate([codes, more.astype(np.int32)])[order]

    groups: Any = ratings.student_groups
    return Ratings(
        student=student[order],
        rater=added(ratings.rater, np.full(n, ratings.n_raters)),
        item=added(ratings.item, ratings.n_items + np.searchsorted(items, known.item)),
        score=np.concatenate([ratings.score, known.answer])[order],
        students=ratings.students,
        raters=lengthened(ratings.raters, 1),
        items=lengthened(ratings.items, len(items)),
        backend=ratings.backend,
        group=None if ratings.group is None else replace(ratings.group, codes=groups[student[order]]),
        facets=tuple(
            Facet(facet.name, added(facet.codes, np.full(n, len(facet.labels))), lengthened(facet.labels, 1))
            for facet in ratings.facets
        ),
    )


def lengthened(labels: pl.Series, more: int) -> pl.Series:
    """Add labels for known answers."""
    added = pl.Series([f"\0known {place}" for place in range(more)], dtype=pl.String)
    return pl.concat([labels.cast(pl.String), added]).alias(labels.name)


def level_table(ratings: Ratings, labels: pl.Series, role: str, estimates: dict[str, Array]) -> pl.DataFrame:
    """Table of a role's levels: label, number of ratings, mean score (on the file's scale), then the estimates."""
    mean = ratings.mean_scores(role)
    return pl.DataFrame({labels.name: labels, "n": ratings.tally(role).n, "mean_score": mean, **estimates})
