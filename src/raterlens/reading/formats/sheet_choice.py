"""Which sheets of a workbook hold the ratings: one of them, or all that are laid out alike, one for each rater."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, listed
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.label_words import is_total, like_item, like_rater
from raterlens.reading.proposals.role_words import is_identifier, mentions, tier

ALL_SHEETS = "*"
"""What is asked for where sheets are to be read together."""
SHEET = "sheet"
"""The column that then says which."""
SHARED = 0.5
"""Share of its students that a sheet has in common with the others, if all are of one exam."""


def chosen_sheet(tables: Mapping[str, Table], names: Sequence[str], file: str) -> Table:
    """The sheet with the ratings, or sheets of one rater each together, and what to say about it."""
    alike = _alike(tables)
    if len(alike) > 1 and (together := _together(alike, file)) is not None:
        return together
    known = {name: len(_roles(table.columns)) for name, table in tables.items()}
    best = max(tables, key=lambda name: known[name])
    if best == names[0] or known[best] == known.get(names[0], 0):
        best = names[0] if names[0] in tables else best
        note = Message(
            f"sheet {best!r}, the first of {len(names)} ({listed(names)}); choose another with ",
            Option("table"),
        )
        return replace(tables[best], notes=(note, *tables[best].notes))
    finding = Finding(
        f"{len(names)} sheets ({listed(names)})",
        f"{best!r} read, which has the ratings",
        (Option("table", best),),
        otherwise=Option("table", names[0]),
    )
    return replace(tables[best], findings=(finding, *tables[best].findings))


def joined_sheets(tables: Mapping[str, Table], file: str) -> Table:
    """All sheets that are laid out alike, one under the other, with a column `sheet`."""
    alike = _alike(tables)
    first = next(iter(alike.values()))
    if SHEET in first.columns:
        raise InputError(
            f"the sheets of {file!r} have a column {SHEET!r} of their own",
            "give it another name",
            option="table",
        )

    def take(wanted: Sequence[str]) -> Rows:
        others = [name for name in wanted if name != SHEET] or list(first.columns[:1])
        parts = {name: table.take(others) for name, table in alike.items()}
        frame = pl.concat(
            [rows.frame.with_columns(pl.lit(name).alias(SHEET)) for name, rows in parts.items()]
        )
        ends = list(accumulate(rows.frame.height for rows in parts.values()))

        def place(row: int) -> str:
            part = next(number for number, end in enumerate(ends) if row < end)
            name = list(parts)[part]
            start = ends[part] - parts[name].frame.height
            return f"sheet {name!r}, {parts[name].place(row - start)}"

        return Rows(frame.select(wanted), place)

    findings = [finding for table in alike.values() for finding in table.findings]
    unique = tuple(dict.fromkeys(findings))
    return Table(
        file, (SHEET, *first.columns), take, findings=unique, two_headers=first.two_headers, notes=first.notes
    )


def _alike(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The largest group of sheets with the same columns, in any order; a sheet of averages is none of them."""
    groups: dict[frozenset[str], dict[str, Table]] = {}
    for name, table in tables.items():
        if not is_total(name) and not _summary(name):
            groups.setdefault(frozenset(table.columns), {})[name] = table
    return max(groups.values(), key=len, default=dict(tables))


def _summary(name: str) -> bool:
    return name.strip().casefold() in (
        "summary",
        "overview",
        "übersicht",
        "zusammenfassung",
        "all",
        "alle",
        "results",
    )


def _together(alike: dict[str, Table], file: str) -> Table | None:
    columns = next(iter(alike.values())).columns
    roles = _roles(columns)
    joined = joined_sheets(alike, file)
    options: tuple[Option, ...] = (Option("table", ALL_SHEETS),)
    seen = f"{len(alike)} sheets laid out alike ({listed(alike)})"
    if "rater" in roles:
        finding = Finding(
            seen, "read together", options, otherwise=Option("table", next(iter(alike))), certain=False
        )
        return replace(joined, findings=(finding, *joined.findings))
    if not same_students(alike, columns):
        return None
    people, things = (2 * sum(map(kind, alike)) > len(alike) for kind in (like_rater, like_item))
    others = [name for name in columns if tier(name, "student") is None]
    role = "item" if things and not people else "rater"
    spoken = people or things or "score" in roles or any(map(like_item, others))
    finding = Finding(
        seen, f"read together, the sheet name is the {role}", (*options, Option(role, SHEET)), certain=spoken
    )
    return replace(joined, findings=(finding, *joined.findings), roles={role: SHEET})


def _roles(columns: Sequence[str]) -> set[str]:
    found = {
        role
        for role in ("student", "rater", "item", "score")
        for name in columns
        if tier(name, role) is not None
    }
    if any(is_identifier(name) or mentions(name, "student") for name in columns):
        found.add("student")
    return found


def same_students(alike: Mapping[str, Table], columns: Sequence[str]) -> bool:
    """Whether the sheets are about the same people, by the first column that names them."""
    named = [name for name in columns if tier(name, "student") is not None or is_identifier(name)]
    column = (named or list(columns))[0]
    first, *others = (
        set(table.take([column]).frame[column].drop_nulls().cast(pl.String).str.strip_chars())
        for table in alike.values()
    )
    return all(len(first & other) >= SHARED * min(len(first), len(other)) > 0 for other in others)
