"""Drift: does a rater stay the same over time?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from raterlens.base.errors import choose
from raterlens.base.layers import Axis, Bars, Layer, Line, Marks, Segments, Stroke, around, rule
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import mark
from raterlens.base.text import counted, number, printable
from raterlens.pictures.rater_pictures import ability_calibration, rater_names, with_words
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
    ability_calibration(fit, "drift", "there is no severity to follow", "capability")
    choose("value", value, _TITLES)
    found = fit.diagnose(ratings, time=time)
    assert found.periods is not None
    only = raters
    if raters is None and fit.n_raters > large:  # those whose change is the least likely to be chance
        least = pl.min_horizontal(*(pl.col(f"{prefix}p").fill_nan(1.0) for prefix in _TESTED[value].values()))
        clearest = found.tables["change"].sort(least, maintain_order=True, nulls_last=True)
        only = clearest["rater"].cast(pl.String).head(shown).to_list()
    rows = found.periods.fitted(only if fit.n_raters > large else None)
    whole = _COLUMNS[value]
    change = ((pl.col(whole) - pl.col(whole).mean()).abs() / pl.col(f"{whole}_se")).max().over("rater")
    order = {name: place for place, name in enumerate(found.periods.names.to_list())}
    overall = fit.table("raters").select(pl.col("rater").cast(pl.String), overall=pl.col(whole))
    rows = rows.select(
        pl.col("rater", "period").cast(pl.String),
        "n",
        value=pl.col(whole),
        low=pl.col(f"{whole}_low"),
        high=pl.col(f"{whole}_high"),
        change=pl.when(pl.len().over("rater") > 1).then(change).otherwise(0.0).fill_nan(0.0),
        order=pl.col("period").cast(pl.String).replace_strict(order),
    ).join(overall, on="rater", how="left", maintain_order="left")
    rows = with_words(
        rows,
        lambda row: (
            f"{printable(row['rater'])}, {printable(row['period'])}: {number(row['value'])} ({number(row['low'])} to "
            f"{number(row['high'])}), {counted(row['n'], 'rating')}"
        ),
    )
    changed = set(_changed(found, *time_of(time, ratings), _TESTED[value]))
    since = [place in changed for place in rows.select("rater", "order").iter_rows()]
    return rows.with_columns(pl.Series("since", since, dtype=pl.Boolean)).sort("rater", "order")


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
) -> Picture:
    """A panel per rater: the value in each period with its interval, and when a clear change came."""
    names = None if raters is None else rater_names(fit, raters, MOST_PANELS)
    data = drift_data(fit, ratings, time, names, value=value)
    if names is None:
        most = data.group_by("rater", maintain_order=True).agg(
            pl.col("since").any(), pl.col("change").first()
        )
        most = most.sort("since", "change", descending=True, maintain_order=True)
        names = most.head(SHOWN)["rater"].to_list()
    shown = data.filter(pl.col("rater").is_in(names))
    held = [*shown["low"], *shown["high"], *shown["overall"], *((0.0, 1.0) if value == "capability" else ())]
    y = Axis(*around(held, 0.06), _TITLES[value], (5, 5), grid=True)  # one scale for all panels
    order = shown.sort("order")["period"].unique(maintain_order=True).to_list()
    place = {period: at for at, period in enumerate(order)}
    shown = shown.with_columns(at=pl.col("period").replace_strict(place, return_dtype=pl.Float64))
    panels = tuple(_panel(shown.filter(rater=name), name, order, y) for name in names)
    description = (
        f"{_TITLES[value].split()[0]} of {counted(len(names), 'rater')} over "
        f"{counted(data['order'].n_unique(), 'period')}, each with its 95 % interval; the dashed line is the rater's "
        "overall value."
    )
    if shown["since"].any():
        description += " Shaded: when a clear change came, with 95 % confidence."
    return Picture(panels, description, (150, 130), (min(len(names), 3), min(len(names), 2)))


def _panel(rows: pl.DataFrame, name: str, periods: list[str], y: Axis) -> Panel:
    # "2: from 9 May" stands where the others do: its day will do.
    names = (printable(period.removeprefix(f"{at + 1}: from ")) for at, period in enumerate(periods))
    x = Axis(-0.5, len(periods) - 0.5, labels=tuple((float(at), name) for at, name in enumerate(names)))
    when = rows.filter("since")["at"].to_numpy()
    layers: list[Layer] = []
    if len(when):
        ends = {"first": [when.min() - 0.5], "last": [when.max() + 0.5], "low": [y.low], "high": [y.high]}
        layers.append(Bars(pl.DataFrame(ends), "first", "low", "last", "high", "accent", 0.13))
    layers += [
        rule((x, y), Stroke("soft", dash="4 3"), y=float(rows["overall"][0])),
        Segments(rows, "at", "low", "at", "high", Stroke("accent", 3.0, opacity=0.45)),
        Line(rows.sort("at"), "at", "value", Stroke("accent", 1.2, opacity=0.7)),
        Marks(rows, "at", "value", mark("circle", "accent"), 0.8),
    ]
    return Panel(x, y, tuple(layers), printable(name))
