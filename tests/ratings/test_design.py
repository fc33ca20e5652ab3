"""Design: who can be compared with whom, and what the ratings cannot tell."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import Design, Spread, connected_groups, examine, extremes, repeated
from raterlens.reading.reader import read

WRITING = Path(__file__).parents[3] / "shared" / "data" / "writing.csv"


def ratings_of(*rows: tuple[object, object, int]) -> Ratings:
    return read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))


def by_name(ratings: Ratings, design: Design) -> dict[str, list[list[object]]]:
    """Extreme levels as labels: role -> [lowest, highest]."""
    roles = {"students": ratings.students, "raters": ratings.raters, "items": ratings.items}
    found = {role: getattr(design.extremes, role) for role in roles}
    return {
        role: [labels.gather(codes).to_list() for codes in (found[role].lowest, found[role].highest)]
        for role, labels in roles.items()
    }


def warning(design: Design, start: str) -> str:
    (found,) = [text for text in design.warnings if start in text]
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
    design = examine(
        ratings_of(
            (1, "CO", 0), (1, "DA", 1), (2, "AM", 1), (2, "BE", 0), (3, "BE", 1), (4, "BE", 1), (5, "DA", 0)
        )
    )
    assert design.groups.n == 2
    assert design.groups.rater.tolist() == [0, 0, 1, 1]
    assert design.groups.student.tolist() == [1, 0, 0, 0, 1]
    text = warning(design, "groups that share no student")
    assert "fall into 2 groups that share no student: (1) 'AM', 'BE'; (2) 'CO', 'DA'." in text
    assert "compared within a group" in text
    assert "across groups only if the students of every group come from the same population" in text
    assert "have a student rated in both, for example by 'BE' and 'DA'" in text


def test_long_lists_are_shortened() -> None:
    rows = [(student, f"r{rater:02}", (student + rater) % 2) for student in range(10) for rater in range(18)]
    apart = [(f"{i}", f"x{i}", i % 2) for i in range(100, 104)]
    text = warning(examine(ratings_of(*((str(s), r, y) for s, r, y in rows), *apart)), "share no student")
    assert "fall into 5 groups" in text
    assert (
        "(1) 'r00', 'r01', 'r02', 'r03', 'r04', 'r05' and 12 more; (2) 'x100'; (3) 'x101'; and 2 more groups"
        in text
    )


def test_a_connected_varied_design_has_no_warnings() -> None:
    rows = [
        (student, rater, (student + time) % 2) for student in range(10) for rater in "ab" for time in (0, 1)
    ]
    design = examine(ratings_of(*rows))
    assert design.groups.n == 1
    assert design.warnings == ()


def test_counts() -> None:
    frame = pl.DataFrame(
        {
            "student": [1, 1, 1, 2, 2, 3, 1],
            "rater": ["a", "a", "b", "a", "b", "b", "a"],
            "item": ["x", "y", "x", "x", "x", "y", "x"],
            "score": [0, 1, 1, 0, 1, 1, 1],
        }
    )
    ratings = read(frame)
    design = examine(ratings)
    assert (design.n_ratings, design.n_students, design.n_raters, design.n_items) == (7, 3, 2, 2)
    assert design.per_student == Spread(1, 2.0, 4)
    assert design.per_rater == Spread(3, 3.5, 4)
    assert repeated(ratings) == 1
    assert design.few.tolist() == [0, 1]
    text = warning(design, "fewer than")
    assert text.startswith("2 raters have fewer than 10 ratings ('a', 'b')")
    assert "collect more ratings" in text


def test_a_rater_with_ten_ratings_is_not_thin() -> None:
    rows = [(s, r, (s + i) % 2) for s in range(10) for i, r in enumerate("ab")]
    design = examine(ratings_of(*rows, (0, "c", 0)))
    assert design.few.tolist() == [2]
    assert "1 rater has fewer than 10 ratings ('c')" in warning(design, "fewer than")


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
    design = examine(ratings)
    assert by_name(ratings, design) == {
        "students": [["s3"], ["s1"]],
        "raters": [["hard"], ["mild"]],
        "items": [["tough"], ["easy"]],
    }
    assert f"1 rater gave {fails} ('hard') and 1 rater gave {passes} ('mild'): how well" in warning(
        design, "rater gave"
    )
    assert f"1 item got {fails} ('tough') and 1 item got {passes} ('easy')" in warning(design, "item got")
    assert not any("student got" in text for text in design.warnings)


def test_a_middle_score_is_not_extreme() -> None:
    found = extremes(ratings_of((1, "a", 1), (2, "a", 1), (1, "b", 0), (2, "b", 2)))
    assert found.raters.lowest.tolist() == found.raters.highest.tolist() == []
    assert found.students.highest.tolist() == []


@pytest.mark.skipif(not WRITING.exists(), reason="../shared/data/writing.csv is not on this machine")
def test_the_writing_data() -> None:
    items = ["spe", "coh", "str", "gra", "con"]
    ratings = read(WRITING, student="pid", rater=["rater", "topic"], items=items, cut=3)
    design = examine(ratings)
    assert design.groups.n == 1
    assert design.per_student == Spread(20, 20.0, 20)
    # 5,355 ratings are the first of their student, rater and topic, as the design notes say.
    assert repeated(ratings) == 7260 - 5355
