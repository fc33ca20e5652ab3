import pytest

import raterlens as rl
from raterlens.estimation.conditional import Conditional, Laplace
from tests.support.facets_models import assert_gradient, setting


def test_laplace_agrees_with_glmmtmb(writing):
    # R 4.2, glmmTMB 1.1.5: glmmTMB(y ~ rater + item + (1 | pid), family = binomial) |> logLik()
    assert rl.fit(writing, model="tfm", method="laplace").loglik == pytest.approx(-3313.5807, abs=0.001)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_laplace_gradient(small, link):
    model, _, pseudo, link, x = setting(small, link)
    assert_gradient(Laplace(Conditional(small, model, link), model, pseudo).value, x)
