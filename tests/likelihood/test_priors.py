"""The prior's derivatives against finite differences, and its location against a search."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.likelihood.priors import FREEDOM, HALF_A_RATING, DrawnPrior, PanelPrior, Spread, pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.facets_models import by_hand, make, somewhere


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


# ----------------------------------------------------------------------------------------------------
# The prior of interactions: a normal density, and what it adds to the information.


@pytest.fixture
def model(small):
    return make(small, "probit facet interactions")[0]


def test_value_is_a_normal_density_and_its_gradient(model):
    prior, x = DrawnPrior.of(model, np.array([0.4, 0.9])), somewhere(model)
    value, gradient = prior.value(x)
    topic, item = (x[model.blocks[f"interaction {name}"]] for name in ("topic", "item"))
    expected = stats.norm(0, 0.4).logpdf(topic).sum() + stats.norm(0, 0.9).logpdf(item).sum()
    assert value == pytest.approx(expected + (len(topic) + len(item)) * np.log(2 * np.pi) / 2)
    for j, step in enumerate(1e-5 * np.eye(len(x))):
        rise = (prior.value(x + step)[0] - prior.value(x - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(rise, abs=1e-7)


def test_information_is_that_of_terms_with_a_spread(model):
    prior, x = DrawnPrior.of(model, np.array([0.0, 0.5])), somewhere(model)
    expected = np.zeros(len(x))
    expected[model.blocks["interaction item"]] = 4.0
    np.testing.assert_allclose(prior.information(x).toarray(), np.diag(expected))


def test_the_test_of_a_variance_that_may_be_0():
    assert Spread("item", 0.3, 0.1, 0.6, 2.7055).p == pytest.approx(0.05, abs=1e-4)
    assert Spread("item", 0.0, 0.0, 0.2, 0.0).p == 1.0


# ----------------------------------------------------------------------------------------------------
# The prior of interactions: a normal density, and what it adds to the information.


ROWS = [("a", "kind", i, 1) for i in "xy"] + [("a", "fair", i, i == "x") for i in "xy"]
ROWS += [("b", "kind", i, 1) for i in "xy"] + [("b", "fair", i, i == "y") for i in "xy"]


def test_who_only_passes_gets_half_a_fail_over_all_its_contexts():
    ratings = by_hand(ROWS)
    model, _ = make(ratings, "gmf")
    counts = pseudo_ratings(model, 2).counts
    assert counts[:, 1].sum() == 0
    kind = model.contexts.rater == ratings.raters.to_list().index("kind")
    assert counts[kind, 0].sum() == pytest.approx(HALF_A_RATING)
    assert counts[~kind].sum() == 0
    assert np.ptp(counts[kind, 0]) == 0  # it rated both items equally often


def test_their_value_is_an_average_over_the_population():
    ratings = by_hand(ROWS)
    model, response = make(ratings, "gmf")
    pseudo = pseudo_ratings(model, 2)
    # All slopes 0: the half fail has the same probability for everybody, 1/2.
    value, gradient = pseudo.value(model, response, np.zeros(model.blocks.size))
    assert value == pytest.approx(HALF_A_RATING * np.log(0.5), rel=1e-6)
    assert gradient[model.blocks["severity"]].sum() == pytest.approx(HALF_A_RATING / 2, rel=1e-6)
