"""The prior's derivatives against finite differences, and its location against a search."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.likelihood.priors import FREEDOM, PanelPrior
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options


def model_of(ratings, model="gmf"):
    return build(ratings, Options(MODELS[model], get_link("logit")))[0]


@pytest.fixture(scope="module")
def ratings():
    return rl.simulate(students=30, raters=6, items=2, seed=1).ratings


def prior_of(model, covariates=None) -> PanelPrior:
    found = PanelPrior.of(model, covariates)
    assert found is not None
    return found.at(0.4, 0.7)


@pytest.mark.parametrize("model_name", ["gmf", "tfm"])
@pytest.mark.parametrize("explained", [False, True])
def test_gradient_and_information(ratings, model_name, explained):
    model = model_of(ratings, model_name)
    covariates = np.column_stack([np.ones(6), [-1.0, 0.3, 2.0, -0.5, 0.1, -0.9]]) if explained else None
    prior = prior_of(model, covariates)
    x = np.random.default_rng(2).normal(size=model.blocks.size)
    step = 1e-5
    moved = [x + step * row for row in np.eye(len(x))], [x - step * row for row in np.eye(len(x))]
    slopes = [
        (prior.value(up)[0] - prior.value(down)[0]) / (2 * step) for up, down in zip(*moved, strict=True)
    ]
    np.testing.assert_allclose(prior.value(x)[1], slopes, atol=1e-6)
    bends = [
        (prior.value(up)[1] - prior.value(down)[1]) / (2 * step) for up, down in zip(*moved, strict=True)
    ]
    np.testing.assert_allclose(prior.information(x).toarray(), -np.array(bends), atol=1e-5)


def test_density_is_that_of_t_and_normal_at_their_best_locations(ratings):
    model = model_of(ratings)
    prior, x = prior_of(model), np.random.default_rng(3).normal(size=model.blocks.size)
    x[model.blocks["slope"]] += 2.0
    a, b = x[model.blocks["slope"]], x[model.blocks["severity"]]

    spread = 0.4 * np.hypot(a.mean(), 0.1)

    def height(m: float) -> float:
        return float(stats.t(FREEDOM, m, spread).logpdf(a).sum() + 6 * np.log(spread / 0.4))

    best = optimize.minimize_scalar(lambda m: -height(m), bounds=(1.0, 4.0), method="bounded")
    expected = height(best.x) + stats.norm(b.mean(), 0.7).logpdf(b).sum()
    constants = 6 * (stats.t(FREEDOM).logpdf(0.0) + stats.norm.logpdf(0.0))
    assert prior.value(x)[0] == pytest.approx(expected - constants, abs=1e-6)
    assert prior.slope_deviation(x) == pytest.approx(spread)
    assert prior.mean_slope(x) == pytest.approx(best.x, abs=1e-4)


def test_the_unit_of_slopes_does_not_matter(ratings):
    model = model_of(ratings)
    prior, x = prior_of(model), np.random.default_rng(4).normal(size=model.blocks.size)
    x[model.blocks["slope"]] += 40.0
    twice = x.copy()
    twice[model.blocks["slope"]] *= 2
    assert prior.value(twice)[0] == pytest.approx(prior.value(x)[0], abs=1e-4)


def test_severities_of_groups_that_share_no_item_are_not_compared():
    first, second = (
        rl.simulate(students=20, raters=3, items=2, seed=seed).ratings.table() for seed in (1, 2)
    )
    labels = pl.col("student", "rater", "item").cast(pl.String)
    apart = second.with_columns(labels + " elsewhere")
    ratings = rl.read(first.with_columns(labels).vstack(apart))
    model = model_of(ratings)
    prior = prior_of(model)
    x = np.zeros(model.blocks.size)
    x[model.blocks["severity"]] = np.where(model.rater_group == model.rater_group[0], 5.0, -5.0)
    np.testing.assert_allclose(prior.value(x)[1][model.blocks["severity"]], 0.0, atol=1e-12)


def test_a_single_rater_is_no_sample():
    assert PanelPrior.of(model_of(rl.simulate(students=20, raters=1, items=3).ratings)) is None
