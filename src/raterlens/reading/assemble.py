"""The columns of a table put together as `Ratings`: labels coded, scores parsed, incomplete rows left out."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Mask, all_true, count, is_all_true
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.base.threads import BLOCK, in_blocks, in_threads
from raterlens.config import ReadConfig, marker_patterns
from raterlens.ratings.coded import TWO_GROUPS, Codes, Facet, KnownAnswers, Ratings, renumbered
from raterlens.ratings.groupings import with_draws
from raterlens.reading.columns import Roles
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.labels import (
    Levels,
    code,
    combine,
    merge_spellings,
    refuse_infinite,
    similar_labels,
    total_rows,
)
from raterlens.reading.read_plan import Finding, ReadPlan
from raterlens.reading.scores import ScoreCoding, detect_scale, parse_scores
from raterlens.reading.truth_columns import (
    answers_note,
    known_coding,
    one_answer_per_cell,
    rows_that_differ,
    table_answers,
    trusted_raters,
)
from raterlens.reading.vocabulary import known, stems, tier

ONE_ITEM = "all"


def assemble(table: Table, roles: Roles, plan: ReadPlan) -> tuple[Ratings, ReadPlan]:
    """Put codes and scores together, without the ratings that miss a label or a score; with the plan they follow."""
    taken = _taken(table, roles)
    if taken.frame.is_empty():
        raise InputError(
            f"{table.name} has a header ({listed(table.columns)}) but no rows", "add the ratings under it"
        )
    rows, labels, plan = _cleaned(table, roles, taken, plan)
    complete = labels.complete
    scores, scored, coding, plan = _scored(rows, roles, complete, labels, plan)
    kept = scored if is_all_true(complete) else scored & complete[:, None] & (scores >= 0)
    notes = [*table.notes, *(finding.note for finding in plan.findings), *roles.notes, *rows.notes]
    notes += dropped_notes(roles, RowCounts.of(complete, scored, kept))
    of_use = kept[:, 0] if kept.shape[1] == 1 or is_all_true(kept) else np.logical_or.reduce(kept, axis=1)
    again, repeats = settle_duplicates(
        table, roles, rows, of_use, labels.codes(roles), plan.config.duplicates
    )
    plan = plan.add(repeats)
    if again is not None:
        kept = kept & ~again[:, None]
        of_use = of_use & ~again
    notes += [finding.note for finding in repeats]
    notes += [
        note for name, levels in labels.named(roles).items() for note in line_breaks(name, levels, rows.place)
    ]
    ratings = _ratings(table, labels, scores, kept, notes)
    if any(finding.action == DRAWS for finding in repeats):
        ratings = with_draws(ratings)
    if "group" in roles.aside:
        check_groups(labels.students, labels.facets[roles.aside["group"]], of_use, rows.place)
    if (known := _known(ratings, rows, roles, labels, kept, coding, plan.config)) is not None:
        ratings = replace(ratings, known=known, notes=(*ratings.notes, answers_note(known)))
    if coding.factor != 1:
        ratings = replace(ratings, score_step=1 / coding.factor)
    if roles.trusted:
        marks = rows.frame[roles.trusted[0]]
        ratings = replace(ratings, trusted=trusted_raters(marks, labels.raters, of_use, rows.place))
    if roles.aside:
        named = {facet.name: facet for facet in ratings.facets}
        apart: dict[str, Any] = {role: named.pop(name) for role, name in roles.aside.items()}
        ratings = replace(ratings, facets=tuple(named.values()), **apart)
    found, more = roles_look_swapped(roles, ratings, {*plan.asked.given()})
    return replace(ratings, notes=(*ratings.notes, *more)) if more else ratings, plan.add(found)


def _cleaned(table: Table, roles: Roles, taken: Rows, plan: ReadPlan) -> tuple[Rows, "_Labels", ReadPlan]:
    """Rows with the file's value labels, without totals, and their labels, spellings of one label merged."""
    pattern = plan.config.pattern
    rows = apply_value_labels(table, roles, _extracted(taken, roles, pattern))
    labels = _Labels.of(table, rows, roles)
    for name, levels in labels.named(roles).items():
        refuse_infinite(levels, name, rows.place)
    if plan.config.as_written:
        return rows, labels, plan
    totals, found = total_rows(labels.named(roles), rows.place)
    if totals is not None:
        taken = (table.take(roles.columns) if table.large else taken).without(totals)
        rows = apply_value_labels(table, roles, _extracted(taken, roles, pattern))
        labels = _Labels.of(table, rows, roles)
    labels, spellings = labels.merged(rows.place)
    return rows, labels, plan.add([*found, *spellings])


