"""Two fits compared: is a rater as capable in one as in the other?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.text import counted, distinct, number
from raterlens.pictures.encodings import point_scales
from raterlens.pictures.label_placement import placed_names
from raterlens.pictures.style import CAPABLE, light
from raterlens.pictures.theme import DEFAULT_WIDTH, check_width, extent, finished, outlined, values

HEIGHT = 400
_MARGIN = 76
_NAMED = 12

SAME, BETTER, WORSE = (
    "capable in both or in neither",
    "capable in the second only",
    "capable in the first only",
)
_KINDS = {SAME: ("accent", "circle"), BETTER: ("extreme", "triangle-up"), WORSE: ("severe", "triangle-down")}


def compared_data(raters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """One row per rater whose capability both fits know: rater, one, two, kind, words. `raters` is
    `Comparison.raters`."""
    one, two = (pl.col(f"kappa {name}") for name in names)
    rows = raters.select(pl.col("rater").cast(pl.String), one=one, two=two).filter(
        pl.col("one").is_finite() & pl.col("two").is_finite()
    )
    now, then = pl.col("one") >= CAPABLE, pl.col("two") >= CAPABLE
    kind = pl.when(now == then).then(pl.lit(SAME)).when(then).then(pl.lit(BETTER)).otherwise(pl.lit(WORSE))
    rows = rows.with_columns(pl.Series("rater", distinct(rows["rater"])), kind=kind)
    words = [
        f"{row['rater']}: {number(row['one'])} and {number(row['two'])}" for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(pl.Series("words", words, dtype=pl.String))


def compared(raters: pl.DataFrame, names: Sequence[str], *, width: int = DEFAULT_WIDTH) -> Any:
    """Capability in one fit against another: on the diagonal it is the same.

    Parameters
    ----------
    raters
        `rl.compare(one, two, names=names).raters`.
    names
        Names of the two fits.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings, names = rl.load_example(), ["gmf", "tfm"]
    >>> both = rl.compare(rl.fit(ratings), rl.fit(ratings, model="tfm"), names=names)
    >>> compared(both.raters, names).to_dict()["description"][:51]
    'Capability of 16 raters in gmf and in tfm: 6 raters'
    """
    check_width(width)
    data = compared_data(raters, names)
    least, most = extent(data["one"], data["two"])
    ends = [float(np.floor(5 * min(least, CAPABLE)) / 5), 1.03 * max(1.0, most)]
    height = min(HEIGHT, width - _MARGIN)
    scale = alt.Scale(domain=ends, nice=False)
    axis = alt.Axis(grid=False, tickCount=5, format=".1f")
    x = alt.X("one:Q", title=f"Capability κ̄ in {names[0]}", scale=scale, axis=axis)
    y = alt.Y("two:Q", title=f"Capability κ̄ in {names[1]}", scale=scale, axis=axis)
    diagonal = (
        alt.Chart(pl.DataFrame({"one": ends, "two": ends})).mark_line(stroke=light("faint")).encode(x=x, y=y)
    )
    limit = alt.Chart(pl.DataFrame({"one": [CAPABLE], "two": [CAPABLE]}))
    rule: Any = {"stroke": light("ink"), "strokeDash": [4, 3], "opacity": 0.75}
    limits = limit.mark_rule(**rule).encode(x=x) + limit.mark_rule(**rule).encode(y=y)
    points = (
        alt.Chart(values(data))
        .mark_point(filled=True, opacity=1, size=60 if data.height <= 200 else 22, aria=True)
        .encode(
            x=x,
            y=y,
            **point_scales(data, _KINDS, width),
            description="words:N",
            tooltip=[alt.Tooltip("words:N", title=" ")],
        )
    )
    texts = outlined(alt.Chart(values(_names(data, ends, width, height))).encode(x=x, y=y, text="name:N"))
    changed = data.filter(pl.col("kind") != SAME).height
    words = (
        f"Capability of {counted(data.height, 'rater')} in {names[0]} and in {names[1]}: "
        f"{counted(changed, 'rater is', 'raters are')} capable in one of them only."
    )
    return finished(diagonal + limits + points + texts, words, width=width, height=height)


def _names(data: pl.DataFrame, ends: list[float], width: int, height: int) -> pl.DataFrame:
    """Names of the raters who differ most, where there is room."""
    apart = (pl.col("one") - pl.col("two")).abs()
    named = data.sort(apart, descending=True, maintain_order=True).head(_NAMED)
    span = ends[1] - ends[0]
    at = (pl.col("one") - ends[0]) / span * 100, (ends[1] - pl.col("two")) / span * 100
    return placed_names(named, data, at, width - _MARGIN, height)
