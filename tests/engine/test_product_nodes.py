"""A grid of two abilities integrates functions of two normal variables."""

import numpy as np

from raterlens.likelihood.nodes import MOST_NODES, ProductNodes


def test_moments_of_two_normal_variables() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 7.0)
    weight = np.exp(nodes.log_weights)
    for value, expected in (
        (np.ones_like(weight), 1.0),
        (nodes.points**2, 1.0),
        (nodes.z**4, 3.0),
        (nodes.points**2 * nodes.z**2, 1.0),
        (np.exp(nodes.points + nodes.z), np.e),
    ):
        np.testing.assert_allclose(weight @ value, expected, rtol=1e-7)
    assert (nodes.points**2 + nodes.z**2 <= 49.0).all()


def test_the_other_ability_in_the_first_place() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 5.0)
    turned = nodes.turned()
    np.testing.assert_array_equal(turned.points, nodes.z)
    np.testing.assert_array_equal(turned.turned().points, nodes.points)
    np.testing.assert_allclose(turned.finer().steps, [0.25, 0.2])


def test_finer_grids_have_half_the_steps_and_no_grid_grows_beyond_bounds() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 5.0)
    np.testing.assert_allclose(nodes.finer().steps, [0.2, 0.25])
    assert nodes.finer().reach > nodes.reach
    assert len(ProductNodes.of((1e-3, 1e-3), 6.0).points) < 1.1 * MOST_NODES


def test_a_grid_reaches_as_far_as_it_was_asked_to() -> None:
    """Within a step: the outermost nodes lie inside the circle."""
    for steps in ((0.1, 0.3), (0.3, 0.1)):
        nodes = ProductNodes.of(steps, 4.0)
        assert 3.9 < nodes.reach <= 4.0
        assert 4.4 < nodes.finer().reach <= nodes.reach + 0.5
        np.testing.assert_allclose(nodes.turned().reach, nodes.reach)
