"""The decisions of the report: what is safe, how well the exam decides, and what to mark again."""

from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.output.report import english as words
from raterlens.output.report.drawing import Plot, scale
from raterlens.output.report.page_tables import MOST_STUDENTS, shown
from raterlens.pictures.decision_points import SAFE, UNSAFE, decision_points, description
from raterlens.pictures.ranking import TOLD
from raterlens.pictures.style import MARKS

if TYPE_CHECKING:
    from raterlens.grading.decisions import Decisions
    from raterlens.output.report.document import Document

HEIGHT = 420
_DASHED = 'stroke-dasharray="4 3" opacity="0.75"'
_MARKS = {
    SAFE: MARKS["unsure"]._replace(name=SAFE, role="accent", words=words.DECISIONS["safe"]),
    UNSAFE: MARKS["severe"]._replace(words=words.DECISIONS["unsafe"]),
}


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


def decision_section(document: "Document", widths: tuple[int, ...]) -> dict[str, Any] | None:
    """What the section says and shows besides its tables; None where nothing was decided."""
    found, plan = document.decisions, document.remark
    if found is None:
        return None
    cut = words.DECISIONS["cuts" if len(found.cuts.score) > 1 else "cut"]
    return {
        "lead": cut.format(cuts=", ".join(f"{one:g}" for one in found.cuts.score.round(2))),
        "words": found.words(),
        "cut_off": found.table.height > MOST_STUDENTS,
        "picture": tuple(_drawn(found, width).svg(description(found)) for width in widths),
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


def _drawn(found: "Decisions", width: int) -> Plot:
    data = decision_points(found)
    ends = [
        (min(low, *cuts), max(high, *cuts))
        for low, high, cuts in (
            (data["raw"].min(), data["raw"].max(), found.cuts.score),
            (data["theta"].min(), data["theta"].max(), found.cuts.ability),
        )
    ]
    # Where all have the same result, the picture still has a width.
    (left, right), (low, high) = ((a - 0.04 * (b - a or 1.0), b + 0.04 * (b - a or 1.0)) for a, b in ends)
    x = scale(left, right, words.AXES["raw"], 10 if width >= 480 else 5, grid=True)
    y = scale(low, high, words.AXES["theta"], 8, grid=True)
    present = set(data["kind"])
    plot = Plot(width, HEIGHT, x, y, [mark for kind, mark in _MARKS.items() if kind in present])
    for score, ability in zip(found.cuts.score, found.cuts.ability, strict=True):
        plot.line([score] * 2, [low, high], "ink", _DASHED)
        plot.line([left, right], [ability] * 2, "ink", _DASHED)
    told = data["words"].to_list() if data.height <= TOLD else [None] * data.height
    for kind, mark in _MARKS.items():
        own = [place for place, one in enumerate(data["kind"]) if one == kind]
        rows = data[own]
        plot.symbols(rows["raw"], rows["theta"], mark, [told[place] for place in own], 0.61)
    return plot
