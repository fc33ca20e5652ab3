"""Known answers and trusted raters, from columns of the ratings or a table of their own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.ratings.coded import Codes, KnownAnswers, Ratings
from raterlens.reading.columns import Roles
from raterlens.reading.formats.sources import open_table
from raterlens.reading.formats.table import Table
from raterlens.reading.labels import Levels, combine
from raterlens.reading.scores import ScoreCoding, given_worth, parse_scores, stripped
from raterlens.reading.vocabulary import VERDICTS, is_missing
from raterlens.reading.wide_layouts import name_columns

Place = Callable[[int], str]


def rows_that_differ(
    owner: NDArray[np.integer], value: NDArray[Any], rows: NDArray[np.intp]
) -> tuple[int, int] | None:
    """The first of these rows whose owner has another value before, after that one; None where each has one value."""
    first = np.zeros(int(owner[rows].max(initial=0)) + 1, dtype=np.intp)
    first[owner[rows[::-1]]] = rows[::-1]
    other = rows[value[rows] != value[first[owner[rows]]]]
    return (int(first[owner[other[0]]]), int(other[0])) if len(other) else None


def known_coding(column: pl.Series, ratings: Ratings, coding: ScoreCoding, config: ReadConfig) -> ScoreCoding:
    """How known answers become scores: by their own options, else as scores do; pass and fail stay what they are."""
    texts = stripped(column).drop_nulls().unique().to_list()
    texts = [text for text in texts if not is_missing(text)]
    verdicts = {text: value for text in texts if (value := VERDICTS.get(text.casefold())) is not None}
    if config.known_cut is not None or config.known_map is not None:
        given, numbers = given_worth(config.worth("known_map"), texts)
        return ScoreCoding(verdicts | given, numbers, cut=config.known_cut)
    if any(text not in coding.words for text in verdicts):
        coding = replace(coding, words={**verdicts, **coding.words})
    values = {coding.words.get(text, text) for text in texts}
    binary = bool(values) and values <= {0.0, 1.0, "0", "1", "0.0", "1.0", "true", "false"}
    if not binary:
        return coding
    if coding.cut is not None or coding.edges or ratings.n_categories < 3:
        return ScoreCoding(coding.words)
    if ratings.n_categories > 3 or not ratings.score_counts[0]:
        highest = int(np.flatnonzero(ratings.score_counts)[-1])
        raise InputError(
            f"known answers in {shortened(column.name)} are pass or fail, but scores go up to {highest}",
            Message(
                "give the lowest passing score, for example ",
                Option("cut", (highest + 1) // 2),
                ", or what known answers are worth, ",
                Option("known_map", f"0=0,1={highest}"),
            ),
            value=sorted(map(str, values)),
            option="known",
        )
    return coding


def table_answers(ratings: Ratings, roles: Roles, coding: ScoreCoding, config: ReadConfig) -> KnownAnswers:
    """From a table with the columns of the students, of the items where there are several, and of the answers."""
    with open_table(config.known, ReadConfig()) as table:
        keys = [*roles.student, *roles.item]
        _check_columns(table, keys, ratings)
        (column,) = _answer_column(table, keys, roles)
        rows = table.take((*keys, column))
    student = _places(rows.frame, roles.student, ratings.students, "student", rows.place)
    item = np.zeros(len(student), dtype=np.int32)
    if roles.item:
        item = _places(rows.frame, roles.item, ratings.items, "item", rows.place)
    coding = known_coding(rows.frame[column], ratings, coding, config)
    answer = parse_scores(rows.frame[column], coding, rows.place)
    return one_answer_per_cell(
        ratings, student, item, np.where(student < 0, np.int16(-1), answer), rows.place
    )


def _check_columns(table: Table, keys: list[str], ratings: Ratings) -> None:
    missing = [name for name in keys if name not in table.columns]
    if missing or (ratings.n_items > 1 and len(keys) < 2):
        wanted = missing or ["item"]
        raise InputError(
            Message(f"{table.name}, given as ", Option("known"), f", has no column {listed(wanted)}"),
            f"call its columns as those of the ratings, to say whose answers they are; {name_columns(table.columns)}",
            value=wanted,
        )


def _answer_column(table: Table, keys: list[str], roles: Roles) -> list[str]:
    others = [name for name in table.columns if name not in keys]
    named = [name for name in others if name in roles.scores] or others
    if len(named) != 1:
        raise InputError(
            Message(
                f"{table.name}, given as ",
                Option("known"),
                f", has {counted(len(named), 'column')} that could be the answers",
            ),
            f"leave one besides {listed(keys)}, or call it as the column of scores; {name_columns(table.columns)}",
            value=named,
        )
    return named


def _places(frame: pl.DataFrame, names: tuple[str, ...], labels: pl.Series, role: str, place: Place) -> Codes:
    """(rows,): each label's place among those of the ratings, -1 where it is blank."""
    levels = combine([frame[name] for name in names])
    known = dict(zip(labels.cast(pl.String), range(len(labels)), strict=True))
    found = [known.get(label, -1) for label in levels.labels.cast(pl.String)]
    strange = [shortened(label) for label, at in zip(levels.labels, found, strict=True) if at < 0]
    if strange:
        first = int(np.flatnonzero(np.isin(levels.codes, np.flatnonzero(np.array(found) < 0)))[0])
        raise InputError(
            f"known answers for {counted(len(strange), role)} without a rating, the first at {place(first)}: "
            f"{', '.join(strange[:5])}",
            "spell labels as the ratings do, and leave out students without ratings",
            value=strange,
            option="known",
        )
    return np.append(np.array(found, dtype=np.int32), np.int32(-1))[levels.codes]


