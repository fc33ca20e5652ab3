"""The optimisers against SciPy's and against closed forms."""

import numpy as np
import pytest
from scipy import optimize, sparse

from raterlens.estimation.optimiser import News, Progress, Search, Space, maximise, newton
from tests.support.objectives import negative, quadratic, rosenbrock

FREE = (np.full(8, -np.inf), np.full(8, np.inf))


def test_parameters_held_by_their_bounds_stay_and_cost_one_evaluation():
    function, centre = quadratic()
    found = maximise(
        negative(function), np.zeros(8), Space(np.ones(8), (centre + 1, centre + 1)), stage="test"
    )
    np.testing.assert_array_equal(found.parameters, centre + 1)
    assert found.record.evaluations == 1
    assert found.record.converged


def test_progress_and_the_limit_of_iterations():
    seen: list[Progress] = []
    found = maximise(
        negative(rosenbrock),
        np.zeros(8),
        Space(np.ones(8), FREE),
        stage="here",
        search=Search(max_iterations=5, on_progress=seen.append),
    )
    assert [step.iteration for step in seen] == [1, 2, 3, 4, 5]
    assert seen[-1].loglik == found.value.loglik
    assert not found.record.converged
    assert "limit of 5 iterations" in found.record.stopped


def test_without_bounds_it_finds_the_centre_of_a_quadratic():
    function, centre = quadratic()
    found = maximise(negative(function), np.zeros(8), Space(np.ones(8), FREE), stage="test")
    assert found.record.converged
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_within_bounds_it_agrees_with_scipy(seed):
    function, centre = quadratic(seed)
    lower, upper = centre - 1 + np.arange(8) / 4, centre + 3
    expected = optimize.minimize(
        function, upper, jac=True, bounds=optimize.Bounds(lower, upper), options={"gtol": 1e-9, "ftol": 0}
    )
    found = maximise(negative(function), upper, Space(np.full(8, 3.0), (lower, upper)), stage="test")
    assert found.record.converged
    assert (found.parameters >= lower).all()
    assert (found.parameters <= upper).all()
    np.testing.assert_allclose(found.parameters, expected.x, atol=1e-5)


def test_a_curved_valley_with_a_bound_across_it():
    lower, upper = np.full(8, -2.0), np.full(8, 2.0)
    upper[3] = 0.5
    expected = optimize.minimize(rosenbrock, np.zeros(8), jac=True, bounds=optimize.Bounds(lower, upper))
    found = maximise(negative(rosenbrock), np.zeros(8), Space(np.ones(8), (lower, upper)), stage="test")
    assert found.record.converged
    assert found.parameters[3] == 0.5
    np.testing.assert_allclose(-found.value.objective, expected.fun, rtol=1e-6)


def test_who_is_at_a_bound_is_held_there_whatever_rounding_does_to_it():
    """A bound times a scale, divided by it, is below the bound for some of these scales."""
    information, upper = np.array([1, 0.97, 1, 2.66, 1, 2.75, 1, 3.05]), np.full(8, 10.0)
    assert (upper * np.sqrt(information) / np.sqrt(information) < upper).any()
    target = np.where(np.arange(8) % 2, 20.0, 3.0)
    objective = negative(lambda x: (float(((x - target) ** 2).sum()) / 2, x - target))
    found = maximise(objective, np.zeros(8), Space(information, (-upper, upper)), stage="test")
    assert found.record.gradient <= found.record.tolerance
    np.testing.assert_array_equal(found.parameters[1::2], 10.0)


def test_where_the_objective_bends_the_wrong_way_it_still_climbs():
    """-cos has its lowest points at 0, where its curvature is that of a minimum."""
    objective = negative(lambda x: (float(np.cos(x).sum()), -np.sin(x)))
    found = maximise(objective, np.full(8, 0.1), Space(np.ones(8), FREE), stage="test")
    np.testing.assert_allclose(np.cos(found.parameters), -1, atol=1e-9)


