"""Every facets model: its derivatives by finite differences, and directions that change no probability."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from raterlens import Ratings
from raterlens.capability.links import get_link
from raterlens.models.build import Options, build
from raterlens.models.population_shift import ShiftedModel
from raterlens.models.redundancy import centre, redundancy
from raterlens.models.registry import facets_spec
from raterlens.ratings.coded import Facet

STEP = 1e-6
# Central differences of functions of order one, with this step.
CLOSE = {"rtol": 1e-7, "atol": 1e-8}


def ordered(ratings: Ratings) -> Ratings:
    scores = np.random.default_rng(1).integers(0, 4, ratings.n_ratings).astype(np.int16)
    return replace(ratings, score=scores)


def with_facet(ratings: Ratings) -> Ratings:
    codes = np.random.default_rng(2).integers(0, 3, ratings.n_ratings).astype(np.int32)
    return replace(ratings, facets=(Facet("topic", codes, pl.Series(["a", "b", "c"])),))


def covariates(ratings: Ratings) -> np.ndarray:
    years = np.random.default_rng(3).normal(size=ratings.n_raters)
    return np.column_stack([np.ones(ratings.n_raters), years])


def make(ratings: Ratings, kind: str):
    logit, probit = get_link("logit"), get_link("probit")
    gmf, tfm, noisy = (facets_spec(name) for name in ("gmf", "tfm", "probit"))
    return {
        "tfm": lambda: build(ratings, Options(tfm, logit)),
        "gmf": lambda: build(ratings, Options(gmf, logit)),
        "probit": lambda: build(ratings, Options(noisy, probit)),
        "gmf item slopes": lambda: build(ratings, Options(gmf, logit, item_slopes=True)),
        "gmf covariates": lambda: build(ratings, Options(gmf, logit, covariates=covariates(ratings))),
        "gmf both": lambda: build(
            ratings, Options(gmf, logit, item_slopes=True, covariates=covariates(ratings))
        ),
        "gmf facet": lambda: build(with_facet(ratings), Options(gmf, logit)),
        "probit facet": lambda: build(with_facet(ratings), Options(noisy, probit)),
        "rating scale": lambda: build(ordered(ratings), Options(gmf, logit, scale="rating scale")),
        "partial credit": lambda: build(ordered(ratings), Options(gmf, logit, scale="partial credit")),
        "graded": lambda: build(ordered(ratings), Options(gmf, probit, scale="graded")),
        "shifted gmf": lambda: shifted(build(ratings, Options(gmf, logit, item_slopes=True))),
        "shifted probit": lambda: shifted(build(with_facet(ratings), Options(noisy, probit))),
        "shifted partial credit": lambda: shifted(
            build(ordered(ratings), Options(gmf, logit, scale="partial credit"))
        ),
    }[kind]()


KINDS = [
    "tfm",
    "gmf",
    "probit",
    "gmf item slopes",
    "gmf covariates",
    "gmf both",
    "gmf facet",
    "probit facet",
    "rating scale",
    "partial credit",
    "graded",
]


def shifted(made):
    model, response = made
    return ShiftedModel.of(model), response


def somewhere(model) -> np.ndarray:
    x = np.random.default_rng(5).normal(scale=0.5, size=model.blocks.size)
    x[model.blocks["slope"]] = 0.3 + np.abs(x[model.blocks["slope"]])
    if model.thresholds is not None and model.thresholds.graded:
        x[model.blocks["threshold"]] = 0.2 + np.abs(x[model.blocks["threshold"]])
    return x


# Without anchors a population's mean and sd trade against severities and slopes: derivatives only.
SHIFTED = ["shifted gmf", "shifted probit", "shifted partial credit"]


def flat(predictor) -> np.ndarray:
    return np.concatenate([predictor.slope, predictor.intercepts.ravel()])


@pytest.mark.parametrize("kind", [*KINDS, *SHIFTED])
def test_derivatives_agree_with_differences(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian = model.jacobian(x).toarray()
    differences = np.column_stack(
        [
            (flat(model.predictor(x + d)) - flat(model.predictor(x - d))) / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(jacobian, differences, **CLOSE)

    weights = np.random.default_rng(6).normal(size=len(jacobian))
    n = len(model.contexts)
    d_slope, d_intercepts = weights[:n], weights[n:].reshape(n, -1)
    np.testing.assert_allclose(model.pullback(x, d_slope, d_intercepts), jacobian.T @ weights, atol=1e-12)
    second = np.column_stack(
        [
            (model.pullback(x + d, d_slope, d_intercepts) - model.pullback(x - d, d_slope, d_intercepts))
            / (2 * STEP)
            for d in STEP * np.eye(len(x))
        ]
    )
    np.testing.assert_allclose(model.second(x, d_slope, d_intercepts).toarray(), second, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_redundant_directions_change_nothing_and_all_are_known(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    jacobian, known = model.jacobian(x).toarray(), redundancy(model, x)
    np.testing.assert_allclose(jacobian @ known.directions.T, 0, atol=1e-12)
    assert np.linalg.matrix_rank(jacobian) == model.blocks.size - len(known)


@pytest.mark.parametrize("kind", KINDS)
def test_centring_keeps_the_model_and_meets_its_constraints(small, kind):
    model, _ = make(small, kind)
    x = somewhere(model)
    centred = centre(model, x)
    np.testing.assert_allclose(flat(model.predictor(centred)), flat(model.predictor(x)), atol=1e-11)
    np.testing.assert_allclose(redundancy(model, centred).constraints @ centred, 0, atol=1e-11)


def test_items_that_no_rater_connects_are_centred_apart():
    frame = pl.DataFrame(
        {
            "student": list("aabbccdd"),
            "rater": list("xxxxyyyy"),
            "item": list("ijijklkl"),
            "score": [0, 1, 1, 0, 1, 1, 0, 0],
        }
    )
    from raterlens import read

    model, _ = build(read(frame), Options(facets_spec("gmf"), get_link("logit")))
    centred = centre(model, somewhere(model))
    difficulty = centred[model.blocks["difficulty"]]
    np.testing.assert_allclose([difficulty[:2].sum(), difficulty[2:].sum()], 0, atol=1e-12)
