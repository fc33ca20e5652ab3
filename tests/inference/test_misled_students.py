"""Who misleads the panel: those far out on what its raters share."""

import numpy as np
from scipy import special

import raterlens as rl
from tests.support.shared_panels import panel


def test_the_difference_that_what_is_shared_makes() -> None:
    made = panel(students=150, raters=6, known=60, seed=6)
    fit = rl.fit(made.ratings, model="gmf", shared=True, standard_errors=False)
    effects, students = fit.calibration.effects, fit.students
    theta, zeta = students["theta"].to_numpy(), students["shared"].to_numpy()
    at = np.outer(theta, effects["slope"]) - effects["severity"] - effects["difficulty"]
    expected = special.expit(at + np.outer(zeta, effects["bias"])) - special.expit(at)
    np.testing.assert_allclose(students["misled"], expected.mean(axis=1), atol=1e-10)
    assert fit.raters["bias_se"].is_nan().all()