def test_steps_into_where_the_objective_is_undefined_are_taken_back():
    def logarithms(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float((x - np.log(x)).sum()), 1 - 1 / x

    found = maximise(negative(logarithms), np.full(8, 8.0), Space(np.full(8, 1e-3), FREE), stage="test")
    np.testing.assert_allclose(found.parameters, 1, atol=1e-5)


def test_an_objective_that_becomes_another_on_the_way_is_climbed_to_its_own_top():
    function, centre = quadratic()
    shift, gradients = np.full(8, 0.3), []

    def objective(x):
        return negative(function)(x + shift)

    def nearer(_, gradient):
        gradients.append(gradient)
        if len(gradients) == 2:
            return News(inverse_curvature=sparse.eye_array(8, format="csr"))
        if len(gradients) != 4:
            return News()
        shift[:] = 0.0
        return News(objective_changed=True)

    found = maximise(objective, np.zeros(8), Space(np.ones(8), FREE), stage="test", on_iteration=nearer)
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)
    assert found.value.loglik == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_with_the_curvature_itself_a_quadratic_takes_one_more_step(seed):
    function, centre = quadratic(seed)
    matrix = np.stack([function(centre + unit)[1] for unit in np.eye(8)])
    news = News(inverse_curvature=sparse.csr_array(np.linalg.inv(matrix)))
    found = maximise(
        negative(function),
        np.zeros(8),
        Space(np.full(8, 5.0), FREE),
        stage="test",
        on_iteration=lambda *_: news,
    )
    assert found.record.iterations == 2
    np.testing.assert_allclose(found.parameters, centre, atol=1e-6)


def test_a_curvature_that_misleads_is_given_up():
    function, centre = quadratic()
    wrong = News(inverse_curvature=sparse.csr_array(-np.eye(8)))
    told = iter([wrong])
    found = maximise(
        negative(function),
        np.zeros(8),
        Space(np.ones(8), FREE),
        stage="test",
        on_iteration=lambda *_: next(told, News()),
    )
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)


def hessian(function):
    return lambda x: np.stack([(function(x + h)[1] - function(x - h)[1]) / 2e-5 for h in 1e-5 * np.eye(8)])


def test_newton_takes_a_few_steps_on_a_quadratic():
    function, centre = quadratic()
    found = newton(negative(function), hessian(function), np.zeros(8), Space(np.ones(8), FREE), stage="here")
    np.testing.assert_allclose(found.parameters, centre, atol=1e-6)
    assert found.record.converged
    assert found.record.iterations <= 4


def test_newton_follows_a_curved_valley_from_far_away():
    found = newton(
        negative(rosenbrock), optimize.rosen_hess, np.zeros(8), Space(np.ones(8), FREE), stage="here"
    )
    np.testing.assert_allclose(found.parameters, 1, atol=1e-5)


def test_newton_within_bounds_agrees_with_scipy():
    function, centre = quadratic(3)
    lower, upper = centre + np.linspace(-1, 0.5, 8), np.full(8, 9.0)
    expected = optimize.minimize(
        function, upper, jac=True, bounds=optimize.Bounds(lower, upper), options={"gtol": 1e-9, "ftol": 0}
    )
    found = newton(
        negative(function), hessian(function), upper, Space(np.ones(8), (lower, upper)), stage="here"
    )
    np.testing.assert_allclose(found.parameters, expected.x, atol=1e-5)


def test_newton_keeps_the_limit_of_iterations_and_tells():
    seen: list[Progress] = []
    search = Search(max_iterations=2, on_progress=seen.append)
    space = Space(np.ones(8), FREE)
    found = newton(negative(rosenbrock), optimize.rosen_hess, np.zeros(8), space, search, stage="here")
    assert not found.record.converged
    assert "limit of 2 iterations" in found.record.stopped
    assert [step.iteration for step in seen] == [0, 1, 2]
    assert seen[-1].loglik == pytest.approx(found.value.loglik)
