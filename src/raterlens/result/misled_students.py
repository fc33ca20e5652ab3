"""The students about whom a panel that shares a bias is misled most."""

import numpy as np

from raterlens.base.types import Array
from raterlens.engine.product_nodes import ProductNodes
from raterlens.estimation.facets_estimate import FacetsEstimate
from raterlens.likelihood.shared import SharedMarginal
from raterlens.models.responses import Predictor


def misled(found: FacetsEstimate) -> dict[str, Array]:
    """Each student's place on the dimension that raters share, and how much that raises the mean score, as a share of
    the highest, that the raters who are not trusted would give it, all of them."""
    problem, nodes = found.problem, found.nodes
    assert isinstance(problem, SharedMarginal)
    assert isinstance(nodes, ProductNodes)
    model, x = problem.model, found.parameters
    shared = problem.shared_moments(x, nodes)
    others = np.flatnonzero(np.append(model.free, False)[model.contexts.rater])
    predictor, bias = model.predictor(x), model.of_contexts(x)[others]
    total = np.zeros(len(shared.mean))
    for context, b in zip(others, bias, strict=True):
        with_it, without = (
            _mean_score(problem, predictor, int(context), found.moments.mean, b * z)
            for z in (shared.mean, np.zeros_like(shared.mean))
        )
        total += with_it - without
    return {"shared": shared.mean, "shared_se": shared.sd, "misled": total / max(1, len(others))}


def _mean_score(
    problem: SharedMarginal, predictor: Predictor, context: int, theta: Array, shift: Array
) -> Array:
    """(students,): as a share of the highest."""
    reach = predictor.slope[context] * theta + shift
    at = predictor.of_ratings(np.full(len(theta), context), reach, problem.response.lever)
    chance = np.exp(problem.response.log_prob(at, np.zeros(1))[..., 0])
    return np.asarray(chance @ np.arange(chance.shape[1]) / (chance.shape[1] - 1))
