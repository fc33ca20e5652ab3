"""Capability from the two numbers of a table against the capability functions."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.formulas import probit
from raterlens.capability.links import get_link
from raterlens.diagnostics.what_if import Scale

SIGMA = 2.0

SCALE = Scale(SIGMA)


def test_probit_yardstick_is_the_closed_form() -> None:
    noise, threshold = np.array([0.3, 1.0, 2.5]), np.array([-1.0, 0.4, 2.0])
    rho, eta = 1 / np.sqrt(1 + noise**2), threshold / noise
    scale = Scale(link="probit", model="probit")
    np.testing.assert_allclose(
        scale.capability(rho, eta), probit(noise=noise, threshold=threshold), rtol=1e-12
    )


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_latent_class_scale_gives_back_the_capability_of_the_model(link) -> None:
    from raterlens.capability.formulas import hrm

    slope, criterion = np.array([0.5, 2.0, 4.0]), np.array([0.1, 2.5, 1.0])
    shape = get_link(link)
    rho = np.exp(shape.log_pass(slope / 2)) - np.exp(shape.log_pass(-slope / 2))
    found = Scale(1.0, link, "hrm").capability(rho, criterion - slope / 2)
    np.testing.assert_allclose(found, hrm(criterion=criterion, slope=slope, link=link), rtol=1e-9)


def test_the_scale_of_ordered_scores_is_that_of_the_fit():
    """Capability from rho and eta is the kappa of the table, thresholds and all."""
    ratings = rl.simulate(
        students=400, raters=6, items=3, raters_per_student=3, thresholds=(-2.0, 0.0, 2.0), seed=2
    ).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    scale, raters = Scale.of(fit), fit.table("raters")
    found = scale.capability(raters["rho"].to_numpy(), raters["eta"].to_numpy())
    assert found == pytest.approx(raters["kappa"].to_numpy(), abs=1e-9)
    binary = Scale(fit.sigma).capability(raters["rho"].to_numpy(), raters["eta"].to_numpy())
    assert np.abs(binary - found).max() > 0.02
