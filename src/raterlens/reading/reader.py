"""A path or a dataframe -> Ratings: open, assign columns, code labels, parse scores, leave out, check."""

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from raterlens.errors import InputError, OptionError
from raterlens.ratings.coded import Codes, Facet, Ratings
from raterlens.ratings.packed_file import SUFFIX, open_packed
from raterlens.ratings.stored import open_ratings
from raterlens.reading.columns import Roles, Spec, assign_roles, told
from raterlens.reading.copies import Whole, copies
from raterlens.reading.formats.registry import Opening, Rows, Table, located, open_table
from raterlens.reading.levels import Levels, alike, code, combine
from raterlens.reading.scores import checked_cut, parse_scores
from raterlens.reading.value_labels import labelled
from raterlens.reading.wide import spread, spread_two_rows
from raterlens.text import counted, listed
from raterlens.types import Mask

ONE_ITEM = "all"


def read(
    source: object,
    student: Spec = None,
    rater: Spec = None,
    item: Spec = None,
    score: str | None = None,
    *,
    items: Spec = None,
    facets: Spec = None,
    cut: float | None = None,
    table: str | None = None,
    wide: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """Read ratings from a file or a dataframe.

    Parameters
    ----------
    source
        The path of a file (csv, tsv, xlsx, ods, parquet, json, jsonl, sav, dta, rda, rds, sqlite, duckdb; text also
        compressed), of ratings that `rl.pack` wrote or of a folder of parquet files; "ratings.db::essays" for a table
        of a database; "-" for standard input; or a dataframe (polars, pandas, pyarrow or another that narwhals knows).
    student, rater, item
        The column of each; several columns mean their combination, labelled with ":" ("AM:Sport"). Columns
        left out are recognised by their usual names. Without an item column there is one item, "all".
    score
        The column of scores, one row a rating: 0/1, or whole numbers from 0.
    items
        Instead of `item` and `score`, where one row is an essay: the columns of scores, one an item.
    facets
        Columns of whatever else makes a rating harder or easier for all raters alike, such as the topic or the
        occasion. Each is estimated beside raters and items, in `fit.table("facets")`.
    cut
        Where given, a rating is a pass (1) if its score is at least `cut`, else a fail (0).
    wide
        Where each rater, or each rater and item, has a column of scores: how these columns are called, such as
        "{rater} {item}" or "Mark {rater}". With `items`, these columns alone.
    table
        Which sheet of a workbook (the first if left out), table of a database, or data frame among R's objects.
    format
        What the file is ("csv", "xlsx", ...), where its extension does not say, and of standard input.
    encoding
        The encoding of a text file.

    Returns
    -------
    Ratings
        Validated and integer-coded; `notes` says which columns were recognised, what was left out and whether rows are
        copies of others.

    Raises
    ------
    InputError, OptionError
        The message says what is wrong, the value seen and what to do.

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
    columns = {"student": student, "rater": rater, "item": item, "score": score, "items": items}
    ratings = read_any(
        source, **columns, facets=facets, cut=cut, table=table, wide=wide, format=format, encoding=encoding
    )
    ratings.check_estimable()
    refuse_constant(ratings, checked_cut(cut))
    return ratings


def read_any(
    source: object,
    *,
    facets: Spec = None,
    cut: float | None = None,
    table: str | None = None,
    wide: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    **columns: Spec,
) -> Ratings:
    """As `read`, but one student, or the same score throughout, will do: for scoring by a fit."""
    limit = checked_cut(cut)
    if isinstance(source, str | os.PathLike) and os.fsdecode(source).lower().endswith(SUFFIX):
        return _packed(
            source, limit, [name for name, given in (columns | {"facets": facets}).items() if given]
        )
    with open_table(source, Opening(encoding, table, format)) as opened:
        if wide is not None:
            given = {role: _listed(columns.get(role)) for role in ("student", "items")}
            opened = spread(opened, wide, given["items"], [*given["student"], *_listed(facets)])
            columns["items"] = None
        elif not any(columns.get(role) for role in ("rater", "score", "items")):
            opened = spread_two_rows(opened)
        specs, notes = told(opened.roles, columns | {"facets": facets})
        roles = assign_roles(opened.columns, **specs)
        rows = opened.take(roles.columns)
        if rows.frame.is_empty():
            raise InputError(
                f"{opened.name} has a header ({listed(opened.columns)}) but no rows; add the ratings under it"
            )
        opened = replace(opened, notes=(*opened.notes, *notes))
        return _assemble(opened, roles, rows, limit)


def _listed(spec: Spec) -> list[str]:
    return [] if spec is None else [str(spec)] if isinstance(spec, str) else [str(name) for name in spec]


def _packed(source: str | os.PathLike[str], cut: float | None, columns: list[str]) -> Ratings:
    """Packed ratings know their columns; a cut is possible where they were packed without one."""
    path, _ = located(Path(os.fsdecode(source)).expanduser(), Opening())
    if columns:
        raise OptionError(
            f"{columns[0]}= is given for {path.name!r}, whose columns were chosen when it was packed; leave it out, "
            "or pack again"
        )
    try:
        packed = open_packed(path)
    except OSError as error:
        raise InputError(
            f"cannot read {str(path)!r}: {error.strerror}; check that you may open it"
        ) from error
    ratings = open_ratings(packed)
    before = packed.about["cut"]
    if cut is None or cut == before:
        return ratings
    if before is not None:
        raise OptionError(f"cut={cut:g}, but {path.name!r} was packed with cut={before:g}; pack it again")
    return ratings.with_scores((np.arange(ratings.n_categories) >= cut).astype(np.int16))


def _assemble(table: Table, roles: Roles, taken: Rows, cut: float | None) -> Ratings:
    """Put codes and scores together, without the ratings that miss a label or a score."""
    rows = labelled(table, roles, taken)
    frame = rows.frame
    students = _levels(frame, "student", roles.student)
    raters = _levels(frame, "rater", roles.rater)
    items, item_codes = item_levels(frame, roles)
    facets = {name: _levels(frame, "facet", (name,)) for name in roles.facets}
    complete = (students.codes >= 0) & (raters.codes >= 0) & (item_codes >= 0).all(axis=1)
    complete &= np.all([levels.codes >= 0 for levels in facets.values()], axis=0)
    if not complete.all():
        # A line of totals below the table has no rater: what it holds is no score.
        given = frame.select(pl.col(name).is_not_null() for name in roles.scores).to_numpy()
        frame = frame.with_columns(pl.when(pl.Series(complete)).then(pl.col(list(roles.scores))))
    scores = np.column_stack([parse_scores(frame[name], cut, rows.place) for name in roles.scores])
    scored = scores >= 0
    kept = scored & complete[:, None]
    if not complete.all():
        scored |= given & ~complete[:, None]
    notes = [*table.notes, *roles.notes, *rows.notes, *left_out(roles, Kept.of(complete, scored, kept))]
    coded: list[Whole] = [students.codes, raters.codes, *(levels.codes for levels in facets.values())]
    coded += [] if roles.wide else [np.broadcast_to(item_codes, kept.shape)[:, 0], scores[:, 0]]
    notes += copies(table, roles, taken, np.logical_or.reduce(kept, axis=1), coded)

    everything = kept.shape[1] == 1 and bool(kept.all())

    def used(levels: Levels, codes: Codes) -> Levels:
        if everything and codes.shape == kept.shape:
            return levels
        return levels.used_in(np.broadcast_to(codes, kept.shape)[kept])

    students, raters = (used(levels, levels.codes[:, None]) for levels in (students, raters))
    items = used(items, item_codes)
    facets = {name: used(levels, levels.codes[:, None]) for name, levels in facets.items()}
    named = {f"level of {name}": levels for name, levels in facets.items()}
    roles_of = {"student": students, "rater": raters, "item": items} | named
    notes += remarks({role: levels.labels for role, levels in roles_of.items()})
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


def _levels(frame: pl.DataFrame, role: str, names: tuple[str, ...]) -> Levels:
    levels = combine([frame[name] for name in names])
    if levels.labels.is_empty():
        raise InputError(
            f"the {role} column {listed(names)} is blank in all {counted(len(frame), 'row')}; "
            f"fill it in, or name another with {role}="
        )
    return levels


def item_levels(frame: pl.DataFrame, roles: Roles) -> tuple[Levels, Codes]:
    """Return the items, and their codes as an array that broadcasts to rows x score columns."""
    if roles.item:
        levels = _levels(frame, "item", roles.item)
        return levels, levels.codes[:, None]
    levels = code(pl.Series(roles.scores if roles.wide else [ONE_ITEM]))
    return levels, levels.codes[None, :]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many rows and scores there are, and how many of them are of use."""

    rows: int
    labelled: int
    scores: int
    scored: int
    kept: int

    @staticmethod
    def of(labelled: Mask, scored: Mask, kept: Mask) -> "Kept":
        masks = (int(mask.sum()) for mask in (labelled, scored, kept))
        of_labels, of_scores, of_both = masks
        return Kept(len(labelled), of_labels, scored.size, of_scores, of_both)

    def __add__(self, other: "Kept") -> "Kept":
        return Kept(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def left_out(roles: Roles, found: Kept) -> list[str]:
    """Count the rows without a label and, of the others, the ratings without a score."""
    if not found.scored:
        raise InputError(
            f"all {counted(found.scores, 'score')} in {listed(roles.scores)} are missing; "
            "check that these are the columns of scores"
        )
    if not found.kept:
        names = listed((*roles.student, *roles.rater, *roles.item, *roles.facets))
        raise InputError(
            f"none of the {counted(found.rows, 'row')} has a score and a label in each of {names}"
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


def remarks(labels: Mapping[str, pl.Series]) -> list[str]:
    """What labels give reason to say, by role."""
    notes = [note for role, series in labels.items() for note in alike(series, role)]
    if len(raters := labels["rater"]) == 1:
        notes.append(f"one rater, {raters[0]!r}: with no other to compare, capability is relative to itself")
    return notes


def refuse_constant(ratings: Ratings, cut: float | None) -> None:
    seen = np.flatnonzero(ratings.score_counts)
    if len(seen) > 1:
        return
    highest = int(seen[0])
    verdict = {0: "fails", 1: "passes"}.get(highest, "the same")
    score = f"score {highest}" if cut is None else f"score {'>=' if highest else '<'} cut={cut:g}"
    raise InputError(
        f"all {ratings.n_ratings:,} ratings are {verdict} ({score}), so nothing can be estimated; "
        f"check the score column{' and the cut' if cut is not None else ', or give a cut'}"
    )
