"""Monitoring: changes since an earlier fit, and drift alarms."""

import numpy as np
import polars as pl
import pytest
from numpy.random import Generator, default_rng

import raterlens as rl
from raterlens.diagnostics.drift import (
    Earlier,
    Stream,
    _moments,
    changes,
    drift_alarms,
    evidence,
    extends,
    in_words,
    streams,
    threshold,
)
from raterlens.diagnostics.residuals import residuals

# ---------------------------------------- during the marking: changes since an earlier fit, and alarms


def _exam(seed: int, severity: list[float]) -> rl.Ratings:
    return rl.simulate(
        students=500, raters=4, items=3, raters_per_student=2, slope=1.5, severity=severity, seed=seed
    ).ratings


@pytest.fixture(scope="module")
def last_year() -> rl.Fit:
    return rl.fit(_exam(1, [0.0, 0.0, 0.0, 0.0]), model="gmf", halo="none")


def test_a_rater_who_came_back_more_severe_raises_an_alarm(last_year: rl.Fit) -> None:
    ratings = _exam(2, [0.0, 0.0, 0.0, 1.2])
    seen = rl.fit(ratings, model="gmf", halo="none").monitor(ratings, previous=last_year)
    assert seen.alarms is not None
    assert seen.alarms.filter("alarm")["rater"].to_list() == ["R4"]
    (line,) = seen.warnings()
    assert line.startswith("drift alarm: 'R4' is 1.")
    assert "logits more severe since the previous fit" in line
    assert any(text.startswith("R4: passes ") for text in seen.words())


def test_nothing_has_changed(last_year: rl.Fit) -> None:
    ratings = _exam(3, [0.0, 0.0, 0.0, 0.0])
    seen = rl.fit(ratings, model="gmf", halo="none").monitor(ratings, previous=last_year)
    assert seen.words() == [
        "No rater's standard or sharpness has changed beyond chance (4 raters compared).",
        "No drift alarm (4 raters; valid however often you look).",
    ]


def test_an_earlier_look_at_the_same_exam_is_no_evidence_of_its_own(last_year: rl.Fit) -> None:
    ratings = _exam(1, [0.0, 0.0, 0.0, 0.0])
    first = rl.fit(ratings.sample(ratings.n_ratings // 2), model="gmf", halo="none")
    assert last_year.monitor(ratings, previous=first).alarms is None
    timed = last_year.monitor(ratings, previous=first, time=ratings.student)
    plain = last_year.monitor(ratings, time=ratings.student)
    assert timed.alarms is not None
    assert plain.alarms is not None
    assert timed.alarms.equals(plain.alarms)
    assert plain.changes.height == 0


def test_latent_classes_have_no_severity_to_drift() -> None:
    ratings = _exam(4, [0.0] * 4)
    fit = rl.fit(ratings, model="hrm")
    assert fit.monitor(ratings, time=np.arange(ratings.n_ratings)).alarms is None


# ------------------------- alarms: a martingale where nothing changes, and a change where there is one


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


# --------------------------------------- two runs compared: what moved beyond chance, and what did not


def run(slope: list[float], seed: int) -> rl.Fit:
    return rl.fit(rl.simulate(students=200, raters=4, items=3, slope=slope, seed=seed).ratings, model="gmf")


@pytest.fixture(scope="module")
def before() -> rl.Fit:
    return run([1.8, 1.8, 1.8, 1.8], 1)


def test_a_judge_that_got_worse_is_named_and_nobody_else(before):
    now = run([1.8, 1.8, 1.8, 0.4], 2)
    found = changes(now, before, ("sharpness",))
    assert found.filter("clear")["rater"].to_list() == ["R4"]
    (line,) = in_words(found)
    assert line.startswith("R4: sharpness 0.")
    gate = rl.gate(now, min_sharpness=0.1, baseline=before)
    assert gate
    assert gate.changed == (line,)
    assert '"changes": [{' in gate.to_json()
    assert line in gate.to_markdown()


def test_raters_of_one_run_alone_are_passed_over(before):
    ratings = rl.simulate(students=100, raters=6, items=2, seed=3).ratings
    found = changes(rl.fit(ratings, model="gmf", standard_errors=False), before, ("kappa", "severity"))
    assert found["rater"].unique().sort().to_list() == ["R1", "R2", "R3", "R4"]
    assert not found["clear"].any()  # without standard errors nothing is clear


def test_an_earlier_fit_of_the_first_ratings_is_known_for_one(before):
    ratings = rl.simulate(students=200, raters=4, items=3, slope=[1.8] * 4, seed=1).ratings
    again = rl.simulate(students=200, raters=4, items=3, slope=[1.8] * 4, seed=2).ratings
    first = rl.fit(ratings.sample(ratings.n_ratings // 2), model="gmf", halo="none")
    assert extends(rl.fit(ratings, model="gmf", halo="none"), first)
    assert not extends(rl.fit(again, model="gmf", halo="none"), first)  # the same labels, other students
    assert not extends(first, rl.fit(ratings, model="gmf", halo="none"))
    wider = rl.simulate(students=200, raters=5, items=3, slope=[1.8] * 5, seed=2).ratings
    assert not extends(
        rl.fit(wider, model="gmf", halo="none"), before
    )  # more ratings of students of the same names


def test_changes_since_the_first_half_are_compared_with_what_can_change():
    # Where nothing changes, the difference is as large as its spread says.
    z = []
    for seed in range(8):
        ratings = rl.simulate(students=160, raters=10, items=3, slope=1.5, seed=[9, seed]).ratings
        now, then = (
            rl.fit(ratings, model="gmf", halo="none"),
            rl.fit(ratings.sample(ratings.n_ratings // 2), model="gmf", halo="none"),
        )
        one, two = (fit.raters.select("n", "sharpness", "sharpness_se").to_numpy().T for fit in (then, now))
        z += list((two[1] - one[1]) / (two[2] * np.sqrt(two[0] / one[0] - 1)))
    assert 0.8 < np.std(z) < 1.3
