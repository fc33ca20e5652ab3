"""Expected standard errors beside those of a fit to a large simulated exam of the same design."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.planning.assumed_panel import Spreads, stated
from raterlens.planning.precision import precision


@pytest.mark.parametrize("categories", [2, 3])
def test_errors_are_those_that_a_fit_reports(categories: int) -> None:
    panel = stated(Spreads(slope_spread=0.2), 4, 2, categories, 0)
    n = 1500
    student, rater = np.repeat(np.arange(n), 2), (np.arange(2 * n) + np.arange(2 * n) // 6) % 4
    items = np.tile(np.arange(2), 2 * n)
    drawn = rl.simulate(
        design=(np.repeat(student, 2), np.repeat(rater, 2), items),
        slope=panel.slope,
        severity=panel.severity,
        difficulty=panel.difficulty,
        thresholds=panel.thresholds,
        seed=1,
    )
    fit = rl.fit(drawn.ratings, model="gmf", reference="perfect", halo="none")
    found = precision(panel, student, rater, np.zeros(n, bool))
    for ours, theirs in (("severity", "eta_se"), ("sharpness", "sharpness_se"), ("kappa", "kappa_se")):
        ratio = getattr(found, ours) / fit.raters[theirs].to_numpy()
        assert abs(ratio.mean() - 1) < 0.05, ours
    errors = fit.students["theta_se"].to_numpy()
    assert abs(found.ability / np.sqrt(np.mean(errors**2)) - 1) < 0.02


def test_what_the_design_does_not_determine_is_infinite() -> None:
    # One pass or fail per student and no links: a pass rate per rater cannot give severity and slope.
    panel = stated(Spreads(), 3, 1, 2, 0)
    found = precision(panel, np.arange(90), np.arange(90) % 3, np.zeros(90, bool))
    assert np.isinf(found.kappa).all()
    assert np.isfinite(found.ability)
    # Definitive marks settle it.
    student = np.append(np.arange(90), np.repeat(np.arange(90, 120), 3))
    rater = np.append(np.arange(90) % 3, np.tile(np.arange(3), 30))
    assert np.isfinite(precision(panel, student, rater, np.arange(120) >= 90).kappa).all()


def test_raters_who_share_a_slope_know_it_better() -> None:
    from dataclasses import replace

    panel = stated(Spreads(slope_spread=0.0), 4, 2, 2, 0)
    student, rater = np.repeat(np.arange(200), 2), np.arange(400) % 4
    own, shared = (
        precision(one, student, rater, np.zeros(200, bool))
        for one in (panel, replace(panel, common_slope=True))
    )
    assert (shared.sharpness < 0.6 * own.sharpness).all()
