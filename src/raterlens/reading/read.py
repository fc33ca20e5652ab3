"""A path or a dataframe -> Ratings: open, lay out, assemble, check."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, plain_number
from raterlens.config import Columns, ReadConfig
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import set_aside
from raterlens.ratings.packed import SUFFIX, open_packed, open_ratings
from raterlens.reading.assemble import assemble
from raterlens.reading.columns import resolve_layout
from raterlens.reading.formats.sources import located, open_table
from raterlens.reading.formats.table import unreadable
from raterlens.reading.read_plan import ReadPlan


def read(
    source: object,
    student: Columns = None,
    rater: Columns = None,
    item: Columns = None,
    score: str | None = None,
    *,
    items: Columns = None,
    facets: Columns = None,
    piece: str | None = None,
    draw: str | None = None,
    group: str | None = None,
    known: Any = None,
    known_cut: float | None = None,
    known_map: str | Mapping[str, float | None] | None = None,
    trusted_column: str | None = None,
    cut: float | None = None,
    bands: str | Sequence[float] | None = None,
    map: str | Mapping[str, float | None] | None = None,
    table: str | None = None,
    wide: str | None = None,
    markers: str | None = None,
    pattern: str | None = None,
    best: str | None = None,
    duplicates: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    as_written: bool = False,
    beside: str | Sequence[str] = (),
) -> Ratings:
    r"""Read ratings from a file or a dataframe.

    Parameters
    ----------
    source
        The path of a file (csv, tsv, xlsx, ods, parquet, json, jsonl, sav, dta, rda, rds, sqlite, duckdb; text also
        compressed, and all in zip archives), of ratings that `rl.pack` wrote or of a folder of parquet files;
        "ratings.db::essays" for a table of a database; "-" for standard input; a folder, a pattern such as
        "logs/*.jsonl" or a list of paths, read together with a column `file`; or a dataframe (polars, pandas, pyarrow
        or another that narwhals knows).
    student, rater, item
        The column of each; several columns mean their combination, labelled with ":" ("AM:Sport"). Columns
        left out are recognised by their usual names. Without an item column there is one item, "all".
    score
        The column of scores, one row per rating: 0/1, or whole numbers from 0.
    items
        Instead of `item` and `score`, where one row is an essay: the columns of scores, one per item.
    facets
        Columns of whatever else makes a rating harder or easier for all raters alike, such as the topic or the
        occasion. Each is estimated beside raters and items, in `fit.table("facets")`.
    piece
        The column that names the piece of work, such as the essay or the task, that a rating is of, where students have
        several and some pieces are read by more than one rater: how much a student's pieces differ is then estimated
        apart from what raters see in them (`fit.pieces`).
    known
        The column of known answers: the right score for the row's student and item, the same for all raters, and
        empty where it is not known. Or a table of its own, a path or a dataframe, with the columns of the students, of
        the items where there are several, and of the answers.
    known_cut, known_map
        The lowest passing known answer, and what words among known answers are worth. Without them, known answers are
        read as scores are, except that `cut` leaves answers alone that are pass or fail already.
    draw
        The column of a rater's draws, such as an epoch, a run or a seed: several answers of a judge to the same
        question. Recognised by its usual names; repeats that no column tells apart are numbered in their order.
    group
        The column of the group that the row's student belongs to, such as a school or the system whose answer it is;
        the same in all rows of a student.
    trusted_column
        The column that marks the raters whom you trust: yes or no (true or false, 1 or 0, blank for no), the same in
        all rows of a rater. They define ability, as with `rl.fit(trusted=[...])`.
    cut
        The lowest passing score: a rating is then a pass (1) if its score is at least `cut`, else a fail (0).
    bands
        Where bands of scores begin, all but the first: `[40, 60, 80]` makes 0 to 3 of marks out of 100.
    map
        What words or numbers are worth: `{"good": 1, "bad": 0, "absent": None}`, or "good=1,bad=0,absent=". Common
        words (pass and fail, grades A to F, poor to excellent) are recognised.
    wide
        Where each rater, each rater and item, or each student has a column of scores: how these columns are called,
        such as "{rater} {item}", "Mark {rater}" or "{student}". With `items`, these columns alone.
    markers
        Where each rater has a column with the name of the marker beside one or more of marks: how these columns are
        called, "Marker {n}:Mark {n}" or "rater{n}:style{n},plot{n}".
    pattern
        Where a score stands within a text: a regular expression whose first group it is, such as "Rating: (\d+)".
    best
        "high", or "low" where low numbers are best, as ranks are: they are turned round.
    duplicates
        What becomes of several ratings of a student by the same rater on the same item, unless they are draws: "keep"
        all, keep the "first", or "refuse" the table. Without it, a few of them raise a question.
    table
        Which sheet of a workbook ("*" for all that are laid out alike, with a column `sheet`), table of a database, or
        data frame among R's objects.
    format
        What the file is ("csv", "xlsx", ...), where its extension does not say, and of standard input.
    encoding
        The encoding of a text file; UTF-8, UTF-16 and cp1252 are recognised.
    as_written
        Read the table unchanged: keep totals, spellings and half points.
    beside
        Columns that are no part of the model but that diagnostics may look at, such as the day of the rating or the
        student's school: `fit.diagnose(time="day", groups=["school"])`.

    Returns
    -------
    Ratings
        Validated and integer-coded; `notes` says which columns were recognised, what was left out and whether rows are
        copies of others.

    Raises
    ------
    InputError, OptionError
        The message says what is wrong, the value seen and what to do. A file that can be meant in several ways raises
        UncertainError, whose `proposal` has the likeliest.

    Examples
    --------
    >>> import polars as pl
    >>> essays = pl.DataFrame(
    ...     {"pid": [7, 7, 8], "judge": ["AM", "BE", "AM"], "style": [3, 1, None], "plot": [2, 3, 0]}
    ... )
    >>> ratings = read(essays, items=["style", "plot"], cut=3)
    >>> ratings.n_ratings, ratings.raters.to_list(), ratings.items.to_list(), ratings.score.tolist()
    (5, ['AM', 'BE'], ['plot', 'style'], [1, 0, 0, 1, 0])
    >>> for note in ratings.notes:
    ...     print(note)
    student column: 'pid' (recognised)
    rater column: 'judge' (recognised)
    1 of 6 ratings left out: no score
    """
    options = dict(locals())
    config = ReadConfig(**{name: options[name] for name in options if name not in ("source", "beside")})
    config, names = with_beside(config, beside)
    return set_aside(checked(read_ratings(source, config), config.cut), names)


def with_beside(config: ReadConfig, beside: str | Sequence[str]) -> tuple[ReadConfig, list[str]]:
    """The request that reads further columns as facets, and their names."""
    names = [beside] if isinstance(beside, str) else list(beside)
    return config.changed(facets=[*config.names("facets"), *names]) if names else config, names


def read_ratings(source: object, config: ReadConfig) -> Ratings:
    """As `read`, but one student, or the same score throughout, will do: for scoring by a fit."""
    ratings, plan = read_with_plan(source, config)
    plan.raise_questions()
    return ratings


def _is_packed(source: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, str | os.PathLike) and os.fsdecode(source).lower().endswith(SUFFIX)


def read_with_plan(source: object, config: ReadConfig) -> tuple[Ratings, ReadPlan]:
    """The ratings by the likeliest answer to every question, and the plan that they follow."""
    if _is_packed(source):
        return _packed(source, config), ReadPlan.of(config)
    with open_table(source, config) as table:
        return assemble(*resolve_layout(table, ReadPlan.of(config).add(table.findings)))


def checked(ratings: Ratings, cut: float | None) -> Ratings:
    """The ratings, or an error where nothing could be estimated from them."""
    ratings.check_estimable()
    seen = np.flatnonzero(ratings.score_counts)
    if len(seen) > 1:
        return ratings
    highest = int(seen[0])
    verdict = {0: "fails", 1: "passes"}.get(highest, "the same")
    score = (
        f"score {highest}"
        if cut is None
        else Message(f"score {'>=' if highest else '<'} ", Option("cut", cut))
    )
    raise InputError(
        Message(
            f"all {ratings.n_ratings:,} ratings are {verdict} (", score, "), so nothing can be estimated"
        ),
        Message("check the score column, or give the lowest passing score, for example ", Option("cut", 3))
        if cut is None
        else Message(
            "check the score column, and whether ", Option("cut", cut), " is the lowest passing score"
        ),
        value=highest,
        option="score" if cut is None else "cut",
    )


_PACKED_SAY = ("cut", "duplicates")
"""Options that packed ratings may still be read with."""


def _packed(source: str | os.PathLike[str], config: ReadConfig) -> Ratings:
    """Packed ratings know their columns and scores; a cut is possible where they were packed without one."""
    path, _ = located(source, config)
    for option, value in config.given().items():
        if option not in _PACKED_SAY:
            raise OptionError(
                Message(
                    Option(option), f" is given for {path.name!r}, whose ratings were read when it was packed"
                ),
                "leave it out, or pack again",
                value=value,
            )
    try:
        packed = open_packed(path)
    except OSError as error:
        raise unreadable(path, error) from error
    ratings = open_ratings(packed)
    before, cut = packed.about["cut"], config.cut
    if cut is None or cut == before:
        return ratings
    if before is not None:
        raise OptionError(
            Message(
                Option("cut", cut),
                f", but {path.name!r} was packed with ",
                Option("cut", plain_number(before)),
            ),
            "pack it again",
        )
    return ratings.with_scores((np.arange(ratings.n_categories) >= cut).astype(np.int16))


RATER = "rater"


def read_rater_table(source: object) -> pl.DataFrame:
    """A path or a dataframe: `rater` as text, other columns as numbers where they all are numbers."""
    with open_table(source, ReadConfig()) as table:
        frame = table.take(table.columns).frame
    return frame.select(
        frame[name].cast(pl.String) if name == RATER else _numbers(frame[name]) for name in frame.columns
    )


def _numbers(column: pl.Series) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column