def _taken(table: Table, roles: Roles) -> Rows:
    """The columns of all roles; of a large table without those of labels, which become codes one after the other."""
    if not table.large:
        return table.take(roles.columns)
    return table.take(list(dict.fromkeys((*roles.scores, *roles.known, *roles.trusted))))


def _extracted(rows: Rows, roles: Roles, pattern: str | None) -> Rows:
    """With the verdicts in place of the texts that hold them."""
    if pattern is None:
        return rows
    verdicts = [pl.col(name).cast(pl.String).str.extract(pattern, 1) for name in roles.scores]
    return replace(rows, frame=rows.frame.with_columns(verdicts))


def _scored(
    rows: Rows, roles: Roles, complete: Mask, labels: "_Labels", plan: ReadPlan
) -> tuple[NDArray[np.int16], Mask, ScoreCoding, ReadPlan]:
    """Scores, -1 where there is none, where there is something, how they were read, and the plan; rows without a label
    hold no score."""
    frame = rows.frame
    given: Mask | None = None
    if not (is_all_true(complete) or complete.all()):
        # A line of totals below the table has no rater: what it holds is not a score.
        given = frame.select(pl.col(name).is_not_null() for name in roles.scores).to_numpy()
        frame = frame.with_columns(pl.when(pl.Series(complete)).then(pl.col(list(roles.scores))))
    columns = [frame[name] for name in roles.scores]
    names = plan.config.names("items") if plan.config.wide else roles.scores
    if plan.config.markers is not None:
        names = tuple(name for _, marks in marker_patterns(plan.config.markers)[0] for name in marks)
    rankings = None
    if len(columns) == 1:
        rankings = labels.raters.codes.astype(np.int64) * len(labels.items.labels) + labels.items.codes
    coding, plan = detect_scale(columns, names, plan, rankings)
    parsed = [parse_scores(column, coding, rows.place) for column in columns]
    scores = np.column_stack(parsed) if len(parsed) > 1 else parsed[0][:, None]
    scored = all_true(*scores.shape) if int(scores.min(initial=0)) >= 0 else scores >= 0
    if given is not None:
        scored = scored | (given & ~complete[:, None])
    return scores, scored, coding, plan


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of every role, coded."""

    students: Levels
    raters: Levels
    items: Levels
    item_codes: Codes
    """As an array that broadcasts to rows x score columns."""
    facets: dict[str, Levels]

    @staticmethod
    def of(table: Table, rows: Rows, roles: Roles) -> "_Labels":
        def column(name: str) -> pl.Series:
            # Of a large table, one column at a time is in memory besides the codes.
            frame = rows.frame if name in rows.frame.columns else table.take([name]).frame
            return frame[name]

        def coded(names: tuple[str, ...]) -> Levels:
            return combine([column(name) for name in names])

        students, raters = _levels(coded, "student", roles.student), _levels(coded, "rater", roles.rater)
        if roles.item:
            items = _levels(coded, "item", roles.item)
            item_codes = items.codes[:, None]
        else:
            items, item_codes = items_of_columns(roles)
        facets = {name: _levels(coded, "facet", (name,)) for name in roles.facets}
        return _Labels(students, raters, items, item_codes, facets)

    def codes(self, roles: Roles) -> list[Codes]:
        """Codes of student, rater, item if it has a column, and further facets."""
        items = [self.items.codes] if roles.item else []
        return [
            self.students.codes,
            self.raters.codes,
            *items,
            *(levels.codes for levels in self.facets.values()),
        ]

    @property
    def complete(self) -> Mask:
        columns = [levels.codes for levels in (self.students, self.raters, *self.facets.values())]
        n_rows = len(self.students.codes)
        if len(self.item_codes) > 1:
            columns.append(self.item_codes[:, 0])
        elif not (self.item_codes >= 0).all():  # the same items in every row
            return np.zeros(n_rows, dtype=np.bool_)
        if all(int(codes.min(initial=0)) >= 0 for codes in columns):
            return all_true(n_rows)
        whole: Mask = np.ones(n_rows, dtype=np.bool_)

        def block(rows: slice) -> None:
            for codes in columns:
                whole[rows] &= codes[rows] >= 0

        in_blocks(block, n_rows)
        return whole

    def named(self, roles: Roles) -> dict[str, Levels]:
        """Columns of each role that has one."""
        items = {"item": self.items} if roles.item else {}
        return {"student": self.students, "rater": self.raters, **items, **self.facets}

    def merged(self, place: Callable[[int], str]) -> tuple["_Labels", list[Finding]]:
        """With labels that differ only in their spelling as one."""
        whole = len(self.item_codes) > 1
        found = {"student": self.students, "rater": self.raters, **({"item": self.items} if whole else {})}
        findings: list[Finding] = []
        for role, levels in found.items():
            found[role], spellings = merge_spellings(levels, role, place)
            findings += spellings
        items = found.get("item", self.items)
        codes = items.codes[:, None] if whole else self.item_codes
        return _Labels(found["student"], found["rater"], items, codes, self.facets), findings


def _ratings(
    table: Table, labels: _Labels, scores: NDArray[np.int16], kept: Mask, notes: list[str]
) -> Ratings:
    """The usable ratings, with the labels they use."""
    everything = kept.shape[1] == 1 and (is_all_true(kept) or bool(kept.all()))

    def used(levels: Levels, codes: Codes) -> Levels:
        if everything and codes.shape == kept.shape:
            return levels
        return levels.used_in(np.broadcast_to(codes, kept.shape)[kept])

    students, raters = (used(levels, levels.codes[:, None]) for levels in (labels.students, labels.raters))
    items = used(labels.items, labels.item_codes)
    facets = {name: used(levels, levels.codes[:, None]) for name, levels in labels.facets.items()}
    roles_of = {"student": students, "rater": raters, "item": items}
    roles_of |= {f"level of {name}": levels for name, levels in facets.items()}
    notes = [*notes, *label_notes({role: levels.labels for role, levels in roles_of.items()})]
    return Ratings(
        student=students.codes,
        rater=raters.codes,
        item=items.codes,
        score=scores[:, 0] if everything else scores[kept],
        students=students.labels.alias("student"),
        raters=raters.labels.alias("rater"),
        items=items.labels.alias("item"),
        notes=tuple(notes),
        backend=table.backend,
        facets=tuple(Facet(name, levels.codes, levels.labels.alias(name)) for name, levels in facets.items()),
    )


def _known(
    ratings: Ratings,
    rows: Rows,
    roles: Roles,
    labels: _Labels,
    kept: Mask,
    coding: ScoreCoding,
    config: ReadConfig,
) -> KnownAnswers | None:
    """Known answers, by the codes of the ratings; also from rows without a rating."""
    if not roles.known:
        return None if config.known is None else table_answers(ratings, roles, coding, config)

    def left(levels: Levels, codes: Codes) -> Codes:
        used = renumbered(np.broadcast_to(codes, kept.shape)[kept], len(levels.labels))
        return np.append(used, -1)[codes]

    student = left(labels.students, labels.students.codes[:, None])[:, 0]
    item = left(labels.items, labels.item_codes)
    column = rows.frame[roles.known[0]]
    answer = parse_scores(column, known_coding(column, ratings, coding, config), rows.place)
    return one_answer_per_cell(ratings, student, np.broadcast_to(item, kept.shape)[:, 0], answer, rows.place)


def _levels(coded: Callable[[tuple[str, ...]], Levels], role: str, names: tuple[str, ...]) -> Levels:
    levels = coded(names)
    if levels.labels.is_empty():
        option = "facets" if role == "facet" else role
        raise InputError(
            f"the {role} column {listed(names)} is blank in all {counted(len(levels.codes), 'row')}",
            Message("fill it in, or name another with ", Option(option)),
            value=names,
        )
    return levels


def items_of_columns(roles: Roles) -> tuple[Levels, Codes]:
    """Without a column of items: the columns of scores, or the only item, with codes that broadcast to rows x score
    columns."""
    levels = code(pl.Series(item_names(roles.scores) if roles.wide else [ONE_ITEM]))
    return levels, levels.codes[None, :]


_SCORED = re.compile(
    r"(?<=\w)\s*(: | - |[._/] ?)(score|points|mark|marks|value)( ?\(/? ?\d+\))?$", re.IGNORECASE
)


def item_names(columns: Sequence[str]) -> list[str]:
    """Names of items from columns of scores, without a final word that only says that they hold scores.

    Examples
    --------
    >>> item_names(["Thesis - Points (/4)", "Style - Points (/4)"]), item_names(["plot", "style.score"])
    (['Thesis', 'Style'], ['plot', 'style.score'])
    """
    bare = [_SCORED.sub("", name).strip() for name in columns]
    every = all(bare) and all(short != name for short, name in zip(bare, columns, strict=True))
    return bare if every and len(set(bare)) == len(columns) else list(columns)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows and scores there are, and how many of them are of use."""

    rows: int
    labelled: int
    scores: int
    scored: int
    kept: int

    @staticmethod
    def of(labelled: Mask, scored: Mask, kept: Mask) -> "RowCounts":
        of_labels, of_scores, of_both = map(count, (labelled, scored, kept))
        return RowCounts(len(labelled), of_labels, scored.size, of_scores, of_both)

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def dropped_notes(roles: Roles, found: RowCounts) -> list[str]:
    """Count the rows without a label and, of the others, the ratings without a score."""
    if not found.scored:
        raise InputError(
            f"all {counted(found.scores, 'score')} in {listed(roles.scores)} are missing",
            "check that these are the columns of scores",
            value=roles.scores,
            option="items" if roles.wide else "score",
        )
    if not found.kept:
        names = listed((*roles.student, *roles.rater, *roles.item, *roles.facets))
        raise InputError(
            f"none of the {counted(found.rows, 'row')} has a score and a label in each of {names}",
            "fill in what is missing, or name other columns",
        )
    notes = []
    unlabelled = found.rows - found.labelled
    if unlabelled:
        parts = ["student", "rater", *["item"] * bool(roles.item), *(repr(name) for name in roles.facets)]
        what = f"{', '.join(parts[:-1])} or {parts[-1]}"
        combined = [names for names in (roles.student, roles.rater, roles.item) if len(names) > 1]
        each = "".join(f"; a label takes each of {listed(names)}" for names in combined)
        notes.append(f"{unlabelled:,} of {counted(found.rows, 'row')} left out: no {what} label{each}")
    unscored = found.labelled * len(roles.scores) - found.kept
    if unscored:
        notes.append(f"{unscored:,} of {counted(found.scores, 'rating')} left out: no score")
    return notes


