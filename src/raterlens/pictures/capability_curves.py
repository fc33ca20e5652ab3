"""Capability by ability: where on the scale does a rater tell students apart?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import listed, printable
from raterlens.capability.population import Histogram, Normal
from raterlens.pictures.encodings import line_scales
from raterlens.pictures.ranking import measurement_of, not_for, population_of, rater_name
from raterlens.pictures.style import light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, tooltips, values

if TYPE_CHECKING:
    from raterlens.inference.result import Result


MOST_LINES = 6
"""More lines cannot be told apart."""

MOST_OTHERS = 40

HEIGHT = 340
_ABILITY: Array = np.linspace(-3.5, 3.5, 57)
_DENSITY_HEIGHT = 0.28
"""Of the students' distribution, as a share of the plot."""


def curves_data(fit: Result, raters: Sequence[object] | None = None) -> pl.DataFrame:
    """rater, theta, kappa, kappa_low, kappa_high, place: 0, 1, ... for the raters named (by default the most capable,
    the median and the least capable), null for all others, who have no interval here."""
    chosen = _chosen(fit, raters)
    found = measurement_of(fit)
    names = fit.table("raters")["rater"].cast(pl.String)
    on, n = found.on, len(names)
    kappa = [found.index.rate_at(float(t), on.a, on.eta, on.halos) for t in _ABILITY] / found.index.best(
        on.sigmas
    )
    every = pl.DataFrame(
        {
            "rater": names.gather(np.repeat(np.arange(n), len(_ABILITY))),
            "theta": np.tile(_ABILITY, n),
            "kappa": kappa.T.ravel(),
        }
    )
    rows = np.array([names.to_list().index(name) for name in chosen])
    sure = found.only(rows).curves(names.gather(rows), _ABILITY.tolist()).drop("kappa")
    place = {name: order for order, name in enumerate(chosen)}
    return every.join(sure, on=["rater", "theta"], how="left", maintain_order="left").with_columns(
        place=pl.col("rater").replace_strict(place, default=None, return_dtype=pl.Int64)
    )


def panel_data(curves: pl.DataFrame) -> pl.DataFrame:
    """theta, low, high: the range of the middle 80 % of raters at each ability."""
    tenth, rest = pl.col("kappa").quantile(0.1, "linear"), pl.col("kappa").quantile(0.9, "linear")
    return curves.group_by("theta", maintain_order=True).agg(low=tenth, high=rest)


def students_data(fit: Result) -> pl.DataFrame:
    """theta, density of the students over whom capability is averaged."""
    students = population_of(fit)
    if isinstance(students, Normal):
        z = (_ABILITY - students.mean) / students.sd
        density = np.exp(-(z**2) / 2) / (students.sd * np.sqrt(2 * np.pi))
    else:
        assert isinstance(students, Histogram)
        cell = np.searchsorted(students.edges, _ABILITY, side="right") - 1
        inside = (cell >= 0) & (cell < len(students.share))
        heights = students.share / np.diff(students.edges)
        density = np.where(inside, heights[np.clip(cell, 0, len(heights) - 1)], 0.0)
    return pl.DataFrame({"theta": _ABILITY, "density": density})


