"""Tasks of a worker. Each task reads and writes files of the session; only small answers are sent back."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from raterlens.app.progress import Show, Watch
from raterlens.app.web.form import label, shown
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.base.text import Message, listed, sentence, worded
from raterlens.config import COLUMN_ROLES, ROW, FitConfig, ReadConfig
from raterlens.diagnostics.comparison import compare as compare_fits
from raterlens.diagnostics.wording import headline
from raterlens.estimation.optimiser import Progress
from raterlens.fitting.api import load
from raterlens.fitting.checks import Run
from raterlens.fitting.run import check_request, fit_request
from raterlens.output.data_check import check as check_data
from raterlens.output.excel import check_excel
from raterlens.output.report.reproduce import Request
from raterlens.pictures.scatter_plots import two_fits
from raterlens.ratings.coded import size_words
from raterlens.reading.formats.sources import ALL_SHEETS, open_table
from raterlens.reading.formats.workbook import WORKBOOKS, sheet_names
from raterlens.reading.interpret import likely_roles
from raterlens.reading.read import read_with_plan
from raterlens.reading.wide_layouts import likely_pattern, swapped_pattern

Say = Callable[[dict[str, Any]], None]

WIDE, NARROW = 640, 358
"""Pixels of pictures for a desk and for a phone."""

SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_TEXT = 6, 400, 40
"""Limits of a table's preview."""

PAUSE = 0.1
"""Minimum seconds between reports of progress."""


def preview(path: str, name: str, sheet: str | None, progress: Say) -> dict[str, Any]:
    """Preview a file: columns, first rows, number of rows, guesses about the columns; in a workbook, of the sheet asked
    for or the one that the reader chooses."""
    config = ReadConfig(table=sheet)
    with _named(path, name):
        sheets = sheet_names(Path(path)) if path.endswith(WORKBOOKS) else []
        with open_table(path, config) as table:
            if len(table.columns) > SHOWN_COLUMNS:
                raise InputError(
                    f"{name!r} has {len(table.columns):,} columns, and this page shows {SHOWN_COLUMNS}",
                    "keep the student, rater, item and score columns, or use raterlens fit on the command line",
                    value=len(table.columns),
                )
            rows = table.take(table.columns)
            frame = rows.frame
            if frame.is_empty():
                what = f"{table.name} has a header ({listed(table.columns)}) but no rows"
                raise InputError(what, "add the ratings below it")
            # In memory, so that rows are not read again.
            known = replace(
                table, take=lambda wanted: replace(rows, frame=frame.select(wanted)), query=None, large=False
            )
            found = guess(known, config)
    several = [*sheets, ALL_SHEETS] if len(sheets) > 1 else []
    return {
        "columns": list(frame.columns),
        "rows": [
            ["" if cell is None else str(cell)[:SHOWN_TEXT] for cell in row]
            for row in frame.head(SHOWN_ROWS).iter_rows()
        ],
        "n_rows": frame.height,
        "sheets": several,
        "sheet": (found.config.table or sheets[0]) if several else None,
        "roles": {column: role for column, role in found.roles.items() if column in frame.columns},
        "patterns": found.patterns,
        "spread": found.spread,
        "given": shown(found.config),
        "findings": found.findings,
    }


class Guess(NamedTuple):
    """Initial values of the page."""

    roles: dict[str, str]
    """Roles of the columns that are recognised."""
    config: ReadConfig
    patterns: dict[str, str]
    """Meanings of score columns other than one item each, as patterns for `rl.read`."""
    spread: str
    """The most likely of them."""
    findings: list[dict[str, object]]
    """Findings: what was seen and done, and whether it is certain."""


def guess(source: object, config: ReadConfig) -> Guess:
    """Guess roles by the reader's plan; if it cannot read the table, as many as are recognised."""
    findings: list[dict[str, object]] = []
    try:
        _, plan = read_with_plan(source, config)
    except InputError:
        with open_table(source, config) as table:
            roles = likely_roles(table, config)
    else:
        config = plan.config
        named = {name: role for role in COLUMN_ROLES for name in config.names(role) if name != ROW}
        roles = {name: "score" if role == "items" else role for name, role in named.items()}
        findings = [
            {"text": sentence(worded(finding.note, label)), "certain": finding.certain}
            for finding in plan.findings
        ]
    scores = [column for column, role in roles.items() if role == "score"]
    known, wide = patterns(scores), config.wide
    if wide is not None:
        spread = "grid" if "{item}" in wide else "rater"
        known |= {"grid": wide, "turned": swapped_pattern(wide)} if "{item}" in wide else {"rater": wide}
    elif "rater" in roles.values() or len(scores) < 2:
        spread = "item"
    else:
        spread = "grid" if "grid" in known else "rater"
    return Guess(roles, config, known, spread, findings)


