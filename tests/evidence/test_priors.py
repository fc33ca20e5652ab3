"""Panel prior or none: from draw to page and figure, and the truth that estimates are held against."""

import numpy as np
import pytest

from benchmarks.studies import priors
from raterlens import capability
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_capability_against_a_perfect_rater_is_the_limit_of_steep_yardsticks():
    slope, severity = np.array([0.4, 1.5, 3.0]), np.array([0.0, -1.0, 0.5])
    steep = 4000.0
    expected = capability.gmf(rho=slope / steep, eta=severity, sigma=steep)
    np.testing.assert_allclose(priors._perfect(slope, severity), expected, rtol=1e-4)


def test_from_draw_to_page_and_figure():
    study = priors.STUDY
    few = tuple(priors.CONDITIONS[place] for place in (0, 8))
    rows = priors.replicate(Task(1, 0), few)
    results = study.summarise(replicated(rows))
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "one with slope 0" in results.markdown
    shown = priors.errors_by_panel(results)
    assert set(shown["prior"]) == {"each by its own ratings", "panel prior"}
    assert "RMSE of κ̄" in str(study.draw(results).to_dict())


@pytest.mark.parametrize("truth", ["normal", "heavy-tailed", "log-normal", "0.3"])
def test_slopes_of_every_kind(truth):
    slopes = priors._slopes(2000, truth, np.random.default_rng(0))
    assert (slopes >= 0).all()
    assert np.median(slopes) == pytest.approx(1.5, abs=0.06)
