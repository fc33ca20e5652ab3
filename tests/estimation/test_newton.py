import numpy as np
import pytest
from scipy import optimize

from raterlens.estimation.newton import newton
from raterlens.estimation.optimiser import Progress, Search, Space
from tests.support.objectives import negative, quadratic, rosenbrock

FREE = (np.full(8, -np.inf), np.full(8, np.inf))


def hessian(function):
    return lambda x: np.stack([(function(x + h)[1] - function(x - h)[1]) / 2e-5 for h in 1e-5 * np.eye(8)])


def test_a_quadratic_takes_a_few_steps():
    function, centre = quadratic()
    found = newton(negative(function), hessian(function), np.zeros(8), Space(np.ones(8), FREE), stage="here")
    np.testing.assert_allclose(found.parameters, centre, atol=1e-6)
    assert found.record.converged
    assert found.record.iterations <= 4


def test_a_curved_valley_from_far_away():
    found = newton(
        negative(rosenbrock), optimize.rosen_hess, np.zeros(8), Space(np.ones(8), FREE), stage="here"
    )
    np.testing.assert_allclose(found.parameters, 1, atol=1e-5)


def test_within_bounds_it_agrees_with_scipy():
    function, centre = quadratic(3)
    lower, upper = centre + np.linspace(-1, 0.5, 8), np.full(8, 9.0)
    expected = optimize.minimize(
        function, upper, jac=True, bounds=optimize.Bounds(lower, upper), options={"gtol": 1e-9, "ftol": 0}
    )
    found = newton(
        negative(function), hessian(function), upper, Space(np.ones(8), (lower, upper)), stage="here"
    )
    np.testing.assert_allclose(found.parameters, expected.x, atol=1e-5)


def test_the_limit_of_iterations_is_kept_and_told():
    seen: list[Progress] = []
    search = Search(max_iterations=2, on_progress=seen.append)
    space = Space(np.ones(8), FREE)
    found = newton(negative(rosenbrock), optimize.rosen_hess, np.zeros(8), space, search, stage="here")
    assert not found.record.converged
    assert "limit of 2 iterations" in found.record.stopped
    assert [step.iteration for step in seen] == [0, 1, 2]
    assert seen[-1].loglik == pytest.approx(found.value.loglik)
