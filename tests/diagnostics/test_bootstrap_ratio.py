"""The bootstrap of the likelihood ratio: its level, its power, and when it stops."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics import differences
from raterlens.diagnostics.differences import bootstrap_p, sharpness_test
from raterlens.inference import resampling


def pair(slope, seed: int, students: int = 60) -> tuple[rl.Fit, rl.Fit, rl.Ratings]:
    ratings = rl.simulate(
        students=students, raters=3, items=1, slope=slope, difficulty=0.0, seed=seed
    ).ratings
    equal, own = (rl.fit(ratings, model=model, standard_errors=False) for model in ("tfm", "gmf"))
    return equal, own, ratings


def test_raters_who_differ_are_beyond_all_replicates():
    assert bootstrap_p(*pair([0.0, 2.0, 2.0], 1, students=200), replicates=12) == pytest.approx(1 / 13)


@pytest.mark.nightly
def test_the_ratio_of_equal_raters_is_nothing_unusual():
    p = [bootstrap_p(*pair(1.5, seed), replicates=9) for seed in range(4)]
    assert 0.15 < np.mean(p) < 0.95


def test_the_yardstick_does_not_matter_to_a_ratio():
    _, _, ratings = pair([0.0, 2.0, 2.0], 1)
    for reference in ("max", "max corrected"):
        equal, own = (rl.fit(ratings, model=model, reference=reference) for model in ("tfm", "gmf"))
        assert bootstrap_p(equal, own, ratings, replicates=4) == pytest.approx(1 / 5)


def test_it_stops_when_it_is_plain_and_is_the_same_again(monkeypatch):
    panel = pair(1.5, 0)
    drawn: list[int] = []
    redraw = resampling.redrawn

    def counted(*given):
        drawn.append(1)
        return redraw(*given)

    monkeypatch.setattr(differences, "ENOUGH", 3)
    monkeypatch.setattr(differences, "redrawn", counted)
    first = bootstrap_p(*panel, replicates=1000)
    assert first == 3 / len(drawn)
    assert bootstrap_p(*panel, replicates=1000) == first


def test_panels_that_cannot_be_fitted_say_nothing(monkeypatch):
    """Ratings that all have the same score, and then a test that does without."""
    panel = equal, _, ratings = pair(1.5, 0)
    monkeypatch.setattr(
        differences, "redrawn", lambda drawn, *_: drawn.with_scores(np.zeros(drawn.n_ratings, np.int16))
    )
    assert bootstrap_p(*panel, replicates=3) is None
    found, _ = sharpness_test(equal, ratings, replicates=3)
    assert found is not None
    assert found.test == "likelihood ratio"
