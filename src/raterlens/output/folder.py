"""Results in a folder: checked before any work, written as a whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from raterlens.base.atomic_files import (
    can_be_exchanged,
    lock_folder,
    reason,
    remove_stale_folders,
    replace_files,
    staging_folder,
)
from raterlens.base.errors import OptionError
from raterlens.base.threads import in_background

if TYPE_CHECKING:
    import polars as pl

    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.fitting.fit import Fit
    from raterlens.output.report.page import Document
    from raterlens.output.report.reproduce import Reproduction
    from raterlens.ratings.coded import Ratings

FLAGS, WORKBOOK, LABELS = "flags.csv", "results.xlsx", "labels.csv"
FILES = ("raters.csv", "items.csv", "students.csv", "fit.json", "report.html")
DECIDED = ("decisions.csv", "accuracy.csv", "remark.csv")
DIAGNOSED = (
    *("interactions.csv", "groups.csv", "draws.csv", FLAGS, "unexpected.csv", "bias.csv", "pairs.csv"),
    *("categories.csv", "change.csv", "drift.csv", "alarms.csv", LABELS),
)
JUDGED = ("judges.csv", LABELS, "systems.csv", "differences.csv", "slices.csv")


def check_folder(out: Path) -> None:
    """Raise if results cannot be written to `out`; leave no trace."""
    try:
        folder, files = _existing(out), (*FILES, *DIAGNOSED, *DECIDED, WORKBOOK, *JUDGED)
        taken = [name for name in files if (out / name).is_dir()]
        why, remedy = "", ""
        if out.exists() and not out.is_dir():
            why, remedy = "it is a file", "give a folder, new or existing"
        elif not folder.is_dir():
            why, remedy = f"'{folder}' is not a folder", "give another one"
        elif taken:
            why, remedy = f"it has a folder named '{taken[0]}'", "rename it, or give another folder"
        else:
            with staging_folder(folder):
                pass
    except OSError as error:
        said = reason(error)
        why, remedy = f"{said[:1].lower()}{said[1:]}", "give a folder you may write to"
    if why:
        raise OptionError(f"cannot write results to '{out}': {why}", remedy, value=out, option="out")


def write_results(
    fit: "Fit",
    out: Path,
    *,
    reproduction: "Reproduction | None" = None,
    ratings: "Ratings | None" = None,
    found: "PanelFindings | None" = None,
    document: "Document | None" = None,
    xlsx: bool = False,
) -> None:
    """Write raters.csv, items.csv, students.csv, fit.json and report.html; interactions.csv, groups.csv and
    draws.csv where the model has interactions, groups of students or repeated answers, labels.csv where it has true
    scores (`hrm`, `dawid-skene`); with a diagnosis also flags.csv and unexpected.csv, pairs.csv where raters share
    work, bias.csv where there is more than one item or a group,
    categories.csv where scores are ordered, change.csv, drift.csv and alarms.csv where a time or an earlier fit is
    given; decisions.csv, accuracy.csv, remark.csv and results.xlsx where asked for.

    Files of these names are replaced, and those that only an earlier fit wrote are removed; anything else in the folder
    is left alone. All are complete and on disk before any is put in place, and the folder is exchanged as a whole.
    """
    # Only now: the command line checks folders without polars, and draws no page before there is a fit.
    from raterlens.output.report.page import render
    from raterlens.output.result_tables import result_tables

    with _draft(out) as (draft, out):
        tables = result_tables(fit, found, document)

        def write_tables() -> None:
            _write_tables(tables, draft)
            (draft / "fit.json").write_text(fit.to_json(), encoding="utf-8")

        with in_background(write_tables) as tables_are_written:
            page = render(fit, reproduction, ratings, found, document)
            (draft / "report.html").write_text(page, encoding="utf-8")
            tables_are_written()
        if xlsx:
            from raterlens.output.excel import write_workbook

            cautions = () if document is None else document.cautions
            warned = replace(fit, warnings=(*fit.warnings, *cautions))
            write_workbook(warned, draft / WORKBOOK, tables, found)
        further = [f"{name}.csv" for name in tables if f"{name}.csv" not in FILES]
        written = (*FILES, *further, *([WORKBOOK] * xlsx))
        stale = {*DIAGNOSED, *DECIDED, WORKBOOK} - {*written} if (out / "fit.json").exists() else set()
        replace_files(draft, out, written, stale)


def write_judges(tables: "Mapping[str, pl.DataFrame]", out: Path) -> None:
    """Write a csv file per table of a judge report, as `write_results` writes its files."""
    with _draft(out) as (draft, out):
        written = _write_tables(tables, draft)
        stale = {*JUDGED} - {*written} if (out / JUDGED[0]).exists() else set()
        replace_files(draft, out, written, stale)


def _write_tables(tables: "Mapping[str, pl.DataFrame]", draft: Path) -> list[str]:
    for name, table in tables.items():
        harmless(table).write_csv(draft / f"{name}.csv")
    return [f"{name}.csv" for name in tables]


@contextmanager
def _draft(out: Path) -> Iterator[tuple[Path, Path]]:
    """A folder to draft files in, and the one to put them in: nobody else writes there meanwhile."""
    check_folder(out)
    if out.is_symlink():
        out = out.resolve()  # the folder is exchanged, the link stays
    with (
        staging_folder(_existing(out.absolute().parent if can_be_exchanged(out) else out)) as draft,
        lock_folder(out),
    ):
        # of a run that was killed before there was this folder
        remove_stale_folders(_existing(out.absolute().parent))
        yield draft, out


def _existing(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists: on the same disk as what will be made in it."""
    return next(
        folder
        for folder in (path.absolute(), *path.absolute().parents)
        if folder.exists() or folder.is_symlink()
    )


_RISKY = r"^[=+\-@\t\r\n＝＋－＠]"
"""Characters that make Excel and its kin compute a cell; the wide forms are those of East Asian keyboards."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(table: "pl.DataFrame") -> "pl.DataFrame":
    """The table with an apostrophe before each text that a spreadsheet would compute; numbers stay as they are.

    Examples
    --------
    >>> import polars as pl
    >>> harmless(pl.DataFrame({"rater": ["=cmd()", "-3", "AM"]}))["rater"].to_list()
    ["'=cmd()", '-3', 'AM']
    """
    import polars as pl  # the command line checks folders without it

    text = pl.col(name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical)).cast(
        pl.String
    )
    return table.with_columns(
        pl.when(text.str.contains(_RISKY) & ~text.str.contains(_NUMBER))
        .then(pl.lit("'") + text)
        .otherwise(text)
        .name.keep()
    )
