"""Standard errors of the three-facets model on the writing data, as independent programs have them."""

import numpy as np
import pytest

import raterlens as rl

# mirt 1.2.0 (PyPI), Y, R, I: scores, raters and items of each student in columns, Y = -1 where there is none:
#   model = mirt.models.ManyFacetRaschModel(5, [mirt.models.Facet("rater", 16)])
#   found = mirt.estimation.fit_mfrm(model, Y, {"rater": R}, item_indices=I, n_quadpts=161)
#   found.facet_se["rater"], found.sigma_se
MIRT = [
    0.16806217, 0.15832637, 0.18210923, 0.16678492, 0.15419751, 0.16024862, 0.1434214, 0.16232054,
    0.14976647, 0.14271695, 0.15718718, 0.15629738, 0.1705154, 0.15719846, 0.16569571, 0.17312481,
]  # fmt: skip
MIRT_SIGMA = 0.08101278

# R 4.2, glmmTMB 1.1.5:
#   options(contrasts = c("contr.sum", "contr.poly"))
#   m <- glmmTMB(y ~ rater + item + (1 | pid), data = long, family = binomial)
#   sqrt(diag(vcov(m)$cond))                  # the last level of a factor has none under this contrast
GLMMTMB = [
    0.1680, 0.1583, 0.1821, 0.1667, 0.1542, 0.1602, 0.1434, 0.1623,
    0.1497, 0.1427, 0.1571, 0.1563, 0.1705, 0.1571, 0.1656,
]  # fmt: skip
GLMMTMB_ITEMS = {"spe": 0.0707, "coh": 0.0699, "str": 0.0632, "gra": 0.0645}

OPTIMA, DIGITS = 1e-6, 0.00006
"""Both optimisers stop close to the same maximum; what glmmTMB was printed with."""


def test_marginal_likelihood_against_mirt(writing):
    found = rl.fit(writing, model="tfm")
    np.testing.assert_allclose(found.raters["eta_se"], MIRT, rtol=OPTIMA)
    assert found.sigma_se == pytest.approx(MIRT_SIGMA, rel=OPTIMA)


def test_laplace_approximation_against_glmmtmb(writing):
    found = rl.fit(writing, model="tfm", method="laplace")
    np.testing.assert_allclose(found.raters["eta_se"].to_numpy()[:-1], GLMMTMB, atol=DIGITS)
    own = dict(zip(found.items["item"], found.items["delta_se"], strict=True))
    for item, error in GLMMTMB_ITEMS.items():
        assert own[item] == pytest.approx(error, abs=DIGITS)
