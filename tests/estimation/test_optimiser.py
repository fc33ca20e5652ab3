import numpy as np

from raterlens.estimation.optimiser import Progress, Search, Space, maximise
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
