"""How well students, raters and items are told apart, and what a student would get from an average rater."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.diagnostics.expected_scores import rater_effects, rater_scores
from raterlens.diagnostics.residuals import Residuals
from raterlens.estimation.scoring import places_of
from raterlens.models.calibration import Calibration

_STEP = 1e-3
"""In severity, for its effect on scores"""
_COLUMNS = ("true_sd", "mean_error", "separation", "strata", "reliability", "chi_square", "p")


def reliability(students: pl.DataFrame, raters: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """A row each for students, raters and items: separation G = true spread / error, strata (4 G + 1) / 3,
    reliability G² / (1 + G²), and the chi-square of the hypothesis that all are the same.

    A high reliability of *raters* means that they differ reliably in severity: a board wants it low. Students'
    abilities are posterior means, which vary less than abilities do, so their reliability is the variance of the
    means over its sum with the mean posterior variance; they have no chi-square.
    """
    theta, sd = (students[name].to_numpy() for name in ("theta", "theta_se"))
    noise, seen = float(np.mean(sd**2)), float(np.var(theta))
    rows: list[tuple[object, ...]] = [("students", len(theta), *_row(seen, noise), np.nan, np.nan)]
    for name, table, measure in (("raters", raters, "eta"), ("items", items, "delta")):
        rows.append(
            (name, *_fixed(*(table[c].cast(pl.Float64).to_numpy() for c in (measure, f"{measure}_se"))))
        )
    schema = {"of": pl.String, "n": pl.Int64, **dict.fromkeys(_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


class Fair(NamedTuple):
    """Mean scores if all were rated alike, with standard errors: NaN where there are none."""

    average: Array
    error: Array

    def beside(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with `fair_average` and `fair_average_se`."""
        return table.with_columns(
            pl.Series("fair_average", self.average), pl.Series("fair_average_se", self.error)
        )


def fair_raters(calibration: Calibration, raters: pl.DataFrame) -> Fair:
    """The mean score that each rater would give an average student over all items, as the file counts: what severity
    amounts to in scores. `raters` has `rater` and `eta_se`."""
    every, _ = rater_effects(calibration)
    own = every.of(places_of(raters["rater"], calibration.labels["rater"], "raters"))
    average = rater_scores(calibration, own)
    fall = (average - rater_scores(calibration, replace(own, severity=own.severity + _STEP))) / _STEP
    return Fair(average, np.abs(fall) * raters["eta_se"].cast(pl.Float64).to_numpy())


def fair_shares(found: Residuals, raters: pl.DataFrame) -> tuple[Fair, Fair]:
    """Latent classes: the share of passes that each rater would give if they rated all work, and the share of each
    student's work that deserves to pass."""
    ratings, deserved = found.ratings, found.ability.mean
    place = places_of(ratings.raters, raters["rater"], "raters")
    sensitivity, specificity = (raters[name].to_numpy()[place] for name in ("sensitivity", "specificity"))
    overall = float(deserved.mean())
    student = np.empty(len(deserved), np.int64)
    student[found.judged] = ratings.student
    count = np.bincount(student, minlength=ratings.n_students)
    share = np.bincount(student, deserved, ratings.n_students) / count
    doubt = np.bincount(student, found.ability.sd**2, ratings.n_students)
    passes = overall * sensitivity + (1 - overall) * (1 - specificity)
    return Fair(passes, np.full_like(passes, np.nan)), Fair(share, np.sqrt(doubt) / count)


def _row(true: float, noise: float) -> tuple[float, float, float, float, float]:
    g = np.sqrt(true / noise) if noise > 0 else np.nan
    return (
        float(np.sqrt(true)),
        float(np.sqrt(noise)),
        float(g),
        float((4 * g + 1) / 3),
        true / (true + noise),
    )


def _fixed(measure: Array, error: Array) -> tuple[float, ...]:
    known = np.isfinite(measure) & np.isfinite(error) & (error > 0)
    x, e = measure[known], error[known]
    if len(x) < 2:
        return (len(x), *([np.nan] * len(_COLUMNS)))
    noise = float(np.mean(e**2))
    weight = 1 / e**2
    chi = float(weight @ (x - weight @ x / weight.sum()) ** 2)
    true = max(float(np.var(x, ddof=1)) - noise, 0.0)
    return (len(x), *_row(true, noise), chi, float(special.chdtrc(len(x) - 1, chi)))