def one_answer_per_cell(
    ratings: Ratings,
    student: NDArray[np.integer],
    item: NDArray[np.integer],
    answer: NDArray[np.int16],
    place: Place,
) -> KnownAnswers:
    """From the answers of rows, -1 where there is none, and the codes of their students and items."""
    rows = np.flatnonzero((answer >= 0) & (student >= 0) & (item >= 0))
    if not len(rows):
        raise InputError(
            "no known answer found: the column is empty",
            "fill in the right score where it is known, and leave the others blank",
            option="known",
        )
    student, item, answer = student[rows], item[rows], answer[rows]
    key = student.astype(np.int64) * ratings.n_items + item
    cells, first, cell = np.unique(key, return_index=True, return_inverse=True)
    if (torn := rows_that_differ(cell, answer, np.arange(len(rows)))) is not None:
        before, row = torn
        who = shortened(ratings.students[int(student[row])])
        on = f" on item {shortened(ratings.items[int(item[row])])}" if ratings.n_items > 1 else ""
        raise InputError(
            f"the known answer for student {who}{on} is {answer[row]} at {place(int(rows[row]))}, but "
            f"{answer[before]} elsewhere",
            "give one answer for all rows of a student and item, or leave it blank",
            value=int(answer[row]),
            option="known",
        )
    found = answer[first]
    if (found == found[0]).all():
        raise InputError(
            f"all {counted(len(found), 'known answer')} are {found[0]}",
            "add some with another answer: otherwise errors cannot be seen",
            value=int(found[0]),
            option="known",
        )
    student, item = np.divmod(cells, ratings.n_items)
    return KnownAnswers(student.astype(np.int32), item.astype(np.int32), found.astype(np.int16))


def answers_note(known: KnownAnswers) -> str:
    """How many there are."""
    return f"{counted(len(known), 'known answer')} of {counted(len(np.unique(known.student)), 'student')}"


_YES, _NO = ("yes", "y", "true", "t", "1", "1.0", "x", "trusted"), ("no", "n", "false", "f", "0", "0.0", "")


def trusted_raters(
    column: pl.Series, raters: Levels, kept: Mask, place: Callable[[int], str]
) -> tuple[str, ...]:
    """Their labels, from rows that say yes or no (blank: no), the same for all rows of a rater that are kept."""
    said = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    trusted, rows = said.is_in(_YES).to_numpy(), np.flatnonzero(kept)
    if (strange := np.flatnonzero(~(trusted | said.is_in(_NO).to_numpy()) & kept)).size:
        row = int(strange[0])
        raise InputError(
            f"column {shortened(column.name)} says {shortened(column[row])} at {place(row)}, neither yes nor no",
            "write yes for the raters whom you trust and no for the others, in all of their rows",
            value=column[row],
            option="trusted_column",
        )
    rater = raters.codes[rows]
    yes = np.bincount(rater, trusted[rows], len(raters.labels))
    if (torn := rows_that_differ(raters.codes, trusted, rows)) is not None:
        first, other = torn
        raise InputError(
            f"rater {shortened(raters.labels[int(rater[rows == first][0])])} is {_word(trusted[first])} at "
            f"{place(first)}, but "
            f"{_word(trusted[other])} at {place(other)} (column {shortened(column.name)})",
            "say the same in all rows of a rater",
            value=column[other],
            option="trusted_column",
        )
    found = raters.labels.cast(pl.String).filter(pl.Series(yes > 0)).to_list()
    if not found:
        raise InputError(
            f"column {shortened(column.name)} marks nobody as trusted",
            Message("write yes in the rows of those whom you trust, or leave out ", Option("trusted_column")),
        )
    return tuple(found)


def _word(trusted: object) -> str:
    return "trusted" if trusted else "not trusted"
