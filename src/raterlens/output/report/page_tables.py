"""Tables of the page, its decisions, and plain data for its scripts: which columns are shown, under which heading."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from raterlens.output.report import english as words
from raterlens.output.result_tables import OF_GROUPS

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.inference.result import Result
    from raterlens.output.report.page import Document
    from raterlens.ratings.design import Linking


# Inside a script element only these could end it or start a comment; JSON may write them as escapes.
_RISKY = {
    character: f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\N{LINE SEPARATOR}", "\u2029")
}


def embedded(data: Any) -> Markup:
    """JSON for a `<script type="application/json">`.

    Examples
    --------
    >>> embedded({"rater": "</script>"})
    Markup('{"rater":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _RISKY.items():
        text = text.replace(character, escape)
    return Markup(text)


def rounded(values: pl.Series | NDArray[np.float64], digits: int = 4) -> list[float | int | None]:
    """Numbers for JSON: rounded, and null where there is none."""
    array = values.cast(pl.Float64).to_numpy() if isinstance(values, pl.Series) else values
    return [
        None if value != value else value for value in np.round(array.astype(np.float64), digits).tolist()
    ]


def thousandths(rows: NDArray[np.float64]) -> list[list[int | None]]:
    """Curves in whole thousandths: a third of the size, and finer than any screen."""
    whole = np.rint(1000 * rows)
    if not np.isnan(whole).any():
        found: list[list[int | None]] = whole.astype(np.int64).tolist()
        return found
    return [[None if value != value else int(value) for value in row] for row in whole.tolist()]


def coded(values: Iterable[str]) -> tuple[list[str], list[int]]:
    """Repeated texts: each once, and the place of each value among them."""
    places: dict[str, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), codes


MOST_STUDENTS = 20_000
"""The rest is left to students.csv, so that the page stays small enough to mail."""


MOST_LISTED = 1_000
"""Ratings, biases and pairs of raters that the page lists; the files have all."""
_FIT = ("infit", "infit_z", "outfit", "outfit_z", "correlation", "correlation_expected")
_FAIR = ("fair_average", "fair_average_se")
_DECIDED = ("students", "items", "decisions", "exam", "remark")
"""Tables that are shown even where they have no rows."""

_COLUMNS = {
    "items": ("item", "delta", "delta_se", "prevalence", "n", "mean_score", *_FAIR, *_FIT),
    "students": ("student", "theta", "theta_se", *_FAIR, "mean_score", "n"),
    "fit": ("rater", "n", "mean_score", *_FAIR, "eta", "eta_se", "noise", "noise_se", *_FIT),
    "unexpected": ("student", "rater", "item", "score", "expected", "z", "probability"),
    "bias": ("rater", "of", "level", "n", "mean_score", "expected", "severity", "severity_se", "z"),
    "pairs": (
        *("rater", "other", "n", "agreement", "agreement_expected", "difference", "apart"),
        *("cohen", "cohen_low", "cohen_high", "weighted_kappa"),
    ),
    "scores": (
        *("item", "score", "n", "share", "measure", "measure_expected", "infit", "outfit"),
        *("threshold", "threshold_se"),
    ),
    "interactions": ("rater", "facet", "level", "severity", "severity_se", "mean_score", "n"),
    "draws": (
        *("rater", "questions", "answers", "consistency", "consistency_low", "consistency_high"),
        *("share_answer", "share_reading", "share_draw", "second_judge"),
    ),
    "groups": ("group", "theta", "theta_se", "students"),
    "repairs": ("rater", "student", "link"),
    "few": ("rater", "n", "needed"),
    "decisions": ("student", "raw", "raw_grade", "fair", "fair_se", "grade", "sure", "safe", "same_again"),
    "exam": ("by", "accuracy", "consistency", "students"),
    "remark": ("student", "rater", "grade", "right", "gain", "becomes_safe"),
}


def page_tables(
    fit: "Result", diagnosis: "Diagnosis | None", linking: "Linking | None", document: "Document"
) -> dict[str, dict[str, Any]]:
    """The tables of the page by name, as far as there is something to show."""
    found = {**_of_fit(fit, diagnosis), **_of_diagnosis(fit, diagnosis), **_of_decisions(document)}
    if linking is not None:
        found |= {"repairs": linking.repairs, "few": linking.few}
    return {
        name: shown(table, _COLUMNS[name])
        for name, table in found.items()
        if table.height or name in _DECIDED
    }


def _of_fit(fit: "Result", diagnosis: "Diagnosis | None") -> dict[str, pl.DataFrame]:
    """Items and students, with fit statistics and fair results where they are known; tables that few models have."""
    items, students = fit.table("items"), fit.table("students").head(MOST_STUDENTS)
    if diagnosis is not None:
        items = diagnosis.beside("items", items)
        fair = diagnosis.tables["students"].select("student", *_FAIR)
        students = students.join(fair, on="student", how="left", maintain_order="left")
    found = {"items": items, "students": students}
    if "draws" in fit.tables:
        found["draws"] = fit.table("draws")
    # Sets of raters only say who marked whom.
    if "groups" in fit.tables and fit.config.group_means != "raters":
        found["groups"] = fit.table("groups").rename(OF_GROUPS)
    if "interactions" in fit.tables and fit.table("interactions")["severity"].cast(pl.Boolean).any():
        # A spread of 0 is said among the settings.
        found["interactions"] = _largest_first(fit.table("interactions"), "severity").head(MOST_STUDENTS)
    return found


def _of_diagnosis(fit: "Result", diagnosis: "Diagnosis | None") -> dict[str, pl.DataFrame]:
    """Fit statistics of raters, unexpected ratings, bias, pairs of raters, use of the scores."""
    if diagnosis is None:
        return {}
    bias, pairs = diagnosis.bias(), diagnosis.pairs()
    if "agreement_expected" in pairs.columns:
        pairs = pairs.sort(pl.col("agreement") - pl.col("agreement_expected"), maintain_order=True)
    elif "apart" in pairs.columns:
        pairs = _largest_first(pairs, "apart")
    found = {
        "fit": diagnosis.beside("raters", fit.table("raters")),
        "unexpected": diagnosis.tables["unexpected"].with_columns(pl.col("probability") * 100),
        "bias": (_largest_first(bias, "z") if bias.height else bias).head(MOST_LISTED),
        "pairs": pairs.head(MOST_LISTED),
    }
    return found | ({"scores": diagnosis.tables["categories"]} if "categories" in diagnosis.tables else {})


def _largest_first(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.sort(pl.col(column).abs(), descending=True, nulls_last=True, maintain_order=True)


def _of_decisions(document: "Document") -> dict[str, pl.DataFrame]:
    """Decisions (the least sure first), how well the exam decides, and what to mark again, as far as asked for."""
    found = {} if document.remark is None else {"remark": document.remark.table}
    decided = document.decisions
    if decided is None:
        return found
    sure = pl.max_horizontal(f"p_{grade}" for grade in decided.cuts.grades)
    safe = pl.when("safe").then(pl.lit(words.DECISIONS["yes"])).otherwise(pl.lit(words.DECISIONS["no"]))
    rows = decided.table.with_columns(sure.alias("sure"), safe.alias("safe"))
    named = pl.concat_str(
        pl.col("result").replace_strict(words.RESULTS),
        pl.lit(", "),
        pl.col("method").replace_strict(words.CLASSIFIERS),
    )
    found["decisions"] = rows.sort("sure", maintain_order=True).head(MOST_STUDENTS)
    found["exam"] = decided.quality.with_columns(named.alias("by"))
    return found


def shown(table: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, Any]:
    """The columns that the table has and that are not empty, as JSON, with their headings and kinds."""
    kept = [name for name in columns if name in table.columns and _holds(table[name])]
    return {
        "columns": kept,
        "headings": [words.heading(name, brief=True) for name in kept],
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
