"""The score of a reading effect, against the derivative of the likelihood that has one, and against its ratio."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics import halo_test
from raterlens.diagnostics.halo_score import Readings, _of_students, halo_score
from raterlens.estimation.scoring import place, placed
from raterlens.likelihood.nodes import Nodes


def drawn(halo: float, seed: int, categories: int = 2) -> rl.Ratings:
    thresholds = None if categories == 2 else np.linspace(-1, 1, categories - 1)
    design = {"students": 300, "raters": 6, "items": 4, "raters_per_student": 2, "thresholds": thresholds}
    return rl.simulate(**design, halo=halo, seed=seed).ratings


def fitted(ratings: rl.Ratings, **options):
    return rl.fit(ratings, ability="normal", standard_errors=False, starts=1, **options)


@pytest.mark.parametrize("scale", ["rating scale", "partial credit", "graded"])
def test_it_is_the_derivative_in_the_variance(scale):
    """By the likelihood that has a reading effect, at the least variance that it knows."""
    ratings, nodes = drawn(0.8, 1, categories=4), Nodes.equally_spaced(-6, 6, 0.1)
    known = replace(fitted(ratings, scale=scale, halo="none").calibration, covariance=None)
    plain = place(known, ratings)
    own = _of_students(plain, nodes, Readings.of(ratings))
    with_halo = replace(known, effects={**known.effects, "halo": np.zeros(ratings.n_raters)})
    at = place(with_halo, ratings)
    expected = at.problem.derivatives(at.parameters, nodes).d_halo.sum()
    assert own.sum() == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("halo", "seed"), [(0.5, 3), (0.4, 4), (0.0, 5), (0.0, 6)])
def test_its_square_is_the_likelihood_ratio_of_a_second_fit(halo, seed):
    ratings = drawn(halo, seed)
    fit = fitted(ratings, halo="none")
    ratio = 2 * (fitted(ratings, halo="common", start=fit).loglik - fit.loglik)
    score = halo_score(placed(fit.calibration, ratings))
    assert max(score, 0.0) == pytest.approx(np.sqrt(max(ratio, 0.0)), abs=0.3)


@pytest.mark.parametrize("shuffled", [False, True])
def test_readings_of_students(shuffled):
    table = drawn(0.5, 3).table()
    ratings = rl.read(table.sample(fraction=1.0, shuffle=True, seed=1) if shuffled else table)
    found = Readings.of(ratings)
    student, rater = ratings.student[found.order], ratings.rater[found.order]
    for reading, (begin, end) in enumerate(pairwise(found.first.tolist())):
        assert len({*zip(student[begin:end].tolist(), rater[begin:end].tolist(), strict=True)}) == 1
        place = student[begin]
        assert found.of_student[place] <= reading < found.of_student[place + 1]
    assert len(found.first) - 1 == len({*zip(ratings.student.tolist(), ratings.rater.tolist(), strict=True)})
    assert (found.long, found.second) == (True, True)


def test_with_many_ratings_no_second_fit_is_made(monkeypatch):
    monkeypatch.setattr(halo_test, "MOST_REFITTED", 0)
    monkeypatch.setattr(halo_test, "refitted", lambda *_, **__: pytest.fail("a second fit"))
    assert any("share more" in text for text in fitted(drawn(1.2, 7)).warnings)
    assert not any("share more" in text for text in fitted(drawn(0.0, 5)).warnings)


def test_too_few_students_leave_it_to_a_second_fit():
    ratings = rl.simulate(students=8, raters=4, items=5, halo=2.0, seed=1).ratings
    assert halo_score(placed(fitted(ratings, halo="none").calibration, ratings)) == np.inf