def line_breaks(name: str, levels: Levels, place: Callable[[int], str]) -> list[str]:
    """Say where a label has several lines: seldom meant, and often a quote that is not closed."""
    if levels.labels.dtype != pl.String:
        return []
    broken = levels.labels.str.contains(r"[\r\n]")
    if not broken.any():
        return []
    row = int(np.flatnonzero(np.isin(levels.codes, broken.arg_true().to_numpy()))[0])
    label = shortened(levels.labels[int(levels.codes[row])])
    return [
        f"{counted(int(broken.sum()), f'{name} label')} with a line break, the first at {place(row)}: {label}; "
        "if it is not meant, mend the file there"
    ]


def label_notes(labels: Mapping[str, pl.Series]) -> list[str]:
    """Remarks about labels, by role."""
    notes = [note for role, series in labels.items() for note in similar_labels(series, role)]
    if len(raters := labels["rater"]) == 1:
        notes.append(
            f"one rater, {shortened(raters[0])}: with no other to compare, capability is relative to itself"
        )
    return notes


def check_groups(students: Levels, groups: Levels, kept: Mask, place: Callable[[int], str]) -> None:
    """Raise where a student is in two groups."""
    if (rows := rows_that_differ(students.codes, groups.codes, np.flatnonzero(kept))) is None:
        return
    who = shortened(students.labels[int(students.codes[rows[0]])])
    there, here = (groups.labels[int(groups.codes[row])] for row in rows)
    raise InputError(
        f"student {who} is in group {shortened(there)} at {place(rows[0])}, but in {shortened(here)} at "
        f"{place(rows[1])}",
        TWO_GROUPS,
        value=here,
        option="group",
    )


