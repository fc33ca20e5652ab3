"""Probabilities of the scores, whichever the model."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.inference import expected_scores
from raterlens.inference.expected_scores import panel_of, rater_shifts


@pytest.mark.parametrize("options", [{"model": "gmf"}, {"model": "hrm"}, {"scale": "partial credit"}])
def test_probabilities_sum_to_1_and_weights_too(options):
    thresholds = (-1, 0, 1) if "scale" in options else None
    ratings = rl.simulate(students=80, raters=4, items=2, thresholds=thresholds, seed=1).ratings
    panel = panel_of(rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | options))
    np.testing.assert_allclose(panel.probabilities.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(panel.average.sum(axis=0), 1, atol=1e-12)
    assert panel.weights.sum() == pytest.approx(1)
    assert panel.categories == (4 if thresholds else 2)


def test_shifts_are_what_the_model_expects_of_raters_beyond_the_average_one():
    ratings = rl.simulate(students=80, raters=4, items=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    known = fit.calibration
    effects, ability = known.effects, fit.students["theta"].to_numpy()
    shift, fall = rater_shifts(known, ratings, ability, known, known.average())
    theta = ability[ratings.student]

    def expit(slope, severity):
        return 1 / (1 + np.exp(-(slope * theta - severity - effects["difficulty"][ratings.item])))

    own = expit(effects["slope"][ratings.rater], effects["severity"][ratings.rater])
    average = expit(effects["slope"].mean(), effects["severity"].mean())
    np.testing.assert_allclose(shift, own - average, atol=1e-12)
    np.testing.assert_allclose(fall, own * (1 - own), atol=1e-3)


def test_large_panels_are_represented_by_some(monkeypatch):
    ratings = rl.simulate(students=80, raters=9, items=5, raters_per_student=4, seed=1).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    monkeypatch.setattr(expected_scores, "MOST_RATERS", 4)
    monkeypatch.setattr(expected_scores, "MOST_ITEMS", 2)
    panel = panel_of(fit)
    assert panel.probabilities.shape[0] == 4
    assert (panel.n_items, len(panel.average_scores)) == (2, 9)
