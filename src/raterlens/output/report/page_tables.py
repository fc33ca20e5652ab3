"""Tables of the page, its decisions, and plain data for its scripts: which columns are shown, under which heading."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from raterlens.output.report import english as words
from raterlens.output.report.drawings import decision_picture

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.grading.decisions import Decisions
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


def item_table(fit: "Result", diagnosis: "Diagnosis | None") -> dict[str, Any]:
    """Items with difficulty, and fit statistics if they are known."""
    items = fit.table("items")
    if diagnosis is not None:
        items = diagnosis.beside("items", items)
    return shown(items, ("item", "delta", "delta_se", "prevalence", "n", "mean_score", *_FAIR, *_FIT))


def fit_tables(fit: "Result", diagnosis: "Diagnosis | None") -> dict[str, dict[str, Any]]:
    """Fit statistics of raters, unexpected ratings, bias, pairs of raters, use of the scores."""
    if diagnosis is None:
        return {}
    raters = diagnosis.beside("raters", fit.table("raters"))
    bias, pairs = diagnosis.bias(), diagnosis.pairs()
    if bias.height:
        bias = bias.sort(pl.col("z").abs(), descending=True, nulls_last=True, maintain_order=True)
    if "agreement_expected" in pairs.columns:
        pairs = pairs.sort(pl.col("agreement") - pl.col("agreement_expected"), maintain_order=True)
    biased = ("rater", "of", "level", "n", "mean_score", "expected", "severity", "severity_se", "z")
    kappas = ("cohen", "cohen_low", "cohen_high", "weighted_kappa")
    found = {
        "fit": shown(raters, ("rater", "n", "mean_score", *_FAIR, "eta", "eta_se", *_FIT)),
        "unexpected": shown(
            diagnosis.tables["unexpected"].with_columns(pl.col("probability") * 100),
            ("student", "rater", "item", "score", "expected", "z", "probability"),
        ),
        "bias": shown(bias.head(MOST_LISTED), biased),
        "pairs": shown(
            pairs.head(MOST_LISTED),
            ("rater", "other", "n", "agreement", "agreement_expected", *kappas),
        ),
    }
    if "categories" in diagnosis.tables:
        found["scores"] = shown(diagnosis.tables["categories"], _CATEGORIES)
    return {name: table for name, table in found.items() if table["height"]}


_CATEGORIES = (
    *("item", "score", "n", "share", "measure", "measure_expected", "infit", "outfit"),
    *("threshold", "threshold_se"),
)


def interaction_tables(fit: "Result") -> dict[str, dict[str, Any]]:
    """Interactions of raters with items or facets, the largest first; nothing where there are none."""
    if "interactions" not in fit.tables or not fit.table("interactions")["severity"].cast(pl.Boolean).any():
        return {}  # a spread of 0 is said among the settings
    table = fit.table("interactions").sort(pl.col("severity").abs(), descending=True, maintain_order=True)
    columns = ("rater", "facet", "level", "severity", "severity_se", "mean_score", "n")
    return {"interactions": shown(table.head(MOST_STUDENTS), columns)}


_DRAWS = (
    *("rater", "questions", "answers", "consistency", "consistency_low", "consistency_high"),
    *("share_answer", "share_reading", "share_draw", "second_judge"),
)


def draw_tables(fit: "Result") -> dict[str, dict[str, Any]]:
    """Raters who were asked several times; nothing if nobody was."""
    return {"draws": shown(fit.table("draws"), _DRAWS)} if "draws" in fit.tables else {}


def group_tables(fit: "Result") -> dict[str, dict[str, Any]]:
    """Mean abilities of groups of students; nothing if the model has none."""
    if "groups" not in fit.tables:
        return {}
    groups = fit.table("groups").rename({"n": "students", "mean": "theta", "mean_se": "theta_se"})
    return {"groups": shown(groups, ("group", "theta", "theta_se", "students"))}


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