FEW, MANY = 5, 8
"""Up to 5 students, and 8 times as many of something else."""


def roles_look_swapped(roles: Roles, ratings: Ratings, given: set[str]) -> tuple[list[Finding], list[str]]:
    """Report roles that look swapped: a question if they were recognised by weak names, else a note."""
    students = ratings.n_students
    for role, columns, number in (
        ("item", roles.item, ratings.n_items),
        ("rater", roles.rater, ratings.n_raters),
    ):
        if students > FEW or number < MANY * students or not columns or not roles.student:
            continue
        if any(name.startswith("{") for name in (*columns, *roles.student)):
            continue
        what = f"{students} students and {number} {role}s"
        strong = all(tier(name, "student") == 0 for name in roles.student)
        if strong or given & {"student", role}:
            return [], [f"{what}: are the student and the {role} column swapped?"]
        options = (Option("student", columns), Option(role, roles.student))
        return [Finding(f"{what} look swapped", "read the other way round", options, certain=False)], []
    return [], []


def apply_value_labels(table: Table, roles: Roles, rows: Rows) -> Rows:
    """The rows with words in place of codes, except in the columns of scores; a code without a word stays."""
    frame, notes = rows.frame, []
    for name in (*roles.student, *roles.rater, *roles.item, *roles.facets):
        words = {
            _plain(code): word.strip() for code, word in table.labels.get(name, {}).items() if word.strip()
        }
        if not words:
            continue
        times = Counter(words.values())
        words = {code: word if times[word] == 1 else f"{word} ({code})" for code, word in words.items()}
        text = frame[name].cast(pl.String)
        frame = frame.with_columns(text.replace(words).alias(name))
        shown = listed((f"{code} = {word}" for code, word in words.items()), 3)
        notes.append(f"column {shortened(name)}: value labels of the file are used ({shown})")
    return replace(rows, frame=frame, notes=(*rows.notes, *notes))


