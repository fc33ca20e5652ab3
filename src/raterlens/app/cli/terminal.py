"""Terminal output, for any width and alphabet."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from raterlens.app.cli.main import discard_stdout
from raterlens.base.text import MISSING, counted, interval, listed, number, printable, sentence, worded
from raterlens.output.report.reproduce import as_flag
from raterlens.ratings.coded import size_words

if TYPE_CHECKING:
    from raterlens.diagnostics.findings import RaterFindings
    from raterlens.fitting.run import FittedRequest
    from raterlens.judging.gate import Gate
    from raterlens.judging.judge import JudgeReport
    from raterlens.output.data_check import DataCheck

ALL_SHOWN, ENDS = 40, 10
"""Up to 40 raters are listed; beyond that, the 10 at either end."""

NAMED = 6
"""Maximum number of raters named per piece of advice; the table and the report have all."""

PIPED_WIDTH = 126
"""Width if there is no terminal to fit into."""

WORDS = 48
"""Longer labels and verdicts are folded rather than crowding out numbers."""

LONGEST = 400
"""Maximum characters shown of a label."""

_COLOURS = {"fine": "green", "borderline": "cyan", "attention": "yellow", "unclear": "dim", "flagged": "cyan"}

BAR = 20
"""Characters between capability 0 and 1."""

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]

_PLAIN = str.maketrans({"–": "-", "─": "-", "●": "o", "·": ".", "…": "...", "•": "*", "→": "->"})


class _Console(Console):
    def on_broken_pipe(self) -> None:
        discard_stdout()  # rich would end the program with an error; a closed pipe is none


class Terminal:
    """Standard output."""

    def __init__(self) -> None:
        console = _Console(highlight=False, emoji=False, markup=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console = _Console(highlight=False, emoji=False, markup=False, width=PIPED_WIDTH)
        self._console = console
        self._plain = "utf" not in console.encoding.lower()

    def fit(self, done: "FittedRequest", *, out: Path | None = None, everyone: bool = False) -> None:
        """Print what was read, what it means for students, the raters, cautions, and the fit."""
        # heavy, and no matter to a check
        from raterlens.diagnostics.wording import caveats, common_fault, headline, meaning, rater_table

        fit, found = done.fit, done.found
        answer, raters = headline(found), rater_table(fit, found.raters)
        raters = raters if found.ranked else raters.sort("rater", maintain_order=True)
        self._data(fit, fit.notes)
        self._heading(answer.text)
        self._bullets("What it means", meaning(found))
        self._bullets("Decisions", done.decided)
        if found.monitoring is not None:
            since = "Since the previous fit" if found.monitoring.changes.height else "Drift"
            self._bullets(since, found.monitoring.words())
        self._heading(answer.who + (f"; {answer.aside}" if answer.aside else ""))
        if everyone or raters.height <= ALL_SHOWN:
            self._raters(raters)
        else:
            for part, ranked, named in (
                (raters.head(ENDS), "most capable", "first by name"),
                (raters.tail(ENDS), "least capable", "last by name"),
            ):
                self._line(f"The {ENDS} {ranked if found.ranked else named}:")
                self._raters(part)
            where = f"see {out / 'raters.csv'}" if out else "add --all, or --out DIR for raters.csv"
            self._line(f"{counted(raters.height - 2 * ENDS, 'rater')} in between not shown; {where}.")
        self._advice(found.raters)
        common = common_fault(found)
        known = (*caveats(fit), *fit.warnings, *found.cautions(), *done.cautions)
        self._bullets("Cautions", (common, *known) if common else known)
        self._bullets("The data decided", fit.decided)
        self._heading("Fit")
        self._line(
            f"{fit.model} by {fit.method}, {fit.link} link: log-likelihood {number(fit.loglik, 4)}, "
            f"{counted(fit.n_parameters, 'parameter')}, AIC {number(fit.aic, 1)}, BIC {number(fit.bic, 1)}"
        )
        iterations = counted(fit.optimiser.iterations, "iteration")
        ended = f"Did not converge in {iterations}: {fit.optimiser.stopped}"
        self._line(f"Converged in {iterations}" if fit.converged else ended)
        if out:
            self._path(f"Report: {out / 'report.html'}")
        else:
            self._line("Add --out DIR for a report and the tables as files.")

    def check(self, found: "DataCheck") -> None:
        """Print what was read, what has to be decided, who can be compared with whom, and the command for the fit."""
        self._data(found.ratings, found.notes)
        self._bullets("Please confirm or change", found.questions)
        self._bullets("Cautions", found.warnings)
        if not found.warnings:
            self._line("All raters can be compared.")
        self._heading("If this is right" if found.questions else "Next")
        self._path(found.request.command())

    def gate(self, gate: "Gate") -> None:
        """Print whether all raters passed, and who did not."""
        answer, *rest = gate.summary().splitlines()
        self._line(answer, style="bold green" if gate.passed else "bold red")
        self._list(line.strip() for line in (*rest, *gate.changed))  # they begin with a rater's name
        self._items(gate.notes)

    def judges(self, found: "JudgeReport") -> None:
        """Print every judge against the truth, pass rates, and further findings."""
        self._items(found.notes)
        self._heading(found.headline())
        self._line(printable(found.basis()))
        headings, rows = found.columns()
        last = len(headings) - 1
        table = self._new_table({name: place in (0, last) for place, name in enumerate(headings)})
        for row in rows:
            table.add_row(*(self._label(text) for text in row))
        self._console.print(table)
        if found.rates is not None:
            self._heading(f"Pass rate by {found.rates.by}")
            for line in found.rates.lines():
                self._line(printable(line))
        self._heading("Findings")
        self._list(found.sentences())  # they may begin with a judge's name
        if found.changed:
            self._heading("Since the last run")
        self._list(found.changed or ())

    def _new_table(self, columns: dict[str, bool]) -> Table:
        """A table with these headings; those of text are on the left and folded."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for heading, text in columns.items():
            table.add_column(Text(self._text(heading)), overflow="fold", justify="left" if text else "right")
        return table

    def _label(self, text: str) -> Text:
        return Text(self._text(printable(text)[:LONGEST]))

    def _data(self, sizes: Any, notes: Iterable[str]) -> None:
        self._line(size_words(sizes), style="bold")
        self._items(notes)

    def _raters(self, raters: pl.DataFrame) -> None:
        rows = list(raters.iter_rows(named=True))
        columns = self._columns(rows)
        table = self._new_table({"Rater": True, **{name: False for name, _ in columns}, "Verdict": True})
        table.columns[0].min_width, table.columns[-1].min_width = 6, 12
        for column in table.columns[1:-1]:
            column.no_wrap = True
        for row in rows:
            numbers = [Text(self._text(write(row))) for _, write in columns]
            table.add_row(
                self._label(row["rater"]), *numbers, Text(row["label"], style=_COLOURS[row["status"]])
            )
        self._console.print(table)

    def _columns(self, rows: list[Row]) -> list[Column]:
        """Choose the columns of numbers that fit the width, with room for the verdict."""
        words = max(len(printable(row["rater"])) for row in rows) + max(len(row["label"]) for row in rows)
        room = self._console.width - min(words, WORDS) - 2
        chosen: list[Column] = []
        for columns in _COLUMNS:
            room -= sum(max(len(heading), len(write(rows[0]))) + 2 for heading, write in columns)
            if chosen and room < 0:
                break
            chosen += columns
        return chosen

    def _advice(self, raters: "Sequence[RaterFindings]") -> None:
        from raterlens.diagnostics.wording import label, most_urgent, next_step  # as above

        steps: dict[tuple[str, str], list[str]] = {}
        for it in most_urgent(raters, "attention", "borderline", "unclear"):
            steps.setdefault((label(it), next_step(it)), []).append(it.rater)
        if steps:
            self._heading("What would help")
        self._list(f"{verdict} ({listed(names, NAMED)}): {step}" for (verdict, step), names in steps.items())

    def _bullets(self, heading: str, items: Iterable[str]) -> None:
        items = list(items)
        if items:
            self._heading(heading)
        self._items(items)

    def _items(self, texts: Iterable[str]) -> None:
        self._list(sentence(printable(worded(text, as_flag))) for text in texts)

    def _heading(self, text: str) -> None:
        self._console.print()
        self._line(text, style="bold")

    def _list(self, texts: Iterable[str]) -> None:
        grid = Table.grid(padding=(0, 1, 0, 0))
        for text in texts:
            grid.add_row(self._text(" •"), Text(self._text(printable(text)), overflow="fold"))
        if grid.rows:
            self._console.print(grid)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(self._text(text), style=style, overflow="fold"))

    def _path(self, text: str) -> None:
        """Print a line without wrapping, to be copied or clicked."""
        self._console.print(Text(printable(text), style="bold"), soft_wrap=True)

    def _text(self, text: str) -> str:
        return text.translate(_PLAIN) if self._plain else text


def _bar(row: Row) -> str:
    """Draw the interval between 0 and 1."""
    kappa, low, high = row["kappa"], row["kappa_low"], row["kappa_high"]
    if kappa is None or kappa != kappa:
        return MISSING
    ends = (kappa, kappa) if interval(low, high) == MISSING else (low, high)
    at, first, last = (min(max(int(value * BAR), 0), BAR - 1) for value in (kappa, *ends))
    cells = ["─" if first <= place <= last else "·" for place in range(BAR)]
    cells[at] = "●"
    return "".join(cells)


# In the order in which a narrow terminal goes without: the last first.
_COLUMNS: tuple[list[Column], ...] = (
    [("Capability", lambda row: number(row["kappa"]))],
    [
        ("95 % int.", lambda row: interval(row["kappa_low"], row["kappa_high"])),
        ("Ratings", lambda row: f"{row['n']:,}"),
    ],
    [
        ("Standard", lambda row: number(None if row["passes"] is None else 100 * row["passes"], 0)),
        ("Sharpness", lambda row: number(row["sharpness"])),
    ],
    [("Severity", lambda row: number(row["eta"])), ("Discrimination", lambda row: number(row["rho"]))],
    [("0" + "·" * (BAR - 2) + "1", _bar)],
)
