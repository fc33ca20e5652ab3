"""The score of another shape, against the model that has the shape among its parameters."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics.shape_score import shape_score
from raterlens.estimation.scoring import place, placed
from raterlens.inference.covariance import covariance, in_full
from raterlens.models.redundancy import redundancy
from raterlens.models.terms.shape import SHAPE
from tests.support.ability_shapes import ratings_of


def with_the_shape_in_the_model(known, ratings):
    """Rao's statistic from the gradient and the information of all parameters, those of the shape among them."""
    at = place(replace(known, effects={**known.effects, SHAPE: np.zeros(2)}, covariance=None), ratings)
    problem, x, nodes = at.problem, at.parameters, at.rough_nodes
    shape = problem.model.blocks[SHAPE]
    gradient = problem.value(x, nodes).gradient[shape]
    information = problem.information(x, nodes)
    spread = covariance(information, redundancy(problem.model, x), np.zeros(len(x), dtype=bool))
    step = in_full(spread.matrix)[shape, shape] @ gradient
    return gradient @ step, step


@pytest.mark.parametrize("kind", ["normal", "skewed"])
@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"standard_errors": False}], ids=str)
def test_it_is_that_of_the_model_with_the_shape(kind, options):
    ratings = ratings_of(kind)
    fit = rl.fit(ratings, ability="normal", **options)
    statistic, step = with_the_shape_in_the_model(fit.calibration, ratings)
    kept = shape_score(placed(fit.calibration, ratings))
    anew = shape_score(place(fit.calibration, ratings))
    assert anew.statistic == pytest.approx(statistic, rel=1e-5)
    np.testing.assert_allclose(anew.step, step, rtol=1e-4, atol=1e-5)
    # The fit holds a slope at 0, if any, and gives half a rating to whoever has none of a kind.
    assert kept.statistic == pytest.approx(statistic, rel=0.01)


def test_a_fit_that_has_just_been_made_is_asked_as_it_is():
    ratings = ratings_of("normal")
    fit = rl.fit(ratings, model="tfm")
    at = placed(fit.calibration, ratings)
    assert at.problem.model.slope.size == 1
    assert at.covariance is not None
    again = rl.read(ratings.table())
    assert placed(fit.calibration, again).covariance is None


def test_two_groups_of_students_are_so_far_from_normal_that_there_is_no_top_nearby():
    ratings = ratings_of("two groups")
    fit = rl.fit(ratings, ability="normal", standard_errors=False)
    found = shape_score(placed(fit.calibration, ratings))
    assert found.statistic == np.inf
    assert found.step[1] == -np.inf
