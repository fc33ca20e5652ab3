"""Evidence for what the package does by default: studies with known truth.

`python -m benchmarks.studies NAME --out DIR` runs one, as `raterlens study` runs the paper's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.layers import Axis, Marks
from raterlens.base.picture import Panel
from raterlens.studies.study import kinds, rows_axis, with_error

STUDIES = {
    "abilities": "skewed and normal abilities, taken for normal or with their shape estimated",
    "calibration": "do intervals cover? coverage and width of each kind, and the bias of each estimator",
    "dependence": "coverage of intervals where the scores of a reading share more than ability",
    "misspecified": "capability when the fitted model is not the one behind the ratings",
    "passrates": "shares of good answers where people err: coverage, beside corrections that take people for truth",
    "pieces": "several pieces of work per student: what differs between them, apart from the raters",
    "priors": "raters judged alone or as a sample of raters: error, ranks and coverage on small panels",
    "ratings": "bias of the three methods as ratings per student fall from 800 to 5",
    "recovery": "every model and link: bias, and error against sample size",
    "replacement": "how often a judge is said to be as good as a person, at the margin and above it",
}
"""Each is `STUDY` in the module of its name."""


def opening(name: str, replications: int) -> str:
    """The command that writes a page."""
    return f"`python -m benchmarks.studies {name} --replications {replications} --out DIR` wrote this page."


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


def named_rows(
    rows: pl.DataFrame, columns: tuple[str, str, str], x: Axis, order: Sequence[str], *, title: str = ""
) -> Panel:
    """Points in rows: `columns` are the name of the row, the value, and what marks tell apart."""
    name, value, kind = columns
    places = {row: place + 0.5 for place, row in enumerate(order)}
    told = rows[kind].unique(maintain_order=True).to_list()
    # Half a row between the first and the last, so that none hides another.
    beside = dict(zip(told, np.linspace(-0.25, 0.25, len(told)) if len(told) > 1 else [0.0], strict=True))
    place = pl.col(name).replace_strict(places) + pl.col(kind).replace_strict(beside)
    rows = rows.with_columns(place.alias("row"), pl.col(kind).alias("kind"))
    return Panel(x, rows_axis(order), (Marks(rows, value, "row", kinds(told), tooltip=""),), title)
