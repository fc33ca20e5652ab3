"""The rater network: raters joined by shared students. Raters without links cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.layers import ROLES, Axis, Layer, Marks, Names, Segments, Stroke
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import SHAPES, Mark, mark
from raterlens.base.text import counted, distinct
from raterlens.diagnostics.network import MOST_LINKS, Network
from raterlens.diagnostics.network import network as laid_out

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings

SEVERAL, SINGLE = "several students in common", "one student in common"
OTHERS = "other groups"

_LINES = {SEVERAL: ("", "faint"), SINGLE: ("3 3", "severe")}
_CROWD, _MANY = 150, 60
_LINKS_EACH = 2
"""Links per rater in a large panel: the strongest ones show who is near whom."""
_NAMED, _NAMED_OF_MANY = 40, 12
_HEIGHT = (450, 360)
_WIDTHS = 4
"""Lines come in this many widths."""


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


def network(ratings: Ratings) -> Picture:
    """Raters joined by lines, the thicker the more students they share; a dashed line depends on a single student."""
    found = network_data(ratings)
    raters = found.raters
    few = raters.height <= 2 * _NAMED
    named = raters.sort("students").head(_NAMED if few else _NAMED_OF_MANY)
    size = 1.15 if raters.height <= _MANY else float(np.clip(25 / raters.height**0.5, 0.25, 0.7))
    layers: list[Layer] = [
        *_links(found.links),
        Marks(raters, "x", "y", _marks(raters), size),
        Names(named, "x", "y"),
    ]
    x, y = (_axis(raters[name]) for name in ("x", "y"))
    single = found.links.filter(kind=SINGLE).height
    description = (
        f"{counted(raters.height, 'rater')} in {counted(_n_groups(raters), 'group')}, joined by the students they "
        f"share; {counted(single, 'link depends', 'links depend')} on a single student{'; ' * bool(found.note)}"
        f"{found.note}."
    )
    return Picture((Panel(x, y, tuple(layers)),), description, _HEIGHT, same_unit=True)


def _axis(places: pl.Series) -> Axis:
    known = places.to_numpy()
    return Axis(float(known.min()), float(known.max()), labels=())


def _n_groups(raters: pl.DataFrame) -> int:
    return int(raters["group"].to_numpy().max(initial=1))


def _links(links: pl.DataFrame) -> list[Segments]:
    """By kind, and by how many students they stand for."""
    crowded = links.height > _CROWD
    opacity = float(np.clip(90 / max(links.height, 1), 0.12, 0.3)) if crowded else 0.45
    share = (links["students"].to_numpy() / max(links["students"].to_numpy().max(initial=2), 2)) ** 0.5
    step = np.ceil(share * _WIDTHS).astype(int)
    found = []
    for kind, (dash, role) in _LINES.items():
        for width in range(1, _WIDTHS + 1):
            own = links.filter(pl.Series(step == width) & (links["kind"] == kind))
            stroke = Stroke(role, width / _WIDTHS * (2 if crowded else 5), dash, opacity, kind)
            if own.height:
                found.append(Segments(own, "x", "y", "x2", "y2", stroke))
    return found


def _marks(raters: pl.DataFrame) -> dict[str, Mark]:
    """One per group; a single group needs no legend."""
    kinds = raters.sort("group")["kind"].unique(maintain_order=True).to_list()
    return {
        kind: mark(shape, role, kind if len(kinds) > 1 else "")
        for kind, shape, role in zip(kinds, SHAPES, ROLES, strict=False)
    }