def _plain(code: float | str) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


Whole = NDArray[np.integer[Any]]


MANY_AGAIN = 0.2
"""Share of what is rated that is rated again from which on repeats are no mistakes."""
TOLD = 0.8
"""Share of the repeats that a column must tell apart."""
ALWAYS = 0.8
"""Share of what repeating raters rated that they rated again, from which on repeats are draws: other essays of the same
student are seldom as even."""
DRAWS = "read as draws of the rater, numbered in the order of the rows"
"""Treatments of duplicates."""


def settle_duplicates(
    table: Table, roles: Roles, rows: Rows, of_use: Mask, cells: Sequence[Whole], wanted: str | None
) -> tuple[Mask | None, list[Finding]]:
    """Which rows to leave out because an earlier one has the same student, rater and item, None: none; and findings.

    A few of them are a question; many are draws; those that another column tells apart, such as a date or an essay, are
    repeats on purpose.
    """
    if wanted == "keep":
        return None, []
    if is_all_true(of_use) or of_use.all():
        suspects = np.flatnonzero(duplicated_rows(cells))
    else:
        places = np.flatnonzero(of_use)
        suspects = places[duplicated_rows([code[places] for code in cells])]
    of_cell = pl.DataFrame({f"\0{k}": code[suspects] for k, code in enumerate(cells)})
    later = ~of_cell.to_struct().is_first_distinct().to_numpy()
    if not later.any():
        return None, []
    again = np.zeros(len(of_use), dtype=np.bool_)
    again[suspects[later]] = True
    found = _Repeats(table, roles, rows, suspects, later, of_cell)
    if wanted is None:
        raters = cells[1][of_use]
        by_repeaters = np.isin(raters, np.unique(cells[1][suspects])).sum() - later.sum()
        finding = found.finding(len(raters), drawn=int((~later).sum()) >= ALWAYS * by_repeaters)
        if finding is None:
            return None, []
        return again if Option("duplicates", "first") in finding.options else None, [finding]
    if wanted == "refuse":
        raise InputError(
            found.what,
            Message(
                "remove them, or give ", Option("duplicates", "first"), " or ", Option("duplicates", "keep")
            ),
            value=int(again.sum()),
        )
    return again, [Finding(found.what, "left out")]


