"""The decisions of the report: what is safe, how well the exam decides, and what to mark again."""

from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.output.report import english as words
from raterlens.output.report.drawings import decision_picture
from raterlens.output.report.page_tables import MOST_STUDENTS, shown

if TYPE_CHECKING:
    from raterlens.grading.decisions import Decisions
    from raterlens.output.report.document import Document


def decision_tables(document: "Document") -> dict[str, Any]:
    """`decisions`, `exam` and `remark`, as far as they were asked for."""
    found: dict[str, Any] = {}
    if document.decisions is not None:
        found["decisions"] = _students(document.decisions)
        found["exam"] = _exam(document.decisions)
    if document.remark is not None:
        columns = ("student", "rater", "grade", "right", "gain", "becomes_safe")
        found["remark"] = shown(document.remark.table, columns)
    return found


def decision_section(document: "Document") -> dict[str, Any] | None:
    """Sentences and pictures of the section besides its tables; None if nothing was decided."""
    found, plan = document.decisions, document.remark
    if found is None:
        return None
    cut = words.DECISIONS["cuts" if len(found.cuts.score) > 1 else "cut"]
    return {
        "lead": cut.format(cuts=", ".join(f"{one:g}" for one in found.cuts.score.round(2))),
        "words": found.words(),
        "cut_off": found.table.height > MOST_STUDENTS,
        "picture": decision_picture(found),
        "plan": [] if plan is None else plan.words(),
    }


def _students(found: "Decisions") -> dict[str, Any]:
    """The least sure first."""
    sure = pl.max_horizontal(f"p_{grade}" for grade in found.cuts.grades)
    safe = pl.when("safe").then(pl.lit(words.DECISIONS["yes"])).otherwise(pl.lit(words.DECISIONS["no"]))
    rows = found.table.with_columns(sure.alias("sure"), safe.alias("safe"))
    rows = rows.sort("sure", maintain_order=True).head(MOST_STUDENTS)
    columns = ("student", "raw", "raw_grade", "fair", "fair_se", "grade", "sure", "safe", "same_again")
    return shown(rows, columns)


def _exam(found: "Decisions") -> dict[str, Any]:
    named = pl.concat_str(
        pl.col("result").replace_strict(words.RESULTS),
        pl.lit(", "),
        pl.col("method").replace_strict(words.CLASSIFIERS),
    )
    return shown(found.quality.with_columns(named.alias("by")), ("by", "accuracy", "consistency", "students"))
