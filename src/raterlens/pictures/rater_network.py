"""The rater network: raters joined by shared students. Raters without links cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from raterlens.base.text import counted, distinct
from raterlens.diagnostics.network import MOST_LINKS, Network
from raterlens.diagnostics.network import network as laid_out
from raterlens.pictures.encodings import ROLES
from raterlens.pictures.label_placement import legend_columns, placed_names
from raterlens.pictures.style import light
from raterlens.pictures.theme import (
    DEFAULT_WIDTH,
    check_width,
    extent,
    finished,
    outlined,
    values,
)

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings

SEVERAL, SINGLE = "several students in common", "one student in common"
OTHERS = "other groups"

_LINES = {SEVERAL: ([1, 0], "faint"), SINGLE: ([3, 3], "severe")}
_SHAPES = ("circle", "triangle-up", "square", "diamond", "triangle-down", "cross")
_CROWD, _MANY = 150, 60
_LINKS_EACH = 2
"""Links per rater in a large panel: the strongest ones show who is near whom."""
_NAMED, _NAMED_OF_MANY = 40, 12


def network_data(ratings: Ratings) -> Network:
    """raters (rater, n, students, group, x, y, kind, words) and links (rater, other, students, x, y, x2, y2, kind)."""
    found = laid_out(ratings, most=min(max(_CROWD, _LINKS_EACH * ratings.n_raters), MOST_LINKS))
    names = distinct(found.raters["rater"])
    by_label = dict(zip(found.raters["rater"].to_list(), names, strict=True))
    words = [
        f"{name}: {counted(row['n'], 'rating')} of {counted(row['students'], 'student')}, group {row['group']}"
        for name, row in zip(names, found.raters.iter_rows(named=True), strict=True)
    ]
    shown = pl.format("group {}", pl.col("group"))
    beyond = pl.col("group") >= len(ROLES)
    many = _n_groups(found.raters) > len(ROLES)
    raters = found.raters.with_columns(
        pl.Series("rater", names),
        pl.Series("words", words, dtype=pl.String),
        kind=pl.when(beyond & many).then(pl.lit(OTHERS)).otherwise(shown),
    )
    links = found.links.with_columns(
        *(
            pl.Series(end, [by_label[label] for label in found.links[end].to_list()], dtype=pl.String)
            for end in ("rater", "other")
        ),
        kind=pl.when(pl.col("students") > 1).then(pl.lit(SEVERAL)).otherwise(pl.lit(SINGLE)),
    )
    return Network(raters, links, found.n_links)


def network(ratings: Ratings, *, width: int = DEFAULT_WIDTH) -> Any:
    """Which raters can be compared, and through how many students?

    Lines join raters who rated the same students: the more students, the thicker the line; a dashed line depends on a
    single student. Raters in different groups (other colours and shapes) cannot be compared.

    Parameters
    ----------
    ratings
        From `rl.read`; no fit is needed.
    width
        Width of the whole chart in pixels; 380 suits a phone.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> import raterlens as rl
    >>> chart = rl.charts.network(rl.load_example())
    >>> chart.to_dict()["description"][:44]
    '16 raters in 1 group, joined by the students'
    """
    check_width(width)
    found = network_data(ratings)
    height = int(min(0.7 * width, 520)) if width >= 480 else width
    across, down = _domains(found.raters, width, height)
    x = alt.X("x:Q", scale=alt.Scale(domain=across, nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=down, nice=False), axis=None)
    named = _names(found.raters, across, down, width, height)
    texts = outlined(alt.Chart(values(named)).encode(x=x, y=y, text="name:N"))
    drawn = _links(found.links, x, y, width) + _raters(found.raters, x, y, width) + texts
    drawn = drawn.resolve_scale(**dict.fromkeys(("stroke", "strokeDash", "shape", "fill"), "independent"))
    n_groups = _n_groups(found.raters)
    single = found.links.filter(kind=SINGLE).height
    words = (
        f"{counted(found.raters.height, 'rater')} in {counted(n_groups, 'group')}, joined by the students they share; "
        f"{counted(single, 'link depends', 'links depend')} on a single student{'; ' * bool(found.note)}{found.note}."
    )
    return finished(drawn, words, width=width, height=height)


def _domains(raters: pl.DataFrame, width: int, height: int) -> tuple[list[float], list[float]]:
    """With the same unit both ways, so that distances are comparable."""
    places = raters.select("x", "y").to_numpy()
    low, high = places.min(axis=0), places.max(axis=0)
    size = np.array([width, height])
    unit = max(*((high - low) / size), 1e-3) * 1.16
    across, down = np.stack([(low + high - unit * size) / 2, (low + high + unit * size) / 2], axis=1).tolist()
    return across, down


def _n_groups(raters: pl.DataFrame) -> int:
    return int(raters["group"].to_numpy().max(initial=1))


def _links(links: pl.DataFrame, x: Any, y: Any, width: int) -> Any:
    most = max(extent(links["students"])[1], 2)
    crowded = links.height > _CROWD
    kinds = [kind for kind in _LINES if kind in set(links["kind"])]
    legend = alt.Legend(title=None, columns=legend_columns(kinds, width), symbolType="stroke", symbolSize=500)
    thickness = alt.Scale(type="sqrt", domain=[0, most], range=[0.4, 2 if crowded else 5])
    dashes, colours = ([_LINES[kind][part] for kind in kinds] for part in (0, 1))
    return (
        alt.Chart(values(links))
        .mark_rule(opacity=float(np.clip(90 / max(links.height, 1), 0.12, 0.3)) if crowded else 0.6)
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            strokeWidth=alt.StrokeWidth("students:Q", scale=thickness, legend=None),
            strokeDash=alt.StrokeDash("kind:N", scale=alt.Scale(domain=kinds, range=dashes), legend=legend),
            stroke=alt.Stroke(
                "kind:N", scale=alt.Scale(domain=kinds, range=[light(str(c)) for c in colours]), legend=legend
            ),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("rater", "other", "students")],
        )
    )


def _raters(raters: pl.DataFrame, x: Any, y: Any, width: int) -> Any:
    kinds = raters.sort("group")["kind"].unique(maintain_order=True).to_list()
    legend = (
        None
        if len(kinds) == 1
        else alt.Legend(title=None, columns=legend_columns(kinds, width), symbolSize=80)
    )
    # In a large panel the marks cover a fixed share of the picture, so that links remain visible.
    size = 130 if raters.height <= _MANY else float(np.clip(0.12 * width**2 / raters.height, 5, 40))
    return (
        alt.Chart(values(raters))
        .mark_point(opacity=1, size=size, stroke=light("paper"), strokeWidth=min(1.2, size / 30), aria=True)
        .encode(
            x=x,
            y=y,
            fill=alt.Fill(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[light(role) for role in ROLES[: len(kinds)]]),
                legend=legend,
            ),
            shape=alt.Shape(
                "kind:N", scale=alt.Scale(domain=kinds, range=list(_SHAPES[: len(kinds)])), legend=legend
            ),
            description="words:N",
            tooltip=[alt.Tooltip("words:N", title=" ")],
        )
    )


def _names(
    raters: pl.DataFrame, across: list[float], down: list[float], width: int, height: int
) -> pl.DataFrame:
    """Names of all raters, or of those with the fewest students in a large panel."""
    few = raters.height <= 2 * _NAMED
    named = raters.sort("students").head(_NAMED if few else _NAMED_OF_MANY)
    at = (
        (pl.col("x") - across[0]) / (across[1] - across[0]) * 100,
        (down[1] - pl.col("y")) / (down[1] - down[0]) * 100,
    )
    return placed_names(named, raters, at, width - 16, height)
