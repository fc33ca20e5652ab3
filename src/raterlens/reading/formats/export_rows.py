"""What every export of a tool becomes: rows of student, rater, item and score, with a word about the tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from raterlens.base.errors import InputError
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
    more: Mapping[str, Any] = {}
    """Variables and metadata, by the names that they get as columns."""


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
    known: str | None = None
    """The column of known answers, where the tool says which it is."""

    def _known(self, further: Sequence[str]) -> dict[str, str]:
        return {} if self.known is None or self.known not in further else {"known": self.known}

    def table(self, name: str) -> Table:
        if not self.rows:
            why = f", only {listed(sorted(self.passed_over))}" if self.passed_over else ""
            raise InputError(
                f"{name!r} is {self.tool} without scores{why}", "export choices, ratings or verdicts"
            )
        columns = [
            series_of(role, [row[place] for row in self.rows]) for place, role in enumerate(Row._fields[:4])
        ]
        further = list(dict.fromkeys(str(key) for row in self.rows for key in row.more))
        further = [key for key in further if key not in Row._fields[:4]]
        columns += [series_of(key, [row.more.get(key) for row in self.rows]) for key in further]
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
            settled=True,
            roles={
                **{role: role for role in Row._fields[:4] if role in frame.columns},
                **self._known(further),
            },
        )
