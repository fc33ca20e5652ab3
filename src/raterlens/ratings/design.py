"""Who rated whom: connectivity, extremes, weak links, and how to repair them."""

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Indices, Mask, run_starts, sorted_unique
from raterlens.base.text import counted, listed, shortened
from raterlens.base.threads import BLOCK
from raterlens.kernels.library import compiled_code_pays
from raterlens.ratings.coded import Codes, Ratings


def components(size: int, one: Indices, other: Indices) -> tuple[int, Indices]:
    """Return the number of connected components of a graph and the component of each node, numbered by first node.

    Edge i joins `one[i]` and `other[i]`. Every component takes the smallest label among its edges, and
    chains of labels are followed to their end at once, so few rounds are enough. Loading SciPy's version takes longer.

    Examples
    --------
    >>> components(5, np.array([0, 4]), np.array([2, 1]))
    (3, array([0, 1, 0, 2, 1]))
    """
    label = np.arange(size)
    # In stretches: once the first have joined nearly all, the others take next to no memory.
    for first in range(0, len(one), BLOCK):
        label = _joined(label, one[first : first + BLOCK], other[first : first + BLOCK])
    kept, part = np.unique(label, return_inverse=True)
    return len(kept), part


def _joined(label: Indices, one: Indices, other: Indices) -> Indices:
    """Update the labels with more edges."""
    while True:
        here, there = label[one], label[other]
        apart = here != there
        if not apart.any():
            return label
        one, other = one[apart], other[apart]
        np.minimum.at(label, np.maximum(here, there)[apart], np.minimum(here, there)[apart])
        while not np.array_equal(further := label[label], label):
            label = further


