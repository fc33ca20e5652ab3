"""Every covariance against differences of the gradient, against each other where the model holds, and where not."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError


@pytest.fixture(scope="module")
def large():
    return rl.simulate(students=2500, raters=5, items=3, raters_per_student=3, seed=7).ratings


@pytest.fixture(scope="module")
def by_observed(large):
    return rl.fit(large, model="gmf")


@pytest.mark.parametrize(
    ("method", "kind", "within"),
    [
        ("mml", "expected", 0.06),
        ("mml", "opg", 0.1),
        ("mml", "sandwich", 0.1),
        ("laplace", "observed", 0.1),
        ("laplace", "opg", 0.15),
        ("laplace", "sandwich", 0.15),
    ],
)
def test_covariances_agree_where_the_model_holds(large, by_observed, method, kind, within):
    expected = by_observed.raters
    found = rl.fit(large, model="gmf", method=method, covariance=kind)
    assert found.covariance == kind
    for name in ("eta_se", "kappa_se"):
        np.testing.assert_allclose(found.raters[name], expected[name], rtol=within)


def test_abilities_held_fixed_make_standard_errors_too_small(small):
    honest = rl.fit(small, model="gmf", method="hl").raters
    found = rl.fit(small, model="gmf", method="hl", covariance="conditional").raters
    assert (found["kappa_se"].to_numpy() < honest["kappa_se"].to_numpy()).all()


def test_what_is_not_offered_is_refused_before_any_work(small):
    with pytest.raises(
        OptionError, match="not offered for method 'hl'; choose one of: observed, conditional"
    ):
        rl.fit(small, model="gmf", method="hl", covariance="sandwich")
    with pytest.raises(OptionError, match="did you mean 'sandwich'"):
        rl.fit(small, model="gmf", covariance="sandwhich")
    few = rl.simulate(students=10, raters=5, items=3).ratings
    with pytest.raises(InputError, match="10 students for 13 parameters"):
        rl.fit(few, model="gmf", covariance="opg")
