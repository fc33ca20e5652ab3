"""The students' distribution: from draw to page and figure, on one replication."""

import numpy as np
import pytest

from benchmarks.studies import abilities
from raterlens import capability
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_from_draw_to_page_and_figure():
    study = abilities.STUDY
    rows = study.replicate(Task(2, 0))
    skewed = rows.filter(abilities="chi-squared, 3 df", measure="eta", items=4)
    assert skewed["p"][0] < 0.001
    results = study.summarise(replicated(rows))
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "capability" in str(study.draw(results).to_dict())


def test_truth_of_normal_abilities_is_the_formulas():
    severity, kappa = abilities.truth(None)
    rho = abilities.SLOPE / abilities.SLOPE.max()
    np.testing.assert_allclose(
        kappa, capability.gmf(rho=rho, eta=severity, sigma=abilities.SLOPE.max()), atol=1e-9
    )


def test_truth_of_skewed_abilities_by_draws():
    """Where half of the students are below 0 and half-widths are 1, from the slopes that follow."""
    low, median, high = abilities._standardised(3)
    drawn = (np.random.default_rng(1).chisquare(3, 400_000) - 3) / np.sqrt(6)
    np.testing.assert_allclose(np.quantile(drawn, [0.158655, 0.5, 0.841345]), [low, median, high], atol=0.01)
    severity, kappa = abilities.truth(3)
    assert kappa.argmax() == abilities.SLOPE.argmax()
    assert severity.mean() == pytest.approx(0, abs=1e-12)
    slope = abilities.SLOPE * (high - low) / 2
    theta = (drawn - median) / ((high - low) / 2)
    rate = [np.mean(a / (2 + 2 * np.cosh(a * theta - b))) for a, b in zip(slope, severity, strict=True)]
    best = max(
        np.mean(slope.max() / (2 + 2 * np.cosh(slope.max() * theta - b))) for b in np.linspace(-2, 1, 61)
    )
    np.testing.assert_allclose(kappa, np.array(rate) / best, rtol=0.01)
