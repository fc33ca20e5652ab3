"""Misfit: infit and outfit, and observed against expected scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.text import counted, distinct, number, printable
from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.fit_statistics import curves, rater_fit
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.pictures.encodings import point_scales
from raterlens.pictures.label_placement import legend_columns, placed_names
from raterlens.pictures.ranking import calibration_of, not_for, rater_name
from raterlens.pictures.style import light
from raterlens.pictures.theme import (
    DEFAULT_WIDTH,
    check_width,
    extent,
    finished,
    outlined,
    tooltips,
    values,
)

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

_TABLES: dict[str, Callable[[Residuals], pl.DataFrame]] = {"raters": rater_fit, "curves": curves}


def diagnosis_table(fit: Result, ratings: Ratings | Diagnosis, table: str) -> pl.DataFrame:
    """`raters` (fit statistics) or `curves` (observed and expected), with labels as text."""
    if isinstance(ratings, Diagnosis):
        found = ratings.tables[table]
    else:
        calibration_of(fit, "it expects nothing")
        found = _TABLES[table](residuals(fit, ratings))
    return found.with_columns(pl.col("rater").cast(pl.String))


USUAL = (0.5, 1.5)
"""Mean squares that do no harm in practice, whatever their test says (Linacre, 2002)."""

CLEAR = 3.0
"""Standardised values beyond this are rarely chance, even among hundreds of raters."""

HEIGHT = 400
_MARGIN = 80
_NAMED = 30
_APART = 30
"""Least distance between ticks, in pixels."""

EXPECTED, NOISY, PREDICTABLE = "as expected", "noisier than expected", "more predictable than expected"
_KINDS = {EXPECTED: ("accent", "circle"), NOISY: ("severe", "triangle-up"), PREDICTABLE: ("weak", "square")}


def fit_statistics_data(fit: Result, ratings: Ratings | Diagnosis) -> pl.DataFrame:
    """One row per rater: rater, n, infit, infit_z, outfit, outfit_z, kind, words."""
    not_for(fit, "fit_statistics", "it has no residuals by ability", "capability")
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
    words = [
        f"{row['rater']}: infit {number(row['infit'])} (z {number(row['infit_z'], 1)}), outfit "
        f"{number(row['outfit'])} (z {number(row['outfit_z'], 1)})"
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(kind.alias("kind"), pl.Series("words", words, dtype=pl.String))


def fit_statistics(fit: Result, ratings: Ratings | Diagnosis, *, width: int = DEFAULT_WIDTH) -> Any:
    """Does the model describe every rater?

    Infit (weighted towards students whom a rater should be able to judge) against outfit (sensitive to single
    surprises). Both are 1 if ratings vary as the model expects; values in the shaded square do no harm in practice.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted, or what `fit.diagnose` returned.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> chart = rl.charts.fit_statistics(rl.fit(ratings), ratings)
    >>> chart.to_dict()["description"][:35]
    'Infit and outfit mean squares of 16'
    """
    check_width(width)
    data = fit_statistics_data(fit, ratings)
    reach = data.select("infit", "outfit").to_numpy()
    low = min(0.45, 0.95 * float(np.nanmin(reach)))
    high = max(1.6, 1.05 * float(np.nanmax(reach)))
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    x = alt.X("infit:Q", title="Infit mean square", scale=scale, axis=_axis(low, high, width - _MARGIN))
    y = alt.Y("outfit:Q", title="Outfit mean square", scale=scale, axis=_axis(low, high, HEIGHT))
    square = pl.DataFrame({"x": [USUAL[0]], "x2": [USUAL[1]], "y": [USUAL[0]], "y2": [USUAL[1]]})
    harmless = (
        alt.Chart(square)
        .mark_rect(color=light("accent"), opacity=0.09)
        .encode(x=alt.X("x:Q", scale=scale), x2="x2:Q", y=alt.Y("y:Q", scale=scale), y2="y2:Q")
    )
    one = alt.Chart(pl.DataFrame({"one": [1.0]}))
    cross = one.mark_rule(stroke=light("faint"), strokeDash=[4, 3]).encode(
        x=alt.X("one:Q", scale=scale)
    ) + one.mark_rule(stroke=light("faint"), strokeDash=[4, 3]).encode(y=alt.Y("one:Q", scale=scale))
    points = (
        alt.Chart(values(data))
        .mark_point(filled=True, opacity=1, size=60 if data.height <= 200 else 26, aria=True)
        .encode(
            x=x,
            y=y,
            **point_scales(data, _KINDS, width),
            description="words:N",
            tooltip=tooltips(
                ("rater", "Rater"), infit="Infit", infit_z="Infit z", outfit="Outfit", outfit_z="Outfit z"
            ),
        )
    )
    texts = outlined(alt.Chart(values(_names(data, low, high, width))).encode(x=x, y=y, text="name:N"))
    odd = data.filter(pl.col("kind") != EXPECTED).height
    words = (
        f"Infit and outfit mean squares of {counted(data.height, 'rater')}; "
        f"{counted(odd, 'rater differs', 'raters differ')} clearly from what the model expects."
    )
    return finished(harmless + cross + points + texts, words, width=width, height=HEIGHT)


def _axis(low: float, high: float, room: int) -> Any:
    """As many ticks as fit, always with 1."""
    ticks: list[float] = []
    for tick in (1.0, 0.5, 2.0, 0.1, 10.0, 1.5, 0.7, 0.2, 5.0, 0.3, 3.0, 0.05, 0.02, 0.01):
        apart = [abs(np.log(tick / other)) for other in ticks]
        if low <= tick <= high and min(apart, default=np.inf) * room > _APART * np.log(high / low):
            ticks.append(tick)
    return alt.Axis(grid=False, values=sorted(ticks), format="~g")


def _names(data: pl.DataFrame, low: float, high: float, width: int) -> pl.DataFrame:
    """Names of the raters that stand out, then of the others, where there is room."""
    far = pl.max_horizontal(pl.col("infit").log().abs(), pl.col("outfit").log().abs())
    named = data.sort(pl.col("kind") == EXPECTED, far, descending=[False, True]).head(_NAMED)
    span = float(np.log(high / low))
    at = (
        (pl.col("infit").log() - np.log(low)) / span * 100,
        (np.log(high) - pl.col("outfit").log()) / span * 100,
    )
    return placed_names(named, data, at, width - _MARGIN, HEIGHT)


SCORES_HEIGHT = 320
OBSERVED, BY_MODEL = "observed mean score", "expected by the model, with its 95 % margin"
_NORMAL_95 = 1.96


def expected_data(fit: Result, ratings: Ratings | Diagnosis, rater: object) -> pl.DataFrame:
    """One row per group of students, from the weakest to the ablest according to the other raters: group, n, ability,
    observed, expected, low, high (the 95 % range of the observed mean under the model), words. The lowest score counts
    as 0, the next as 1, and so on."""
    not_for(fit, "expected", "it expects categories, not scores along ability", "capability")
    name = rater_name(fit, rater)
    rows = diagnosis_table(fit, ratings, "curves").filter(rater=name).drop("rater").sort("group")
    words = [
        f"{counted(row['n'], 'rating')} at ability {number(row['ability'])}: observed {number(row['observed'])}, "
        f"expected {number(row['expected'])}"
        for row in rows.iter_rows(named=True)
    ]
    reach = _NORMAL_95 * pl.col("se")
    lowest, highest = _ends(fit)
    return rows.with_columns(
        low=(pl.col("expected") - reach).clip(lowest, highest),
        high=(pl.col("expected") + reach).clip(lowest, highest),
        words=pl.Series(words, dtype=pl.String),
    ).drop("se")


def expected(fit: Result, ratings: Ratings | Diagnosis, rater: object, *, width: int = DEFAULT_WIDTH) -> Any:
    """Does a rater score students of every ability as the model expects?

    Points outside the band show where the rater scores differently from what the model allows for.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted, or what `fit.diagnose` returned.
    rater
        A label of `fit.raters`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> chart = rl.charts.expected(rl.fit(ratings), ratings, "AM:Sport")
    >>> chart.to_dict()["description"][:45]
    'Observed and expected mean scores of AM:Sport'
    """
    check_width(width)
    data = expected_data(fit, ratings, rater)
    bottom, top = extent(data["observed"], data["low"], data["high"])
    margin = 0.04 * max(top - bottom, 1.0)
    x = alt.X(
        "ability:Q",
        title="Ability θ according to the other raters",
        scale=alt.Scale(zero=False, nice=False, padding=16),
        axis=alt.Axis(grid=False, tickCount=6),
    )
    # A little beyond both ends, so that points on them are whole.
    scale = alt.Scale(domain=[bottom - margin, top + margin], nice=False)
    base = alt.Chart(values(data))
    band = base.mark_area(color=light("faint"), opacity=0.25).encode(
        x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"
    )
    kinds = alt.Scale(domain=[OBSERVED, BY_MODEL], range=[light("severe"), light("soft")])
    legend = alt.Legend(title=None, columns=legend_columns([OBSERVED, BY_MODEL], width), symbolType="circle")
    line = (
        base.transform_calculate(kind=f"'{BY_MODEL}'")
        .mark_line(strokeWidth=2.2, strokeDash=[6, 3])
        .encode(
            x=x, y=alt.Y("expected:Q", scale=scale), color=alt.Color("kind:N", scale=kinds, legend=legend)
        )
    )
    points = (
        base.transform_calculate(kind=f"'{OBSERVED}'")
        .mark_point(filled=True, size=90, opacity=1, aria=True)
        .encode(
            x=x,
            y=alt.Y("observed:Q", title="Mean score", scale=scale, axis=alt.Axis(tickCount=5)),
            color=alt.Color("kind:N", scale=kinds, legend=legend),
            description="words:N",
            tooltip=tooltips(("n", "Ratings"), ability="Ability", observed="Observed", expected="Expected"),
        )
    )
    outside = data.filter((pl.col("observed") < pl.col("low")) | (pl.col("observed") > pl.col("high"))).height
    words = (
        f"Observed and expected mean scores of {printable(rater)} by ability: {outside} of "
        f"{counted(data.height, 'group')} of students outside the 95 % margin."
    )
    return finished(band + line + points, words, width=width, height=SCORES_HEIGHT)


def _ends(fit: Result) -> tuple[float, float]:
    """The lowest and the highest score, as the file counts."""
    assert fit.calibration is not None
    lowest, *_, highest = fit.calibration.values.tolist()
    return lowest, highest
