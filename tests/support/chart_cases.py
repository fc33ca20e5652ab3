"""Every public chart, drawn for a fit with its ratings; and what a drawing shows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

import polars as pl

import raterlens as rl
from raterlens.fitting.fit import Fit

TIMES = 3


@dataclass(frozen=True)
class Case:
    """A fit and its ratings."""

    fit: Fit
    ratings: rl.Ratings

    @property
    def weakest(self) -> str:
        """The least capable rater."""
        return str(self.fit.table("raters").sort("kappa")["rater"].cast(pl.String)[0])

    @property
    def times(self) -> list[int]:
        """A time for each rating."""
        return [place % TIMES for place in range(self.ratings.n_ratings)]


DRAWINGS: dict[str, Callable[[Case, int], Any]] = {
    "capability": lambda case, width: rl.charts.capability(case.fit, width=width),
    "categories": lambda case, width: rl.charts.categories(case.fit, width=width),
    "category_use": lambda case, width: rl.charts.category_use(case.fit, case.ratings, width=width),
    "curves": lambda case, width: rl.charts.curves(case.fit, width=width),
    "drift": lambda case, width: rl.charts.drift(case.fit, case.ratings, case.times, width=width),
    "expected": lambda case, width: rl.charts.expected(case.fit, case.ratings, case.weakest, width=width),
    "fit_statistics": lambda case, width: rl.charts.fit_statistics(case.fit, case.ratings, width=width),
    "information": lambda case, width: rl.charts.information(case.fit, width=width),
    "network": lambda case, width: rl.charts.network(case.ratings, width=width),
    "severity": lambda case, width: rl.charts.severity(case.fit, width=width),
    "what_if": lambda case, width: rl.charts.what_if(case.fit, case.weakest, width=width),
    "wright": lambda case, width: rl.charts.wright(case.fit, width=width),
}


ORDERED = ("categories", "category_use")
"""Charts of ordered scores alone."""


def texts(chart: Any) -> list[str]:
    """The text that a chart shows."""
    root = ElementTree.fromstring(rl.charts.svg(chart))
    return [element.text or "" for element in root.iter("text")]


def titles(chart: Any, *elements: str) -> list[str]:
    """The tooltips of a chart, of some elements or of all."""
    root = ElementTree.fromstring(rl.charts.svg(chart))
    return [
        title.text or ""
        for element in root.iter()
        if element.tag != "svg" and (not elements or element.tag in elements)
        for title in element.findall("title")
    ]


def with_raters(fit: Fit, **columns: pl.Expr) -> Fit:
    """The fit with other columns in its table of raters."""
    table = fit.table("raters").with_columns(**columns)
    return replace(fit, tables={**fit.tables, "raters": table})
