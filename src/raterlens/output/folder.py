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

TABLES = ("raters", "items", "students")
FURTHER = ("interactions", "groups", "draws")
"""Tables that only some models have."""
FLAGS, WORKBOOK = "flags.csv", "results.xlsx"
DECIDED = ("decisions.csv", "accuracy.csv", "remark.csv")
ALARMS, LABELS = "alarms.csv", "labels.csv"
DIAGNOSED = (
    *(f"{table}.csv" for table in FURTHER),
    *(FLAGS, "unexpected.csv", "bias.csv", "pairs.csv", "categories.csv", "change.csv", "drift.csv"),
    *(ALARMS, LABELS),
)
FILES = (*(f"{table}.csv" for table in TABLES), "fit.json", "report.html")
JUDGED = ("judges.csv", LABELS, "systems.csv", "differences.csv", "slices.csv")


def check_folder(out: Path) -> None:
    """Raise if results cannot be written to `out`; leave no trace."""
    try:
        if out.exists() and not out.is_dir():
            raise _cannot(out, "it is a file", "give a folder, new or existing")
        folder = _existing(out)
        if not folder.is_dir():
            raise _cannot(out, f"'{folder}' is not a folder", "give another one")
        for name in (*FILES, *DIAGNOSED, *DECIDED, WORKBOOK, *JUDGED):
            if (out / name).is_dir():
                raise _cannot(out, f"it has a folder named '{name}'", "rename it, or give another folder")
        with staging_folder(folder):
            pass
    except OSError as error:
        why = reason(error)
        raise _cannot(out, f"{why[:1].lower()}{why[1:]}", "give a folder you may write to") from error


def _cannot(out: Path, why: str, remedy: str) -> OptionError:
    return OptionError(f"cannot write results to '{out}': {why}", remedy, value=out, option="out")


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

    with _draft(out) as (draft, out):
        with in_background(lambda: _write_fit(fit, draft, found)) as fit_is_written:
            page = render(fit, reproduction, ratings, found, document)
            (draft / "report.html").write_text(page, encoding="utf-8")
            fit_is_written()
        by_raters = (
            {"groups"} if fit.config.group_means == "raters" else set()
        )  # sets only say who marked whom
        further = [part for part in FURTHER if part in fit.tables and part not in by_raters]
        diagnosed = {f"{part}.csv": fit.table(part) for part in further}
        diagnosed |= {LABELS: fit.label_table()} if "truth" in fit.tables else {}
        diagnosed |= {} if found is None or found.diagnosis is None else found.diagnosis.files()
        diagnosed |= {} if document is None else document.files()
        if found is not None and found.monitoring is not None and found.monitoring.alarms is not None:
            diagnosed |= {ALARMS: found.monitoring.alarms}
        for file, table in diagnosed.items():
            harmless(table).write_csv(draft / file)
        if xlsx:
            from raterlens.output.excel import write_workbook

            cautions = () if document is None else document.cautions
            warned = replace(fit, warnings=(*fit.warnings, *cautions))
            write_workbook(warned, draft / WORKBOOK, found, diagnosed)
        written = (*FILES, *diagnosed, *([WORKBOOK] * xlsx))
        stale = {*DIAGNOSED, *DECIDED, WORKBOOK} - {*written} if (out / "fit.json").exists() else set()
        replace_files(draft, out, written, stale)


def write_judges(tables: "Mapping[str, pl.DataFrame]", out: Path) -> None:
    """Write a csv file per table of a judge report, as `write_results` writes its files."""

    with _draft(out) as (draft, out):
        written = [f"{name}.csv" for name in tables]
        for file, table in zip(written, tables.values(), strict=True):
            harmless(table).write_csv(draft / file)
        stale = {*JUDGED} - {*written} if (out / JUDGED[0]).exists() else set()
        replace_files(draft, out, written, stale)


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


def _write_fit(fit: "Fit", draft: Path, found: "PanelFindings | None") -> None:
    """Write the estimates, and the fair results of students if they are known."""
    from raterlens.diagnostics.wording import with_verdicts  # as above

    results = None if found is None else found.consequences.table()
    for part in TABLES:
        table = (
            with_verdicts(fit, None if found is None else found.raters)
            if part == "raters"
            else fit.table(part)
        )
        if part == "students" and results is not None:
            table = table.join(results, on="student", how="left", maintain_order="left")
        if found is not None and found.diagnosis is not None:
            table = found.diagnosis.beside(part, table)
        harmless(table).write_csv(draft / f"{part}.csv")
    (draft / "fit.json").write_text(fit.to_json(), encoding="utf-8")


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