@dataclass(frozen=True, slots=True)
class _Repeats:
    """Rows that share student, rater and item with others."""

    table: Table
    roles: Roles
    rows: Rows
    suspects: NDArray[np.intp]
    later: Mask
    """Which of them have another before."""
    of_cell: pl.DataFrame
    """Their codes."""

    @property
    def places(self) -> tuple[str, str]:
        """Where the first repeat stands, and what it repeats."""
        row = int(np.flatnonzero(self.later)[0])
        same = self.of_cell.with_row_index("\0").join(self.of_cell[row], on=self.of_cell.columns, how="semi")
        return self.rows.place(int(self.suspects[row])), self.rows.place(
            int(self.suspects[int(same["\0"][0])])
        )

    @property
    def what(self) -> str:
        n, (one, before) = int(self.later.sum()), self.places
        return (
            f"{counted(n, 'row')} with the student, rater and item of an earlier one (the first: {one}, which repeats "
            f"{before})"
        )

    def finding(self, n: int, *, drawn: bool) -> Finding | None:
        """Say or ask what they are, of this many rows in all; `drawn`: raters who repeat do so nearly always."""
        n_again, (one, before) = int(self.later.sum()), self.places
        if one == before:  # The file says itself that a rating counts several times: R3 of FACETS.
            return None
        column, share = max(self._told_apart(), key=lambda pair: pair[1], default=("", 0.0))
        if share >= TOLD:
            return Finding(f"{self.what}, told apart by {shortened(column)}", "kept as repeated ratings")
        if n_again >= MANY_AGAIN * (n - n_again):
            done = DRAWS if drawn and share <= 1 - TOLD else "kept as repeated ratings"
            return Finding(self.what, done, alternative=Option("duplicates", "first"))
        scores = self.of_cell.hstack(self.rows.frame.select(self.roles.scores)[self.suspects])
        copies = int((~scores.to_struct().is_first_distinct()).sum())
        others = n_again - copies
        counts = [f"{copies:,} with the same score"] * bool(copies) + [f"{others:,} with another"] * bool(
            others
        )
        if self.table.in_memory:
            seen = f"{self.what}: {', '.join(counts)}"
            return Finding(seen, "all kept", alternative=Option("duplicates", "first"))
        keep, first = Option("duplicates", "keep"), Option("duplicates", "first")
        done, options, alternative = ("all kept", keep, first) if others else ("copies left out", first, keep)
        return Finding(
            f"{self.what}: {', '.join(counts)}", done, (options,), alternative=alternative, certain=False
        )

    def _told_apart(self) -> Iterator[tuple[str, float]]:
        """Columns of times, occasions or pieces of work, and the share of repeats that differ in them."""
        free = [name for name in self.table.columns if name not in self.roles.columns]
        for name in free:
            occasion = bool(stems(name) & known("occasions"))
            if not occasion and tier(name, "student") is None:
                continue
            column = self.table.take([name]).frame[name]
            if len(column) != len(self.rows.frame):
                continue
            told = self.of_cell.with_columns(column[self.suspects].alias("\0told"))
            if occasion or _shared(told):
                yield name, 1 - (~told.to_struct().is_first_distinct()).sum() / self.later.sum()


def _shared(told: pl.DataFrame) -> bool:
    """Whether several raters have the last column's value beside a student: a piece of work, not a judge's answer."""
    student, rater, *_, value = told.columns
    return told.select(student, value).n_unique() < told.select(student, rater, value).n_unique()


def duplicated_rows(codes: Sequence[Whole], block: int = BLOCK) -> Mask:
    """Which rows have all their codes, the student's first, in common with another row."""
    sizes = [int(code.max(initial=0)) + 1 for code in codes]

    def keys(rows: slice) -> Whole:
        student, *others = (code[rows] for code in codes)
        lowest = int(student.min()) if len(student) else 0
        small = (int(student.max(initial=0)) - lowest + 1) * math.prod(sizes[1:]) < 2**31
        key: Whole = (
            student - np.int32(lowest) if small else student.astype(np.int64)
        )  # sorted in half the time
        for own, size in zip(others, sizes[1:], strict=True):
            # Where this exceeds 64 bits, it makes rows look alike that are not, never the other way round.
            key = key * size + own
        return key

    def found(span: tuple[int, int]) -> bool:
        # Nearly always there is none, and a sort says so soonest.
        ordered = np.sort(keys(slice(*span)))
        return bool((ordered[1:] == ordered[:-1]).any())

    if not any(in_threads(found, list(pairwise(_edges(codes[0], block))))):
        return np.zeros(len(codes[0]), dtype=np.bool_)
    return pl.Series(keys(slice(None))).is_duplicated().to_numpy()


def _edges(student: Whole, block: int) -> list[int]:
    """Rows between which no student stands on both sides: short stretches of a table in order, else all rows."""
    n = len(student)
    if n <= block or not (student[1:] >= student[:-1]).all():
        return [0, n]
    return [*np.unique(np.searchsorted(student, student[::block])).tolist(), n]
