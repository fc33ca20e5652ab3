"""The curvature that the optimiser of ordered scores is given, against the exact one."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.curvature import joint_inverse, own_curvature, worth_joining
from raterlens.estimation.facets_estimate import information_scale
from raterlens.estimation.methods import estimate
from raterlens.inference.covariance import in_full
from raterlens.models.build import Options, build
from raterlens.models.redundancy import redundancy
from raterlens.models.registry import facets_spec

SCALES = ["rating scale", "partial credit", "graded"]


def drawn(students: int, raters: int) -> rl.Ratings:
    thresholds = np.linspace(-2, 2, 5)
    return rl.simulate(
        students=students, raters=raters, items=3, raters_per_student=3, thresholds=thresholds, seed=5
    ).ratings


@pytest.mark.parametrize("scale", SCALES)
def test_most_directions_bend_as_they_should(scale):
    ratings, link = drawn(600, 8), get_link("logit")
    model, response = build(ratings, Options(facets_spec("gmf"), link, scale, False), 6)
    found = estimate(ratings, model, response, link, "mml")
    x, nodes, information = found.parameters, found.nodes, information_scale(model, found.parameters)
    own = own_curvature(found.problem, x, information, nodes, found.moments)
    inverse = joint_inverse(found.problem, x, information, nodes, own).toarray()
    exact = in_full(found.problem.information(x, nodes))
    # Without the directions that change no probability.
    level = redundancy(model, x).constraints
    kept = np.linalg.svd(level)[2][len(level) :]
    values = np.linalg.eigvals(np.linalg.inv(kept @ np.linalg.inv(inverse) @ kept.T) @ kept @ exact @ kept.T)
    assert np.median(values.real) == pytest.approx(1, abs=0.25)
    # What all raters share, above all the spread of abilities, is known worse than it would be with these known.
    assert np.sum((values.real < 0.5) | (values.real > 1.5)) <= 4
    assert values.real.min() > 0


@pytest.mark.parametrize("scale", SCALES)
def test_it_saves_evaluations(scale, monkeypatch):
    ratings = drawn(600, 20)
    asked = {"scale": scale, "halo": "none", "ability": "normal", "standard_errors": False}
    with_it = rl.fit(ratings, **{"model": "gmf"} | asked)
    monkeypatch.setattr("raterlens.estimation.quadrature.worth_joining", lambda _: False)
    without = rl.fit(ratings, **{"model": "gmf"} | asked)
    assert with_it.loglik == pytest.approx(without.loglik, abs=1e-6)
    assert with_it.optimiser.evaluations < 0.7 * without.optimiser.evaluations


def test_pass_fail_ratings_do_without():
    ratings = rl.simulate(students=60, raters=4, items=3, seed=1).ratings
    options = Options(facets_spec("gmf"), get_link("logit"), "rating scale", False)
    assert not worth_joining(build(ratings, options, 2)[0])
