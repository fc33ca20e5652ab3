import numpy as np
import pytest

import raterlens as rl
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.hierarchical import ratings_given_abilities
from tests.support.facets_models import assert_gradient, setting

# The paper's table of the empirical study: rho and eta by rater and topic.
PRINTED = {
    "AM:Family": (1.00, -2.24, 0.76),
    "AM:School": (0.50, -1.57, 0.54),
    "AM:Sport": (0.48, -1.77, 0.48),
    "AM:Work": (0.52, -1.78, 0.51),
    "BE:Family": (0.71, -0.88, 0.82),
    "BE:School": (0.61, -1.09, 0.72),
    "BE:Sport": (0.71, -1.17, 0.78),
    "BE:Work": (0.54, -1.01, 0.68),
    "CO:Family": (0.65, 0.85, 0.78),
    "CO:School": (0.88, 0.99, 0.90),
    "CO:Sport": (0.76, 1.52, 0.75),
    "CO:Work": (0.63, 0.85, 0.77),
    "DA:Family": (0.79, 2.04, 0.67),
    "DA:School": (0.66, 1.83, 0.62),
    "DA:Sport": (0.55, 1.67, 0.56),
    "DA:Work": (0.82, 1.76, 0.74),
}


def test_hierarchical_likelihood_reproduces_the_paper_s_table(writing):
    fit = rl.fit(writing, model="gmf", method="hl")
    assert fit.sigma == pytest.approx(2.51, abs=0.03)
    # The difficulties that the paper prints in its text.
    delta = dict(zip(fit.items["item"], fit.items["delta"], strict=True))
    assert delta == pytest.approx(
        {"spe": -1.54, "coh": -1.45, "str": 0.19, "gra": 0.76, "con": 2.04}, abs=0.01
    )
    for rater, rho, eta, kappa in fit.raters.select("rater", "rho", "eta", "kappa").iter_rows():
        printed = PRINTED[rater]
        assert rho == pytest.approx(printed[0], abs=0.01)
        assert eta == pytest.approx(printed[1], abs=0.05)
        assert kappa == pytest.approx(printed[2], abs=0.015)


def test_the_paper_s_estimates_are_not_the_marginal_maximum(writing):
    best, paper = (
        rl.fit(writing, model="gmf", standard_errors=False),
        rl.fit(writing, model="gmf", method="hl", standard_errors=False),
    )
    assert best.loglik - paper.loglik == pytest.approx(11.5, abs=0.2)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_hierarchical_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    theta = np.random.default_rng(1).normal(size=small.n_students)
    conditional = Conditional(small, model, link)
    assert_gradient(lambda p: ratings_given_abilities(conditional, model, pseudo, theta, p), x)
