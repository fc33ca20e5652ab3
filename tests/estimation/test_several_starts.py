"""Several maxima of one likelihood: found, counted, and said; and climbs that end on level ground."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.independent_optimum import KINDS, compared
from benchmarks.truth.small_designs import drawn
from raterlens.capability.links import get_link
from raterlens.config import FitConfig
from raterlens.config.limits import AGREEING_STARTS, STARTED_RATINGS
from raterlens.estimation.facets_estimate import Known
from raterlens.estimation.methods import estimate
from raterlens.estimation.optimiser import Search
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.terms.shape import SHAPE
from tests.support.facets_models import by_hand


def few(seed: int = 58):
    """60 ratings; with this seed the first start leads to a lower maximum of the probit model."""
    return rl.simulate(
        students=30,
        raters=4,
        items=1,
        raters_per_student=2,
        slope=[0.3, 3, 1, 2],
        severity=[1.5, 1, -1, -1.5],
        difficulty=0.0,
        seed=seed,
    ).ratings


def found_from(ratings, starts: int, begin=None):
    model, response = build(ratings, Options(MODELS["probit"], get_link("probit")))
    search = Search(starts=starts)
    return estimate(ratings, model, response, get_link("probit"), "mml", Known(begin=begin), search)


@pytest.mark.nightly
def test_more_starts_never_end_lower_and_somewhere_end_higher():
    gains = np.array([found_from(few(s), 8).loglik - found_from(few(s), 1).loglik for s in (3, 4, 58)])
    assert (gains > -1e-6).all()
    assert gains.max() > 0.1


def test_what_was_found_is_in_the_record():
    fit = rl.fit(few(1), model="gmf", standard_errors=False)
    assert 1 <= fit.optimiser.agreeing <= fit.optimiser.starts <= FitConfig().starts + 4
    alone = rl.fit(few(1), model="gmf", standard_errors=False, starts=1)
    assert (alone.optimiser.starts, alone.optimiser.agreeing) == (1, 1)


def test_enough_starts_that_agree_end_the_search():
    clear = rl.simulate(students=150, raters=3, items=3, seed=1).ratings
    assert clear.n_ratings <= STARTED_RATINGS
    record = rl.fit(clear, model="gmf", standard_errors=False, starts=50).optimiser
    assert record.starts == record.agreeing == AGREEING_STARTS


def test_neither_many_ratings_nor_a_known_beginning_are_searched():
    many = rl.simulate(students=600, raters=3, items=2, seed=1).ratings
    assert many.n_ratings > STARTED_RATINGS
    assert rl.fit(many, model="gmf", standard_errors=False).optimiser.starts == 1
    ratings = few(2)
    assert found_from(ratings, 8, begin=found_from(ratings, 1).parameters).record.starts == 1


def test_raters_who_can_be_explained_in_two_ways_are_named():
    fit = rl.fit(few(), model="probit", standard_errors=False)
    assert any("can be explained in two ways that are about equally likely" in text for text in fit.warnings)


def test_a_rater_who_repeats_itself_does_not_define_ability():
    """It is the likeliest explanation by far that one rater's equal scores are all that ability is."""
    made = rl.simulate(students=80, raters=6, items=3, raters_per_student=3, seed=11).ratings
    table = made.table().with_columns(
        score=pl.when(pl.col("rater") == made.raters[0])
        .then((pl.col("score").mean().over("student") <= 0.5).cast(pl.Int64))
        .otherwise(pl.col("score").cast(pl.Int64))
    )
    fit = rl.fit(table, model="gmf", standard_errors=False)
    assert fit.optimiser.starts > 1
    assert fit.raters["rho"].to_list()[0] == 0
    assert (fit.raters["rho"][1:] > 0.4).all()


