"""Results as an Excel workbook: formatted sheets of raters, items, students and warnings.

Every text is written as text: a label such as `=cmd()` stays a label, whatever a spreadsheet would do with it in a CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.base.errors import OptionError
from raterlens.diagnostics.findings import panel_findings
from raterlens.diagnostics.wording import rater_table
from raterlens.output.report import english as words
from raterlens.output.result_tables import OF_GROUPS, result_tables

if TYPE_CHECKING:
    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

MOST_ROWS = 1_048_575
"""Below the heading, in a sheet of Excel."""

# Excel takes no longer text in a cell.
_LONGEST = 32_767
_WIDEST = 60

_SHEETS = {
    "raters": "Raters",
    "items": "Items",
    "students": "Students",
    "interactions": "Interactions",
    "groups": "Groups",
    "draws": "Draws",
    "decisions": "Decisions",
    "accuracy": "Accuracy",
    "remark": "Mark again",
    "flags": "Flags",
    "unexpected": "Unexpected ratings",
    "bias": "Bias",
    "pairs": "Pairs of raters",
    "categories": "Scores",
    "change": "Change",
    "drift": "Drift",
    "alarms": "Drift alarms",
    "labels": "Labels",
}
"""Names of sheets, by table."""
_PROSE = ("sentence", "next_step")
_SCALE = ("#F4B183", "#FFF2CC", "#9DC3E6")  # low, middle, high: told apart by every eye
_MIDDLE = 0.7


def check_excel(sizes: Ratings | Result | None = None, *, most: int = MOST_ROWS) -> None:
    """Raise if a workbook cannot be written, or has no room for all students, raters or items."""
    if find_spec("xlsxwriter") is None:
        what = "Excel files need the package xlsxwriter, which is not installed"
        raise OptionError(what, "run: pip install 'raterlens[excel]'")
    if sizes is None:
        return
    for name, n in (("students", sizes.n_students), ("raters", sizes.n_raters), ("items", sizes.n_items)):
        if n > most:
            what = f"{n:,} {name}, but an Excel sheet has room for {most:,}"
            raise OptionError(what, f"leave Excel out and use {name}.csv", value=n)


def write_workbook(
    fit: Result, path: Path, tables: Mapping[str, pl.DataFrame], found: PanelFindings | None = None
) -> None:
    """Write the workbook of `result_tables`; `found`, where more is known than the estimates say."""
    check_excel(fit)
    import xlsxwriter  # optional package

    options = {
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": False,
        "constant_memory": True,
    }
    with xlsxwriter.Workbook(str(path), options) as book:
        book.set_properties({"title": "Raterlens results"})
        formats = {
            "heading": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}),
            "text": book.add_format({"valign": "top"}),
            "count": book.add_format({"num_format": "#,##0", "valign": "top"}),
            "number": book.add_format({"num_format": "0.00", "valign": "top"}),
            "prose": book.add_format({"text_wrap": True, "valign": "top"}),
        }
        for name, title in _SHEETS.items():
            if name in tables:
                table = _raters(fit, found) if name == "raters" else tables[name]
                table = table.rename(OF_GROUPS) if name == "groups" else table
                _fill(sheet := book.add_worksheet(title), table.head(MOST_ROWS), formats)
                if name == "raters" and table.height:
                    _colour(sheet, table)
        _warnings(book.add_worksheet("Warnings"), fit, found, formats)


def write_fit(fit: Fit, path: Path, ratings: Ratings | None) -> Path:
    """Write the workbook of a fit: `Fit.to_excel`."""
    check_excel(fit)
    found = None if ratings is None else panel_findings(fit, ratings)
    write_workbook(fit, path, result_tables(fit, found), found)
    return path


def _raters(fit: Result, found: PanelFindings | None) -> pl.DataFrame:
    """With verdicts, the most capable first."""
    rows = rater_table(fit, None if found is None else found.raters).drop("status")
    first = ["rater", "label", "standard", "sharpness_verdict", "costs_most"]
    first += ["kappa", "kappa_low", "kappa_high"]
    rows = rows.select(*first, pl.exclude(*first))
    return rows if found is None or found.diagnosis is None else found.diagnosis.beside("raters", rows)


def _fill(sheet: Any, table: pl.DataFrame, formats: dict[str, Any]) -> None:
    columns = table.columns
    kinds = [_kind(table[name]) for name in columns]
    sheet.set_row(0, 32)
    for place, (name, kind) in enumerate(zip(columns, kinds, strict=True)):
        heading = words.heading(name)
        sheet.set_column(place, place, _width(table[name], heading, kind), formats[kind])
        sheet.write_string(0, place, heading, formats["heading"])
    for row, cells in enumerate(table.iter_rows(), start=1):
        for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
            if cell is None or cell != cell:
                continue
            if kind in ("text", "prose"):
                sheet.write_string(row, place, _text(cell), formats[kind])
            elif cell in (float("inf"), float("-inf")):
                sheet.write_string(row, place, "∞" if cell > 0 else "-∞", formats["text"])
            else:
                sheet.write_number(row, place, cell, formats[kind])
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(table.height, 1), len(columns) - 1)


def _colour(sheet: Any, table: pl.DataFrame) -> None:
    place = table.columns.index("kappa")
    rule: dict[str, object] = {"type": "3_color_scale"}
    for end, value, colour in zip(("min", "mid", "max"), (0, _MIDDLE, 1), _SCALE, strict=True):
        rule |= {f"{end}_type": "num", f"{end}_value": value, f"{end}_color": colour}
    sheet.conditional_format(1, place, table.height, place, rule)


def _warnings(sheet: Any, fit: Result, found: PanelFindings | None, formats: dict[str, Any]) -> None:
    sheet.set_column(0, 0, 16, formats["text"])
    sheet.set_column(1, 1, 110, formats["prose"])
    sheet.write_string(0, 0, "Kind", formats["heading"])
    sheet.write_string(0, 1, "Message", formats["heading"])
    warned = [*fit.warnings, *(() if found is None else found.cautions())]
    lines = [("warning", text) for text in warned] + [("reading", text) for text in fit.notes]
    if not warned:
        lines.insert(0, ("warning", "no problems were found in the data or the fit"))
    ended = "converged" if fit.converged else "did NOT converge"
    lines.append(
        ("fit", f"{fit.model} by {fit.method}, {fit.link} link: log-likelihood {fit.loglik:.4f}, {ended}")
    )
    for row, (kind, text) in enumerate(lines, start=1):
        sheet.write_string(row, 0, kind, formats["text"])
        sheet.write_string(row, 1, _text(text), formats["prose"])
    sheet.freeze_panes(1, 0)


def _kind(column: pl.Series) -> str:
    if column.name in _PROSE:
        return "prose"
    return "text" if not column.dtype.is_numeric() else "number" if column.dtype.is_float() else "count"


def _width(column: pl.Series, heading: str, kind: str) -> float:
    """Characters: of the longest label, or of a number under a heading in two lines."""
    if kind == "prose":
        return _WIDEST
    if kind != "text":
        return max(9.0, 1.2 * max(len(word) for word in heading.split()) + 1)
    longest = max(column.cast(pl.String).str.len_chars().fill_null(0), default=0)
    return float(min(max(longest, len(heading)) + 2, _WIDEST))


def _text(value: object) -> str:
    """As a cell holds it: without characters that XML forbids."""
    text = str(value)[:_LONGEST]
    return "".join(c if c in "\t\n" or (c.isprintable() or ord(c) >= 0xA0) else "·" for c in text)
