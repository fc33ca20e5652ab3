"""Columns of markers beside columns of their marks, as double marking has them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import marker_patterns
from raterlens.reading.formats.table import Table
from raterlens.reading.profiles import ColumnSample
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import (
    has_rater_word,
    is_final,
    is_identifier,
    is_other,
    is_total,
    names_of,
    plain,
    tier,
)
from raterlens.reading.wide_layouts import AGREED, ITEM, RATER, alike, name_columns, stacked

N = "{n}"


@dataclass(frozen=True, slots=True)
class MarkerPairs:
    """Which columns of marks belong to which column of markers."""

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """Each column of markers with its columns of marks."""
    items: tuple[str, ...]
    """Names of what the marks of a marker are for."""
    option: Option

    @property
    def columns(self) -> list[str]:
        return [name for rater, scores in self.groups for name in (rater, *scores)]


def _numbered_pairs(
    rater: str, scores: tuple[str, ...], places: Sequence[str], columns: Sequence[str]
) -> MarkerPairs | None:
    """Those called alike but for {n}, whatever their capitals: "Primo valutatore" beside "Voto primo valutatore"."""
    small = {name.casefold(): name for name in columns}
    found = [
        [small.get(pattern.replace(N, n).casefold(), "") for pattern in (rater, *scores)] for n in places
    ]
    groups = tuple((marker, tuple(marks)) for marker, *marks in found if marker and all(marks))
    option = Option("markers", f"{rater}:{','.join(scores)}")
    return MarkerPairs(groups, tuple(map(item_of, scores)), option) if groups else None


def given_pairs(markers: str, columns: Sequence[str]) -> MarkerPairs:
    """The pairs that the user names."""
    for way in marker_patterns(markers):
        rater, scores = way[0]
        start, _, end = rater.partition(N)
        if N in rater and (pairs := _numbered_pairs(rater, scores, _between(start, end, columns), columns)):
            return pairs
        if {name for marker, marks in way for name in (marker, *marks)} <= {*columns}:
            return MarkerPairs(tuple(way), scores, Option("markers", markers))
    raise InputError(
        Message("no columns fit ", Option("markers", markers)),
        f"{name_columns(columns)}; write the names as they are, with {N} in place of what differs",
    )


def pairs_to_long(table: Table, pairs: MarkerPairs) -> Table:
    """The table with one row per mark, its marker as the rater."""
    labels = {
        mark: {
            RATER: pl.col(marker).cast(pl.String),
            **({ITEM: pl.lit(item)} if len(pairs.items) > 1 else {}),
        }
        for marker, marks in pairs.groups
        for mark, item in zip(marks, pairs.items, strict=True)
    }
    return stacked(table, table.take(table.columns), labels, pairs.columns)


def item_of(pattern: str) -> str:
    """The item of a column of marks, without the part that names the marker."""
    return pattern.replace(N, "").strip(" _-:./()") or pattern


def find_pairs(columns: Sequence[str], look: ColumnSample) -> tuple[MarkerPairs, list[Finding]] | None:
    """The pairs that names and contents show, and what is said about them."""
    people = [name for name in columns if has_rater_word(name) and look[name].kind in ("labels", "numbers")]
    people = [name for name in people if not is_final(name)]
    spoken = len(people) > 1
    if not spoken:
        labels = [name for name in columns if look[name].kind == "labels" and not is_other(name)]
        people = next((same for name in labels if len(same := _same_people(name, labels, look)) > 1), [])
    if not people:
        return None
    marks = [name for name in columns if look[name].scored and not is_other(name) and name not in people]
    by_marker = [name for name in marks if not is_final(name) and not is_total(name)]
    found = [
        pairs
        for pattern, places in _templates(people)
        if (scores := _score_patterns(places, by_marker))
        and (pairs := _numbered_pairs(pattern, scores, places, columns)) is not None
    ]
    found += _side_by_side(people, by_marker, columns)
    if not found:
        return None
    pairs = max(found, key=lambda one: (len(one.groups), len(one.items)))
    seen = f"{counted(len(pairs.groups), 'marker column')}, each with marks of its own ({listed(pairs.columns, 6)})"
    findings = [Finding(seen, "each mark read with its marker as the rater", (pairs.option,), certain=spoken)]
    others = [name for name in marks if name not in pairs.columns and not is_identifier(name)]
    if left := [name for name in others if tier(name, "student") is None]:
        findings.append(Finding(listed(left), f"left out ({AGREED})"))
    return pairs, findings


def _same_people(first: str, columns: Sequence[str], look: ColumnSample) -> list[str]:
    """The columns that name the same few people as this one."""
    few = [name for name in columns if 2 * look[name].distinct <= look[name].filled]
    labels = {name: set(look.frame[name].drop_nulls()) for name in few}
    own = labels.get(first, set())
    return [
        name for name, others in labels.items() if 2 * len(own & others) >= max(len(own), len(others)) > 1
    ]


def _side_by_side(people: Sequence[str], marks: Sequence[str], columns: Sequence[str]) -> list[MarkerPairs]:
    """Columns of markers with as many columns of marks to the right of each."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        if name in people:
            groups[name] = []
        elif name in marks and groups:
            groups[list(groups)[-1]].append(name)
    n = min(map(len, groups.values()), default=0)
    uneven = any(len(own) != n for own in list(groups.values())[:-1]) or any(
        sign in name for name in (*people, *marks) for sign in ":;,"
    )
    if not n or uneven or len(groups) < 2:
        return []
    pairs = tuple((marker, tuple(own[:n])) for marker, own in groups.items())
    text = ";".join(f"{marker}:{','.join(own)}" for marker, own in pairs)
    return [MarkerPairs(pairs, pairs[0][1], Option("markers", text))]


def _templates(names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names with {n} for the part that differs, and the parts."""
    seen = set()
    for first, second in combinations(names, 2):
        start = alike(first, second).rstrip("0123456789")
        end = alike(first[len(start) :][::-1], second[len(start) :][::-1])[::-1].lstrip("0123456789")
        middle = first[len(start) : len(first) - len(end)]
        if end[:1].isalpha() and middle[-1:].isalpha():  # Erstprüfer and Zweitprüfer share a t
            end = next((end[k:] for k in range(len(end)) if plain(end[k:]) in names_of("rater")), end)
        pattern = f"{start}{N}{end}"
        if pattern in seen or not start + end or {"{", "}"} & set(start + end):
            continue
        seen.add(pattern)
        fitting = _between(start, end, names)
        if len(fitting) > 1:
            yield pattern, tuple(fitting)


def _between(start: str, end: str, names: Sequence[str]) -> list[str]:
    """The parts between the two of names that begin and end so."""
    fitting = [name for name in names if name.startswith(start) and name.endswith(end)]
    return [name[len(start) : len(name) - len(end)] for name in fitting if len(name) > len(start) + len(end)]


def _score_patterns(places: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """How the columns of marks are called of which every marker has one."""
    first, small = places[0], {name.casefold() for name in marks}
    found: list[str] = []
    for name in marks:
        for same in re.finditer(re.escape(first), name, re.IGNORECASE):
            pattern = f"{name[: same.start()]}{N}{name[same.end() :]}"
            if all(pattern.replace(N, n).casefold() in small for n in places) and "," not in pattern:
                found.append(pattern)
                break
    return tuple(dict.fromkeys(found))
