"""Results as FACETS lays them out: unexpected ratings, rulers, a table per facet, use of the scores, bias."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.errors import OptionError
from raterlens.base.text import MISSING, Message, Option, number
from raterlens.diagnostics.fit_statistics import EVERY_ITEM
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.fitting.fit import Fit

Columns = tuple[tuple[str, str, int | None], ...]
"""Heading, name and digits of each column; None for text, which is on the left."""
_MEASURES: Columns = (
    ("Total Score", "total", 0),
    ("Count", "n", 0),
    ("Obsvd Avg", "mean_score", 2),
    ("Fair Avg", "fair_average", 2),
    ("Measure", "measure", 2),
    ("S.E.", "se", 2),
    ("Infit MnSq", "infit", 2),
    ("ZStd", "infit_z", 1),
    ("Outfit MnSq", "outfit", 2),
    ("ZStd", "outfit_z", 1),
)
_HEADED = {
    "students": "Students, by ability",
    "raters": "Raters, by severity",
    "items": "Items, by difficulty",
}
_UNEXPECTED: Columns = (
    ("Score", "score", None),
    ("Exp.", "expected", 1),
    ("StRes", "z", 1),
    ("Prob.", "probability", 3),
    ("Student", "student", None),
    ("Rater", "rater", None),
    ("Item", "item", None),
)
_SCORES: Columns = (
    ("Score", "score", None),
    ("Counts", "n", 0),
    ("%", "share", 0),
    ("Avge Meas", "measure", 2),
    ("Exp. Meas", "measure_expected", 2),
    ("Infit MnSq", "infit", 2),
    ("Outfit MnSq", "outfit", 2),
    ("Threshold", "threshold", 2),
    ("S.E.", "threshold_se", 2),
)
_BIAS: Columns = (
    ("Count", "n", 0),
    ("Obsvd Avg", "mean_score", 2),
    ("Exp. Avg", "expected", 2),
    ("Bias Size", "severity", 2),
    ("S.E.", "severity_se", 2),
    ("z", "z", 2),
    ("Prob.", "p", 4),
    ("Rater", "rater", None),
    ("Level", "level", None),
)
_MOST_LINES, _MOST_STARS, _WIDEST_RULER = 48, 30, 40
"""Lines of the ruler, stars in a line, characters of labels"""


def facets_tables(fit: "Fit", ratings: Ratings) -> str:
    """Text tables numbered as FACETS numbers them: 4 unexpected ratings, 6 rulers, 7 students, raters, items and
    further facets, 8 use of the scores with thresholds, 13 bias of raters by item, facet and group.

    Measures are in logits: alpha plus sigma times ability, severity, difficulty; raters and items are centred
    unless anchored, students are not, as is FACETS' default. Errors, mean squares and separation are those of
    marginal maximum likelihood, so they differ somewhat from FACETS' joint estimates.

    Parameters
    ----------
    fit
        Of model `tfm`, which is FACETS' own, or of `gmf` or `probit`.
    ratings
        Those that were fitted.
    """
    if fit.calibration is None or fit.link != "logit":
        what = (
            f"tables like those of FACETS are in logits, but this fit is {fit.model!r} with link {fit.link!r}"
        )
        models = ("fit ", Option("model", "gmf"), " or ", Option("model", "tfm"))
        remedy = Message(*models, " with ", Option("link", "logit"))
        raise OptionError(what, remedy, value=fit.link, option="link")
    found = fit.diagnose(ratings)
    student, rater, item = _origins(fit)
    facets = {
        "students": _facet(fit, found, "students", "theta", fit.sigma, student),
        "raters": _facet(fit, found, "raters", "eta", 1.0, rater),
        "items": _facet(fit, found, "items", "delta", 1.0, item),
    }
    lines = [f"{fit.model} by {fit.method}: log-likelihood {fit.loglik:.4f}, {fit.n_ratings:,} ratings"]
    lines += ["", f"Table 4.1  Unexpected ratings ({found.tables['unexpected'].height:,})"]
    lines += _text_table(found.tables["unexpected"], _UNEXPECTED)
    lines += ["", "Table 6.0  All facets on one ruler", *_rulers(facets)]
    reliability = {row["of"]: row for row in found.tables["reliability"].iter_rows(named=True)}
    for place, (name, heading) in enumerate(_HEADED.items(), 1):
        label = name.removesuffix("s")
        table = _with_summary(facets[name], label)
        columns = (*_MEASURES, (label.capitalize(), label, None))
        lines += ["", f"Table 7.{place}.1  {heading}", *_text_table(table, columns)]
        lines += _separation(reliability[name], fit.sigma if name == "students" else 1.0)
    if "facets" in fit.tables:
        lines += ["", "Further facets", str(fit.table("facets"))]
    if "categories" in found.tables:
        scores = found.tables["categories"].with_columns(pl.col("share") * 100)
        for place, ((label,), rows) in enumerate(scores.group_by("item", maintain_order=True), 1):
            of = "" if label == EVERY_ITEM and scores["item"].n_unique() == 1 else f": {label}"
            lines += ["", f"Table 8.{place}  Use of the scores{of}", *_text_table(rows, _SCORES)]
    bias = found.bias()
    by_grouping = bias.group_by("of", maintain_order=True) if bias.height else ()
    for place, ((grouping,), rows) in enumerate(by_grouping, 1):
        ordered = rows.sort(pl.col("z").abs(), descending=True, maintain_order=True)
        lines += ["", f"Table 13.{place}.1  Bias of raters by {grouping}", *_text_table(ordered, _BIAS)]
    return "\n".join(lines)


def _facet(
    fit: "Fit", found: "Diagnosis", name: str, measure: str, unit: float, origin: float
) -> pl.DataFrame:
    """Measures in logits, the highest first, with what the diagnosis says of each."""
    table = fit.table(name).with_columns(
        measure=pl.col(measure) * unit + origin,
        se=pl.col(f"{measure}_se").cast(pl.Float64) * unit,
        total=pl.col("mean_score") * pl.col("n"),
    )
    statistics = found.tables[name].drop("n")
    both = table.join(statistics, on=name[:-1], how="left", maintain_order="left")
    return both.with_columns(pl.first().cast(pl.String)).sort("measure", descending=True)


def _with_summary(table: pl.DataFrame, label: str) -> pl.DataFrame:
    """The rows and, below, the mean and the standard deviation of each column."""
    table = table.select(label, *(pl.col(name).cast(pl.Float64).fill_nan(None) for _, name, _ in _MEASURES))
    named = ((f"Mean (count: {table.height})", table.mean()), ("S.D. (population)", table.std(ddof=0)))
    return pl.concat([table, *(rows.with_columns(pl.lit(name).alias(label)) for name, rows in named)])


def _rulers(facets: dict[str, pl.DataFrame]) -> Iterator[str]:
    """Students as stars, raters and items by name, the highest measure first."""
    measures = {name: table["measure"].to_numpy() for name, table in facets.items()}
    everything = np.concatenate(list(measures.values()))
    low, high = float(everything.min()), float(everything.max())
    widest = (high - low) / _MOST_LINES
    step = next((size for size in (0.25, 0.5, 1.0) if size >= widest), widest)
    bins = {name: np.round(values / step).astype(int) for name, values in measures.items()}
    places = range(int(np.round(high / step)), int(np.round(low / step)) - 1, -1)
    counts = {place: int((bins["students"] == place).sum()) for place in places}
    each = max(1, -(-max(counts.values()) // _MOST_STARS))
    labels = {
        name: {place: _fitting(facets[name][name[:-1]].filter(bins[name] == place)) for place in places}
        for name in ("raters", "items")
    }
    widths = {name: max(len(name), *(len(text) for text in labels[name].values())) for name in labels}
    stars = _MOST_STARS + 1
    heading = f"|{'Measr':>6} |+{'Students':<{stars}}|-{'Raters':<{widths['raters']}}|-{'Items':<{widths['items']}}|"
    yield heading
    yield "-" * len(heading)
    for place in places:
        bar = "*" * (counts[place] // each) + "." * (counts[place] % each > 0)
        names = "".join(f"| {labels[name][place]:<{widths[name]}}" for name in labels)
        yield f"|{place * step:6.2f} | {bar:<{stars}}{names}|"
    yield f"* = {each} student{'s' * (each > 1)}" + ("; . = fewer" if each > 1 else "")


def _fitting(labels: pl.Series) -> str:
    """As many labels as a line takes."""
    text = "  ".join(labels)
    return text if len(text) <= _WIDEST_RULER else f"{text[: _WIDEST_RULER - 1]}…"


def _origins(fit: "Fit") -> tuple[float, float, float]:
    """Shifts of students, raters and items: anchored facets stay where their anchors are, the others are
    centred, and the students' origin gives way. Items that nothing centres are a sign of anchored raters."""
    mean = float(np.mean(fit.table("items")["delta"].to_numpy()))
    items, raters = (_anchored(fit.table(name)) for name in ("items", "raters"))
    item = 0.0 if items else -mean
    rater = -fit.alpha if raters or (not items and abs(mean) > 1e-6) else 0.0
    return fit.alpha + rater + item, rater, item


