"""During the marking: changes since an earlier fit, and alarms."""

import numpy as np
import pytest

import raterlens as rl


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
