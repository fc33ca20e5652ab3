"""Totals of readings, sets of raters, accuracy and consistency, held to enumeration and to R's cacIRT."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.estimation.scoring import place
from raterlens.grading import grades as room
from raterlens.grading.grades import (
    Grid,
    Marking,
    consistency_of_sets,
    convolved,
    cuts_of,
    lee,
    marking_patterns,
    reading_totals,
    readings_of,
    repeat_chances,
    rudner,
    unshrunk,
)
from tests.support.calibrations import DIFFICULTIES, SEVERITIES, SLOPES, calibration, rows_on

# ------------------------------------ accuracy and consistency, held to R's cacIRT 1.4 on complete designs


PATTERNS = [
    [1, 0, 0, 1, 1, 0, 0, 0, 0],
    [1, 1, 0, 1, 0, 1, 1, 1, 0],
    [0, 0, 0, 1, 0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
    [0, 1, 0, 1, 1, 0, 1, 0, 0],
]
THETA = np.array([-0.3, 0.4, 1.1, -1.6])


def _normal(t: Array) -> Array:
    density = np.exp(-(t**2) / 2)
    return np.asarray(density / density.sum())


def _sem(theta: Array) -> Array:
    """By the information of a logistic model, sum of a² p (1 - p)."""
    a = np.repeat(SLOPES, 3)[:, None]
    s = a * theta - np.repeat(SEVERITIES, 3)[:, None] - np.tile(DIFFICULTIES, 3)[:, None]
    p = 1 / (1 + np.exp(-s))
    return np.asarray(1 / np.sqrt((a**2 * p * (1 - p)).sum(axis=0)))


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [
        ([4.5], 0.836834203958, 0.77362894943),
        ([3.0], 0.844853109243, 0.800639028276),
        ([3.0, 6.0], 0.687923457585, 0.609650596673),
    ],
)
def test_lee_of_pass_and_fail_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    known, t = calibration(), np.arange(-100, 101) * 0.05
    totals = convolved(reading_totals(known, rows_on(known, [0, 1, 2]), t))
    found = lee(totals, np.array(cuts))
    np.testing.assert_allclose(found.accuracy @ _normal(t), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency @ _normal(t), consistency, atol=1e-9)


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [([6.0], 0.829703164280, 0.777082146734), ([4.0, 8.0], 0.708197291096, 0.623896486909)],
)
def test_lee_of_ordered_scores_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    known = calibration(
        SLOPES[:2], SEVERITIES[:2], DIFFICULTIES[:2], thresholds=[-0.7, 0.1, 0.9], scores=(0, 1, 2, 3)
    )
    t = np.arange(-25, 26) * 0.1 - 0.02
    found = lee(convolved(reading_totals(known, rows_on(known, [0, 1]), t)), np.array(cuts))
    np.testing.assert_allclose(found.accuracy @ _normal(t), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency @ _normal(t), consistency, atol=1e-9)


@pytest.mark.parametrize(
    ("cuts", "accuracy", "consistency"),
    [([0.25], 0.829404053316, 0.755677686588), ([-0.5, 0.25], 0.714901670118, 0.620110198557)],
)
def test_rudner_equals_cacirt(cuts: list[float], accuracy: float, consistency: float) -> None:
    found = rudner(THETA, _sem(THETA), np.array(cuts))
    np.testing.assert_allclose(found.accuracy.mean(), accuracy, atol=1e-9)
    np.testing.assert_allclose(found.consistency.mean(), consistency, atol=1e-9)


def test_unshrunk_abilities_are_maximum_likelihood_with_their_information() -> None:
    rows = [
        (f"S{n}", f"R{place // 3}", f"I{place % 3}", score)
        for n, pattern in enumerate(PATTERNS)
        for place, score in enumerate(pattern)
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))
    estimate, se = unshrunk(place(calibration(), ratings))
    # R's optimize stops at 1e-4; students who pass everything are at the limit.
    printed = [
        -0.753239253921,
        0.695716480411,
        -2.180803359677,
        1.569484566278,
        3.999932076008,
        -0.177612400399,
    ]
    np.testing.assert_allclose(estimate, printed, atol=2e-4)
    np.testing.assert_allclose(se, _sem(estimate), rtol=1e-7)
    at = estimate[:4]
    a = np.repeat(SLOPES, 3)[:, None]
    p = 1 / (1 + np.exp(-(a * at - (np.repeat(SEVERITIES, 3) + np.tile(DIFFICULTIES, 3))[:, None])))
    np.testing.assert_allclose((a * (np.array(PATTERNS[:4]).T - p)).sum(axis=0), 0, atol=1e-7)


# --------------------------------------------------- totals of readings, held to enumeration of all scores


ABILITIES = np.array([-1.2, 0.1, 1.7])


def _probabilities(known, rater, item, theta, shift=0.0):
    """Adjacent categories, spelled out: log p_k = k s - sum of thresholds."""
    effects = known.effects
    s = effects["slope"][rater] * theta - effects["severity"][rater] - effects["difficulty"][item] + shift
    logs = [k * s - effects["threshold"][0, :k].sum() for k in range(len(known.scores))]
    return special.softmax(logs)


@pytest.mark.parametrize("scores", [(0, 1, 2), (2, 3, 6)])
def test_totals_are_those_of_all_patterns(scores):
    known = calibration(thresholds=[-0.5, 0.4], scores=scores)
    found = reading_totals(known, rows_on(known, [0, 2, 1]), ABILITIES)
    for rater, (column, theta) in product(range(3), enumerate(ABILITIES)):
        wanted = np.zeros(3 * (scores[-1] - scores[0]) + 1)
        p = [_probabilities(known, rater, item, theta) for item in range(3)]
        for pattern in product(range(3), repeat=3):
            total = sum(scores[k] - scores[0] for k in pattern)
            wanted[total] += np.prod([p[item][k] for item, k in enumerate(pattern)])
        np.testing.assert_allclose(found[rater, :, column], wanted, rtol=1e-10, atol=1e-14)


def test_with_halo_totals_are_averaged_over_the_impression():
    known = calibration(thresholds=[-0.5, 0.4], scores=(0, 1, 2), halo=(0.0, 0.8, 1.5))
    found = reading_totals(known, rows_on(known, [0, 1]), ABILITIES)

    def highest(u, rater, theta):
        both = [
            _probabilities(known, rater, item, theta, known.effects["halo"][rater] ** 0.5 * u)[2]
            for item in (0, 1)
        ]
        return np.prod(both) * stats.norm.pdf(u)

    for rater, (column, theta) in product(range(3), enumerate(ABILITIES)):
        wanted, _ = integrate.quad(highest, -9, 9, args=(rater, theta), epsabs=1e-12)
        np.testing.assert_allclose(found[rater, 4, column], wanted, rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)


def test_further_facets_add_to_the_difficulty():
    known, every = calibration(), np.arange(3)
    topics = {"facet topic": np.array([0.3, -0.5])}
    labels = {"facet topic": pl.Series(["Sport", "Work"])}
    known = replace(known, effects={**known.effects, **topics}, labels={**known.labels, **labels})
    rows = [known.rows(every, item, {"topic": np.full(3, item)}) for item in (0, 1)]
    shifted = calibration(difficulties=(-0.4 + 0.3, 0.2 - 0.5, 0.6))
    found, wanted = (
        reading_totals(one, of_items, ABILITIES)
        for one, of_items in ((known, rows), (shifted, rows_on(shifted, [0, 1])))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_independent_parts_add_up():
    coin, die = np.full((2, 1), 0.5), np.full((6, 1), 1 / 6)
    np.testing.assert_allclose(convolved([coin, die])[:, 0], np.convolve(coin[:, 0], die[:, 0]))


# ----------------------------- patterns of readings: the same key for the same readings, and only for them


ROWS = [
    ("a", "R1", "x"),
    ("a", "R1", "y"),
    ("a", "R2", "x"),
    ("b", "R2", "x"),
    ("b", "R1", "y"),
    ("b", "R1", "x"),
    ("c", "R3", "x"),
    ("c", "R2", "x"),
    ("c", "R2", "y"),
    # The same items, in other readings: one of two, one of one; and one rater twice.
    ("d", "R1", "x"),
    ("d", "R2", "y"),
    ("d", "R3", "x"),
    ("e", "R1", "x"),
    ("e", "R1", "x"),
    ("e", "R1", "y"),
]


def _ratings():
    table = pl.DataFrame(ROWS, schema=["student", "rater", "item"], orient="row").with_columns(
        score=pl.int_range(pl.len()) % 2
    )
    return rl.read(table, as_written=True)


def test_students_with_the_same_raters_and_items_share_a_pattern():
    of = marking_patterns(_ratings(), raters=True).of_student
    assert of[0] == of[1]
    assert len(set(of.tolist())) == 4


def test_without_raters_the_items_of_each_reading_count():
    found = marking_patterns(_ratings(), raters=False)
    of = found.of_student
    assert of[0] == of[1] == of[2] == of[4] != of[3]
    assert sorted(found.students.tolist()) == [1, 4]
    assert of[found.example].tolist() == [0, 1]


def test_readings_are_spelled_out_in_the_order_asked_for():
    ratings = _ratings()
    d, a = readings_of(ratings, np.array([3, 0]))
    assert [(ratings.raters[one.rater], len(one.items)) for one in d] == [("R1", 1), ("R2", 1), ("R3", 1)]
    assert [sorted(ratings.items[i] for i in one.items) for one in a] == [["x", "y"], ["x"]]
    (e,) = readings_of(ratings, np.array([4]))
    assert [len(one.items) for one in e] == [2, 1], "the second x is of the next reading"


# ------------------------------------- raw grades by sets of raters, held to simulation and to single sets


KNOWN = calibration(thresholds=[-0.5, 0.4], scores=(0, 1, 2))


@pytest.fixture(scope="module")
def ratings():
    effects = KNOWN.effects
    drawn = rl.simulate(
        students=60,
        raters=3,
        items=3,
        raters_per_student=2,
        slope=effects["slope"],
        severity=effects["severity"],
        difficulty=effects["difficulty"],
        thresholds=[-0.5, 0.4],
        seed=4,
    ).ratings
    named = drawn.table().with_columns(
        rater="R" + (drawn.table()["rater"].str.slice(1).cast(int) - 1).cast(str),
        item="I" + (drawn.table()["item"].str.slice(1).cast(int) - 1).cast(str),
    )
    return rl.read(named)


def test_the_chance_of_the_same_grade_is_that_of_other_raters_drawn_from_the_panel(ratings):
    placed = place(KNOWN, ratings)
    cuts = cuts_of(KNOWN, 1.1)
    grid = Grid(KNOWN, placed, placed.abilities(), cuts)
    grade = cuts.grade_of(ratings.tally("student").mean)
    found = repeat_chances(KNOWN, ratings, grid, cuts, grade)
    random = np.random.default_rng(1)
    (_, posteriors), *_ = grid.posteriors()
    for student in (0, 7, 31):
        draws, same = 20_000, 0
        theta = random.choice(grid.abilities, draws, p=posteriors[student] / posteriors[student].sum())
        total = np.zeros(draws)
        for _ in range(2):
            rater = random.integers(3, size=draws)
            for item in range(3):
                s = KNOWN.effects["slope"][rater] * theta - KNOWN.effects["severity"][rater]
                s -= KNOWN.effects["difficulty"][item]
                p = np.exp(np.stack([np.zeros(draws), s + 0.5, 2 * s + 0.1]))
                p = np.cumsum(p / p.sum(axis=0), axis=0)
                total += (random.random(draws) > p).sum(axis=0)
        same = np.mean(cuts.grade_of(total / 6) == grade[student])
        assert found[student] == pytest.approx(same, abs=4 * np.sqrt(0.25 / draws))


def test_sets_count_by_their_students(ratings, monkeypatch):
    cuts = cuts_of(KNOWN, 1.1)
    found, students = consistency_of_sets(KNOWN, ratings, cuts)
    assert students == 60
    theta = np.arange(-100, 101) * 0.05
    marking, weights = Marking(KNOWN, ratings, theta), np.exp(-(theta**2) / 2)
    each = [lee(marking.totals(one), np.array([1.1 * 6])) for one in readings_of(ratings, np.arange(60))]
    for name in ("accuracy", "consistency"):
        wanted = np.mean([np.average(getattr(one, name), weights=weights) for one in each])
        assert float(getattr(found, name)) == pytest.approx(wanted, abs=1e-6)
    monkeypatch.setattr(room, "MOST_SETS", 2)
    some, students = consistency_of_sets(KNOWN, ratings, cuts)
    assert students == 2
    assert abs(float(some.accuracy) - float(found.accuracy)) < 0.1


def test_rare_patterns_of_items_are_left_out(ratings, monkeypatch):
    rows = ratings.table()
    few = rl.read(rows.filter(~((rows["student"] == rows["student"][0]) & (rows["item"] == "I0"))))
    monkeypatch.setattr(room, "MOST_PATTERNS", 1)
    placed = place(KNOWN, few)
    cuts = cuts_of(KNOWN, 1.1)
    grid = Grid(KNOWN, placed, placed.abilities(), cuts)
    found = repeat_chances(KNOWN, few, grid, cuts, np.zeros(60, int))
    assert np.isnan(found).sum() == 1
