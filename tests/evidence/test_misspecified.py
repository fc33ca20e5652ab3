"""Misspecified models: their ratings, and from draw to page and figure."""

import numpy as np
import pytest

from benchmarks.studies import misspecified
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("source", misspecified.SOURCES)
def test_misspecified_sources_pass_and_fail_often(source):
    drawn = misspecified.simulate_source(source, [1, 2])
    rate = np.bincount(drawn.ratings.rater, drawn.ratings.score) / np.bincount(drawn.ratings.rater)
    assert 0.1 < rate.min() < rate.max() < 0.9
    assert drawn.truth.ability.std() == pytest.approx(1, abs=0.15)


def test_from_draw_to_page_and_figure():
    study = misspecified.STUDY
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "Ratings from" in str(study.draw(results).to_dict())
