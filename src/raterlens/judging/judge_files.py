"""Results of `rl.judge` for people and other programs: cells of a table, Markdown, JUnit, JSON."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import interval, number, printable
from raterlens.judging.bounds import NEW, beyond
from raterlens.judging.gate import cell
from raterlens.judging.judge import NOT_TRUSTED, JudgeReport
from raterlens.judging.replacement import Replacement

FORMAT = "raterlens judges"


def columns(report: JudgeReport) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings, and the cells of every judge, as text."""
    measured = [heading for name in report.metrics for heading in (name.capitalize(), "95 % interval")]
    besides = ("Passes of 100", "Stands in") if report.people else ("Right on known", "Expected")
    rows = [_cells(row, report) for row in report.tables["judges"].iter_rows(named=True)]
    return ("Judge", *measured, *besides, "Verdict"), rows


def _cells(row: dict[str, Any], report: JudgeReport) -> tuple[str, ...]:
    measured = [
        text
        for name in report.metrics
        for text in (number(row[name]), interval(row[f"{name}_low"], row[f"{name}_high"]))
    ]
    if report.people:
        passes = number(100 * row["passes"], 0) if row.get("passes") is not None else ""
        besides = (passes, row["stands_in"] or "")
    else:
        right = f"{number(row['right'])} of {row['n_known']:,}" if row["n_known"] else ""
        besides = (right, number(row["expected"]) if row["n_known"] else "")
    return (str(row["judge"]), *measured, *besides, row["verdict"])


def system_lines(report: JudgeReport) -> list[str]:
    """Pass rates per system, one line each."""
    if report.rates is None:
        return []
    return [
        f"{row[report.rates.by]}: {number(row['rate'])} ({interval(row['low'], row['high'])}), judges pass "
        f"{number(row['observed'])}; rank {row['rank_low']} to {row['rank_high']}; {row['n']:,} answers, "
        f"{row['known']:,} known"
        for row in report.rates.tables["systems"].iter_rows(named=True)
    ]


def settled(report: JudgeReport, baseline: "Baseline | None") -> JudgeReport:
    """The report with verdicts of an earlier run standing until they are clearly wrong, as in `rl.gate`."""
    table = report.tables["judges"]
    if baseline is None or not report.confident:
        return report
    before = np.array([baseline[name][FELL] if name in baseline else NEW for name in table["judge"]])
    failed = np.zeros(table.height, dtype=bool)
    for name, bound in report.bounds.items():
        value, low, high = (
            table[f"{name}{end}"].to_numpy().astype(np.float64) for end in ("", "_low", "_high")
        )
        failed |= beyond(value, (low, high), (bound, np.inf), before) & np.isfinite(value)
    was = table["verdict"] == NOT_TRUSTED
    verdicts = pl.Series(
        "verdict", np.where(failed, NOT_TRUSTED, np.where(was, "not certain", table["verdict"]))
    )
    kept = [
        f"{row['judge']} is {word}, as in the last run: its numbers are too near the bound to say otherwise."
        for row, word in zip(table.iter_rows(named=True), verdicts, strict=True)
        if row["verdict"] != word
    ]
    tables = {**report.tables, "judges": table.with_columns(verdicts)}
    return replace(report, tables=tables, cautions=(*report.cautions, *kept))


def changes(report: JudgeReport, baseline: "Baseline | None") -> list[str]:
    """Judges who moved since an earlier run beyond chance: the intervals do not overlap."""
    found = []
    for now in report.tables["judges"].iter_rows(named=True):
        then = {} if baseline is None else baseline.get(now["judge"], {})
        for name in report.metrics:
            ends = (f"{name}_low", f"{name}_high")
            known = {name, *ends} <= then.keys() and None not in (now[ends[0]], now[ends[1]])
            if known and (now[ends[0]] > then[ends[1]] or now[ends[1]] < then[ends[0]]):
                found.append(f"{now['judge']}: {name} {number(then[name])} -> {number(now[name])}")
    return found


Baseline = dict[str, dict[str, float]]
"""Numbers of every judge of an earlier run, by judge and name; `failed` is 1 where it was not trusted."""
FELL = "failed"


def read_baseline(path: Path) -> Baseline | None:
    """The judges of an earlier run; None where there has been none: the first run has nothing to compare with."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        return {
            str(row["judge"]): {
                **{name: float(value) for name, value in row.items() if isinstance(value, int | float)},
                FELL: float(row.get("verdict") == NOT_TRUSTED),
            }
            for row in content["judges"]
        }
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        OSError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{path.name!r} is not what raterlens judge saves",
            "give a file that --save wrote",
            option="baseline",
        ) from error


def markdown(report: JudgeReport, moved: list[str], compared: bool) -> str:
    """For a pull request."""
    headings, rows = columns(report)
    lines = [f"### Raterlens: {cell(report.headline())}", "", cell(report.basis()), ""]
    lines += [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
    if systems := system_lines(report):
        assert report.rates is not None
        lines += ["", f"Pass rate by {cell(report.rates.by)}:", "", *(f"- {cell(text)}" for text in systems)]
    lines += ["", *(f"- {cell(text)}" for text in report.sentences())]
    if moved:
        lines += ["", "Since the last run:", "", *(f"- {cell(text)}" for text in moved)]
    elif compared:
        lines += ["", "No judge has changed since the last run beyond chance."]
    return "\n".join(lines) + "\n"


def junit(report: JudgeReport) -> str:
    """One test case per judge; what is not certain passes, with its numbers in the output."""
    judges = report.tables["judges"]
    suite = ElementTree.Element(
        "testsuite", name="raterlens", tests=str(judges.height), failures=str(len(report.failed)), errors="0"
    )
    for row in judges.iter_rows(named=True):
        name = printable(str(row["judge"]))
        case = ElementTree.SubElement(suite, "testcase", classname="raterlens", name=name)
        text = printable(_sentence(row, report))
        if row["verdict"] == NOT_TRUSTED:
            ElementTree.SubElement(case, "failure", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _sentence(row: dict[str, Any], report: JudgeReport) -> str:
    """ "mini: capability 0.38 (0.23-0.52), needs 0.5; not trusted"."""
    measured = ", ".join(
        f"{name} {number(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])}), needs {bound:g}"
        for name, bound in report.bounds.items()
    )
    known = (
        f"; right on {number(row['right'])} of {row['n_known']:,} known answers, expected {number(row['expected'])}"
        if row.get("n_known")
        else ""
    )
    return f"{row['judge']}: {measured}{known}; {row['verdict']}"


def to_json(report: JudgeReport, moved: list[str]) -> str:
    """For other programs, and the baseline of a later run."""
    content = {
        "format": FORMAT,
        "version": 1,
        "passed": report.passed,
        "bounds": dict(report.bounds),
        "decided_by": "interval" if report.confident else "estimate",
        "n_known": report.n_known,
        "people": list(report.people),
        "effective_judges": None
        if report.effective_judges is None
        else _finite(asdict(report.effective_judges)),
        "keep": list(report.keep),
        "judges": _plain(report.tables["judges"]),
        "systems": _plain(report.tables["systems"]) if report.rates else None,
        "differences": _plain(report.tables["differences"]) if report.rates else None,
        "replacements": [_replacement(each) for each in report.replacements],
        "changes": moved,
        "sentences": report.sentences(),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _plain(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()


def _replacement(found: Replacement) -> dict[str, Any]:
    names = ("judge", "verdict", "margin", "difference", "low", "high", "p")
    numbers = {name: getattr(found, name) for name in names}
    return _finite({**numbers, "alt_test_winning_rate": found.alt_test.winning_rate})


def _finite(content: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in content.items()}
