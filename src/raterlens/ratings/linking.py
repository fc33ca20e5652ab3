"""The design looked at more closely: how to connect what is apart, what hangs by a thread, what is confounded, and
how many ratings a rater would need. Before any fit; `design.examine` has the plain counts."""

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from raterlens.base.text import counted, listed, shortened
from raterlens.base.types import Indices
from raterlens.ratings.coded import Ratings
from raterlens.ratings.components import components
from raterlens.ratings.design import connected_groups
from raterlens.ratings.long_columns import distinct

TARGET_SE = 0.3
"""Of a severity, in logits: a 95 % interval of +-0.6, the difference between 50 and 65 % passes."""
# Information of a rating about severity, on average: p (1 - p) with p spread over most of its range.
_PER_RATING = 0.16


@dataclass(frozen=True, slots=True, eq=False)
class Linking:
    """What to know of a design before a fit: tables (polars) and plain words."""

    n_groups: int
    repairs: pl.DataFrame
    """The shortest list of ratings that connects all groups: rater, student, link (which groups it joins)"""
    weak: pl.DataFrame
    """Raters cut off if one student were taken away: student, raters (how many are cut off), example"""
    confounded: pl.DataFrame
    """Pairs of facets of which one determines the other: facet, determines"""
    few: pl.DataFrame
    """Raters with too few ratings for the target standard error: rater, n, needed"""
    warnings: tuple[str, ...]


def examine_links(ratings: Ratings, target_se: float = TARGET_SE) -> Linking:
    """Find what a design lacks, and the least that would mend it.

    Examples
    --------
    >>> import polars as pl
    >>> from raterlens.reading.reader import read
    >>> apart = {"student": [1, 2, 3, 4], "rater": ["AM", "AM", "BE", "BE"], "score": [0, 1, 1, 0]}
    >>> examine_links(read(pl.DataFrame(apart))).repairs.rows()
    [('AM', 3, 'group 1 - group 2')]
    """
    groups = connected_groups(ratings)
    repaired, weak = repairs(ratings), weak_links(ratings)
    confusion, thin = confounded(ratings), too_few(ratings, target_se)
    return Linking(
        n_groups=groups.n,
        repairs=repaired,
        weak=weak,
        confounded=confusion,
        few=thin,
        warnings=(
            *_say_repairs(repaired),
            *_say_weak(weak),
            *_say_confounded(confusion),
            *_say_few(thin, target_se),
        ),
    )


def repairs(ratings: Ratings) -> pl.DataFrame:
    """One rating fewer than there are groups: the busiest rater of the largest group rates one student of each other
    group, the one there with most ratings (whose ability is known best)."""
    groups = connected_groups(ratings)
    per_rater = np.bincount(ratings.rater, minlength=ratings.n_raters)
    per_student = np.bincount(ratings.student, minlength=ratings.n_students)
    rater = int(np.where(groups.rater == 0, per_rater, -1).argmax())
    # The last student of each group in the order of counts is its best known.
    order = np.lexsort((-np.arange(ratings.n_students), per_student))
    best = np.empty(groups.n, dtype=np.int64)
    best[groups.student[order]] = order
    others = np.arange(1, groups.n)
    return pl.DataFrame(
        {
            "rater": ratings.raters.gather(np.full(groups.n - 1, rater)),
            "student": ratings.students.gather(best[others]),
            "link": pl.Series([f"group 1 - group {g + 1}" for g in others], dtype=pl.String),
        }
    )


def weak_links(ratings: Ratings) -> pl.DataFrame:
    """Articulation students: without them, some raters could no longer be compared with the others.

    Raters who share two students stay linked whichever is taken away, so they count as one, and so on; what is left is
    a small graph in most designs.
    """
    n_blocks, block, student, other = _blocks(ratings)
    linking = np.bincount(student, minlength=ratings.n_students)[student] > 1
    members = np.bincount(block, minlength=n_blocks)
    cut = _articulation(student[linking], other[linking], members)
    first = np.unique(block, return_index=True)[1]
    return pl.DataFrame(
        {
            "student": ratings.students.gather([link.student for link in cut]),
            "raters": np.array([link.lost for link in cut], dtype=np.int64),
            "example": ratings.raters.gather(first[[link.block for link in cut]]),
        }
    ).sort("raters", descending=True, maintain_order=True)


def confounded(ratings: Ratings) -> pl.DataFrame:
    """Facets of which one determines the other: their effects cannot be told apart, or only by assumption."""
    parts = {
        "rater": (ratings.rater, ratings.n_raters),
        "item": (ratings.item, ratings.n_items),
        **{facet.name: (facet.codes, len(facet.labels)) for facet in ratings.facets},
    }
    rows = []
    for (one, (a, n_a)), (two, (b, n_b)) in combinations(parts.items(), 2):
        if n_a > 1 and n_b > 1:
            joint = _n_distinct(a.astype(np.int64) * n_b + b, n_a * n_b)
            rows += [(one, two)] * (joint == n_a) + [(two, one)] * (joint == n_b)
    return pl.DataFrame(rows, schema={"facet": pl.String, "determines": pl.String}, orient="row")


def _n_distinct(codes: Indices, n: int) -> int:
    """How many of 0 .. n - 1 occur."""
    if n <= 4 * len(codes):
        return int(np.count_nonzero(np.bincount(codes, minlength=n)))
    return len(distinct(codes))