def curves(fit: Result, raters: Sequence[object] | None = None, *, width: int = DEFAULT_WIDTH) -> Any:
    """At which abilities does a rater tell students apart?

    κ(θ) of a few raters with its 95 % interval, in front of all others in grey (the middle 80 % of a large panel), with
    the distribution of the students at the bottom. Capability κ̄ is the average of a line over these students.

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    raters
        Up to six; by default the most capable, the median and the least capable.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example())
    >>> chart = rl.charts.curves(fit, ["AM:Sport", "CO:School"])
    >>> chart.to_dict()["description"]
    "Capability by ability of 'AM:Sport', 'CO:School', with the distribution of students."
    """
    check_width(width)
    every = curves_data(fit, raters)
    data = every.drop_nulls("place").sort("place", "theta")
    names = data["rater"].unique(maintain_order=True).to_list()
    shown = data.with_columns(pl.col("rater").map_elements(printable, pl.String))
    top = 1.06 * float(np.nanmax([data["kappa_high"].fill_nan(None).max() or 0, every["kappa"].max(), 1.0]))
    low = min(0.0, float(np.nanmin([data["kappa_low"].fill_nan(None).min() or 0, every["kappa"].min()])))
    x = alt.X(
        "theta:Q",
        title="Ability θ",
        scale=alt.Scale(domain=[-3.5, 3.5], nice=False),
        axis=alt.Axis(grid=False, values=list(range(-3, 4)), format="d"),
    )
    scale = alt.Scale(domain=[low, top], nice=False)
    density = students_data(fit)
    density = density.with_columns(
        density=pl.col("density") / density["density"].max() * _DENSITY_HEIGHT * top
    )
    students = (
        alt.Chart(values(density))
        .mark_area(color=light("line"), opacity=0.9)
        .encode(x=x, y=alt.Y("density:Q", scale=scale))
    )
    label = (
        alt.Chart(pl.DataFrame({"theta": [0.0], "y": [0.02 * top], "words": ["students"]}))
        .mark_text(color=light("soft"))
        .encode(x=x, y=alt.Y("y:Q", scale=scale), text="words:N")
    )
    others = _others(every, x, scale) + _key(every, top, x, scale)
    style = line_scales([printable(name) for name in names], "rater", width)
    base = alt.Chart(values(shown))
    certainty = base.mark_area(opacity=0.14, interpolate="monotone").encode(
        x=x, y=alt.Y("kappa_low:Q", scale=scale), y2="kappa_high:Q", fill=style["fill"]
    )
    lines = base.mark_line(strokeWidth=2.4, interpolate="monotone").encode(
        x=x,
        y=alt.Y("kappa:Q", title="Capability κ(θ)", scale=scale, axis=alt.Axis(grid=False)),
        stroke=style["stroke"],
        strokeDash=style["strokeDash"],
        tooltip=tooltips(
            ("rater", "Rater"), theta="Ability", kappa="Capability", kappa_low="from", kappa_high="to"
        ),
    )
    words = f"Capability by ability of {listed(names)}, with the distribution of students."
    return finished(students + others + certainty + lines + label, words, width=width, height=HEIGHT)


def _others(every: pl.DataFrame, x: Any, scale: Any) -> Any:
    """The rest of the panel: lines if they are few enough to follow, else a band."""
    rest = every.filter(pl.col("place").is_null())
    grey = light("faint")
    if rest["rater"].n_unique() <= MOST_OTHERS:
        drawn = alt.Chart(values(rest.select("rater", "theta", "kappa"))).mark_line(
            stroke=grey, strokeWidth=0.8, opacity=0.6, interpolate="monotone"
        )
        return drawn.encode(x=x, y=alt.Y("kappa:Q", scale=scale), detail="rater:N")
    band = alt.Chart(values(panel_data(every))).mark_area(color=grey, opacity=0.25)
    return band.encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")


def _key(every: pl.DataFrame, top: float, x: Any, scale: Any) -> Any:
    """A key to the grey lines, in the corner."""
    n = every.filter(pl.col("place").is_null())["rater"].n_unique()
    words = ["grey: the other raters" if n <= MOST_OTHERS else "grey: the middle 80 % of raters"] if n else []
    data = pl.DataFrame({"theta": [-3.4] * len(words), "y": [0.96 * top] * len(words), "words": words})
    text = alt.Chart(values(data)).mark_text(color=light("soft"), align="left")
    return text.encode(x=x, y=alt.Y("y:Q", scale=scale), text=alt.Text("words:N"))


def _chosen(fit: Result, raters: Sequence[object] | None) -> list[str]:
    not_for(fit, "curves", "capability is the same at every ability", "capability")
    if raters is None:
        table = fit.table("raters").filter(pl.col("kappa").is_finite()).sort("kappa", descending=True)
        order = table["rater"].cast(pl.String).to_list()
        return list(dict.fromkeys(order[place] for place in (0, (len(order) - 1) // 2, len(order) - 1)))
    names = [
        rater_name(fit, rater) for rater in dict.fromkeys([raters] if isinstance(raters, str) else raters)
    ]
    if not 1 <= len(names) <= MOST_LINES:
        remedy = f"give from 1 to {MOST_LINES}, more lines cannot be told apart"
        raise OptionError(f"{len(names)} raters are given", remedy, value=len(names), option="raters")
    return names
