"""Expectation-maximisation from many starts: the model's own likelihood, never downhill, and near its maxima."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.estimation.latent_em import _Batch, _Expectation, promising
from tests.support.latent_class import BOTH, long, problem_on, rows_of, somewhere


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
