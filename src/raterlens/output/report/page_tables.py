"""Tables of the page: which columns they show, under which heading, and what a download contains."""

from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.output.report import english as words
from raterlens.output.report.encode import rounded

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.inference.result import Result
    from raterlens.ratings.design import Linking

MOST_STUDENTS = 20_000
"""The rest is left to students.csv, so that the page stays small enough to mail."""


def item_table(fit: "Result", diagnosis: "Diagnosis | None") -> dict[str, Any]:
    """Items with difficulty, and fit statistics if they are known."""
    items = fit.table("items")
    if diagnosis is not None:
        fits = diagnosis.tables["items"].select("item", "infit", "outfit")
        items = items.join(fits, on="item", how="left", maintain_order="left")
    return shown(items, ("item", "delta", "delta_se", "prevalence", "infit", "outfit", "mean_score", "n"))


def interaction_tables(fit: "Result") -> dict[str, dict[str, Any]]:
    """Interactions of raters with items or facets, the largest first; nothing if the model has none."""
    if "interactions" not in fit.tables:
        return {}
    table = fit.table("interactions").sort(pl.col("severity").abs(), descending=True, maintain_order=True)
    columns = ("rater", "facet", "level", "severity", "severity_se", "mean_score", "n")
    return {"interactions": shown(table.head(MOST_STUDENTS), columns)}


def student_table(fit: "Result", diagnosis: "Diagnosis | None" = None) -> dict[str, Any]:
    """Students with their ability, and with their fair results if they are known."""
    students = fit.table("students").head(MOST_STUDENTS)
    if diagnosis is not None and "students" in diagnosis.tables:
        fair = diagnosis.tables["students"].select("student", "fair_average", "fair_average_se")
        students = students.join(fair, on="student", how="left", maintain_order="left")
    columns = ("student", "theta", "theta_se", "fair_average", "fair_average_se", "mean_score", "n")
    return shown(students, columns)


def design_tables(linking: "Linking | None") -> dict[str, dict[str, Any]]:
    """Tables of improvements to the design."""
    if linking is None:
        return {}
    found = {
        "repairs": shown(linking.repairs, ("rater", "student", "link")),
        "few": shown(linking.few, ("rater", "n", "needed")),
    }
    return {name: table for name, table in found.items() if table["height"]}


def shown(table: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, Any]:
    """The columns that the table has and that are not empty, as JSON, with their headings and kinds."""
    kept = [name for name in columns if name in table.columns and _holds(table[name])]
    return {
        "columns": kept,
        "headings": [words.HEADINGS[name] for name in kept],
        "numeric": [table[name].dtype.is_numeric() and name not in ("student", "item") for name in kept],
        "values": [_plain(table[name]) for name in kept],
        "height": table.height,
    }


def _holds(column: pl.Series) -> bool:
    return not column.dtype.is_float() or bool(column.is_not_nan().any())


def _plain(column: pl.Series) -> list[Any]:
    if column.dtype.is_float():
        return rounded(column)
    return column.to_list() if column.dtype.is_integer() else column.cast(pl.String).to_list()