@pytest.mark.parametrize("scale", ["partial credit", "graded"])
def test_scores_of_several_kinds(scale):
    made = rl.simulate(
        students=20, raters=4, items=2, thresholds=[-1.0, 0.0, 1.0], scale=scale, raters_per_student=2, seed=3
    )
    fits = [rl.fit(made.ratings, model="gmf", scale=scale, starts=n, standard_errors=False) for n in (1, 6)]
    assert fits[1].loglik >= fits[0].loglik - 1e-6
    assert isinstance(fits[1].table("raters"), pl.DataFrame)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("dawid-skene", 375),
        pytest.param("rating-scale", 25, marks=pytest.mark.nightly),
        pytest.param("graded", 25, marks=pytest.mark.nightly),
        pytest.param("hrm", 14, marks=pytest.mark.nightly),
    ],
)
def test_few_ratings_are_fitted_as_well_as_by_an_independent_optimiser(kind, seed):
    """Each has a maximum that most starts miss: a rater with few ratings who seems blind, or never to err."""
    model, scale = KINDS[kind]
    found = compared(drawn(seed, ordered=scale is not None), model, scale, seed)
    assert found is not None
    differs, missed = found
    assert abs(differs) < 1e-3
    assert missed < 1e-3


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_a_start_without_any_discrimination_does_not_hold_the_optimiser(small, method):
    """With all slopes at 0 the gradient by each is 0, though it is no maximum."""
    options = Options(MODELS["gmf"], get_link("logit"))
    model, response = build(small, options, 2)
    level = np.full(model.blocks.size, np.nan)
    level[model.blocks["slope"]] = 0.0
    usual, stuck = (
        estimate(small, model, response, options.link, method, Known(begin=begin)) for begin in (None, level)
    )
    assert stuck.loglik == pytest.approx(usual.loglik, abs=1e-4)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_a_rater_who_shares_no_student_does_not_stay_at_a_slope_of_0(method):
    """By symmetry the likelihood is level there; the raters of other students do not change that."""
    rng = np.random.default_rng(3)
    rows = []
    for rater, slope in (("a", 1.5), ("b", 1.0), ("alone", 1.5)):
        for student, ability in enumerate(rng.normal(size=30)):
            name = f"{'apart' if rater == 'alone' else 'shared'} {student}"
            passed = rng.random(4) < 1 / (1 + np.exp(-slope * ability))
            rows += [(name, rater, f"i{item}", score) for item, score in enumerate(passed)]
    ratings = by_hand(rows)
    link = get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link))
    best = estimate(ratings, model, response, link, method)
    begin = best.parameters.copy()
    alone = list(ratings.raters).index("alone")
    begin[model.blocks["slope"]][alone] = 0.0
    found = estimate(ratings, model, response, link, method, Known(begin=begin))
    assert best.parameters[model.blocks["slope"]][alone] > 0.5
    assert found.loglik == pytest.approx(best.loglik, abs=1e-4)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_ratings_without_information_about_ability_rank_nobody(method):
    """Every student is passed on one item and failed on the other: ratings go against each other, if anything."""
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), model="gmf", method=method)
    assert fit.sigma == 0
    assert fit.raters["kappa"].to_list() == [0.0] * 3
    assert fit.raters.select("kappa_low", "kappa_high").rows() == [(0.0, 1.0)] * 3
    assert fit.raters["flag"].to_list() == ["slope at 0"] * 3
    assert any("hold no information about ability" in warning for warning in fit.warnings)


def test_a_shape_is_looked_for_from_several_sides_of_many_ratings_too():
    """From a normal distribution, the likelihood of these leads to one that is nearly normal again: its peak lies where
    the scale of the shape levels off. The truth is nearest at c3 = 0.289 and c4 = -0.012, by the Kullback-Leibler
    distance on a grid."""
    random = np.random.default_rng([71, 1, 0, 1])
    ability = (random.chisquare(3, 500) - 3) / np.sqrt(6)
    drawn = rl.simulate(
        students=500,
        raters=6,
        items=4,
        slope=[0.8, 1.0, 1.3, 1.6, 2.0, 2.4],
        severity=[0.8, -0.6, 0.3, -0.9, 0.9, -0.5],
        difficulty=np.linspace(-1, 1, 4),
        ability=ability,
        seed=[71, 1, 0],
    )
    normal, smooth = (
        rl.fit(drawn.ratings, model="gmf", ability=kind, standard_errors=False)
        for kind in ("normal", "smooth")
    )
    assert smooth.loglik > normal.loglik + 40
    np.testing.assert_allclose(smooth.calibration.effects[SHAPE], [0.289, -0.012], atol=0.05)
