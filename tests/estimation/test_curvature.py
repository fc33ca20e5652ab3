"""The curvature that the optimiser is given, against the exact one; of ordered scores, too."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.curvature import as_bent, joint_inverse, own_curvature, worth_joining
from raterlens.estimation.facets_estimate import information_scale
from raterlens.estimation.methods import estimate
from raterlens.inference.covariance import in_full
from raterlens.models.build import build
from raterlens.models.facets import redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options


@pytest.mark.parametrize(
    ("model_name", "link", "categories", "halo"),
    [
        ("gmf", "logit", 2, "none"),
        ("tfm", "logit", 2, "none"),
        ("gmf", "cloglog", 2, "none"),
        ("probit", "probit", 2, "none"),
        ("gmf", "logit", 4, "none"),
        ("gmf", "logit", 2, "common"),
    ],
)
def test_each_rater_s_block_is_near_the_exact_one(model_name, link, categories, halo):
    thresholds = None if categories == 2 else np.linspace(-1.0, 1.0, categories - 1)
    made = rl.simulate(
        students=1500,
        raters=15,
        items=4,
        raters_per_student=3,
        thresholds=thresholds,
        link=link,
        halo=0.0 if halo == "none" else 1.0,
        seed=5,
    )
    ratings, link = made.ratings, get_link(link)
    model, response = build(
        ratings, Options(MODELS[model_name], link, "rating scale", False, halo=halo), categories
    )
    found = estimate(ratings, model, response, link, "mml")
    information = information_scale(model, found.parameters)
    own = own_curvature(found.problem, found.parameters, information, found.nodes, found.moments)
    inverse = own.inverse(information, None, found.parameters)
    exact = in_full(found.problem.information(found.parameters, found.nodes))
    names = [name for name in ("slope", "severity") if model.blocks.sizes[name] == 15]
    for rater in range(15):
        places = [model.blocks[name].start + rater for name in names]
        product = inverse.toarray()[np.ix_(places, places)] @ exact[np.ix_(places, places)]
        values = np.linalg.eigvals(product).real
        assert values.min() > (0.5 if halo == "none" else 0.35)
        assert values.max() < 1.6
    if halo != "none":
        variance = model.blocks["halo"].start
        assert 0.5 < exact[variance, variance] / information[variance] < 2


def test_it_saves_evaluations(monkeypatch):
    ratings = rl.simulate(students=3000, raters=60, items=4, raters_per_student=3, seed=6).ratings
    with_it = rl.fit(ratings, model="gmf")
    monkeypatch.setattr("raterlens.estimation.quadrature.own_curvature", lambda *_: None)
    without = rl.fit(ratings, model="gmf")
    assert with_it.loglik == pytest.approx(without.loglik, abs=1e-6)
    assert with_it.optimiser.evaluations < 0.85 * without.optimiser.evaluations


def test_explained_raters_have_no_blocks():
    ratings = rl.simulate(students=200, raters=6, items=3, seed=7).ratings
    years = {"rater": ratings.raters.to_list(), "years": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]}
    assert rl.fit(ratings, model="gmf", covariates=pl.DataFrame(years)).converged


def test_scaled_blocks_are_the_likelihoods_own_on_average():
    """Two raters per student: far more is missing than normal posteriors say."""
    ratings = rl.simulate(students=900, raters=100, items=3, raters_per_student=2, seed=8).ratings
    link = get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link))
    found = estimate(ratings, model, response, link, "mml")
    begin = found.parameters.copy()
    begin[model.blocks["slope"]] = 1.2
    information = information_scale(model, begin)
    own = own_curvature(found.problem, begin, information, found.nodes, found.moments)
    scaled = as_bent(own, found.problem, begin, found.nodes)
    exact = in_full(found.problem.information(begin, found.nodes)).diagonal()[own.own]
    before, after = (blocks.diagonal(axis1=1, axis2=2).sum(axis=0) for blocks in (own.blocks, scaled))
    np.testing.assert_allclose(after, exact.sum(axis=0), rtol=0.05)
    assert before[0] > 1.3 * exact[:, 0].sum()


SCALES = ["rating scale", "partial credit", "graded"]


def drawn(students: int, raters: int) -> rl.Ratings:
    thresholds = np.linspace(-2, 2, 5)
    return rl.simulate(
        students=students, raters=raters, items=3, raters_per_student=3, thresholds=thresholds, seed=5
    ).ratings


@pytest.mark.parametrize("scale", SCALES)
def test_most_directions_bend_as_they_should(scale):
    ratings, link = drawn(600, 8), get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link, scale, False), 6)
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
def test_joining_raters_saves_evaluations_of_ordered_scores(scale, monkeypatch):
    ratings = drawn(600, 20)
    asked = {"scale": scale, "halo": "none", "ability": "normal", "standard_errors": False}
    with_it = rl.fit(ratings, **{"model": "gmf"} | asked)
    monkeypatch.setattr("raterlens.estimation.quadrature.worth_joining", lambda _: False)
    without = rl.fit(ratings, **{"model": "gmf"} | asked)
    assert with_it.loglik == pytest.approx(without.loglik, abs=1e-6)
    assert with_it.optimiser.evaluations < 0.7 * without.optimiser.evaluations


def test_pass_fail_ratings_do_without():
    ratings = rl.simulate(students=60, raters=4, items=3, seed=1).ratings
    options = Options(MODELS["gmf"], get_link("logit"), "rating scale", False)
    assert not worth_joining(build(ratings, options, 2)[0])
