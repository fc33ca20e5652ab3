"""Results as text: for the console, and as tables and a chart in docs/performance.md."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.pictures.files import write
from raterlens.studies.study import WIDTH, around, curves

Result = dict[str, Any]
DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- measured: written by `make bench` -->", "<!-- end of measured -->"
PEER = "mirt tfm"


def rows(case: Result) -> list[list[str]]:
    """One row per program: process and fit, CPU and memory, log-likelihood, and how many times faster than the peer."""
    peer = case["programs"].get(PEER, {})
    table = []
    for program, found in case["programs"].items():
        if "failed" in found:
            table.append([program, found["failed"], *[""] * (len(HEAD) - 2)])
            continue
        ratios = [
            f"{peer[name] / found[name]:.1f}" if name in peer and name in found else ""
            for name in ("fit_wall", "process_wall")
        ]
        numbers = [
            f"{found[name]:.2f}" if name in found else ""
            for name in ("fit_wall", "fit_cpu", "process_wall", "process_cpu")
        ]
        of = f" ({found['of']})" if "of" in found else ""
        loglik = f"{found['loglik']:.2f}{of}" if "loglik" in found else ""
        table.append([program, *numbers, f"{found['memory']:,.0f}", loglik, *ratios])
    return table


HEAD = [
    "program",
    "fit, wall s",
    "fit, CPU s",
    "process, wall s",
    "process, CPU s",
    "memory, MiB",
    "log-likelihood",
    "fit: times faster than mirt",
    "process: times faster than mirt",
]


def console(case: Result) -> str:
    table = [HEAD, *rows(case)]
    widths = [max(len(row[i]) for row in table if len(row) > i) for i in range(len(HEAD))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    return "\n".join([case["size"], *lines])


def markdown(results: Result) -> str:
    parts = []
    for case in results["cases"].values():
        lines = ["| " + " | ".join(row) + " |" for row in (HEAD, ["---"] * len(HEAD), *rows(case))]
        load = case["machine"]["load"]
        seen = f"Load at the end: {load:.1f} on {case['machine']['cores']} cores."
        parts.append("\n".join([f"### {case['size']}", "", *lines, "", seen]))
    found = results["bound"]
    parts.append(
        f"### One evaluation\n\n{found['design']}: {found['operations']:,} operations take at least "
        f"{found['least'] * 1e3:.2f} ms at the measured rate; an evaluation took {found['taken'] * 1e3:.2f} ms of CPU, "
        f"{found['ratio']:.2f} times as long."
    )
    machine = next(iter(results["cases"].values()))["machine"]
    named = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts.append(
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}. Versions: {named}."
    )
    return "\n\n".join(parts)


def draw(results: Result, path: Path) -> None:
    """Wall time of the whole process against the number of ratings, both on logarithmic axes."""
    points = [
        {"ratings": case["ratings"], "seconds": found["process_wall"], "program": program}
        for case in results["cases"].values()
        for program, found in case["programs"].items()
        if "failed" not in found
    ]
    rows = pl.DataFrame(points).with_columns(pl.col("ratings", "seconds").log10())
    x, y = (
        _powers_of_ten(rows[name], title)
        for name, title in (("ratings", "Ratings"), ("seconds", "Whole process, wall seconds"))
    )
    panel = curves(rows, ("ratings", "seconds", "program"), x, y, points=True)
    write(Picture((panel,), "Time of the whole process by the number of ratings.", (320, 320)), WIDTH, path)


def _powers_of_ten(logs: pl.Series, title: str) -> Axis:
    axis = around(logs, title)
    powers = range(math.ceil(axis.low), math.floor(axis.high) + 1)
    return replace(axis, labels=tuple((float(power), f"{10.0**power:,g}") for power in powers))


def write_page(results: Result) -> None:
    """Replace the text between the marks in docs/performance.md."""
    page = DOCS / "performance.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    draw(results, DOCS / "performance.svg")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(results)}\n\n{END}{after}", encoding="utf-8")
