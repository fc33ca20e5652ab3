"""A gate's result for other programs: Markdown for pull requests, JUnit XML for what runs tests."""

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import polars as pl

from raterlens.base.text import MISSING, number, printable

if TYPE_CHECKING:
    from raterlens.output.gate import Gate


def markdown(gate: "Gate") -> str:
    """A heading, and a table of every bound that a rater failed or is close to."""
    answer, *rest = gate.summary().splitlines()
    lines = [f"### Raterlens: {cell(answer)}", ""]
    rows = gate.table.filter(~pl.col("passed") | ~pl.col("certain")).sort(
        "passed", "rater", maintain_order=True
    )
    if rows.height:
        lines += ["| Rater | Measure | Value | 95 % interval | Bound | |", "|---|---|--:|---|--:|---|"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in rows.iter_rows(named=True)]
    else:
        lines += [cell(line.strip()) for line in rest]
    if gate.changed:
        lines += ["", "Since the last run:", "", *(f"- {cell(text)}" for text in gate.changed)]
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    interval = f"{row['low']:.2f} to {row['high']:.2f}" if row["low"] < row["high"] else MISSING
    verdict = ("passed" if row["passed"] else "**failed**") + ("" if row["certain"] else ", not certain")
    return [cell(row["rater"]), row["measure"], number(row["value"]), interval, f"{row['bound']:g}", verdict]


def cell(text: object) -> str:
    """Text that neither ends a cell nor begins markup."""
    found = printable(str(text))
    for mark in "\\`*_[]<>|":
        found = found.replace(mark, f"\\{mark}")
    return found


def junit(gate: "Gate") -> str:
    """One test case per rater and bound."""
    failed = gate.table.filter(~pl.col("passed")).height + (not gate.converged)
    suite = ElementTree.Element(
        "testsuite", name="raterlens", tests=str(gate.table.height + 1), failures=str(failed), errors="0"
    )
    case = ElementTree.SubElement(suite, "testcase", classname="raterlens", name="the fit converged")
    if not gate.converged:
        ElementTree.SubElement(case, "failure", message="the fit did not converge")
    for row in gate.table.iter_rows(named=True):
        name = f"{printable(str(row['rater']))}: {row['measure']}"
        case = ElementTree.SubElement(suite, "testcase", classname="raterlens", name=name)
        if not row["passed"]:
            ElementTree.SubElement(case, "failure", message=printable(gate.worded(row)))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
