"""Contours: capability is the level along each, on any yardstick."""

import numpy as np
import pytest

from raterlens import capability
from raterlens.diagnostics.capability_scale import Scale
from raterlens.pictures.contour_data import LEVELS, contours, severity_data, surface

# Contours are drawn, not read off: interpolation on their grid may err by this much in kappa.
DRAWING = 2e-3


@pytest.mark.parametrize(
    ("model", "link"),
    [
        ("gmf", "logit"),
        ("gmf", "probit"),
        ("gmf", "cauchit"),
        ("gmf", "cloglog"),
        ("gmf", "log"),
        ("probit", "probit"),
    ],
)
@pytest.mark.parametrize("sigma", [0.3, 2.1])
def test_capability_is_the_level_along_each_contour(model, link, sigma):
    scale = Scale(sigma, link, model)
    curves = contours(scale.capability, reach=3.0)
    kappa = scale.capability(curves["rho"].to_numpy(), curves["eta"].to_numpy())
    np.testing.assert_allclose(kappa, curves["level"], atol=DRAWING)
    assert set(curves["level"]) <= set(LEVELS)
    assert curves["eta"].abs().max() <= 3.0
    assert curves["rho"].is_between(0, 1).all()


def test_contours_end_at_full_discrimination_or_at_the_edge():
    for _, curve in contours(Scale(2.1).capability, reach=3.0).group_by("level"):
        for end in (0, -1):
            assert curve["rho"][end] == 1.0 or abs(curve["eta"][end]) == 3.0


def test_the_surface_is_the_index(case):
    """At every rater's own discrimination and severity it gives the rater's kappa, whatever the model."""
    points = severity_data(case.fit)
    kappa = surface(case.fit)(points["rho"].to_numpy(), points["eta"].to_numpy())
    np.testing.assert_allclose(kappa, points["kappa"], atol=1e-8)


def test_the_surface_of_a_facets_fit_is_the_closed_form(example):
    rho, eta = np.array([0.4, 0.9]), np.array([-1.0, 2.0])
    expected = capability.gmf(rho=rho, eta=eta, sigma=example.fit.sigma)
    np.testing.assert_allclose(surface(example.fit)(rho, eta), expected, atol=1e-10)
