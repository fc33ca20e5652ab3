"""The page of the calibration study: tables with Monte-Carlo errors, and what they say."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from raterlens.base.text import number
from raterlens.studies.markdown import opening, table, with_error
from raterlens.studies.markdown import page as joined

DEFAULT = "draws (the default)"
SANDWICH = "draws, sandwich covariance"
CORRECTED = "draws, corrected yardstick"
SAMPLED = "panel prior"
WALD = "Wald"
LOGIT = "Wald, logit scale"
PROFILE = "profile likelihood"
BOOTSTRAPS = {
    "students": ("bootstrap of students, percentile", "bootstrap of students, bias-corrected"),
    "parametric": ("parametric bootstrap, percentile", "parametric bootstrap, bias-corrected"),
}
"""Names of the intervals of each kind: quantiles of the replicates, and shifted ones."""

METHODS = (
    DEFAULT,
    PROFILE,
    SANDWICH,
    WALD,
    LOGIT,
    *BOOTSTRAPS["students"],
    *BOOTSTRAPS["parametric"],
    CORRECTED,
    SAMPLED,
)
INSIDE = "inside"
"""Raters away from any bound."""
_MAIN = ("writing", "study 1")


def page(tables: Mapping[str, pl.DataFrame]) -> str:
    overall = tables["overall"]
    replications = int(max(overall["replications"].to_list()))
    return joined(
        "# Calibration: do intervals cover?",
        opening("calibration", replications),
        "Nominal 95 % intervals of κ̄ on ratings with known truth. Coverage is the share of intervals that contain the "
        "truth, ± its Monte-Carlo standard error (replications are independent, raters within one are not); width is "
        "the mean width; *too high* is the share that lies above the truth. Profiles and bootstraps take many fits "
        "each, so they come from every fifth and every fiftieth replication; designs other than the paper's two come "
        "from the first 200.",
        "![Coverage and width of every interval](calibration.png)",
        "## Raters inside",
        "All raters but those at a bound: estimated at 0, or truly the most discriminating (ρ = 1).",
        _methods(tables["coverage"].filter(pl.col("group") == INSIDE)),
        "## Raters at a bound",
        _groups(tables["coverage"]),
        "The truly best rater has ρ = 1, and by chance another is estimated above it in about half of the "
        "replications. Its interval then depends on how close the two are, and misses more often than the others. "
        "Raters estimated at 0 are by selection weak raters with bad luck, so fewer of their one-sided intervals reach "
        "the truth; over all replications weak raters are covered like the others (next table).",
        "## Every rater, default method",
        _raters(tables["raters"]),
        "## κ(θ)",
        "Pointwise intervals at three abilities, default method, raters inside.",
        _curves(tables["curves"].filter(pl.col("group") == INSIDE)),
        "## Bias and error of the estimators",
        "Mean over raters of the absolute bias, and of the RMSE, of κ̄. The panel prior takes raters for a sample of "
        'raters (see the study `priors`); `reference="max corrected"` subtracts from the largest slope what chance '
        "adds to it.",
        _estimators(tables["estimators"]),
        "The corrected yardstick lowers bias on every design, at the cost of a somewhat larger error.",
    )


def _design(row: Mapping[str, Any]) -> str:
    return f"{row['design']}, {row['model'].upper()}"


def _coverage(row: Mapping[str, Any]) -> str:
    """In percent, with its Monte-Carlo standard error."""
    return with_error(100 * row["coverage"], 100 * row["coverage_se"], 1)


def _methods(found: pl.DataFrame) -> str:
    rows = []
    for _, part in found.group_by("design", "model", maintain_order=True):
        have = part.rows_by_key("method", named=True, unique=True)
        rows += [
            [
                _design(have[method]),
                method,
                str(have[method]["replications"]),
                _coverage(have[method]),
                number(have[method]["width"], 3),
                number(100 * have[method]["too_high"], 1),
            ]
            for method in METHODS
            if method in have
        ]
    return table(["Design", "interval", "replications", "coverage, %", "width", "too high, %"], rows)


def _groups(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["group"],
            row["method"],
            f"{row['intervals']:,}",
            _coverage(row),
            number(row["width"], 3),
        ]
        for row in found.filter(pl.col("group") != INSIDE, pl.col("design").is_in(_MAIN)).iter_rows(
            named=True
        )
    ]
    return table(["Design", "raters", "interval", "intervals", "coverage, %", "width"], rows)


def _raters(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["rater"],
            number(row["truth"], 3),
            _coverage(row),
            number(row["width"], 3),
            number(100 * row["too_high"], 1),
        ]
        for row in found.filter(pl.col("design").is_in(_MAIN)).iter_rows(named=True)
    ]
    return table(["Design", "rater", "true κ̄", "coverage, %", "width", "too high, %"], rows)


def _curves(found: pl.DataFrame) -> str:
    rows = [
        [
            _design(row),
            row["quantity"].replace("kappa", "κ"),
            _coverage(row),
            number(row["width"], 3),
        ]
        for row in found.iter_rows(named=True)
    ]
    return table(["Design", "at", "coverage, %", "width"], rows)


_ESTIMATORS = {DEFAULT: "plain", CORRECTED: "corrected yardstick", SAMPLED: "panel prior"}


def _estimators(found: pl.DataFrame) -> str:
    rows = []
    for _, part in found.group_by("design", "model", maintain_order=True):
        have = part.rows_by_key("method", named=True, unique=True)
        plain = have[DEFAULT]
        for method, name in _ESTIMATORS.items():
            if method not in have:
                continue
            own = have[method]
            rows.append(
                [
                    _design(own),
                    name,
                    str(own["replications"]),
                    number(own["absolute_bias"], 4),
                    f"{100 * (own['absolute_bias'] / plain['absolute_bias'] - 1):+.0f} %",
                    number(own["rmse"], 4),
                    f"{100 * (own['rmse'] / plain['rmse'] - 1):+.0f} %",
                ]
            )
    return table(
        ["Design", "estimator", "replications", "mean absolute bias", "change", "mean RMSE", "change"], rows
    )
