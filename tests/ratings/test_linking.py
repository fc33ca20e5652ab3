"""Designs with known gaps: the repair list mends them and is as short as can be."""

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng

import raterlens as rl
from raterlens.ratings.design import connected_groups
from raterlens.ratings.linking import confounded, examine_links, repairs, too_few, weak_links


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
