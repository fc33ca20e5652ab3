"""Pack ratings: from a table to the compact form on disk that fits start from at once.

A large parquet file is never in memory whole: its labels are collected, then its rows are coded into a scratch file and
put into their students' places chunk by chunk.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException, PolarsError

from raterlens.base.arrays import sorted_unique, take_in_blocks
from raterlens.base.atomic_files import atomic_write
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted
from raterlens.config import ReadConfig
from raterlens.config.limits import CHUNK, LARGE_FILE
from raterlens.config.read_config import ReadOptions
from raterlens.ratings.coded import Codes, Facet, KnownAnswers, Ratings
from raterlens.ratings.packed import (
    SUFFIX,
    Counts,
    Scratch,
    StoredRatings,
    count_into,
    narrow,
    open_packed,
    write_chunks,
    write_ratings,
)
from raterlens.reading.assemble import RowCounts, assemble, dropped_notes, items_of_columns, label_notes
from raterlens.reading.columns import Roles, resolve_layout
from raterlens.reading.formats.sources import open_table
from raterlens.reading.formats.table import Table, is_plain, refusing
from raterlens.reading.labels import Levels, combine, merge_spellings, total_rows
from raterlens.reading.profiles import ROLES
from raterlens.reading.read import checked
from raterlens.reading.read_plan import Finding, ReadPlan
from raterlens.reading.scores import FEWEST_RANKS, HIGHEST, ScoreCoding, detect_scale, parse_scores
from raterlens.reading.truth_columns import (
    answers_note,
    known_coding,
    one_answer_per_cell,
    table_answers,
    trusted_raters,
)


def pack(source: object, out: str | Path, **options: Unpack[ReadOptions]) -> Path:
    """Read a table of ratings once and write it in the compact form that `rl.read` opens at once.

    Parameters
    ----------
    source
        As in `rl.read`. A parquet file, or a folder of them, may be larger than memory.
    out
        The file to write, NAME.rlpack. It appears when it is whole.
    **options
        As in `rl.read`.

    Examples
    --------
    >>> import polars as pl, tempfile
    >>> from raterlens.reading.read import read
    >>> table = pl.DataFrame({"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 1, 1, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pack(table, f"{folder}/ratings.rlpack")
    ...     read(path).score.tolist()
    [0, 1, 1, 1]
    """
    return pack_ratings(source, _target(out), ReadConfig(**options))


def pack_ratings(
    source: object, path: Path, config: ReadConfig, large: int = LARGE_FILE, chunk: int = CHUNK
) -> Path:
    """As `pack`; a parquet file of `large` rows or more goes chunk by chunk."""
    with open_table(source, config) as opened:
        table, roles, plan = resolve_layout(opened, ReadPlan.of(config).add(opened.findings))
        query = _large(table, roles, large)
        if query is None:
            ratings, plan = assemble(table, roles, plan)
            plan.raise_questions()
            ratings = checked(ratings, config.cut)
            atomic_write(path, lambda draft: write_ratings(ratings, draft, config.cut))
            return path
        with refusing(table.name, PolarsError, PanicException):
            asked = _Query.of(query, roles, plan)
            atomic_write(path, lambda draft: _stream(asked, draft, chunk))
    return path


def _target(out: str | Path) -> Path:
    path = Path(out)
    if path.suffix.lower() != SUFFIX:
        raise OptionError(
            f"packed ratings go to a file NAME{SUFFIX}, not {path.name!r}",
            f"give {path.stem}{SUFFIX}",
            value=str(out),
            option="out",
        )
    if not path.parent.is_dir():
        raise InputError(
            f"no such folder: {str(path.parent)!r}",
            "make it first, or choose another",
            value=str(out),
            option="out",
        )
    return path


def _large(table: Table, roles: Roles, large: int) -> pl.LazyFrame | None:
    """The table as a query, where it can be one and has too many rows to be read whole without thinking."""
    if table.query is None:
        return None
    schema = table.query.collect_schema()
    if not all(is_plain(schema[name]) for name in roles.columns):
        return None
    return table.query if table.query.select(pl.len()).collect().item() >= large else None


@dataclass(frozen=True, slots=True, eq=False)
class _Query:
    """A table's rows as codes, to be collected batch by batch."""

    rows: pl.LazyFrame
    roles: Roles
    labels: dict[str, pl.Series]
    """Labels of each role, sorted."""
    coded: pl.LazyFrame
    """A column of codes for each role that has columns, the scores, and columns of known answers and trusted raters."""
    item_codes: Codes | None
    """Where score columns are items."""
    coding: ScoreCoding
    plan: ReadPlan

    @staticmethod
    def of(rows: pl.LazyFrame, roles: Roles, plan: ReadPlan) -> "_Query":
        columns = {"student": roles.student, "rater": roles.rater, "item": roles.item}
        columns |= {_facet(name): (name,) for name in roles.facets}
        coded, labels, item_codes = rows, {}, None
        for role, names in columns.items():
            if not names:
                found, item_codes = items_of_columns(roles)
                labels[role] = found.labels
                continue
            distinct = rows.select(names).unique().collect(engine="streaming")
            found = combine([distinct[name] for name in names])
            if not plan.config.as_written and role in ROLES:
                found, totals = without_totals(found, role)
                found, spellings = merge_spellings(found, role, None)
                plan = plan.add([*totals, *spellings])
            labels[role] = found.labels
            codes = distinct.with_columns(pl.Series(_code(role), found.codes)).lazy()
            coded = coded.join(codes, on=list(names), how="left", nulls_equal=True, maintain_order="left")
        wanted = [_code(role) for role, names in columns.items() if names]
        besides = dict.fromkeys((*roles.scores, *roles.known, *roles.trusted))
        scores = [rows.select(name).unique().collect(engine="streaming").to_series() for name in roles.scores]
        coding, plan = detect_scale(scores, roles.scores, plan)
        plan.raise_questions()
        return _Query(rows, roles, labels, coded.select(*wanted, *besides), item_codes, coding, plan)

    def batches(self, chunk: int) -> Iterator[tuple[RowCounts, dict[str, Codes], NDArray[np.int16]]]:
        """Usable rows: how many, the codes of each role, and the scores."""
        first = 0
        for frame in self.coded.collect_batches(chunk_size=chunk, maintain_order=True, engine="streaming"):
            codes = {
                role: self.item_codes
                if role == "item" and self.item_codes is not None
                else _column(frame, role)
                for role in self.labels
            }
            labelled = np.logical_and.reduce([code[:, 0] >= 0 for code in codes.values() if len(code) > 1])
            scores = np.column_stack([self._scores(frame[name], first) for name in self.roles.scores])
            kept = (scores >= 0) & labelled[:, None]
            chosen = {role: np.broadcast_to(code, kept.shape)[kept] for role, code in codes.items()}
            yield RowCounts.of(labelled, scores >= 0, kept), chosen, scores[kept]
            first += len(frame)

    def distinct(self, column: str, roles: list[str]) -> tuple[pl.DataFrame, Callable[[int], str]]:
        """Distinct values of a column beside the codes of these roles, and words for the row where each is first."""
        names = [*map(_code, roles), column]
        rows = self.coded.with_row_index("row").select("row", *names)
        frame = rows.unique(names, keep="first", maintain_order=True).collect(engine="streaming")
        return frame, lambda at: f"row {frame['row'][at] + 1:,}"

    def _scores(self, column: pl.Series, first: int) -> NDArray[np.int16]:
        try:
            return parse_scores(column, self.coding, lambda row: f"row {first + row + 1:,}")
        except InputError:
            # Once more on the whole column, for a message that counts all the bad ones.
            whole = self.rows.select(column.name).collect().to_series()
            parse_scores(whole, self.coding, lambda row: f"row {row + 1:,}")
            raise


def without_totals(levels: Levels, role: str) -> tuple[Levels, list[Finding]]:
    """Labels of totals as missing ones."""
    rows, found = total_rows({role: levels}, lambda _: "")
    if rows is None:
        return levels, []
    found = [replace(one, observed=f"labels of totals for the {role}") for one in found]
    return Levels(np.where(rows, np.int32(-1), levels.codes), levels.labels), found


def _facet(name: str) -> str:
    return f"level of {name}"


def _code(role: str) -> str:
    return f"code of {role}"


def _column(frame: pl.DataFrame, role: str) -> Codes:
    return frame[_code(role)].to_numpy()[:, None]


def _stream(query: _Query, path: Path, chunk: int) -> None:
    """Write a draft, chunk by chunk, and check it as a whole."""
    asked = query.plan.asked
    given = {role: np.zeros(len(labels), dtype=np.int64) for role, labels in query.labels.items()}
    seen = np.zeros(HIGHEST + 1, dtype=np.int64)
    found, scratch, kept = RowCounts(0, 0, 0, 0, 0), Scratch(path.parent), []
    for of_use, codes, scores in query.batches(chunk):
        found += of_use
        count_into(seen, scores)
        for role, chosen in codes.items():
            count_into(given[role], chosen)
        narrowed = {
            role: scratch.keep(chosen.astype(narrow(len(given[role])))) for role, chosen in codes.items()
        }
        kept.append((narrowed, scratch.keep(scores.astype(narrow(HIGHEST + 1)))))
    header, place = _header(query, given, found, seen)

    def rows(codes: dict[str, Codes], scores: NDArray[np.int16]) -> Ratings:
        def taken(role: str) -> Codes:
            return take_in_blocks(place[role], codes[role])

        def with_codes(facet: Facet) -> Facet:
            return replace(facet, codes=taken(_facet(facet.name)))

        return replace(
            header,
            student=taken("student"),
            rater=taken("rater"),
            item=taken("item"),
            score=scores.astype(np.int16),
            **header.with_each_facet(with_codes),
        )

    per_student = given["student"][given["student"] > 0]
    chunks = (rows(codes, scores) for codes, scores in kept)
    write_chunks(chunks, header, per_student, header.n_categories, path, asked.cut)
    stored = StoredRatings(open_packed(path))
    checked(stored, asked.cut)
    _refuse_repeats(stored, asked)
    _refuse_ranks(stored, asked)


def _header(
    query: _Query, given: dict[str, Counts], found: RowCounts, seen: Counts
) -> tuple[Ratings, dict[str, Codes]]:
    """Labels, notes and known answers of the ratings, with one row per score that occurs; and the place of each role's
    levels among those used, -1 for others: labels that only rows without a score have are left out, as everywhere."""
    roles, coding = query.roles, query.coding
    place = {role: np.where(n > 0, np.cumsum(n > 0) - 1, -1).astype(np.int32) for role, n in given.items()}
    used = {role: query.labels[role].filter(pl.Series(times > 0)) for role, times in given.items()}
    notes = (*(one.note for one in query.plan.findings), *roles.notes, *dropped_notes(roles, found))
    score = np.flatnonzero(seen).astype(np.int16)
    first = np.zeros(len(score), dtype=np.int32)
    facets = {name: Facet(name, first, used[_facet(name)].alias(name)) for name in roles.facets}
    aside: dict[str, Any] = {role: facets.pop(name) for role, name in roles.aside.items()}
    header = Ratings(
        student=first,
        rater=first,
        item=first,
        score=score,
        students=used["student"].alias("student"),
        raters=used["rater"].alias("rater"),
        items=used["item"].alias("item"),
        notes=(*notes, *label_notes(used)),
        facets=tuple(facets.values()),
        trusted=_trusted(query, place["rater"]),
        score_step=1 / coding.factor,
        **aside,
    )
    known = _known(query, header, place, query.plan.config)
    if known is None:
        return header, place
    return replace(header, known=known, notes=(*header.notes, answers_note(known))), place


def _known(
    query: _Query, header: Ratings, place: dict[str, Codes], config: ReadConfig
) -> KnownAnswers | None:
    """Known answers, from their column or from a table of their own."""
    if not query.roles.known:
        return None if config.known is None else table_answers(header, query.roles, query.coding, config)
    roles = ["student"] if query.item_codes is not None else ["student", "item"]
    frame, row = query.distinct(query.roles.known[0], roles)
    column = frame[query.roles.known[0]]
    answer = parse_scores(column, known_coding(column, header, query.coding, config), row)
    codes = [np.append(place[role], np.int32(-1))[_column(frame, role)[:, 0]] for role in roles]
    return one_answer_per_cell(
        header, codes[0], codes[1] if len(codes) > 1 else np.zeros_like(codes[0]), answer, row
    )


def _trusted(query: _Query, place: Codes) -> tuple[str, ...]:
    if not query.roles.trusted:
        return ()
    frame, row = query.distinct(query.roles.trusted[0], ["rater"])
    codes = _column(frame, "rater")[:, 0]
    kept = np.append(place, np.int32(-1))[codes] >= 0
    return trusted_raters(frame[query.roles.trusted[0]], Levels(codes, query.labels["rater"]), kept, row)


def _refuse_repeats(stored: StoredRatings, config: ReadConfig) -> None:
    """Raise where a student has several ratings by the same rater on the same item, unless they are to be kept: a file
    that is read in chunks cannot leave some of them out."""
    if config.duplicates == "keep":
        return
    n = sum(_repeats(part) for part in stored.parts())
    if n:
        raise InputError(
            f"{counted(n, 'row')} with the student, rater and item of an earlier one",
            Message("remove them from the file, or keep all with ", Option("duplicates", "keep")),
            value=n,
        )


def _repeats(part: Ratings) -> int:
    """How many ratings of a part have another before them, of the same piece and draw."""
    key = part.student.astype(np.int64) * math.prod(part.sizes) + part.context_codes()
    for facet in (part.piece, part.draw):
        if facet is not None:
            key = key * len(facet.labels) + facet.codes
    return part.n_ratings - len(sorted_unique(key))


def _refuse_ranks(stored: StoredRatings, config: ReadConfig) -> None:
    """Raise where every rater gives each number from 1 on once, unless the request says which end is best."""
    if config.best is not None or config.cut is not None or stored.n_items > 1 or stored.facets:
        return
    cells, times = stored.cell_counts()
    rater, score = np.divmod(cells, stored.n_categories)
    # Cells are sorted, so a rater's lowest score comes first.
    n = np.bincount(rater)
    first = np.cumsum(n) - n
    ranked = (score[first] == 1) & (score[first + n - 1] == n) & (n >= FEWEST_RANKS)
    if len(n) > 1 and (times == 1).all() and ranked.all():
        raise InputError(
            f"every rater gives each number from 1 to {int(score.max())} once, as ranks are",
            Message("say whether 1 is best: ", Option("best", "low"), " or ", Option("best", "high")),
            value=int(score.max()),
        )
