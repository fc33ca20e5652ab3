"""Alarms: a martingale where nothing changes, and a change where there is one."""

import numpy as np
import polars as pl
import pytest
from numpy.random import Generator, default_rng

import raterlens as rl
from raterlens.diagnostics.monitoring import (
    Earlier,
    Stream,
    _moments,
    drift_alarms,
    evidence,
    streams,
    threshold,
)
from raterlens.diagnostics.residuals import residuals


def _stream(random: Generator, length: int, shift_at: int | None = None, shift: float = 1.0) -> Stream:
    logit = random.standard_normal(length)
    chance = 1 / (1 + np.exp(-logit))
    if shift_at is not None:
        logit[shift_at:] -= shift
    passed = random.random(length) < 1 / (1 + np.exp(-logit))
    return Stream(passed - chance, chance * (1 - chance), np.arange(length))


def test_weights_of_all_moments_that_may_ever_come_sum_to_one() -> None:
    for most in (100.0, 1e3, 1e5):
        moment, weight, look = _moments(most)
        assert (np.diff(moment) > 0).all()
        assert set(moment) <= set(look)
        assert weight.sum() < 1
    assert weight.sum() > 0.99


@pytest.mark.parametrize("earlier", [False, True])
def test_evidence_is_fair_where_nothing_changes(earlier: bool) -> None:
    # A martingale of mean 1: by any look, its mean over many streams is 1, whatever the rater's severity.
    random = default_rng(1)
    last, most = [], []
    for _ in range(1500):
        score = random.standard_normal(120) * 0.7 + 0.49 * 0.8  # a rater 0.8 logits off, all along
        before = Earlier(-0.8 + random.standard_normal() / 5, 1 / 25) if earlier else None
        found = evidence(Stream(score, np.full(120, 0.49), np.arange(120)), before)
        last.append(found.value[-1])
        most.append(found.value.max())
    assert abs(np.mean(last) - 1) < 4 * np.std(last) / np.sqrt(len(last))
    assert np.mean(np.array(most) >= threshold(1)) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


def test_a_change_is_found_with_its_size_and_its_time() -> None:
    found = evidence(_stream(default_rng(2), 1200, 500, shift=1.5))
    at = int(np.argmax(found.value))
    assert found.value[at] > threshold(40)
    assert abs(found.shift[at] - 1.5) < 3 * found.error[at]
    assert abs(found.since[at] - 500) < 60
    due = found.until[np.flatnonzero(found.value >= threshold(10))[0]]
    assert 500 < due < 700


def test_an_earlier_fit_makes_a_change_before_the_first_reading_visible() -> None:
    stream = _stream(default_rng(3), 300, 0, shift=1.0)
    alone, beside = evidence(stream), evidence(stream, Earlier(0.0, 0.01))
    assert alone.value.max() < threshold(1)
    assert beside.value.max() > threshold(10)
    assert beside.shift[int(np.argmax(beside.value))] > 0.5


def test_readings_of_the_same_time_are_looked_at_together() -> None:
    ratings = rl.simulate(students=80, raters=3, items=2, seed=4).ratings
    time = (ratings.student // 20).astype(np.int32)
    found = residuals(rl.fit(ratings, model="gmf", halo="none"), ratings)
    for stream in streams(found, time, 4):
        assert stream.time.tolist() == [0, 1, 2, 3]
    fine = streams(found, ratings.student, 80)
    known = [[stream.information.sum() for stream in every] for every in (fine, streams(found, time, 4))]
    np.testing.assert_allclose(*known, rtol=0.1)  # what all have in common is taken out at finer times


def test_alarms_name_the_rater_who_drifts() -> None:
    random = default_rng(5)
    design = rl.plan(900, 5, items=3, seed=1)
    student = np.array([int(label[1:]) - 1 for label in design.assignment["student"]])
    rater = np.array([int(label[1:]) - 1 for label in design.assignment["rater"]])
    severity = np.where((rater == 2) & (student >= 450), 1.5, 0.0)
    ability = random.standard_normal(900)
    chance = 1 / (1 + np.exp(-(1.5 * ability[student] - severity)))
    rows = {
        "student": np.repeat(student, 3),
        "rater": np.repeat(design.assignment["rater"].to_numpy(), 3),
        "item": np.tile(["a", "b", "c"], len(student)),
        "score": (random.random((len(student), 3)) < chance[:, None]).ravel().astype(int),
    }
    ratings = rl.read(pl.DataFrame(rows))
    days = pl.Series("day", np.arange(900))
    table = drift_alarms(residuals(rl.fit(ratings, model="gmf", halo="none"), ratings), ratings.student, days)
    assert table.columns == [
        "rater",
        "readings",
        "evidence",
        "alarm",
        "shift",
        "shift_se",
        "since",
        "noticed",
    ]
    assert table.filter("alarm").sort("evidence")["rater"][-1] == "R3"
    row = table.row(2, named=True)
    assert abs(row["since"] - 450) < 60
    assert row["noticed"] >= row["since"]
    assert 0.8 < row["shift"] < 2.2
