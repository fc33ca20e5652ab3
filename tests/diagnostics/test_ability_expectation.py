"""Expectations of facets models, against scipy's integrals of one student."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.diagnostics.predictions import of_abilities


@pytest.mark.parametrize("slope", [1.0, 6.0])
def test_the_grid_gives_the_integral_of_every_student(slope):
    """Steep raters leave posteriors a tenth as wide as the population."""
    ratings = rl.simulate(students=40, raters=4, items=3, slope=slope, seed=2).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    model = of_abilities(fit.calibration, ratings)
    effects, t = fit.calibration.effects, model.nodes.points
    a, b = (
        effects["slope"][ratings.rater],
        (effects["severity"][ratings.rater] + effects["difficulty"][ratings.item]),
    )
    sign = np.where(ratings.score == 1, 1.0, -1.0)
    for student in (0, 17, 39):
        mine = model.judged == student
        np.testing.assert_array_equal(mine, ratings.student == student)

        def log(theta, mine=mine):
            return special.log_expit(sign[mine] * (a[mine] * theta - b[mine])).sum()

        weights = np.array([log(theta) for theta in t]) + model.prior[0]
        top = max(log(theta) for theta in np.linspace(-5, 5, 201))
        exact, _ = integrate.quad(
            lambda theta, log=log, top=top: np.exp(log(theta) - top) * stats.norm.pdf(theta),
            -8,
            8,
            points=[-2, 0, 2],
        )
        assert special.logsumexp(weights) - top == pytest.approx(np.log(exact), abs=1e-6)


def test_only_models_with_slopes_of_their_own_have_adapted_them():
    ratings = rl.simulate(students=40, raters=4, items=3, seed=2).ratings
    for model, own in (("gmf", True), ("tfm", False)):
        assert (
            of_abilities(rl.fit(ratings, model=model, standard_errors=False).calibration, ratings).own_slopes
            == own
        )
