"""What every export of a tool becomes: rows of student, rater, item and score, with a word about the tool."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.records import dataclass
from raterlens.base.text import listed
from raterlens.reading.formats.lazy_table import Table, rows_of, series_of
from raterlens.reading.proposals.findings import Finding

Record = Mapping[str, Any]


class Row(NamedTuple):
    """One rating."""

    student: str
    rater: str | None
    item: str
    score: Any


@dataclass(frozen=True, slots=True)
class Export:
    """What a tool wrote."""

    tool: str
    """In a sentence: "a Prodigy export"."""
    meaning: str
    """Who is who in it."""
    rows: Sequence[Row]
    passed_over: set[str] = field(default_factory=set)
    """Kinds of answers that are no scores."""

    def table(self, name: str) -> Table:
        if not self.rows:
            why = f", only {listed(sorted(self.passed_over))}" if self.passed_over else ""
            raise InputError(
                f"{name!r} is {self.tool} without scores{why}", "export choices, ratings or verdicts"
            )
        columns = [
            series_of(role, [row[place] for row in self.rows]) for place, role in enumerate(Row._fields)
        ]
        if columns[2].n_unique() == 1:
            del columns[2]
        findings = [Finding(self.tool, self.meaning)]
        if self.passed_over:
            findings.append(
                Finding(f"answers of type {listed(sorted(self.passed_over))}", "left out: no scores")
            )
        frame = pl.DataFrame(rows_of(columns).frame)
        return Table(
            name,
            tuple(frame.columns),
            lambda wanted: rows_of([frame[column] for column in wanted]),
            findings=tuple(findings),
        )
