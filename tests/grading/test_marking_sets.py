"""Raw grades by sets of raters, held to simulation and to single sets."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.grading import marking as room
from raterlens.grading.grades import Grid, cuts_of, lee
from raterlens.grading.marking import Marking, consistency_of_sets, readings_of, repeat_chances
from tests.support.calibrations import calibration

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
    grid = Grid.of(KNOWN, placed, placed.abilities(), cuts)
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
    marking, weights = Marking.of(KNOWN, ratings, theta), np.exp(-(theta**2) / 2)
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
    grid = Grid.of(KNOWN, placed, placed.abilities(), cuts)
    found = repeat_chances(KNOWN, few, grid, cuts, np.zeros(60, int))
    assert np.isnan(found).sum() == 1
