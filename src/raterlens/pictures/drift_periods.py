"""Drift: does a rater stay the same over time?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.errors import OptionError, choose
from raterlens.base.text import counted, number, printable
from raterlens.pictures.ranking import calibration_of, not_for, rater_name
from raterlens.pictures.style import light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, values
from raterlens.ratings.groupings import time_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings

Value = Literal["severity", "discrimination", "capability"]

MOST_PANELS = 12
LARGE = 100
"""In larger panels only the raters that are drawn are followed from period to period."""
SHOWN = 6
"""Raters drawn by default: those with a clear change, then those who changed most, in standard errors."""

_TITLES = {"severity": "Severity η", "discrimination": "Discrimination ρ", "capability": "Capability κ̄"}
_COLUMNS = {"severity": "eta", "discrimination": "rho", "capability": "kappa"}
# Effects that are tested for each value, and how their columns in the table `change` begin.
_TESTED = {"severity": {"drift": ""}, "discrimination": {"drift in discrimination": "slope_"}}
_TESTED["capability"] = _TESTED["severity"] | _TESTED["discrimination"]


def drift_data(
    fit: Fit,
    ratings: Ratings,
    time: Any,
    raters: Sequence[str] | None = None,
    *,
    value: Value = "severity",
    large: int = LARGE,
    shown: int = SHOWN,
) -> pl.DataFrame:
    """One row per rater and period: rater, period, order, n, value, low, high (95 %), overall (of the whole fit),
    change (largest distance from the rater's own mean, in standard errors), since (whether a detected change may have
    come in this period, by its 95 % confidence set), words. For a panel of more than `large`, only the raters named, or
    the `shown` whose change is clearest."""
    not_for(fit, "drift", "there is no severity to follow", "capability")
    choose("value", value, _TITLES)
    calibration_of(fit, "it cannot be followed over time")
    found = fit.diagnose(ratings, time=time)
    assert found.periods is not None
    only = (raters or _clearest(found, _TESTED[value].values(), shown)) if fit.n_raters > large else None
    rows = found.periods.fitted(only).with_columns(pl.col("rater").cast(pl.String))
    names = found.periods.names
    whole = _COLUMNS[value]
    se = f"{whole}_se"
    columns = {"value": pl.col(whole), "low": pl.col(f"{whole}_low"), "high": pl.col(f"{whole}_high")}
    changed = set(_changed(found, *time_of(time, ratings), _TESTED[value]))
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
    since = [place in changed for place in rows.select("rater", "order").iter_rows()]
    return rows.with_columns(
        pl.Series("words", words, dtype=pl.String), pl.Series("since", since, dtype=pl.Boolean)
    ).sort("rater", "order")


def _clearest(found: Diagnosis, prefixes: Iterable[str], shown: int) -> list[str]:
    """The raters whose change is the least likely to be chance."""
    least = pl.min_horizontal(*(pl.col(f"{prefix}p").fill_nan(1.0) for prefix in prefixes))
    order = found.tables["change"].sort(least, maintain_order=True, nulls_last=True)
    return order["rater"].cast(pl.String).head(shown).to_list()


def _changed(
    found: Diagnosis, moment: NDArray[np.int32], labels: pl.Series, tested: dict[str, str]
) -> Iterator[tuple[str, int]]:
    """Raters with a clear change, and each period in which it may have come."""
    assert found.periods is not None
    period = np.zeros(len(labels), np.int64)
    period[moment] = found.periods.period
    place = {label: at for at, label in enumerate(labels)}
    changes = {str(row["rater"]): row for row in found.tables["change"].iter_rows(named=True)}
    for rater, effect in found.tables["flags"].select("rater", "effect").iter_rows():
        if effect in tested:
            ends = (changes[rater][f"{tested[effect]}since_{end}"] for end in ("low", "high"))
            first, last = (int(period[place[end]]) for end in ends)
            yield from ((rater, at) for at in range(first, last + 1))


def drift(
    fit: Fit,
    ratings: Ratings,
    time: Any,
    raters: Sequence[object] | None = None,
    *,
    value: Value = "severity",
    width: int = DEFAULT_WIDTH,
) -> Any:
    """Does a rater become more severe, or less capable, over time?

    If a change is clear, the periods in which it may have come (its 95 % confidence set) are shaded.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    ratings
        Those that were fitted.
    time
        When each rating was given: one value per rating (numbers, dates, or labels that sort), or the name of a facet.
        Many different times are grouped into four periods.
    raters
        Up to twelve; by default the six who changed most.
    value
        `"severity"`, `"discrimination"` or `"capability"`.
    width
        Width of the whole chart in pixels; 380 suits a phone.

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
    check_width(width)
    names = None if raters is None else [rater_name(fit, rater) for rater in raters]
    if names is not None and not 1 <= len(names) <= MOST_PANELS:
        remedy = f"give from 1 to {MOST_PANELS}"
        raise OptionError(f"{len(names)} raters are given", remedy, value=len(names), option="raters")
    data = drift_data(fit, ratings, time, names, value=value)
    if names is None:
        most = data.group_by("rater", maintain_order=True).agg(
            pl.col("since").any(), pl.col("change").first()
        )
        names = (
            most.sort("since", "change", descending=True, maintain_order=True).head(SHOWN)["rater"].to_list()
        )
    n_periods = data["order"].n_unique()
    shown = data.filter(pl.col("rater").is_in(names))
    bounds = shown.select("low", "high", "overall").to_numpy()
    known = bounds[np.isfinite(bounds)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    if value == "capability":
        low, high = min(0.0, low), max(1.0, high)
    # A little beyond the ends, so that tick labels do not shift the titles.
    beyond = 0.06 * (high - low)
    scale = alt.Scale(domain=[low - beyond, high + beyond], nice=False)
    columns = min(len(names), 2 if width < 480 else 3)
    each = int((width - 62) / columns) - 14
    periods = shown.sort("order")["period"].unique(maintain_order=True).to_list()
    panels = []
    for place, name in enumerate(names):
        rows = shown.filter(rater=name)
        panels.append(
            _panel(
                rows, name, periods, scale, _TITLES[value] if place % columns == 0 else None, each
            ).properties(width=each, height=150 if width >= 480 else 130)
        )
    words = (
        f"{_TITLES[value].split()[0]} of {counted(len(names), 'rater')} over {counted(n_periods, 'period')}, each with "
        "its 95 % interval; the dashed line is the rater's overall value."
    )
    if shown["since"].any():
        words += " Shaded: when a clear change came, with 95 % confidence."
    return finished(alt.concat(*panels, columns=columns, spacing=14), words)


def _panel(
    rows: pl.DataFrame, name: str, periods: list[str], scale: Any, title: str | None, width: int
) -> Any:
    def along(column: str) -> Any:
        angle = 0 if max(len(period) for period in periods) <= 3 else -35
        return alt.X(
            f"{column}:O",
            sort=periods,
            title=None,
            scale=alt.Scale(type="point", domain=periods, padding=0.5),
            axis=alt.Axis(labelAngle=angle, grid=False, labelLimit=90),
        )

    x = along("period")
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
    half = width / len(periods) / 2
    when = rows.filter("since").sort("order")["period"]
    shade = (
        alt.Chart(pl.DataFrame({"first": when[:1], "last": when[-1:]}))
        .mark_rect(fill=light("accent"), opacity=0.13, xOffset=-half, x2Offset=half)
        .encode(x=along("first"), x2="last")
    )
    return shade + whole + rules + line + points
