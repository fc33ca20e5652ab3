"""Information: how much a rating on each item says about ability, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
from scipy import special

from raterlens.base.arrays import Array
from raterlens.base.text import distinct, number
from raterlens.capability.links import get_link
from raterlens.pictures.encodings import ROLES, line_scales
from raterlens.pictures.ranking import calibration_of, not_for
from raterlens.pictures.style import light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, finished, tooltips, values

if TYPE_CHECKING:
    from raterlens.inference.result import Result
    from raterlens.models.calibration import Calibration


ALL = "all items together"
HEIGHT = 320
_ABILITY: Array = np.linspace(-4.0, 4.0, 81)
# Probabilities below this add nothing that could be seen, and would divide by 0.
_LEAST = 1e-12


def information_data(fit: Result) -> pl.DataFrame:
    """item, theta, information of one rating by a random rater of the panel; `all items together` has one on every
    item."""
    not_for(fit, "information", "a rating depends on a true category, not on ability", "capability")
    calibration = replace(calibration_of(fit, "its information is unknown"), covariance=None)
    names = calibration.labels["item"].cast(pl.String).to_list()
    parts = np.stack([_of_item(calibration, name) for name in names])
    shown = distinct(names)
    return pl.concat(
        [
            pl.DataFrame({"item": [name] * len(_ABILITY), "theta": _ABILITY, "information": part})
            for name, part in zip([*shown, ALL], [*parts, parts.sum(axis=0)], strict=True)
        ]
    )


def _of_item(calibration: Calibration, item: str) -> Array:
    """Fisher's information about ability, E[(d log P(y) / d theta)^2], averaged over raters."""
    panel = calibration.panel(item)
    s = np.multiply.outer(panel.slope, _ABILITY) - panel.severity[:, None]
    tau = calibration.effects.get("threshold")
    if tau is None:
        steps = np.zeros(1)
    else:
        place = calibration.labels["item"].cast(pl.String).to_list().index(item) if len(tau) > 1 else 0
        steps = tau[place][np.isfinite(tau[place])]
    adjacent = tau is not None and calibration.scale != "graded"
    by_predictor = _adjacent(s, steps) if adjacent else _cumulative(s, steps, calibration.link)
    return np.asarray((panel.slope[:, None] ** 2 * by_predictor).mean(axis=0))


def _adjacent(s: Array, tau: Array) -> Array:
    """Var(y | s)"""
    k = np.arange(len(tau) + 1)
    p = special.softmax(np.multiply.outer(s, k) - np.append(0.0, np.cumsum(tau)), axis=-1)
    return np.asarray(p @ k**2 - (p @ k) ** 2)


def _cumulative(s: Array, tau: Array, link: str) -> Array:
    """sum_k (dP_k/ds)^2 / P_k with P_k = F(s - tau_k) - F(s - tau_{k+1}); pass or fail has one threshold."""
    chosen = get_link(link)
    passed = [np.ones_like(s), *(np.exp(chosen.log_pass(s - t)) for t in tau), np.zeros_like(s)]
    density = [np.zeros_like(s), *(chosen.density(s - t) for t in tau), np.zeros_like(s)]
    total = np.zeros_like(s)
    for k in range(len(tau) + 1):
        p, d = passed[k] - passed[k + 1], density[k] - density[k + 1]
        total += np.where(p > _LEAST, d**2 / np.maximum(p, _LEAST), 0.0)
    return total


def information(fit: Result, *, width: int = DEFAULT_WIDTH) -> Any:
    """Which students can these items, rated by these raters, tell apart?

    Parameters
    ----------
    fit
        Of a facets model (`gmf`, `tfm`, `probit`).
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.information(rl.fit(rl.load_example()))
    >>> chart.to_dict()["description"][:43]
    'Information about ability of 5 items: all t'
    """
    check_width(width)
    data = information_data(fit)
    names = [name for name in data["item"].unique(maintain_order=True) if name != ALL]
    whole = data.filter(item=ALL)
    top = whole.row(int(whole["information"].arg_max() or 0), named=True)
    x = alt.X(
        "theta:Q",
        title="Ability θ",
        scale=alt.Scale(domain=[-4, 4], nice=False),
        axis=alt.Axis(grid=False, values=list(range(-4, 5)), format="d"),
    )
    y = alt.Y("information:Q", title="Information I(θ)", scale=alt.Scale(zero=True), axis=alt.Axis(grid=True))
    tooltip = tooltips(("item", "Item"), theta="Ability", information="Information")
    few = len(names) < len(ROLES)
    if few:
        style = line_scales([ALL, *names], "item", width)
        style.pop("fill")
    else:
        style = {
            "stroke": alt.condition(
                f"datum.item == '{ALL}'", alt.value(light("accent")), alt.value(light("faint"))
            ),
            "detail": alt.Detail("item:N"),
        }
    weight = alt.condition(f"datum.item == '{ALL}'", alt.value(3.2), alt.value(1.6 if few else 1))
    lines = alt.Chart(values(data)).mark_line().encode(x=x, y=y, strokeWidth=weight, tooltip=tooltip, **style)
    words = (
        f"Information about ability of {len(names):,} item{'s' * (len(names) != 1)}: all together say most at ability "
        f"{number(top['theta'], 1)}, where it is {number(top['information'])}."
    )
    return finished(lines, words, width=width, height=HEIGHT)
