"""Likelihoods with several maxima: of facets models, and of latent class models."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from benchmarks.truth.independent_optimum import KINDS, compared
from benchmarks.truth.small_designs import drawn
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import get_link
from raterlens.config import FitConfig
from raterlens.config.limits import AGREEING_STARTS, STARTED_RATINGS
from raterlens.estimation.facets_estimate import Known
from raterlens.estimation.latent_estimate import _Batch, _Expectation, estimate_latent_class, promising
from raterlens.estimation.methods import estimate
from raterlens.estimation.optimiser import Search
from raterlens.likelihood.true_category import NO_ABILITY
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.terms.students import SHAPE
from tests.support.facets_models import by_hand
from tests.support.latent_class import (
    BOTH,
    annotations,
    as_ratings,
    fitted,
    long,
    problem_on,
    rows_of,
    somewhere,
)


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


# ----------------------------------------------------------------------------------------------------
# Latent class estimates: recovered, finite and flagged at the ends, from several starts; and expectation-
# maximisation from many: the model's own likelihood, never downhill, and near its maxima.


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_parameters_are_recovered_within_their_standard_errors(link):
    slope = np.array([1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 2.0, 3.0]) / (1 if link == "logit" else 1.7)
    sample = rl.simulate(
        model="hrm", link=link, students=1500, raters=8, items=4, raters_per_student=2, slope=slope, sigma=1.5, seed=2
    )  # fmt: skip
    fit, truth = fitted(sample.ratings, link=link), sample.truth
    assert fit.optimiser.converged
    assert fit.warnings == ()
    z = np.concatenate(
        [
            (fit.criterion - truth.severity) / fit.criterion_se,
            (fit.slope - truth.slope) / fit.slope_se,
            (fit.delta - truth.difficulty) / fit.delta_se,
            [(fit.sigma - truth.sigma) / fit.sigma_se],
            (fit.kappa - truth.kappa) / fit.kappa_se,
        ]
    )
    assert np.abs(z).max() < 3.5
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.4
    np.testing.assert_allclose(fit.alpha, truth.alpha, atol=0.2)
    assert ((fit.kappa_low < fit.kappa) & (fit.kappa < fit.kappa_high)).all()
    # Of a posterior mean, the covariance with the truth is its own variance.
    assert np.corrcoef(fit.theta, truth.ability)[0, 1] == pytest.approx(fit.theta.std(), abs=0.05)
    items = fit.truth.group_by("item", maintain_order=True).agg(pl.col("probability").mean())
    np.testing.assert_allclose(items["probability"], fit.prevalence, atol=0.02)


def test_repeated_ratings_share_the_true_category():
    """Ratings that merely repeat an earlier one are no second student: the model must not take them for agreement."""
    ratings = rl.simulate(model="hrm", students=200, raters=4, items=1, raters_per_student=2, seed=8).ratings
    rows = rows_of(ratings)
    twice = problem_on(long(rows + rows), rasch=False)
    x = somewhere(twice)
    units = twice.units
    assert (units.n == 4).all()
    one = problem_on(long(rows), rasch=False)
    log_answers = one.model.responses(x).log_prob.reshape(-1, 2)
    given = (one.units.members @ log_answers)[one.units.cell]
    prevalence = np.log(one.model.prevalence(x, NO_ABILITY.points)[:, 0, 0])
    expected = special.logsumexp(2 * given + prevalence, axis=1).sum()
    assert twice.value(x, NO_ABILITY).loglik == pytest.approx(expected, abs=1e-9)


def test_starts_are_seeded_and_stop_when_three_agree(monkeypatch):
    monkeypatch.setattr("raterlens.estimation.latent_estimate.FEW_RATINGS", 0)
    ratings = as_ratings(annotations()[:60])
    model = problem_on(ratings, rasch=False).model
    fits = [estimate_latent_class(ratings, model, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].reached, fits[1].reached)
    np.testing.assert_array_equal(fits[0].parameters, fits[1].parameters)
    assert not np.array_equal(fits[0].reached, fits[2].reached)
    # As pass rates: a rater who never errs has no slope to agree on.
    one, other = (np.exp(model.link.log_fail(model.lines(fits[k].parameters))) for k in (0, 2))
    np.testing.assert_allclose(one, other, atol=1e-4)
    for fit in fits:
        assert len(fit.reached) == 3
        assert (np.diff(fit.reached) <= 0).all()
        assert fit.loglik >= fit.reached[0] - 1e-6


@BOTH
def test_starts_on_a_sample_of_students_end_at_the_same_maximum(rasch):
    sample = rl.simulate(model="hrm", students=300, raters=5, items=2, raters_per_student=3, seed=6)
    rows = rows_of(sample.ratings)
    rows += [(s, 5, i, y) for s, r, i, y in rows if s < 3 and r < 2]  # hardly in any sample
    ratings = long(rows)
    model = problem_on(ratings, rasch).model
    whole = estimate_latent_class(ratings, model)
    sampled = estimate_latent_class(ratings, model, enough_ratings=400)
    assert sampled.reached[0] > whole.reached[0] / 3
    assert sampled.loglik == pytest.approx(whole.loglik, abs=1e-5)
    np.testing.assert_allclose(sampled.parameters[:5], whole.parameters[:5], atol=1e-3)


def test_reported_gradient_vanishes_at_the_estimate(panel):
    found = estimate_latent_class(panel, problem_on(panel).model, starts=1)
    value = found.problem.value(found.parameters, found.nodes)
    lower, upper = found.problem.model.bounds()
    free = (found.parameters > lower) & (found.parameters < upper)
    assert np.abs(value.gradient[free]).max() < 1e-3
    assert value.loglik == found.loglik


def test_wrong_requests_say_what_to_do(writing_scores, panel):
    with pytest.raises(InputError, match="cut=3"):
        fitted(writing_scores)
    with pytest.raises(OptionError, match="probit"):
        fitted(panel, link="cloglog")
    with pytest.raises(OptionError, match="starts=0"):
        fitted(panel, starts=0)


@BOTH
def test_raters_who_judge_the_wrong_way_round_where_that_is_allowed(rasch):
    """Two of eight raters with their answers turned: kappa as far below 0 as it would have been above."""
    ratings = rl.simulate(
        model="hrm", students=300, raters=8, items=2, raters_per_student=4, slope=[3.0] * 8, seed=5
    ).ratings
    turned = np.isin(ratings.rater, [0, 1])
    reversed_ = replace(ratings, score=np.where(turned, 1 - ratings.score, ratings.score).astype(np.int16))
    name = "hrm" if rasch else "dawid-skene"
    plain, found = rl.fit(reversed_, model=name), rl.fit(reversed_, model=name, allow_reversed=True)
    as_drawn = rl.fit(ratings, model=name, allow_reversed=True)
    sign = np.array([-1, -1, 1, 1, 1, 1, 1, 1])
    assert found.loglik > plain.loglik + 10
    assert found.loglik == pytest.approx(as_drawn.loglik, abs=1e-4)
    for column in ("kappa", "sharpness"):
        np.testing.assert_allclose(
            found.raters[column].to_numpy(), sign * as_drawn.raters[column].to_numpy(), atol=1e-4
        )
    assert (found.raters["kappa_high"].to_numpy()[:2] < 0).all()
    assert any("the other way round" in warning for warning in found.warnings)
    assert not any("the other way round" in warning for warning in as_drawn.warnings)


@pytest.fixture
def few_of_latent_estimate():
    """Some raters pass everything, and some student-items are rated twice by the same rater."""
    sample = rl.simulate(model="hrm", students=12, raters=5, items=2, raters_per_student=2, seed=3)
    rows = [(s, r, i, y | (r == 4)) for s, r, i, y in rows_of(sample.ratings)]
    return long(rows + rows[:3])


def batch_of(problem, *parameters):
    model = problem.model
    rates = [np.exp(model.responses(x).log_prob[:, 1]) for x in parameters]
    difficulty = [x[model.blocks["difficulty"]] for x in parameters]
    sigma = [x[model.blocks["sigma"]].sum() for x in parameters]
    return _Batch(np.array(rates), np.array(difficulty), np.array(sigma))


@BOTH
def test_every_start_has_the_likelihood_of_the_model(few_of_latent_estimate, rasch):
    problem = problem_on(few_of_latent_estimate, rasch)
    climb = _Expectation(problem)
    starts = [somewhere(problem, seed) for seed in range(3)]
    height, _ = climb.step(batch_of(problem, *starts))
    expected = [problem.value(x, climb.nodes).objective for x in starts]
    np.testing.assert_allclose(height, expected, rtol=1e-12)


@BOTH
def test_steps_lead_uphill(few_of_latent_estimate, rasch):
    problem = problem_on(few_of_latent_estimate, rasch)
    climb = _Expectation(problem)
    (batch,) = climb.drawn(10, seed=1)
    heights = []
    for _ in range(30):
        height, batch = climb.step(batch)
        heights.append(height)
    rises = np.diff(heights[5:], axis=0)  # a Newton step from far away may overshoot
    assert rises.min() > -1e-3
    assert rises.max() > 0


@BOTH
def test_the_best_end_is_near_the_maximum(few_of_latent_estimate, rasch):
    problem = problem_on(few_of_latent_estimate, rasch)
    best, *others = promising(problem, 60, 4, seed=0)
    assert len(others) <= 3
    lower, upper = problem.model.bounds()
    assert ((lower <= best) & (best <= upper)).all()
    nodes = _Expectation(problem).nodes
    height = problem.value(best, nodes).objective
    assert all(problem.value(x, nodes).objective <= height + 1e-9 for x in others)
    fit = rl.fit(few_of_latent_estimate, model="hrm" if rasch else "dawid-skene", standard_errors=False)
    assert problem.value(best, nodes).loglik == pytest.approx(fit.loglik, abs=0.3)


def test_known_categories_are_kept():
    sample = rl.simulate(model="hrm", students=15, raters=3, items=1, raters_per_student=2, seed=5)
    table = sample.ratings.table()
    frame = table.with_columns(known=table["student"].str.tail(1).cast(int) % 2)
    ratings = rl.read(frame, student="student", rater="rater", item="item", score="score", known="known")
    problem = problem_on(ratings, rasch=False)
    x = somewhere(problem)
    climb = _Expectation(problem)
    height, _ = climb.step(batch_of(problem, x))
    assert height[0] == pytest.approx(problem.value(x, climb.nodes).objective, rel=1e-12)
    assert np.isfinite(height[0])
