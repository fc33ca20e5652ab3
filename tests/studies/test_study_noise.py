"""Coin flips: as many as asked for, and from draw to page and figure."""

import numpy as np

from raterlens.simulation.simulate import simulate
from raterlens.studies import study_noise
from raterlens.studies.study import Task
from tests.support.replications import replicated


def test_flipped_ratings_are_the_share_asked_for():
    drawn = simulate(students=2000, raters=4, items=5, severity=-6.0, slope=0.0, difficulty=0.0).ratings
    noisy = np.array([True, False, True, False])
    flipped = study_noise.flip(drawn, noisy, 0.4, np.random.default_rng(0))
    fails = np.bincount(flipped.rater, 1 - flipped.score) / np.bincount(flipped.rater)
    np.testing.assert_allclose(fails, 0.2 * noisy, atol=0.02)


def test_from_draw_to_page_and_figure():
    study = study_noise.STUDY
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "truth for noisy raters: 1 − s" in str(study.draw(results).to_dict())
