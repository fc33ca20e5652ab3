"""Who rated whom: connectivity, extremes, weak links and their repairs."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

import raterlens as rl
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import (
    check_design,
    components,
    confounded,
    connected_groups,
    examine_links,
    extremes,
    pairing_warnings,
    repairs,
    slopes_not_identified,
    too_few,
    weak_links,
)
from raterlens.reading.read import read


@pytest.mark.parametrize("seed", range(10))
def test_parts_are_those_that_scipy_finds(seed):
    random = np.random.default_rng(seed)
    size, edges = int(random.integers(1, 60)), int(random.integers(0, 60))
    one, other = random.integers(0, size, (2, edges))
    graph = sparse.coo_array((np.ones(edges), (one, other)), shape=(size, size))
    n, part = connected_components(graph, directed=False)
    found = components(size, one, other)
    assert found[0] == n
    np.testing.assert_array_equal(found[1], part)


def test_a_long_chain_in_any_order_is_one_part():
    order = np.random.default_rng(1).permutation(100_000)
    assert components(100_000, order[:-1], order[1:])[0] == 1


WRITING = Path(__file__).parents[3] / "shared" / "data" / "writing.csv"


def ratings_of(*rows: tuple[object, object, int]) -> Ratings:
    return read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))


def extreme_labels(ratings: Ratings) -> dict[str, list[list[object]]]:
    """Extreme levels as labels: role -> [lowest, highest]."""
    labels = {"student": ratings.students, "rater": ratings.raters, "item": ratings.items}
    return {
        role: [names.gather(codes).to_list() for codes in extremes(ratings, role)]
        for role, names in labels.items()
    }


def warning(ratings: Ratings, start: str) -> str:
    (found,) = [text for text in check_design(ratings) if start in text]
    return found


def naive_groups(edges: list[tuple[int, int]]) -> set[frozenset[tuple[str, int]]]:
    """Merge sets until none overlap: slow and plain."""
    groups = [{("student", s), ("rater", r)} for s, r in edges]
    merged = True
    while merged:
        merged = False
        for i, one in enumerate(groups):
            for other in groups[i + 1 :]:
                if one & other:
                    one |= other
                    groups.remove(other)
                    merged = True
                    break
            if merged:
                break
    return {frozenset(group) for group in groups}


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6)), max_size=14))
def test_groups_are_those_of_a_plain_search(edges: list[tuple[int, int]]) -> None:
    edges = [(0, 0), (1, 1), *edges]
    ratings = ratings_of(*((s, r, i % 2) for i, (s, r) in enumerate(edges)))
    groups = connected_groups(ratings)
    found: dict[int, set[tuple[str, int]]] = {g: set() for g in range(groups.n)}
    for label, group in zip(ratings.students, groups.student, strict=True):
        found[int(group)].add(("student", label))
    for label, group in zip(ratings.raters, groups.rater, strict=True):
        found[int(group)].add(("rater", label))
    assert {frozenset(group) for group in found.values()} == naive_groups(edges)
    sizes = np.bincount(groups.rater[ratings.rater], minlength=groups.n)
    assert (np.diff(sizes) <= 0).all(), "the group with most ratings comes first"


def test_many_ratings_of_one_pair_are_still_a_link() -> None:
    groups = connected_groups(ratings_of(*[(1, "a", 1)] * 300, *[(2, "a", 0)] * 256, (2, "b", 1)))
    assert groups.n == 1


def test_a_large_sparse_design_is_never_made_dense() -> None:
    # 300,000 students by 300,000 raters would be 90 billion cells.
    n = 300_000
    frame = pl.DataFrame({"student": range(n), "rater": range(n), "score": [0, 1] * (n // 2)})
    assert connected_groups(read(frame)).n == n


def test_a_disconnected_design_is_explained() -> None:
    ratings = ratings_of(
        (1, "CO", 0), (1, "DA", 1), (2, "AM", 1), (2, "BE", 0), (3, "BE", 1), (4, "BE", 1), (5, "DA", 0)
    )
    groups = connected_groups(ratings)
    assert groups.n == 2
    assert groups.rater.tolist() == [0, 0, 1, 1]
    assert groups.student.tolist() == [1, 0, 0, 0, 1]
    text = warning(ratings, "groups that share no student")
    assert "fall into 2 groups that share no student: (1) 'AM', 'BE'; (2) 'CO', 'DA'." in text
    assert "compared within a group" in text
    assert "across groups only if the students of every group come from the same population" in text
    assert "have a student rated in both, for example by 'BE' and 'DA'" in text


def test_long_lists_are_shortened() -> None:
    rows = [(student, f"r{rater:02}", (student + rater) % 2) for student in range(10) for rater in range(18)]
    apart = [(f"{i}", f"x{i}", i % 2) for i in range(100, 104)]
    text = warning(ratings_of(*((str(s), r, y) for s, r, y in rows), *apart), "share no student")
    assert "fall into 5 groups" in text
    assert (
        "(1) 'r00', 'r01', 'r02', 'r03', 'r04', 'r05' and 12 more; (2) 'x100'; (3) 'x101'; and 2 more groups"
        in text
    )


def test_a_connected_varied_design_has_no_warnings() -> None:
    rows = [
        (student, rater, (student + time) % 2) for student in range(10) for rater in "ab" for time in (0, 1)
    ]
    ratings = ratings_of(*rows)
    assert connected_groups(ratings).n == 1
    assert check_design(ratings) == ()


def test_raters_with_fewer_than_ten_ratings_are_named() -> None:
    rows = [(s, r, (s + i) % 2) for s in range(10) for i, r in enumerate("ab")]
    assert "1 rater has fewer than 10 ratings ('c')" in warning(ratings_of(*rows, (0, "c", 0)), "fewer than")
    text = warning(ratings_of(*rows[:18]), "fewer than")
    assert text.startswith("2 raters have fewer than 10 ratings ('a', 'b')")
    assert "collect more ratings" in text


@pytest.mark.parametrize(
    ("low", "high", "fails", "passes"),
    [(0, 1, "only fails", "only passes"), (1, 3, "only the lowest score", "only the highest score")],
)
def test_extreme_levels_are_named(low: int, high: int, fails: str, passes: str) -> None:
    frame = pl.DataFrame(
        [
            ("s1", "mild", "easy", high),
            ("s2", "mild", "easy", high),
            ("s2", "hard", "tough", low),
            ("s3", "hard", "tough", low),
            ("s3", "fair", "mid", low),
            ("s1", "fair", "mid", high),
        ],
        schema=["student", "rater", "item", "score"],
        orient="row",
    )
    ratings = read(frame)
    assert extreme_labels(ratings) == {
        "student": [["s3"], ["s1"]],
        "rater": [["hard"], ["mild"]],
        "item": [["tough"], ["easy"]],
    }
    assert f"1 rater gave {fails} ('hard') and 1 rater gave {passes} ('mild'): how well" in warning(
        ratings, "rater gave"
    )
    assert f"1 item got {fails} ('tough') and 1 item got {passes} ('easy')" in warning(ratings, "item got")
    assert not any("student got" in text for text in check_design(ratings))


def test_a_middle_score_is_not_extreme() -> None:
    found = extreme_labels(ratings_of((1, "a", 1), (2, "a", 1), (1, "b", 0), (2, "b", 2)))
    assert found["rater"] == [[], []]
    assert found["student"][1] == []


@pytest.mark.skipif(not WRITING.exists(), reason="../shared/data/writing.csv is not on this machine")
def test_the_writing_data() -> None:
    items = ["spe", "coh", "str", "gra", "con"]
    ratings = read(WRITING, student="pid", rater=["rater", "topic"], items=items, cut=3)
    assert connected_groups(ratings).n == 1
    assert set(ratings.tally("student").n) == {20}


_T = np.linspace(-8, 8, 401)
_WEIGHTS = np.exp(-(_T**2) / 2) / np.exp(-(_T**2) / 2).sum()


def in_pairs(edges, *, more=()):
    """Two students of every pair, who pass and fail; and further (student, rater) pairs."""
    rows = [
        (f"s{k}{y}", f"r{r}", (y + side) % 2)
        for k, edge in enumerate(edges)
        for y in (0, 1)
        for side, r in enumerate(edge)
    ]
    rows += [(student, f"r{rater}", 1) for student, rater in more]
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))


def ring(n):
    return [*pairwise(range(n)), (n - 1, 0)]


def least_shown(edges, n):
    """The smallest singular value of pass rates and joint pass rates of the pairs, by slopes and severities."""
    random = np.random.default_rng(0)
    x = np.concatenate([1.5 * np.exp(0.3 * random.standard_normal(n)), 0.7 * random.standard_normal(n)])

    def shown(x):
        p = special.ndtr(x[:n, None] * _T - x[n:, None])
        return np.concatenate([p @ _WEIGHTS, [(p[i] * p[j]) @ _WEIGHTS for i, j in edges]])

    rows = np.array([shown(x + 1e-4 * unit) - shown(x - 1e-4 * unit) for unit in np.eye(2 * n)]) / 2e-4
    values = np.linalg.svd(rows, compute_uv=False)
    return float(values[2 * n - 1]) if len(values) == 2 * n and len(edges) >= n else 0.0


@pytest.mark.parametrize(
    ("edges", "n"),
    [
        *((ring(n), n) for n in (3, 4, 5, 6)),
        ([(0, 1)], 2),
        ([(0, 1), (1, 2), (2, 3)], 4),
        ([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)], 5),
        ([*ring(4), (0, 2)], 4),
    ],
)
def test_it_is_told_where_the_rank_says_so(edges, n):
    untold = slopes_not_identified(in_pairs(edges))
    assert untold.all() or not untold.any()
    assert untold.all() == (least_shown(edges, n) < 1e-6)


def test_a_third_rating_of_one_student_settles_its_group_alone():
    apart = [*ring(4), (4, 5)]
    assert slopes_not_identified(in_pairs(apart)).all()
    assert slopes_not_identified(in_pairs(apart, more=[("s00", 2)])).tolist() == [False] * 4 + [True] * 2


def test_the_warning_has_the_raters_and_the_fix():
    (text,) = pairing_warnings(in_pairs(ring(4)))
    assert "4 raters" in text
    assert "third" in text
    assert pairing_warnings(in_pairs(ring(3))) == ()


def designed(student: list[int], rater: list[int]) -> rl.Ratings:
    table = {
        "student": student,
        "rater": [f"R{r}" for r in rater],
        "score": [i % 2 for i in range(len(rater))],
    }
    return rl.read(pl.DataFrame(table))


@pytest.mark.parametrize("seed", range(8))
def test_repairs_connect_and_are_one_fewer_than_the_groups(seed):
    random = default_rng(seed)
    group = random.integers(0, 5, 60)
    rater = group * 3 + random.integers(0, 3, 60)
    ratings = designed((group * 10 + random.integers(0, 6, 60)).tolist(), rater.tolist())
    n = connected_groups(ratings).n
    table = repairs(ratings)
    assert n > 1
    assert table.height == n - 1
    labels = ratings.students.gather(ratings.student).to_list() + table["student"].to_list()
    raters = ratings.raters.gather(ratings.rater).to_list() + table["rater"].to_list()
    mended = rl.read(
        pl.DataFrame({"student": labels, "rater": raters, "score": [i % 2 for i in range(len(raters))]})
    )
    assert connected_groups(mended).n == 1


def test_a_connected_design_needs_no_repair(small):
    found = examine_links(small)
    assert (found.n_groups, found.repairs.height, found.weak.height) == (1, 0, 0)


@pytest.mark.parametrize("seed", range(12))
def test_weak_links_are_the_articulation_students_of_the_graph(seed):
    """By removing every student in turn and counting the groups of raters."""
    random = default_rng([seed, 3])
    n = int(random.integers(12, 30))
    ratings = designed(random.integers(0, 14, n).tolist(), random.integers(0, 8, n).tolist())
    pieces = connected_groups(ratings).n
    expected = set()
    for student in range(ratings.n_students):
        kept = ratings.student != student
        graph = sorted(set(zip(ratings.rater[kept].tolist(), ratings.student[kept].tolist(), strict=True)))
        if _groups(graph, ratings.n_raters) > _groups(
            sorted(set(zip(ratings.rater.tolist(), ratings.student.tolist(), strict=True))), ratings.n_raters
        ):
            expected.add(ratings.students[student])
    assert pieces >= 1
    assert set(weak_links(ratings)["student"].to_list()) == expected


def _groups(edges: list[tuple[int, int]], n_raters: int) -> int:
    """Groups of raters, by spreading the smallest label until nothing changes."""
    label = list(range(n_raters))
    for _ in range(n_raters):
        of_student: dict[int, int] = {}
        for rater, student in edges:
            of_student[student] = min(of_student.get(student, n_raters), label[rater])
        for rater, student in edges:
            label[rater] = min(label[rater], of_student[student])
    return len(set(label))


def test_weak_links_count_the_raters_that_are_cut_off():
    # R0 and R1 share students 1 and 2; R2 and R3 share 4 and 5; student 3 alone joins the two.
    ratings = designed([1, 2, 1, 2, 3, 3, 4, 5, 4, 5], [0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    assert weak_links(ratings).row(0)[:2] == (3, 2)
    (words,) = [text for text in examine_links(ratings).warnings if "alone links" in text]
    assert "2 raters" in words
    assert "share more students" in words


def test_confounded_facets_are_named():
    frame = pl.DataFrame(
        {
            "student": [1, 2, 1, 2] * 3,
            "rater": ["A", "A", "B", "B"] * 3,
            "item": ["x", "x", "y", "y"] * 3,
            "score": [0, 1, 1, 0] * 3,
        }
    )
    ratings = rl.read(frame)
    assert set(confounded(ratings).rows()) == {("rater", "item"), ("item", "rater")}


def test_ratings_needed_follow_the_target():
    ratings = rl.simulate(students=40, raters=4, items=2, raters_per_student=2, seed=1).ratings
    assert too_few(ratings, 1.0).height == 0
    few = too_few(ratings, 0.3)
    assert few["needed"][0] == int(np.ceil(1 / (0.16 * 0.09)))
    assert set(few["rater"]) == set(ratings.raters)
