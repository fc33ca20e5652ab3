"""Rows that sum up others: totals and averages under a table are nobody's scores."""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from raterlens.base.arrays import Mask
from raterlens.base.text import Option, listed, shortened
from raterlens.reading.levels import Levels
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.label_words import is_total, total_pattern


def total_rows(
    levels: Mapping[str, Levels], place: Callable[[int], str]
) -> tuple[Mask | None, list[Finding]]:
    """Which rows have a label such as "Total" or "Average" for a student, a rater or an item; None where there are
    none."""
    rows: Mask | None = None
    findings = []
    for role, of_role in levels.items():
        labels = of_role.labels
        if labels.dtype != pl.String:
            continue
        # Quickly past the labels that cannot be meant.
        likely = labels.str.to_lowercase().str.contains(total_pattern()).arg_true().to_list()
        codes = [code for code in likely if is_total(labels[code])]
        if not codes or len(codes) == len(labels):
            continue
        found = np.isin(of_role.codes, codes)
        first = int(np.flatnonzero(found)[0])
        where, in_columns, _ = place(first).partition(", column ")
        # Where raters had columns, a row of the file is one of the table for each of them.
        times = len(codes) if in_columns else int(found.sum())
        where = where if times == 1 else f"{times:,} rows, the first {where},"
        named = listed(labels[code] for code in codes) if len(codes) > 1 else shortened(labels[codes[0]])
        verb = "looks" if times == 1 else "look"
        findings.append(
            Finding(
                f"{where} {verb} like a total ({role} {named})",
                "left out",
                otherwise=Option("as_written", True),
            )
        )
        rows = found if rows is None else rows | found
    return rows, findings
