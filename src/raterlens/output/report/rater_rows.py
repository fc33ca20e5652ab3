"""The raters as the report shows them: ranked, with verdicts, words for the numbers, and flags."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.base.text import sentence
from raterlens.diagnostics.panel_summary import judged
from raterlens.pictures.style import mark

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.inference.result import Result

Row = Mapping[str, Any]


def panel(fit: "Result", diagnosis: "Diagnosis | None", *, ranked: bool = True) -> pl.DataFrame:
    """One row per rater, the most capable first (by name where chance explains all differences, and a rank would rank
    luck): the columns of the fit, those of the verdict, and

    rank, notice (attention, flagged, borderline, unclear, fine), mark, reasons (flags).
    """
    rows = judged(fit).with_columns(pl.col("rater").cast(pl.String))
    rows = (rows if ranked else rows.sort("rater", maintain_order=True)).with_row_index("rank", offset=1)
    found = {} if diagnosis is None else _reasons(diagnosis.tables["flags"])
    reasons = [found.get(rater, []) for rater in rows["rater"]]
    notice = [
        "flagged" if flags and standing == "fine" else standing
        for flags, standing in zip(reasons, rows["standing"], strict=True)
    ]
    # The flag is what to look into only where nothing costs the rater anything: there is one next step.
    advice = [
        sentence(flags[0]["next_step"]) if how == "flagged" and cost == "nothing" else given
        for flags, how, cost, given in zip(
            reasons, notice, rows["costs_most"], rows["next_step"], strict=True
        )
    ]
    return rows.with_columns(
        pl.Series("notice", notice),
        pl.Series("advice", advice),
        pl.Series("mark", [mark(label).name for label in rows["label"]]),
        pl.Series("reasons", reasons, dtype=pl.Object),
    )


def _reasons(flags: pl.DataFrame) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in flags.iter_rows(named=True):
        reason = {name: row[name] for name in ("effect", "evidence", "next_step")}
        found.setdefault(str(row["rater"]), []).append(reason)
    return found
