"""The rater network: raters joined by shared students. Raters without links cannot be compared.

Each connected group is laid out by itself (the slowest modes of its Laplacian put raters near those with whom they
share students; then neighbours are pushed apart until they can be told apart), and the groups are set side by side,
the largest first. No random numbers; work linear in the links, but for the neighbour searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree, reverse_cuthill_mckee
from scipy.spatial import cKDTree

from raterlens.base.arrays import Array, Indices
from raterlens.base.layers import ROLES, Axis, Marks, Names, Segments, Stroke
from raterlens.base.picture import Panel, Picture
from raterlens.base.style import SHAPES, mark
from raterlens.base.text import counted, distinct
from raterlens.pictures.rater_pictures import with_words
from raterlens.ratings.design import connected_groups

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings


MOST_LINKS = 2_000
"""Beyond this lines hide each other."""

# Modes that differ by less say nothing.
_LEVEL = 1e-6
# Each rater is pushed away from this many nearest ones, this many times.
_NEIGHBOURS, _ROUNDS = 8, 60
_GOLDEN = np.pi * (3 - np.sqrt(5))


class Network(NamedTuple):
    """Nodes and links, ready to draw."""

    raters: pl.DataFrame
    """rater, n (ratings), students, group (connected, 1 first), x, y (neighbours about 1 apart), kind, words"""
    links: pl.DataFrame
    """rater, other, students (that both rated), the ends x, y, x2, y2, and kind: the strongest links first"""
    n_links: int
    """Number of all pairs of raters who share students, drawn or not"""


def network_data(ratings: Ratings, most: int | None = None) -> Network:
    """Raters as points and shared students as links.

    Every rater keeps the strongest link, and groups stay whole, however few links are drawn: `most` beyond those that
    hold the groups together.

    Examples
    --------
    >>> import raterlens as rl
    >>> network_data(rl.load_example()).links.columns
    ['rater', 'other', 'students', 'x', 'y', 'x2', 'y2', 'kind']
    """
    most = min(max(_CROWD, _LINKS_EACH * ratings.n_raters), MOST_LINKS) if most is None else most
    student, rater = np.divmod(ratings.marked_pairs(), ratings.n_raters)
    shape = (ratings.n_raters, ratings.n_students)
    seen = sparse.csr_array((np.ones(len(rater)), (rater, student)), shape=shape)
    shared = sparse.csr_array(seen @ seen.T)
    students = shared.diagonal().astype(np.int64)
    shared = sparse.csr_array(shared - sparse.diags_array(shared.diagonal(), format="csr"))
    shared.eliminate_zeros()
    group = connected_groups(ratings).rater
    row, column, weight = _strongest(shared, most)
    place = _side_by_side(group, shared)
    names = pl.Series("rater", distinct(ratings.raters))
    raters = pl.DataFrame(
        {
            "rater": names,
            "n": np.bincount(ratings.rater, minlength=ratings.n_raters),
            "students": students,
            "group": group + 1,
            "x": place[:, 0],
            "y": place[:, 1],
        }
    )
    shown = pl.format("group {}", "group")
    if group.max(initial=0) >= len(ROLES):
        shown = pl.when(pl.col("group") < len(ROLES)).then(shown).otherwise(pl.lit(OTHERS))
    raters = with_words(
        raters.with_columns(kind=shown),
        lambda row: (
            f"{row['rater']}: {counted(row['n'], 'rating')} of {counted(row['students'], 'student')}, group "
            f"{row['group']}"
        ),
    )
    links = pl.DataFrame(
        {
            "rater": names.gather(row),
            "other": names.gather(column),
            "students": weight.astype(np.int64),
            "x": place[row, 0],
            "y": place[row, 1],
            "x2": place[column, 0],
            "y2": place[column, 1],
        }
    )
    kind = pl.when(pl.col("students") > 1).then(pl.lit(SEVERAL)).otherwise(pl.lit(SINGLE))
    return Network(raters, links.with_columns(kind=kind), shared.nnz // 2)


def _strongest(shared: sparse.csr_array, most: int) -> tuple[Indices, Indices, Array]:
    """The links that hold groups together (a maximum spanning forest) and the strongest of the others."""
    upper = sparse.triu(shared, k=1).tocoo()
    rank = np.lexsort((upper.col, upper.row, -upper.data))
    row, column, weight = (part[rank] for part in (upper.row, upper.col, upper.data))
    if len(row) <= most:
        return row, column, weight
    # Ranks as lengths: the shortest tree takes the strongest links, and no two are the same.
    # 32-bit places: SciPy before 1.15 finds no tree with others.
    places = (row.astype(np.int32), column.astype(np.int32))
    lengths = sparse.csr_array((np.arange(1.0, len(row) + 1), places), shape=shared.shape)
    tree = np.sort(minimum_spanning_tree(lengths).data).astype(np.int64) - 1
    kept = np.union1d(tree, np.arange(most))
    return row[kept], column[kept], weight[kept]


# ------------------------------------------------------------------------------------------------- where to draw


def _side_by_side(group: NDArray[np.int32], shared: sparse.csr_array) -> Array:
    """Every group in a disc whose area follows its number of raters; discs in rows, the largest first."""
    place = np.empty((len(group), 2))
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(group))[:-1])
    radius = np.array([0.5 + 0.6 * np.sqrt(len(one) - 1) for one in members])
    width = max(2 * radius.max(), np.sqrt(1.3 * np.sum((2 * radius + 1) ** 2)))
    x = y = height = 0.0
    for one, r in zip(members, radius, strict=True):
        if x > 0 and x + 2 * r > width:
            x, y, height = 0.0, y - height - 1.0, 0.0
        place[one] = [x + r, y - r] + r * _disc(shared[one][:, one])
        x, height = x + 2 * r + 1.0, max(height, 2 * r)
    return np.asarray(place - (place.max(axis=0) + place.min(axis=0)) / 2)


def _disc(shared: sparse.csr_array) -> Array:
    """Positions within a disc of radius 1."""
    n = shared.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    at = _spread(_modes(shared))
    at = at - at.mean(axis=0)
    return np.asarray(at / np.sqrt((at**2).sum(axis=1)).max())


def _modes(shared: sparse.csr_array) -> Array:
    """The two slowest modes of the normalised Laplacian beside the constant one: raters who share students lie close.

    By orthogonal iteration from an order in which neighbours follow each other: rough, which does for a picture, and
    the same every time. On a ring where there is nothing to tell raters apart by.
    """
    n = shared.shape[0]
    degree = np.sqrt(np.asarray(shared.sum(axis=1), np.float64))
    scale = sparse.diags_array(1 / degree)
    walk = scale @ shared @ scale
    order = np.argsort(reverse_cuthill_mckee(shared, symmetric_mode=True))
    turn = np.pi * (order + 0.5) / n
    ring = np.stack([np.cos(2 * turn), np.sin(2 * turn)], axis=1)
    block = np.column_stack([ring, np.cos(turn), np.cos(3 * turn)])[:, : n - 1]
    constant = degree / np.linalg.norm(degree)
    for _ in range(_ROUNDS):
        block = (block + walk @ block) / 2
        block, _ = np.linalg.qr(block - np.outer(constant, constant @ block))
    values, vectors = np.linalg.eigh(block.T @ (walk @ block))
    if np.ptp(values) < _LEVEL:
        return ring
    at = (block @ vectors[:, -2:]) / degree[:, None]
    at = at * np.where(at[np.abs(at).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    # A trace of the ring keeps raters apart who share the same students.
    return np.asarray(at / np.maximum(at.std(axis=0), 1e-12) + 0.05 * ring)


def _spread(at: Array) -> Array:
    """From the crowded middle outwards: ranks of the distance become areas; then the nearest push each other away."""
    n = len(at)
    distance, angle = np.hypot(*at.T), np.arctan2(at[:, 1], at[:, 0])
    rank = np.argsort(np.argsort(distance, kind="stable"), kind="stable")
    radius = np.sqrt(rank + 0.5)
    at = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    wanted = 1.6
    neighbours = min(_NEIGHBOURS, n - 1)
    nudge = 1e-3 * np.stack([np.cos(_GOLDEN * np.arange(n)), np.sin(_GOLDEN * np.arange(n))], axis=1)
    for step in np.linspace(0.5, 0.05, _ROUNDS):
        apart, near = cKDTree(at + nudge).query(at + nudge, k=neighbours + 1)
        gap = (at + nudge)[:, None] - (at + nudge)[near]
        push = np.maximum(wanted - apart, 0.0) / np.maximum(apart, 1e-6)
        at = at + step * (push[:, :, None] * gap)[:, 1:].sum(axis=1) / 2
    return np.asarray(at)


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


def network(ratings: Ratings) -> Picture:
    """Raters joined by lines, the thicker the more students they share; a dashed line depends on a single student."""
    raters, links, n_links = network_data(ratings)
    few = raters.height <= 2 * _NAMED
    named = raters.sort("students").head(_NAMED if few else _NAMED_OF_MANY)
    size = 1.15 if raters.height <= _MANY else float(np.clip(25 / raters.height**0.5, 0.25, 0.7))
    kinds = raters.sort("group")["kind"].unique(maintain_order=True).to_list()
    marks = {
        kind: mark(shape, role, kind if len(kinds) > 1 else "")  # a single group needs no legend
        for kind, shape, role in zip(kinds, SHAPES, ROLES, strict=False)
    }
    layers = (*_links(links), Marks(raters, "x", "y", marks, size), Names(named, "x", "y"))
    ends = raters.select(pl.min("x", "y").name.suffix(" low"), pl.max("x", "y")).row(0)
    x, y = (Axis(low, high, labels=()) for low, high in zip(ends[:2], ends[2:], strict=True))
    groups, single = int(raters["group"].to_numpy().max(initial=1)), links.filter(kind=SINGLE).height
    note = (
        "" if links.height == n_links else f"; the {links.height:,} strongest of {n_links:,} links are shown"
    )
    description = (
        f"{counted(raters.height, 'rater')} in {counted(groups, 'group')}, joined by the students they share; "
        f"{counted(single, 'link depends', 'links depend')} on a single student{note}."
    )
    return Picture((Panel(x, y, layers),), description, _HEIGHT, same_unit=True)


def _links(links: pl.DataFrame) -> list[Segments]:
    """By kind, and by how many students they stand for."""
    crowded = links.height > _CROWD
    opacity = float(np.clip(90 / max(links.height, 1), 0.12, 0.3)) if crowded else 0.45
    share = (links["students"].to_numpy() / max(links["students"].to_numpy().max(initial=2), 2)) ** 0.5
    links = links.with_columns(width=np.ceil(share * _WIDTHS))
    return [
        Segments(
            own,
            "x",
            "y",
            "x2",
            "y2",
            Stroke(role, width / _WIDTHS * (2 if crowded else 5), dash, opacity, kind),
        )
        for kind, (dash, role) in _LINES.items()
        for width in range(1, _WIDTHS + 1)
        if (own := links.filter(kind=kind, width=width)).height
    ]
