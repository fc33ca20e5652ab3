"""The picture of the rater network: true counts, nothing on top of each other, the same every time."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng
from scipy.spatial.distance import pdist

import raterlens as rl
from raterlens.pictures.rater_network import MOST_LINKS, network, network_data


def clusters(n: int, between: float, seed: int = 1) -> rl.Ratings:
    """Raters in `n` schools of 12; a share `between` of the ratings is of another school's students."""
    random = default_rng(seed)
    school = random.integers(0, n, 500 * n)
    rater = school * 12 + random.integers(0, 12, len(school))
    where = np.where(random.random(len(school)) < between, random.integers(0, n, len(school)), school)
    student = where * 1000 + random.integers(0, 60, len(school))
    return rl.read(pl.DataFrame({"student": student, "rater": rater, "score": np.arange(len(school)) % 2}))


def test_links_count_the_students_that_two_raters_share():
    ratings = rl.simulate(students=60, raters=7, items=3, raters_per_student=2, seed=1).ratings
    drawn = network_data(ratings)
    seen = {r: set(ratings.student[ratings.rater == r]) for r in range(7)}
    expected = {
        (ratings.raters[a], ratings.raters[b]): len(seen[a] & seen[b])
        for a, b in combinations(range(7), 2)
        if seen[a] & seen[b]
    }
    assert {row[:2]: row[2] for row in drawn.links.iter_rows()} == expected
    assert drawn.raters["students"].to_list() == [len(seen[r]) for r in range(7)]
    assert drawn.raters["n"].sum() == ratings.n_ratings
    assert drawn.links.height == drawn.n_links


@pytest.mark.parametrize("raters", [1, 2, 3, 40, 400])
def test_raters_are_drawn_apart_and_the_same_every_time(raters):
    ratings = rl.simulate(
        students=10 * raters, raters=raters, items=1, raters_per_student=min(raters, 2)
    ).ratings
    first, again = network_data(ratings).raters, network_data(ratings).raters
    assert first.equals(again)
    place = first.select("x", "y").to_numpy()
    assert np.isfinite(place).all()
    if raters > 1:
        assert pdist(place).min() > 0.1


def test_groups_do_not_overlap():
    drawn = network_data(clusters(5, between=0.0)).raters
    assert drawn["group"].n_unique() == 5
    boxes = drawn.group_by("group").agg(
        pl.col("x").min().alias("x1"),
        pl.col("x").max().alias("x2"),
        pl.col("y").min().alias("y1"),
        pl.col("y").max().alias("y2"),
    )
    for a, b in combinations(boxes.iter_rows(named=True), 2):
        assert a["x2"] < b["x1"] or b["x2"] < a["x1"] or a["y2"] < b["y1"] or b["y2"] < a["y1"]


def test_raters_who_share_students_lie_close():
    """Two schools that share little: the distance within is less than that between."""
    drawn = network_data(clusters(2, between=0.02)).raters.with_columns(
        school=pl.col("rater").cast(pl.Int64) // 12
    )
    here, there = (drawn.filter(school=s).select("x", "y").to_numpy() for s in (0, 1))
    assert np.linalg.norm(here.mean(axis=0) - there.mean(axis=0)) > 2 * pdist(here).mean() / 2


def test_few_links_keep_the_strongest_and_hold_groups_together():
    ratings = rl.simulate(students=2_000, raters=60, items=1, raters_per_student=3, seed=2).ratings
    every, few = network_data(ratings, most=MOST_LINKS), network_data(ratings, most=50)
    assert few.n_links == every.links.height > few.links.height >= 50
    assert few.links.head(50).equals(every.links.head(50))
    label = {rater: rater for rater in ratings.raters}
    for _ in range(60):
        for a, b, *_ in few.links.iter_rows():
            label[a] = label[b] = min(label[a], label[b])
    assert len(set(label.values())) == 1
    drawn = network_data(ratings)
    if drawn.links.height < drawn.n_links:
        said = f"the {drawn.links.height:,} strongest of {drawn.n_links:,} links are shown"
    assert network(ratings).description.endswith(f"; {said}.")
