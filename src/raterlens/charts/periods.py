"""Drift: does a rater stay the same over time?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from raterlens.charts.palette import light
from raterlens.charts.raters import not_for, rater_name
from raterlens.charts.text import number, printable
from raterlens.charts.theme import DESK, check_width, finished, values
from raterlens.diagnostics.coding import periods_of, time_of
from raterlens.diagnostics.drift import Periods
from raterlens.errors import OptionError, choose
from raterlens.wording import counted

if TYPE_CHECKING:
    from raterlens.ratings import Ratings
    from raterlens.results import Fit

Value = Literal["severity", "capability"]

MOST_PANELS = 12
SHOWN = 6
"""Raters drawn where none are named: those who changed most, in standard errors."""

_SURE = 1.96
_TITLES = {"severity": "Severity η", "capability": "Capability κ̄"}


def drift_data(fit: Fit, ratings: Ratings, time: Any, *, value: Value = "severity") -> pl.DataFrame:
    """A row for every rater and period: rater, period, order, n, value, low, high (95 %), overall (the whole fit's),
    change (largest step away from the rater's own mean, in standard errors), words."""
    not_for(fit, "drift", "there is no severity to follow", "capability")
    choose("value", value, _TITLES)
    if fit.calibration is None:
        raise OptionError("this fit was made without a calibration, so it cannot be followed; fit again")
    period, names = periods_of(*time_of(time, ratings))
    rows = Periods(fit, ratings, period, names).fitted().with_columns(pl.col("rater").cast(pl.String))
    if value == "severity":
        reach = _SURE * pl.col("eta_se")
        columns = {"value": pl.col("eta"), "low": pl.col("eta") - reach, "high": pl.col("eta") + reach}
        whole, se = "eta", "eta_se"
    else:
        columns = {"value": pl.col("kappa"), "low": pl.col("kappa_low"), "high": pl.col("kappa_high")}
        whole, se = "kappa", "kappa_se"
    overall = fit.table("raters").select(pl.col("rater").cast(pl.String), overall=pl.col(whole))
    change = ((pl.col(whole) - pl.col(whole).mean()).abs() / pl.col(se)).max().over("rater")
    order = {name: place for place, name in enumerate(names.to_list())}
    rows = rows.select(
        "rater",
        pl.col("period").cast(pl.String),
        "n",
        **columns,
        change=pl.when(pl.len().over("rater") > 1).then(change).otherwise(0.0).fill_nan(0.0),
        order=pl.col("period").cast(pl.String).replace_strict(order),
    ).join(overall, on="rater", how="left", maintain_order="left")
    words = [
        f"{printable(row['rater'])}, {printable(row['period'])}: {number(row['value'])} ({number(row['low'])} to "
        f"{number(row['high'])}), {counted(row['n'], 'rating')}"
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(pl.Series("words", words, dtype=pl.String)).sort("rater", "order")


def drift(
    fit: Fit,
    ratings: Ratings,
    time: Any,
    raters: Sequence[object] | None = None,
    *,
    value: Value = "severity",
    width: int = DESK,
) -> Any:
    """Does a rater become more severe, or less capable, over time?

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted.
    time
        When each rating was given, one value a rating (numbers, dates, or labels that sort), or the name of a facet.
        Many different times are put together to four periods.
    raters
        Up to twelve; the six who changed most where left out.
    value
        `"severity"` or `"capability"`.
    width
        Of the whole chart, in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.simulate(students=60, raters=3, items=2, seed=1).ratings
    >>> day = [i * 4 // ratings.n_ratings for i in range(ratings.n_ratings)]
    >>> chart = rl.charts.drift(rl.fit(ratings), ratings, day)
    >>> chart.to_dict()["description"][:41]
    'Severity of 3 raters over 4 periods, each'
    """
    import altair as alt

    check_width(width)
    names = None if raters is None else [rater_name(fit, rater) for rater in raters]
    if names is not None and not 1 <= len(names) <= MOST_PANELS:
        raise OptionError(f"{len(names)} raters; give from 1 to {MOST_PANELS}")
    data = drift_data(fit, ratings, time, value=value)
    if names is None:
        most = data.group_by("rater", maintain_order=True).agg(pl.col("change").first())
        names = most.sort("change", descending=True, maintain_order=True).head(SHOWN)["rater"].to_list()
    n_periods = data["order"].n_unique()
    shown = data.filter(pl.col("rater").is_in(names))
    bounds = shown.select("low", "high", "overall").to_numpy()
    known = bounds[np.isfinite(bounds)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    if value == "capability":
        low, high = min(0.0, low), max(1.0, high)
    # A little beyond the ends, so that their ticks leave the titles in line.
    beyond = 0.06 * (high - low)
    scale = alt.Scale(domain=[low - beyond, high + beyond], nice=False)
    columns = min(len(names), 2 if width < 480 else 3)
    each = int((width - 62) / columns) - 14
    periods = shown.sort("order")["period"].unique(maintain_order=True).to_list()
    panels = []
    for place, name in enumerate(names):
        rows = shown.filter(rater=name)
        panels.append(
            _panel(rows, name, periods, scale, _TITLES[value] if place % columns == 0 else None).properties(
                width=each, height=150 if width >= 480 else 130
            )
        )
    words = (
        f"{_TITLES[value].split()[0]} of {counted(len(names), 'rater')} over {counted(n_periods, 'period')}, each with "
        "its 95 % interval; the dashed line is the rater's value in the whole."
    )
    return finished(alt.concat(*panels, columns=columns, spacing=14), words)


def _panel(rows: pl.DataFrame, name: str, periods: list[str], scale: Any, title: str | None) -> Any:
    import altair as alt

    x = alt.X(
        "period:O",
        sort=periods,
        title=None,
        scale=alt.Scale(domain=periods, padding=0.5),
        axis=alt.Axis(labelAngle=0 if max(len(p) for p in periods) <= 3 else -35, grid=False, labelLimit=90),
    )
    y = alt.Y(
        "value:Q",
        scale=scale,
        axis=alt.Axis(title=title, labels=title is not None, ticks=title is not None, tickCount=5),
    )
    base = alt.Chart(values(rows), title=alt.TitleParams(printable(name), limit=150, frame="group"))
    whole = base.mark_rule(stroke=light("soft"), strokeDash=[4, 3]).encode(
        y=alt.Y("mean(overall):Q", scale=scale)
    )
    rules = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(stroke=light("accent"), strokeWidth=3, opacity=0.45, strokeCap="round")
        .encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
    )
    line = base.mark_line(stroke=light("accent"), strokeWidth=1.2, opacity=0.7).encode(x=x, y=y)
    points = base.mark_point(filled=True, color=light("accent"), size=48, opacity=1, aria=True).encode(
        x=x,
        y=y,
        description="words:N",
        tooltip=[alt.Tooltip("words:N", title=" ")],
    )
    return whole + rules + line + points
