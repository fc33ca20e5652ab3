"""A response on two abilities, and how biases stand among effects."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.likelihood.nodes import ProductNodes
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec
from raterlens.models.responses import Adjacent, Graded, Linked, Predictor
from raterlens.models.shared_dimension import BIAS, SharedModel, SharedResponse

NODES = ProductNodes.of((1.0, 1.5), 4.0)
BIASES = np.array([0.7, -0.3])


@pytest.mark.parametrize(
    "response",
    [Adjacent(2), Adjacent(4), Linked(get_link("probit")), Graded(get_link("logit"), 3)],
    ids=["two scores", "four scores", "probit", "graded"],
)
def test_each_node_is_the_response_with_what_is_shared_in_its_intercepts(response) -> None:
    steps = response.n_categories - 1
    predictor = Predictor(np.array([1.2, 0.4]), np.array([0.3, -0.2])[:, None] - np.arange(steps))
    shared = SharedResponse(response, BIASES, NODES.z)
    counts = np.random.default_rng(1).random((2, response.n_categories, len(NODES.points)))
    found = [
        shared.log_prob(predictor, NODES.points),
        shared.scores(predictor, NODES.points),
        shared.curvature(predictor, NODES.points, counts),
    ]
    for q in (0, 7, len(NODES.points) - 1):
        shift = np.outer(NODES.z[q] * BIASES, response.lever)
        at, t = Predictor(predictor.slope, predictor.intercepts + shift), NODES.points[[q]]
        np.testing.assert_allclose(found[0][..., q], response.log_prob(at, t)[..., 0])
        np.testing.assert_allclose(found[1][..., q], response.scores(at, t)[..., 0])
        np.testing.assert_allclose(found[2][:, q], response.curvature(at, t, counts[..., [q]])[:, 0])


def test_biases_stand_after_severities_and_are_0_for_those_who_are_trusted(small) -> None:
    model, _ = build(small, Options(facets_spec("tfm"), get_link("logit")))
    free = np.arange(small.n_raters) != 2
    shared = SharedModel.of(model, free)
    x = np.random.default_rng(1).normal(size=shared.blocks.size)
    effects, at = shared.effects_at(x), shared.effects
    assert list(at.sizes)[:4] == ["slope", "severity", BIAS, "difficulty"]
    np.testing.assert_array_equal(effects[at[BIAS]], shared.biases(x))
    np.testing.assert_array_equal(effects[at["difficulty"]], x[shared.blocks["difficulty"]])
    assert effects[at[BIAS]][2] == 0.0
    np.testing.assert_allclose(shared.effect_jacobian(x) @ x, effects)
    d = np.random.default_rng(2).normal(size=len(shared.contexts))
    step = 1e-6
    ahead = [shared.of_contexts(x + step * each) @ d for each in np.eye(len(x))[shared.blocks[BIAS]]]
    np.testing.assert_allclose(
        shared.by_bias(d), (np.array(ahead) - shared.of_contexts(x) @ d) / step, atol=1e-6
    )