def _anchored(table: pl.DataFrame) -> bool:
    return "flag" in table.columns and "anchored" in table["flag"].to_list()


def _separation(row: dict[str, float], unit: float) -> Iterator[str]:
    if np.isnan(row["reliability"]):
        return
    yield (
        f"RMSE {row['mean_error'] * unit:.2f}  True S.D. {row['true_sd'] * unit:.2f}  "
        f"Separation {row['separation']:.2f}  Strata {row['strata']:.2f}  Reliability {row['reliability']:.2f}"
    )
    if not np.isnan(row["chi_square"]):
        yield (
            f"Fixed (all same) chi-square: {row['chi_square']:.1f}  d.f.: {row['n'] - 1}  "
            f"significance: {row['p']:.2f}"
        )


def _text_table(table: pl.DataFrame, columns: Columns) -> Iterator[str]:
    """The columns that there are, side by side."""
    kept = [column for column in columns if column[1] in table.columns]
    cells = [[title, *(_cell(value, digits) for value in table[name])] for title, name, digits in kept]
    widths = [max(map(len, column)) for column in cells]
    aligned = ["<" if digits is None else ">" for _, _, digits in kept]
    for place, row in enumerate(zip(*cells, strict=True)):
        yield "  ".join(f"{t:{a}{w}}" for t, a, w in zip(row, aligned, widths, strict=True)).rstrip()
        if place == 0:
            yield "-" * (sum(widths) + 2 * (len(widths) - 1))


def _cell(value: object, digits: int | None) -> str:
    if digits is None:
        return f"{value:g}" if isinstance(value, float) else str(value)
    return number(value, digits).replace(MISSING, "") if isinstance(value, int | float) else ""
