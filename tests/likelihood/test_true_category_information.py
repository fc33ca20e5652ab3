import numpy as np
import pytest

from tests.support.latent_class import (
    BOTH,
    DIFFERENCE,
    nodes_of,
    problem_on,
    somewhere,
)


@BOTH
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_and_information_are_exact(panel, rasch, link):
    problem = problem_on(panel, rasch, link)
    x, nodes, h = somewhere(problem, 1), nodes_of(problem), 1e-5
    ahead = [problem.value(x + h * e, nodes) for e in np.eye(len(x))]
    behind = [problem.value(x - h * e, nodes) for e in np.eye(len(x))]
    slope = [(a.objective - b.objective) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    bend = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(problem.value(x, nodes).gradient, slope, atol=DIFFERENCE)
    np.testing.assert_allclose(problem.information(x, nodes), -np.array(bend), atol=DIFFERENCE)