def too_few(ratings: Ratings, target_se: float = TARGET_SE) -> pl.DataFrame:
    """Raters whose number of ratings cannot give a severity with the target standard error."""
    needed = int(np.ceil(1 / (_PER_RATING * target_se**2)))
    n = np.bincount(ratings.rater, minlength=ratings.n_raters)
    few = np.flatnonzero(n < needed)
    return pl.DataFrame(
        {"rater": ratings.raters.gather(few), "n": n[few], "needed": np.full(len(few), needed)}
    ).sort("n", maintain_order=True)


def _blocks(ratings: Ratings) -> tuple[int, Indices, Indices, Indices]:
    """How many blocks of raters there are, the block of each rater, and who marked whom: students and blocks."""
    n, block = ratings.n_raters, np.arange(ratings.n_raters)
    pair = ratings.marked_pairs()
    while True:
        student, other = np.divmod(pair, n)
        # Of each student the first block with all others, and neighbours; those who meet again at another student.
        first = other[np.searchsorted(student, student)]
        follows = np.flatnonzero(student[1:] == student[:-1]) + 1
        far = follows[other[follows - 1] != first[follows]]
        joined = np.concatenate([first[follows] * n + other[follows], other[far - 1] * n + other[far]])
        edge, times = np.unique(joined, return_counts=True)
        n_left, of_block = components(n, *np.divmod(edge[times > 1], n))
        block = of_block[block]
        if n_left == n:
            return n, block, student, other
        n, pair = n_left, distinct(student * n_left + of_block[other])


class _Link(NamedTuple):
    student: int
    lost: int
    """Raters on the smaller side"""
    block: int
    """One of that side"""


def _articulation(student: Indices, block: Indices, members: Indices) -> list[_Link]:
    """Tarjan's low-links over the graph of students and blocks of raters, without recursion."""
    label = distinct(student)
    of_edge = np.searchsorted(label, student)
    n_blocks, size = len(members), len(members) + int(of_edge.max(initial=-1)) + 1
    ends = np.concatenate([block, of_edge + n_blocks]), np.concatenate([of_edge + n_blocks, block])
    neighbours = ends[1][np.lexsort(ends[::-1])].tolist()
    start = np.append(0, np.cumsum(np.bincount(ends[0], minlength=size))).tolist()
    _, component = components(size, block, of_edge + n_blocks)
    weight = np.append(members, np.zeros(size - n_blocks, dtype=np.int64)).tolist()
    total = np.bincount(component, weight).astype(int).tolist()
    entered, low = [0] * size, [0] * size
    found: dict[int, tuple[int, int]] = {}
    clock = 0
    for root in range(n_blocks):
        if entered[root]:
            continue
        clock += 1
        entered[root] = low[root] = clock
        stack = [(root, -1, start[root])]
        while stack:
            node, parent, at = stack.pop()
            if at < start[node + 1]:
                stack.append((node, parent, at + 1))
                other = neighbours[at]
                if not entered[other]:
                    clock += 1
                    entered[other] = low[other] = clock
                    stack.append((other, node, start[other]))
                elif other != parent:
                    low[node] = min(low[node], entered[other])
            elif parent >= 0:
                low[parent] = min(low[parent], low[node])
                weight[parent] += weight[node]
                if parent >= n_blocks and low[node] >= entered[parent]:
                    below, above = weight[node], total[component[root]] - weight[node]
                    side = (below, node) if below <= above else (above, root)
                    found[parent] = max(found.get(parent, side), side)
    return [_Link(int(label[node - n_blocks]), *found[node]) for node in sorted(found)]


# ------------------------------------------------------------------------------------------------- words


def _say_repairs(table: pl.DataFrame) -> list[str]:
    if not table.height:
        return []
    named = [
        f"{shortened(rater)} rates student {shortened(student)}"
        for rater, student in table.head(6).select("rater", "student").iter_rows()
    ]
    more = f" and {table.height - 6:,} more" if table.height > 6 else ""
    return [f"{counted(table.height, 'further rating')} would connect all groups: {'; '.join(named)}{more}"]


def _say_weak(table: pl.DataFrame) -> list[str]:
    if not table.height:
        return []
    first = table.row(0, named=True)
    return [
        f"{counted(table.height, 'student')} alone {'links' if table.height == 1 else 'link'} some raters to the "
        f"others ({listed(table['student'], 4)}): without {shortened(first['student'])}, "
        f"{counted(first['raters'], 'rater')} ({shortened(first['example'])}{' and others' * (first['raters'] > 1)}) "
        "would be cut off; let them share more students"
    ]


def _say_confounded(table: pl.DataFrame) -> list[str]:
    return [
        f"every {row['facet']} has one {row['determines']} only, so the two cannot be told apart by these ratings: "
        f"let some of each {row['facet']} be rated with another {row['determines']}"
        for row in table.iter_rows(named=True)
    ]


def _say_few(table: pl.DataFrame, target_se: float) -> list[str]:
    if not table.height:
        return []
    named = [f"{shortened(rater)} with {n:,}" for rater, n in table.head(6).select("rater", "n").iter_rows()]
    more = f" and {table.height - 6:,} more" if table.height > 6 else ""
    return [
        f"{counted(table.height, 'rater has', 'raters have')} too few ratings to know a severity to within "
        f"{1.96 * target_se:.1f} logits, which takes about {table['needed'][0]:,}: {', '.join(named)}{more}; collect "
        "more before acting on their numbers"
    ]
