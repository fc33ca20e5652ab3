"""Latent class estimates: recovered, finite and flagged at the ends, from several starts; and expectation-maximisation
from many: the model's own likelihood, never downhill, and near its maxima.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.estimation.latent_estimate import _Batch, _Expectation, estimate_latent_class, promising
from raterlens.likelihood.true_category import NO_ABILITY
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
def few():
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
def test_every_start_has_the_likelihood_of_the_model(few, rasch):
    problem = problem_on(few, rasch)
    climb = _Expectation(problem)
    starts = [somewhere(problem, seed) for seed in range(3)]
    height, _ = climb.step(batch_of(problem, *starts))
    expected = [problem.value(x, climb.nodes).objective for x in starts]
    np.testing.assert_allclose(height, expected, rtol=1e-12)


@BOTH
def test_steps_lead_uphill(few, rasch):
    problem = problem_on(few, rasch)
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
def test_the_best_end_is_near_the_maximum(few, rasch):
    problem = problem_on(few, rasch)
    best, *others = promising(problem, 60, 4, seed=0)
    assert len(others) <= 3
    lower, upper = problem.model.bounds()
    assert ((lower <= best) & (best <= upper)).all()
    nodes = _Expectation(problem).nodes
    height = problem.value(best, nodes).objective
    assert all(problem.value(x, nodes).objective <= height + 1e-9 for x in others)
    fit = rl.fit(few, model="hrm" if rasch else "dawid-skene", standard_errors=False)
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
