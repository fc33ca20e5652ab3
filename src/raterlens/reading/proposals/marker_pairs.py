"""Double marking: columns of markers' names, each with the columns of marks that belong to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import marker_patterns
from raterlens.reading.columns import those
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.label_words import is_total
from raterlens.reading.proposals.role_detection import Look
from raterlens.reading.proposals.role_words import (
    has_rater_word,
    is_final,
    is_other,
    known,
    plain,
    rater_words,
)
from raterlens.reading.wide import SCORE

N = "{n}"
RATER, ITEM = "{rater}", "{item}"


@dataclass(frozen=True, slots=True)
class MarkerPairs:
    """Which columns of marks belong to which column of markers."""

    rater: str
    scores: tuple[str, ...]
    """How the columns are called, with {n} for what tells markers apart."""
    places: tuple[str, ...]
    """What stands for {n}."""

    @property
    def option(self) -> Option:
        return Option("markers", f"{self.rater}:{','.join(self.scores)}")

    @property
    def columns(self) -> list[str]:
        return [pattern.replace(N, n) for n in self.places for pattern in (self.rater, *self.scores)]


def find_pairs(columns: Sequence[str], look: Look) -> tuple[MarkerPairs, list[Finding]] | None:
    """The pairs that names and contents show, and what is said about them."""
    named = [name for name in columns if has_rater_word(name)]
    if len(named) < 2:
        return None
    people = [name for name in named if look[name].kind in ("labels", "numbers") and not is_final(name)]
    marks = [name for name in columns if look[name].scored and not is_other(name) and name not in people]
    found = [
        MarkerPairs(pattern, scores, places)
        for pattern, places in _templates(people)
        if (scores := _score_patterns(places, [name for name in marks if not _summary(name)]))
    ]
    if not found:
        return None
    pairs = max(found, key=lambda one: (len(one.places), len(one.scores)))
    seen = f"{counted(len(pairs.places), 'marker column')}, each with marks of its own ({listed(pairs.columns, 6)})"
    findings = [Finding(seen, "each mark read with its marker as the rater", (pairs.option,))]
    if left := [name for name in marks if name not in pairs.columns]:
        verb = "is" if len(left) == 1 else "are"
        findings.append(Finding(f"{listed(left)} {verb} nobody's own mark (final or agreed)", "left out"))
    return pairs, findings


def _summary(name: str) -> bool:
    return is_final(name) or is_total(name)


def _templates(names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names with {n} for the part that differs, and the parts."""
    seen = set()
    for first, second in combinations(names, 2):
        start = _alike(first, second).rstrip("0123456789")
        end = _alike(first[len(start) :][::-1], second[len(start) :][::-1])[::-1].lstrip("0123456789")
        middle = first[len(start) : len(first) - len(end)]
        if end[:1].isalpha() and middle[-1:].isalpha():  # Erstprüfer and Zweitprüfer share a t
            end = next((end[k:] for k in range(len(end)) if plain(end[k:]) in known(rater_words())), end)
        pattern = f"{start}{N}{end}"
        if pattern in seen or not start + end or {"{", "}"} & set(start + end):
            continue
        seen.add(pattern)
        fitting = [
            name[len(start) : len(name) - len(end)]
            for name in names
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        ]
        if len(fitting) > 1 and has_rater_word(f"{start} {end}"):
            yield pattern, tuple(fitting)


def _alike(first: str, second: str) -> str:
    """What two names begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(letter for letter, _ in same)


def _score_patterns(places: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """How the columns of marks are called of which every marker has one."""
    first = places[0]
    found: list[str] = []
    for name in marks:
        at = name.find(first)
        while at >= 0:
            pattern = f"{name[:at]}{N}{name[at + len(first) :]}"
            fits = all(pattern.replace(N, n) in marks for n in places)
            if fits and "," not in pattern and pattern not in found:
                found.append(pattern)
                break
            at = name.find(first, at + 1)
    return tuple(found)


def given_pairs(markers: str, columns: Sequence[str]) -> MarkerPairs:
    """The pairs that the user names."""
    for rater, scores in marker_patterns(markers):
        start, _, end = rater.partition(N)
        places = [
            name[len(start) : len(name) - len(end)]
            for name in columns
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        ]
        places = [n for n in places if all(pattern.replace(N, n) in columns for pattern in scores)]
        if places:
            return MarkerPairs(rater, scores, tuple(places))
    raise InputError(
        Message("no columns fit ", Option("markers", markers)),
        f"{those(columns)}; write the names as they are, with {N} in place of what differs",
        value=markers,
        option="markers",
    )


def pairs_to_long(table: Table, pairs: MarkerPairs) -> Table:
    """One row per mark."""
    rows = table.take(table.columns)
    others = [name for name in table.columns if name not in pairs.columns]
    several = len(pairs.scores) > 1
    wanted = [(n, pattern) for n in pairs.places for pattern in pairs.scores]
    parts = [
        rows.frame.select(
            *others,
            pl.col(pairs.rater.replace(N, n)).cast(pl.String).alias(RATER),
            *([pl.lit(item_of(pattern)).alias(ITEM)] if several else []),
            pl.col(pattern.replace(N, n)).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, (n, pattern) in enumerate(wanted)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    long = long.filter(pl.col(RATER).is_not_null() | pl.col(SCORE).is_not_null())
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def place(i: int) -> str:
        n, pattern = wanted[column[i]]
        return f"{rows.place(row[i])}, column {shortened(pattern.replace(N, n))}"

    def take(names: Sequence[str]) -> Rows:
        return replace(rows, frame=long.select(names), place=place)

    fields = (RATER, *([ITEM] if several else []), SCORE)
    roles = {field[1:-1]: field for field in fields}
    return replace(table, columns=(*others, *fields), take=take, query=None, large=False, roles=roles)


def item_of(pattern: str) -> str:
    """What a column of marks is about, without the part that says whose they are."""
    return pattern.replace(N, "").strip(" _-:./()") or pattern
