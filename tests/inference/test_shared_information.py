"""Information and the gradient of abilities with a shared dimension, against differences."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.inference import shared_information
from tests.support.facets_models import by_differences, ordered, with_facet, with_some_known
from tests.support.shared_panels import problem_on


@pytest.mark.parametrize(
    ("link", "scale", "model", "change"),
    [
        ("logit", "rating scale", "gmf", lambda ratings: ratings),
        ("probit", "rating scale", "probit", with_facet),
        ("logit", "partial credit", "gmf", ordered),
        ("logit", "graded", "tfm", ordered),
    ],
)
def test_information_agrees_with_differences(small, link, scale, model, change, monkeypatch) -> None:
    problem, x = problem_on(with_some_known(change(small)), get_link(link), scale, model)
    nodes = problem.rough_nodes()
    expected = by_differences(problem, x, nodes)
    found = shared_information.shared_information(problem, x, nodes)
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())
    monkeypatch.setattr(shared_information, "_MOST_COORDINATES", 0)
    np.testing.assert_allclose(shared_information.shared_information(problem, x, nodes), found, atol=1e-9)


def test_the_gradient_of_abilities(small) -> None:
    problem, x = problem_on(with_some_known(small), get_link("logit"))
    nodes, step = problem.rough_nodes(), 1e-5
    found = shared_information.ability_gradient(problem, x, nodes)
    for place in (0, problem.model.blocks["known"].start, len(x) - 1):
        d = step * np.eye(len(x))[place]
        ahead, back = (problem.moments(x + sign * d, nodes).mean for sign in (1, -1))
        np.testing.assert_allclose(found[:, place], (ahead - back) / (2 * step), atol=1e-7)
