"""Tasks of a worker. Each task reads and writes files of the session; only small answers are sent back."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from raterlens.app.web.column_guesses import TYPED, guess
from raterlens.app.web.option_labels import label
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.base.text import Message, counted, listed, sentence, worded
from raterlens.config import FitConfig, ReadConfig
from raterlens.diagnostics.comparison import compare as side_by_side
from raterlens.diagnostics.findings import panel_findings
from raterlens.diagnostics.wording import headline
from raterlens.estimation.optimiser import TOLERANCE, Progress
from raterlens.fitting.api import fit_as_clear, load
from raterlens.fitting.line import check as check_request
from raterlens.fitting.steps import Run
from raterlens.grading.asked_decisions import AskedDecisions
from raterlens.output.excel import check_excel
from raterlens.output.folder import write_results
from raterlens.output.report.document import Document
from raterlens.output.report.reproduce import Request
from raterlens.pictures.decision_chart import two_fits
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import examine, examine_links, pairing_warnings
from raterlens.reading.formats.several_tables import ALL_SHEETS
from raterlens.reading.formats.sources import open_table
from raterlens.reading.formats.workbook import WORKBOOKS, sheet_names
from raterlens.reading.read import read as read_ratings

Say = Callable[[dict[str, Any]], None]

WIDE, NARROW = 640, 358
"""Pixels of pictures for a desk and for a phone."""

SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_TEXT = 6, 400, 40
"""Limits of a table's preview."""


def preview(path: str, name: str, sheet: str | None, progress: Say) -> dict[str, Any]:
    """Preview a file: columns, first rows, number of rows, and guesses about the columns; in a workbook, the sheet
    asked for, else as the reader understands it."""
    with _named(path, name):
        sheets = sheet_names(Path(path)) if path.endswith(WORKBOOKS) else []
        found = guess(path, ReadConfig(table=sheet))
        config = ReadConfig(table=found.config.table, encoding=found.config.encoding)
        seen = _seen(path, name, config)
    several = [*sheets, ALL_SHEETS] if len(sheets) > 1 else []
    chosen = (found.config.table or sheets[0]) if several else None
    typed = {option: str(value) for option, value in found.config.given().items() if option in TYPED}
    return seen | {
        "sheets": several,
        "sheet": chosen,
        "roles": {column: role for column, role in found.roles.items() if column in seen["columns"]},
        "patterns": found.patterns,
        "spread": found.spread,
        "typed": typed,
        "encoding": found.config.encoding,
        "findings": found.findings,
    }


def _seen(path: str, name: str, config: ReadConfig) -> dict[str, Any]:
    with open_table(path, config) as table:
        if len(table.columns) > SHOWN_COLUMNS:
            raise InputError(
                f"{name!r} has {len(table.columns):,} columns, and this page shows {SHOWN_COLUMNS}",
                "keep the student, rater, item and score columns, or use raterlens fit on the command line",
                value=len(table.columns),
            )
        frame = table.take(table.columns).frame
    if frame.is_empty():
        raise InputError(
            f"{table.name} has a header ({listed(table.columns)}) but no rows", "add the ratings below it"
        )
    head = frame.head(SHOWN_ROWS)
    return {
        "columns": list(frame.columns),
        "rows": [
            ["" if cell is None else str(cell)[:SHOWN_TEXT] for cell in row] for row in head.iter_rows()
        ],
        "n_rows": frame.height,
    }


def check(path: str, name: str, read: dict[str, Any], progress: Say) -> dict[str, Any]:
    """Describe how the table was read, and who can be compared with whom."""
    ratings = _read(path, name, ReadConfig(**read))
    warnings = (*examine(ratings).warnings, *pairing_warnings(ratings), *examine_links(ratings).warnings)
    return {
        "data": _size(ratings),
        "notes": [sentence(worded(note, label)) for note in ratings.notes],
        "warnings": [sentence(worded(text, label)) for text in warnings],
        "categories": ratings.n_categories,
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
    """Fit, diagnose and write everything that can be looked at or downloaded."""
    request = Request(
        file=name, read=ReadConfig(**read), fit=FitConfig(**fit), out="results", decide=decide, remark=remark
    )
    asked = AskedDecisions(decide, remark)
    asked.check(request.fit)
    check_request(request.fit, Run())
    progress({"phase": "reading", "share": 0.02})
    ratings = _read(path, name, request.read)
    asked.check_scores(ratings)
    result, said, shape = fit_as_clear(ratings, request.fit, Run(_Share(progress)))
    request = replace(request, fit=result.config)
    progress({"phase": "checking", "share": 0.75})
    decided, plan = asked.made(result, ratings)
    cuts = None if decided is None else decided.cuts.score.tolist()
    found = panel_findings(result, ratings, cuts=cuts, shape=shape)
    progress({"phase": "writing", "share": 0.85})
    write_results(
        result,
        Path(folder),
        reproduction=request.reproduction(),
        ratings=ratings,
        found=found,
        document=Document(cautions=said, decisions=decided, remark=plan),
        xlsx=_fits_excel(ratings),
    )
    return {"headline": headline(found).text, "data": _size(ratings), "converged": result.converged}


def compare(folders: list[str], names: list[str], progress: Say) -> dict[str, Any]:
    """Fits side by side: models, what the comparison says in words, and every rater in each."""
    found = side_by_side(*(load(Path(folder) / "fit.json") for folder in folders), names=names)
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


class _Share:
    """How much of a fit is done: the gradient falls from its start to the tolerance, about evenly in logarithms."""

    FROM, TO, PAUSE = 0.1, 0.7, 0.1

    def __init__(self, say: Say) -> None:
        self._say = say
        self._first: float | None = None
        self._share = self.FROM
        self._said = 0.0

    def __call__(self, record: Progress) -> None:
        left = max(record.gradient, TOLERANCE)
        self._first = max(self._first or left, left, 2 * TOLERANCE)
        come = math.log(self._first / left) / math.log(self._first / TOLERANCE)
        # Stages begin anew on a finer grid; a bar that goes back would alarm.
        self._share = max(self._share, self.FROM + (self.TO - self.FROM) * come)
        if time.monotonic() - self._said < self.PAUSE:
            return
        self._said = time.monotonic()
        self._say(
            {
                "phase": "fitting",
                "share": self._share,
                "step": record.iteration,
                "loglik": f"{record.loglik:,.2f}",
            }
        )


def _read(path: str, name: str, config: ReadConfig) -> Ratings:
    with _named(path, name):
        return read_ratings(path, **config.given())


@contextmanager
def _named(path: str, name: str) -> Iterator[None]:
    """Messages name the file as the visitor does, not as it is called on our disk."""

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


def _fits_excel(ratings: Ratings) -> bool:
    """Whether a workbook can be offered: the extra is there, and a sheet has room for everybody."""
    try:
        check_excel(ratings)
    except OptionError:
        return False
    return True


def _size(ratings: Ratings) -> str:
    return (
        f"{counted(ratings.n_ratings, 'rating')} of {counted(ratings.n_students, 'student')} by "
        f"{counted(ratings.n_raters, 'rater')} on {counted(ratings.n_items, 'item')}"
    )


def _plain(value: Any) -> Any:
    """JSON has no not-a-number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
