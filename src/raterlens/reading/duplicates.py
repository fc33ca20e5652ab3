"""Several ratings of a student by the same rater on the same item: draws, repeats on purpose, or mistakes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Mask, is_all_true
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, shortened
from raterlens.base.threads import BLOCK, in_threads
from raterlens.reading.columns import Roles
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import known, stems, tier

Whole = NDArray[np.integer[Any]]


MANY = 0.2
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
        if n_again >= MANY * (n - n_again):
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

    def keys(rows: slice) -> NDArray[np.int64]:
        key = np.zeros(1, dtype=np.int64)
        for code, size in zip(codes, sizes, strict=True):
            # Where this exceeds 64 bits, it makes rows look alike that are not, never the other way round.
            key = key * np.int64(size) + code[rows]
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
