"""Infit and outfit: whose ratings are noisier, or more predictable, than the model expects?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.text import counted, distinct, number
from raterlens.pictures.diagnosis_tables import diagnosis_table
from raterlens.pictures.encodings import point_scales
from raterlens.pictures.label_placement import placed_names
from raterlens.pictures.palette import light
from raterlens.pictures.rater_marks import not_for
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, outlined, tooltips, values

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.ratings.coded import Ratings
    from raterlens.result.record import Result

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
