"""Results as FACETS lays them out: a table a facet, measures in logits, fit, separation and chi-square."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.inference.expected_scores import rater_effects
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

_COLUMNS = (
    ("Total Score", "total", 0, 11),
    ("Count", "n", 0, 7),
    ("Obsvd Avg", "mean_score", 2, 10),
    ("Fair Avg", "fair_average", 2, 9),
    ("Measure", "measure", 2, 8),
    ("S.E.", "se", 2, 6),
    ("Infit MnSq", "infit", 2, 11),
    ("ZStd", "infit_z", 1, 6),
    ("Outfit MnSq", "outfit", 2, 12),
    ("ZStd", "outfit_z", 1, 6),
)
_AVERAGED = tuple(name for _, name, *_ in _COLUMNS)


def facets_tables(fit: "Fit", ratings: Ratings) -> str:
    """Text tables in the manner of FACETS' measurement reports: students, raters, items, further facets, thresholds.

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
        raise OptionError(
            f"tables like those of FACETS are in logits, but this fit is {fit.model!r} with link {fit.link!r}",
            Message(
                "fit ",
                Option("model", "gmf"),
                " or ",
                Option("model", "tfm"),
                " with ",
                Option("link", "logit"),
            ),
            value=fit.link,
            option="link",
        )
    found = fit.diagnose(ratings)
    reliability = {row["of"]: row for row in found.tables["reliability"].iter_rows(named=True)}
    student, rater, item = _origins(fit)
    facets = (
        ("students", "Students, by ability", "theta", fit.sigma, student),
        ("raters", "Raters, by severity", "eta", 1.0, rater),
        ("items", "Items, by difficulty", "delta", 1.0, item),
    )
    lines = [f"{fit.model} by {fit.method}: log-likelihood {fit.loglik:.4f}, {fit.n_ratings:,} ratings"]
    for number, (name, heading, measure, unit, origin) in enumerate(facets, 1):
        statistics = found.tables[name].drop("n").with_columns(pl.first().cast(pl.String))
        table = (
            fit.table(name)
            .with_columns(
                pl.first().cast(pl.String),
                measure=pl.col(measure) * unit + origin,
                se=pl.col(f"{measure}_se").cast(pl.Float64) * unit,
                total=pl.col("mean_score") * pl.col("n"),
            )
            .join(statistics, on=name[:-1], how="left", maintain_order="left")
            .sort("measure", descending=True)
        )
        if name == "items":
            table = table.with_columns(fair_average=_fair_items(fit.calibration, table["item"]))
        lines += ["", f"Table 7.{number}.1  {heading}", *_table(table, name[:-1])]
        lines += _separation(reliability[name], unit)
    if "facets" in fit.tables:
        lines += ["", "Further facets", str(fit.table("facets"))]
    if "thresholds" in fit.tables:
        lines += ["", "Table 8.1  Thresholds between scores", *_thresholds(fit.table("thresholds"))]
    return "\n".join(lines)


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


def _fair_items(calibration: Calibration, items: pl.Series) -> Array:
    """The mean score of average students by an average rater on each item, as the file counts."""
    known = calibration.known("difficulty")
    difficulty = np.array([known[label] for label in items])
    _, average = rater_effects(calibration)
    mean = float(calibration.effects.get("population", (0.0, 1.0))[0])
    predictor = float(average.slope[0]) * mean - float(average.severity[0]) - difficulty
    return calibration.in_file(calibration.curve().mean(predictor) * (len(calibration.scores) - 1))


def _table(table: pl.DataFrame, label: str) -> Iterator[str]:
    heading = "".join(f"{title:>{width}}" for title, _, _, width in _COLUMNS)
    yield f"{heading}  {label.capitalize()}"
    yield "-" * (len(heading) + 2 + max(len(label), *(len(text) for text in table[label])))
    for row in table.iter_rows(named=True):
        yield _row(row) + f"  {row[label]}"
    numbers = table.select(pl.col(*_AVERAGED).cast(pl.Float64).fill_nan(None))
    for name, summary in (("Mean", numbers.mean()), ("S.D. (population)", numbers.std(ddof=0))):
        yield (
            _row(summary.row(0, named=True))
            + f"  {name}{f' (count: {table.height})' if name == 'Mean' else ''}"
        )


def _row(row: dict[str, object]) -> str:
    return "".join(_number(row[name], digits, width) for _, name, digits, width in _COLUMNS)


def _number(value: object, digits: int, width: int) -> str:
    if not isinstance(value, int | float) or value != value:
        return " " * width
    text = f"{value:.{digits}f}"
    return f"{text.removeprefix('-') if not text.strip('-0.') else text:>{width}}"


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


def _thresholds(table: pl.DataFrame) -> Iterator[str]:
    rows = [
        table.columns,
        *([f"{v:.2f}" if isinstance(v, float) else str(v) for v in row] for row in table.rows()),
    ]
    widths = [max(len(str(row[place])) for row in rows) for place in range(table.width)]
    for row in rows:
        yield "  ".join(f"{value!s:>{width}}" for value, width in zip(row, widths, strict=True))