def patterns(scores: Sequence[str]) -> dict[str, str]:
    """Return the possible meanings of score columns: one rater each, or, if the names form a grid, a rater and an item
    in either order."""
    grid = likely_pattern(scores)
    return {"rater": "{rater}"} | ({} if grid is None else {"grid": grid, "turned": swapped_pattern(grid)})


def check(path: str, name: str, read: dict[str, Any], progress: Say) -> dict[str, Any]:
    """Say how the table is read, what has to be confirmed, and who can be compared with whom."""
    with _named(path, name):
        found = check_data(path, **read)
    return {
        "data": size_words(found.ratings),
        **{
            name: [sentence(worded(text, label)) for text in getattr(found, name)]
            for name in ("notes", "questions", "warnings")
        },
        "categories": found.ratings.n_categories,
        "fine": found.ratings.on_fine_scale,
    }


def fit(
    path: str,
    name: str,
    read: dict[str, Any],
    fit: dict[str, Any],
    folder: str,
    progress: Say,
    *,
    decide: str | None = None,
    remark: int | None = None,
) -> dict[str, Any]:
    """Fit, diagnose and write everything that can be viewed or downloaded."""
    watch = Watch(_reports(progress))
    request = Request(file=name, read=ReadConfig(**read), fit=FitConfig(**fit), decide=decide, remark=remark)
    run = Run(watch.on_iteration, on_stage=watch.start_stage)
    check_request(request, run)
    with _named(path, name):
        found = fit_request(request, run, Path(path))
    watch.start_stage("writing")
    reproduction = replace(found.request, out="results").reproduction()
    try:
        check_excel(found.ratings)
        xlsx = True
    except OptionError:  # the extra is not installed, or a sheet has no room for everybody
        xlsx = False
    found.write(Path(folder), reproduction=reproduction, xlsx=xlsx)
    return {
        "headline": headline(found.found).text,
        "data": size_words(found.ratings),
        "converged": found.fit.converged,
    }


def compare(folders: list[str], names: list[str], progress: Say) -> dict[str, Any]:
    """Compare fits: models, findings in words, and every rater in each."""
    found = compare_fits(*(load(Path(folder) / "fit.json") for folder in folders), names=names)
    picture = two_fits(found.tables["raters"], names)
    return {
        "models": [
            {name: _plain(value) for name, value in row.items()}
            for row in found.tables["models"].iter_rows(named=True)
        ],
        "words": found.words(),
        "warnings": [sentence(worded(warning, label)) for warning in found.warnings],
        "pictures": {kind: picture.svg(width) for kind, width in (("wide", WIDE), ("narrow", NARROW))},
        "raters": [
            {
                "rater": str(row["rater"]),
                "kappas": [_plain(row[f"kappa {name}"]) for name in names],
                "ranks": [row[f"rank {name}"] for name in names],
                "moved": row["moved"],
            }
            for row in found.tables["raters"]
            .sort("moved", descending=True, maintain_order=True)
            .iter_rows(named=True)
        ],
    }


TASKS = {"preview": preview, "check": check, "fit": fit, "compare": compare}


def _reports(say: Say) -> Show:
    """Report progress to the page: every stage, and some iterations."""
    last = 0.0

    def show(done: float, stage: str, iteration: Progress | None) -> None:
        nonlocal last
        if iteration is None:
            say({"stage": stage, "share": done})
        elif time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            step = {"step": iteration.iteration, "loglik": f"{iteration.loglik:,.2f}"}
            say({"stage": stage, "share": done, **step})

    return show


@contextmanager
def _named(path: str, name: str) -> Iterator[None]:
    """Make messages use the visitor's name for the file instead of ours."""

    def named(text: str) -> str:
        if isinstance(text, Message):
            return Message(*(named(part) if isinstance(part, str) else part for part in text.parts))
        return text.replace(path, name).replace(Path(path).name, name)

    try:
        yield
    except RaterlensError as error:
        raise type(error)(
            named(error.what), named(error.remedy), value=error.value, option=error.option
        ) from None


def _plain(value: Any) -> Any:
    """Replace NaN, which JSON lacks, by None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
