"""Estimates against the truth, over replications, and pages and tables about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from raterlens.base.text import number
from raterlens.fitting.fit import Fit
from raterlens.simulation.simulate import Truth

_COLUMNS = {
    "kappa": ("raters", "rater"),
    "rho": ("raters", "rater"),
    "eta": ("raters", "rater"),
    "theta": ("students", "student"),
    "delta": ("items", "item"),
}


def compare(fit: Fit, truth: Truth, parameters: Sequence[str], **labels: Any) -> pl.DataFrame:
    """Rows `parameter, level, truth, estimate` of a fit, after the labels of the condition."""
    frames = []
    for name in parameters:
        if name == "sigma":
            frames.append(rows(name, ["all"], [truth.sigma], [fit.sigma]))
            continue
        table, label = _COLUMNS[name]
        found = fit.table(table)
        right = {"theta": truth.ability, "delta": truth.difficulty, "eta": truth.severity}
        expected = right[name] if name in right else getattr(truth, name)
        frames.append(rows(name, found[label].cast(pl.String), expected, found[name]))
    return label_rows(pl.concat(frames), **labels)


def rows(
    parameter: str, level: Sequence[str] | pl.Series, truth: ArrayLike, estimate: ArrayLike
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "parameter": pl.repeat(parameter, len(level), eager=True, dtype=pl.String),
            "level": level,
            "truth": np.asarray(truth, float),
            "estimate": np.asarray(estimate, float),
        }
    )


def label_rows(frame: pl.DataFrame, **labels: Any) -> pl.DataFrame:
    return frame.select(*(pl.lit(value).alias(name) for name, value in labels.items()), pl.all())


def accuracy(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Bias and RMSE of every group, each with its Monte-Carlo standard error.

    Replications are independent, levels (raters, say) within one are not, so errors are averaged within a replication
    first.
    """
    error = pl.col("estimate") - pl.col("truth")
    once = (
        rows.group_by(*by, "replication")
        .agg(pl.col("truth").mean(), error.mean().alias("error"), (error**2).mean().alias("square"))
        .sort(*by, "replication")
    )
    root = pl.col("square").mean().sqrt()
    n = pl.len().sqrt()
    return (
        once.group_by(*by, maintain_order=True)
        .agg(
            pl.len().alias("replications"),
            pl.col("truth").mean(),
            pl.col("error").mean().alias("bias"),
            (pl.col("error").std() / n).alias("bias_se"),
            root.alias("rmse"),
            # sd(e²) / (2 RMSE sqrt(n)), by the delta method.
            pl.when(root > 0).then(pl.col("square").std() / (2 * root * n)).otherwise(0.0).alias("rmse_se"),
        )
        .with_columns(pl.col("bias_se", "rmse_se").fill_null(float("nan")))
    )


def means(*columns: str) -> list[pl.Expr]:
    """Means over independent replications, each with its Monte-Carlo standard error as NAME_se."""
    error = pl.len().sqrt()
    return [
        one
        for name in columns
        for one in (pl.col(name).mean(), (pl.col(name).std() / error).alias(f"{name}_se"))
    ]


def percent(row: Mapping[str, Any], name: str = "covered") -> str:
    """A share of `means` in percent, with its Monte-Carlo standard error."""
    return with_error(100 * row[name], 100 * row[f"{name}_se"], 1)


def replications(found: pl.DataFrame) -> int:
    """How many replications a table of `accuracy` is based on."""
    return int(max(found["replications"].to_list()))


def with_error(value: float, error: float, digits: int = 3) -> str:
    """0.831 ± 0.002"""
    return f"{number(value, digits)} ± {number(error, digits)}"


def statistic(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """A `bias` or `rmse` of `accuracy`, with its Monte-Carlo standard error."""
    return with_error(row[name], row[f"{name}_se"], digits)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table: the first column aligned left, the others right."""
    align = ["---", *["---:"] * (len(heading) - 1)]
    lines = [heading, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*parts: str) -> str:
    """Paragraphs, headings and tables, separated by empty lines."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def opening(name: str, replications: int) -> str:
    """The command that writes a page."""
    return f"`raterlens study {name} --replications {replications} --out DIR` wrote this page."
