"""Observed against expected: does a rater score students of every ability as the model says?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from raterlens.base.text import counted, number, printable
from raterlens.pictures.diagnosis_tables import diagnosis_table
from raterlens.pictures.label_placement import legend_columns
from raterlens.pictures.palette import light
from raterlens.pictures.rater_marks import not_for, rater_name
from raterlens.pictures.theme import (
    DEFAULT_WIDTH,
    check_width,
    extent,
    finished,
    tooltips,
    values,
)

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.ratings.coded import Ratings
    from raterlens.result.record import Result

HEIGHT = 320
OBSERVED, EXPECTED = "observed mean score", "expected by the model, with its 95 % margin"
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
    kinds = alt.Scale(domain=[OBSERVED, EXPECTED], range=[light("severe"), light("soft")])
    legend = alt.Legend(title=None, columns=legend_columns([OBSERVED, EXPECTED], width), symbolType="circle")
    line = (
        base.transform_calculate(kind=f"'{EXPECTED}'")
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
    return finished(band + line + points, words, width=width, height=HEIGHT)


def _ends(fit: Result) -> tuple[float, float]:
    """The lowest and the highest score, as the file counts."""
    assert fit.calibration is not None
    lowest, *_, highest = fit.calibration.values.tolist()
    return lowest, highest