FEW = 10
"""With fewer ratings than this, little can be said about a rater under any model."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkedGroups:
    """Parts of the design that share no student and no rater, numbered from the one with most ratings."""

    n: int
    rater: Codes
    """(raters,) the group of each rater"""
    student: Codes
    """(students,) the group of each student"""


def check_design(ratings: Ratings) -> tuple[str, ...]:
    """Say in plain words, before any model, what makes raters hard to compare: groups that share no student, levels
    whose scores are all at one end, raters with few ratings; each with its size and the next step.

    Examples
    --------
    >>> import polars as pl
    >>> from raterlens.reading.read import read
    >>> apart = {"student": [1, 2, 3, 4], "rater": ["AM", "AM", "BE", "BE"], "score": [0, 1, 1, 0]}
    >>> [warning[:51] for warning in check_design(read(pl.DataFrame(apart)))]
    ['the raters fall into 2 groups that share no student', "2 raters have fewer than 10 ratings ('AM', 'BE'): e"]
    """
    return (*_warn_groups(ratings), *_warn_extremes(ratings), *_warn_few(ratings))


def connected_groups(ratings: Ratings) -> LinkedGroups:
    """Find the groups of raters and students that no rating joins."""
    return ratings.once("groups", lambda: _connected_groups(ratings))


def _connected_groups(ratings: Ratings) -> LinkedGroups:
    n_raters = ratings.n_raters
    # Joining all raters of a student to one of them gives the same groups, on a graph without students.
    one, pairs = zip(*(_one_and_others(part) for part in ratings.parts()), strict=True)
    n, of_rater = components(n_raters, *np.divmod(np.concatenate(pairs), n_raters))
    size = np.bincount(of_rater, ratings.tally("rater").n, minlength=n)
    first_rater = np.full(n, n_raters)
    np.minimum.at(first_rater, of_rater, np.arange(n_raters))
    number = np.empty(n, dtype=np.int32)
    number[np.lexsort((first_rater, -size))] = np.arange(n, dtype=np.int32)
    groups = number[of_rater]
    return LinkedGroups(int(n), groups, groups[np.concatenate(one)])


def in_small_group(groups: LinkedGroups) -> NDArray[np.bool_]:
    """(raters,): who is in a group with at most half as many raters as the largest. How they compare with the rest
    depends on their few students alone."""
    size = np.bincount(groups.rater)
    return np.asarray(2 * size[groups.rater] <= size.max())


def extremes(ratings: Ratings, role: str) -> tuple[Codes, Codes]:
    """Find the students, raters or items all of whose scores are the lowest, or the highest, that occurs."""
    seen, tally = np.flatnonzero(ratings.score_counts), ratings.tally(role)
    lowest, highest = (_codes(tally.total == tally.n * end) for end in (seen[0], seen[-1]))
    return lowest, highest


def _one_and_others(ratings: Ratings) -> tuple[Codes, NDArray[np.int64]]:
    """Return (students,) one rater of each student, and the pairs of that rater with each of the student's raters, as
    one x raters + other."""
    if compiled_code_pays(ratings.n_ratings) and ratings.n_raters**2 <= ratings.n_ratings:
        from raterlens.kernels.student_groups import paired_raters  # may be missing

        found = paired_raters(ratings.student, ratings.rater, ratings.n_students, ratings.n_raters)
        if found is not None:
            return found[0], np.flatnonzero(found[1])
    essays = run_starts(ratings.student, ratings.rater)
    student, rater = ratings.student[essays], ratings.rater[essays]
    one = np.empty(ratings.n_students, dtype=np.int32)
    one[student] = rater
    pair = one[student].astype(np.int64) * ratings.n_raters + rater
    if ratings.n_raters**2 > 4 * len(pair):
        return one, sorted_unique(pair)
    seen = np.zeros(ratings.n_raters**2, dtype=bool)
    seen[pair] = True
    return one, np.flatnonzero(seen)


def _codes(chosen: NDArray[np.bool_]) -> Codes:
    return np.flatnonzero(chosen).astype(np.int32)


def _warn_groups(ratings: Ratings) -> list[str]:
    groups, per_rater = connected_groups(ratings), ratings.tally("rater").n
    if groups.n == 1:
        return []
    shown = range(min(groups.n, 3))
    named = "; ".join(f"({g + 1}) {listed(_raters_of(ratings, groups, g), 6)}" for g in shown)
    more = f"; and {counted(groups.n - 3, 'more group')}" if groups.n > 3 else ""
    # The busiest rater of each of the two largest groups: the pair that links most ratings.
    one, two = (ratings.raters[int(np.where(groups.rater == g, per_rater, -1).argmax())] for g in (0, 1))
    return [
        f"the raters fall into {groups.n:,} groups that share no student: {named}{more}. Raters can be compared "
        "within a group; across groups only if the students of every group come from the same population, which "
        f"the fit assumes. To link two groups, have a student rated in both, for example by "
        f"{shortened(one)} and {shortened(two)}"
    ]


def _raters_of(ratings: Ratings, groups: LinkedGroups, group: int) -> list[object]:
    return ratings.raters.gather(np.flatnonzero(groups.rater == group)).to_list()


def _warn_extremes(ratings: Ratings) -> list[str]:
    """Warn of extreme raters and items. Extreme students are usual, and the population's distribution keeps them
    finite."""
    binary = ratings.n_categories == 2
    ends = ("fails", "passes") if binary else ("the lowest score", "the highest score")
    warnings = []
    for role, labels, verb, consequence in (
        (
            "rater",
            ratings.raters,
            "gave",
            "how well they tell students apart cannot be seen; let them rate more, and more varied, students",
        ),
        (
            "item",
            ratings.items,
            "got",
            "their difficulty is known on one side only; keep them out, or have more students rated on them",
        ),
    ):
        found = [
            f"{counted(len(codes), role)} {verb} only {end} ({listed(labels.gather(codes), 6)})"
            for codes, end in zip(extremes(ratings, role), ends, strict=True)
            if len(codes)
        ]
        if found:
            warnings.append(f"{' and '.join(found)}: {consequence}")
    return warnings


def _warn_few(ratings: Ratings) -> list[str]:
    few = ratings.raters.filter(pl.Series(ratings.tally("rater").n < FEW))
    if few.is_empty():
        return []
    return [
        f"{counted(len(few), 'rater has', 'raters have')} fewer than {FEW} ratings ({listed(few, 6)}): "
        "expect wide intervals for them; collect more ratings before judging them"
    ]


def slopes_not_identified(ratings: Ratings) -> Mask:
    """(raters,): whose slopes are identified only through products with others'. Nobody's with ordered scores, which
    say more."""
    n, per_student = ratings.n_raters, ratings.tally("student").n
    nobody = np.zeros(n, dtype=bool)
    if ratings.n_categories > 2 or ratings.known is not None or per_student.max() < 2:
        return nobody
    order = np.argsort(ratings.student, kind="stable")
    student, rater = ratings.student[order], ratings.rater[order].astype(np.int64)
    next_to = np.flatnonzero(student[1:] == student[:-1])
    one, other = rater[next_to], rater[next_to + 1]
    # Every rater twice, once on either side: a ring that leads from one side to the other is odd.
    _, part = components(2 * n, np.append(one, one + n), np.append(other + n, other))
    two_sides = part[:n] != part[n:]
    _, group = components(n, one, other)
    more = np.zeros(int(group.max()) + 1, dtype=bool)
    more[group[rater[per_student[student] > 2]]] = True
    met = np.bincount(np.append(one, other), minlength=n) > 0
    return np.asarray(met & two_sides & ~more[group])


def pairing_warnings(ratings: Ratings) -> tuple[str, ...]:
    """Say whose slopes are not identified, with the fix."""
    which = slopes_not_identified(ratings)
    if not which.any():
        return ()
    names = listed(ratings.raters.gather(np.flatnonzero(which)), 6)
    return (
        f"the discrimination of {counted(int(which.sum()), 'rater')} ({names}) is not identified: they only ever mark "
        "in pairs, one rating each per student. Have a third of them mark some of the same students, or rate a second "
        "item; or use one discrimination for all (model 'tfm')",
    )


TARGET_SE = 0.3
"""Target standard error of a severity, in logits: a 95 % interval of ±0.6, the difference between 50 and 65 %
passes."""
# Information of a rating about severity, on average: p (1 - p) with p spread over most of its range.
_PER_RATING = 0.16


@dataclass(frozen=True, slots=True, eq=False)
class Linking:
    """Links of a design, before a fit: tables (polars) and plain words."""

    n_groups: int
    repairs: pl.DataFrame
    """The shortest list of ratings that connects all groups: rater, student, link (which groups it joins)"""
    weak: pl.DataFrame
    """Raters cut off without one student: student, raters (number cut off), example"""
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
    >>> from raterlens.reading.read import read
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
    """List one rating fewer than there are groups: the busiest rater of the largest group rates the student with most
    ratings (whose ability is known best) in each other group."""
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
    """Count how many of 0 .. n - 1 occur."""
    if n <= 4 * len(codes):
        return int(np.count_nonzero(np.bincount(codes, minlength=n)))
    return len(sorted_unique(codes))


def too_few(ratings: Ratings, target_se: float = TARGET_SE) -> pl.DataFrame:
    """Raters whose number of ratings cannot give a severity with the target standard error."""
    needed = int(np.ceil(1 / (_PER_RATING * target_se**2)))
    n = np.bincount(ratings.rater, minlength=ratings.n_raters)
    # How precise marks are depends on their noise, which only a fit knows.
    few = np.flatnonzero((n < needed) & (not ratings.on_fine_scale))
    return pl.DataFrame(
        {"rater": ratings.raters.gather(few), "n": n[few], "needed": np.full(len(few), needed)}
    ).sort("n", maintain_order=True)


def _blocks(ratings: Ratings) -> tuple[int, Indices, Indices, Indices]:
    """Return the number of blocks of raters, the block of each rater, and who marked whom (students and blocks)."""
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
        n, pair = n_left, sorted_unique(student * n_left + of_block[other])


class _Link(NamedTuple):
    student: int
    lost: int
    """Raters on the smaller side"""
    block: int
    """One of that side"""


def _articulation(student: Indices, block: Indices, members: Indices) -> list[_Link]:
    """Tarjan's low-links over the graph of students and blocks of raters, without recursion."""
    label = sorted_unique(student)
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
