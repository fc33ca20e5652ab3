"""Misfit: infit and outfit, and observed against expected scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95
from raterlens.base.layers import Area, Axis, Bars, Layer, Line, Marks, Names, Stroke, rule
from raterlens.base.picture import Picture, plot
from raterlens.base.style import mark
from raterlens.base.text import counted, distinct, number, printable
from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.fit_statistics import curves, rater_fit
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.pictures.ranking import ability_calibration, rater_name, with_words

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

_TABLES: dict[str, Callable[[Residuals], pl.DataFrame]] = {"raters": rater_fit, "curves": curves}


def diagnosis_table(fit: Result, ratings: Ratings | Diagnosis, table: str) -> pl.DataFrame:
    """`raters` (fit statistics) or `curves` (observed and expected), with labels as text."""
    made = (
        ratings.tables if isinstance(ratings, Diagnosis) else {table: _TABLES[table](residuals(fit, ratings))}
    )
    return made[table].with_columns(pl.col("rater").cast(pl.String))


USUAL = (0.5, 1.5)
"""Mean squares that do no harm in practice, whatever their test says (Linacre, 2002)."""

CLEAR = 3.0
"""Standardised values beyond this are rarely chance, even among hundreds of raters."""

_NAMED = 30

EXPECTED, NOISY, PREDICTABLE = "as expected", "noisier than expected", "more predictable than expected"
_KINDS = {
    EXPECTED: mark("circle", "accent", EXPECTED),
    NOISY: mark("triangle-up", "severe", NOISY),
    PREDICTABLE: mark("square", "weak", PREDICTABLE),
}


def fit_statistics_data(fit: Result, ratings: Ratings | Diagnosis) -> pl.DataFrame:
    """One row per rater: rater, n, infit, infit_z, outfit, outfit_z, kind, words."""
    ability_calibration(fit, "fit_statistics", "it has no residuals by ability", "capability")
    rows = diagnosis_table(fit, ratings, "raters").select(
        "rater", "n", "infit", "infit_z", "outfit", "outfit_z"
    )
    rows = rows.with_columns(pl.Series("rater", distinct(rows["rater"])))
    noisy = pl.max_horizontal(pl.col("infit_z"), pl.col("outfit_z")) > CLEAR
    predictable = pl.min_horizontal(pl.col("infit_z"), pl.col("outfit_z")) < -CLEAR
    kind = (
        pl.when(noisy)
        .then(pl.lit(NOISY))
        .when(predictable)
        .then(pl.lit(PREDICTABLE))
        .otherwise(pl.lit(EXPECTED))
    )
    return with_words(
        rows.with_columns(kind=kind),
        lambda row: (
            f"{row['rater']}: infit {number(row['infit'])} (z {number(row['infit_z'], 1)}), outfit "
            f"{number(row['outfit'])} (z {number(row['outfit_z'], 1)})"
        ),
    )


def fit_statistics(fit: Result, ratings: Ratings | Diagnosis) -> Picture:
    """Infit against outfit of every rater; values in the shaded square are unproblematic."""
    data = fit_statistics_data(fit, ratings)
    reach = data.select("infit", "outfit").to_numpy()
    low, high = min(0.45, 0.95 * float(np.nanmin(reach))), max(1.6, 1.05 * float(np.nanmax(reach)))
    x, y = (Axis(low, high, f"{name} mean square", log=True) for name in ("Infit", "Outfit"))
    square = pl.DataFrame({"low": [USUAL[0]], "high": [USUAL[1]]})
    far = pl.max_horizontal(pl.col("infit").log().abs(), pl.col("outfit").log().abs())
    named = data.sort(pl.col("kind") == EXPECTED, far, descending=[False, True]).head(_NAMED)
    cross = Stroke("faint", dash="4 3")
    layers: list[Layer] = [
        Bars(square, "low", "low", "high", "high", "accent", 0.09),
        rule((x, y), cross, x=1.0),
        rule((x, y), cross, y=1.0),
        Marks(data, "infit", "outfit", _KINDS, 0.95 if data.height <= 200 else 0.61),
        Names(named, "infit", "outfit"),
    ]
    odd = data.filter(pl.col("kind") != EXPECTED).height
    description = (
        f"Infit and outfit mean squares of {counted(data.height, 'rater')}; "
        f"{counted(odd, 'rater differs', 'raters differ')} clearly from what the model expects."
    )
    return plot(x, y, layers, description, 400)


OBSERVED, BY_MODEL = "observed mean score", "expected by the model, with its 95 % margin"


def expected_data(fit: Result, ratings: Ratings | Diagnosis, rater: object) -> pl.DataFrame:
    """One row per group of students, from the weakest to the ablest according to the other raters: group, n, ability,
    observed, expected, low, high (the 95 % range of the observed mean under the model), words. The lowest score counts
    as 0, the next as 1, and so on."""
    ability_calibration(fit, "expected", "it expects categories, not scores along ability", "capability")
    name = rater_name(fit, rater)
    rows = diagnosis_table(fit, ratings, "curves").filter(rater=name).drop("rater").sort("group")
    reach = NORMAL_95 * pl.col("se")
    lowest, highest = _ends(fit)
    rows = rows.with_columns(
        low=(pl.col("expected") - reach).clip(lowest, highest),
        high=(pl.col("expected") + reach).clip(lowest, highest),
    )
    return with_words(
        rows.drop("se"),
        lambda row: (
            f"{counted(row['n'], 'rating')} at ability {number(row['ability'])}: observed {number(row['observed'])}, "
            f"expected {number(row['expected'])}"
        ),
    )


def expected(fit: Result, ratings: Ratings | Diagnosis, rater: object) -> Picture:
    """Mean scores of a rater by ability, observed and as the model expects them."""
    data = expected_data(fit, ratings, rater)
    scores, ability = data.select("observed", "low", "high").to_numpy(), data["ability"].to_numpy()
    bottom, top = float(np.nanmin(scores)), float(np.nanmax(scores))
    margin, left, right = 0.04 * max(top - bottom, 1.0), float(ability.min()), float(ability.max())
    # A little beyond both ends, so that points on them are whole.
    beyond = 0.03 * max(right - left, 1.0)
    title = "Ability θ according to the other raters"
    x = Axis(left - beyond, right + beyond, title, (6, 6))
    y = Axis(bottom - margin, top + margin, "Mean score", (5, 5), grid=True)
    layers: list[Layer] = [
        Area(data, "ability", "low", "high", "faint", 0.25),
        Line(data, "ability", "expected", Stroke("soft", 2.2, "6 3", words=BY_MODEL)),
        Marks(data, "ability", "observed", mark("circle", "severe", OBSERVED), 1.1),
    ]
    outside = data.filter((pl.col("observed") < pl.col("low")) | (pl.col("observed") > pl.col("high"))).height
    description = (
        f"Observed and expected mean scores of {printable(rater)} by ability: {outside} of "
        f"{counted(data.height, 'group')} of students outside the 95 % margin."
    )
    return plot(x, y, layers, description, 320)


def _ends(fit: Result) -> tuple[float, float]:
    """The lowest and the highest score, as the file counts."""
    assert fit.calibration is not None
    lowest, *_, highest = fit.calibration.values.tolist()
    return lowest, highest
