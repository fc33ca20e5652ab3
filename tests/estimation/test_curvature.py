"""The curvature that the optimiser is given, against the exact one."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.curvature import as_bent, own_curvature
from raterlens.estimation.facets_estimate import information_scale
from raterlens.estimation.methods import estimate
from raterlens.inference.covariance import in_full
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec


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
        ratings, Options(facets_spec(model_name), link, "rating scale", False, halo=halo), categories
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
    model, response = build(ratings, Options(facets_spec("gmf"), link))
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
