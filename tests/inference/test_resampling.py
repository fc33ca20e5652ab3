"""Ratings drawn again: from the model by quadrature, and students with all their ratings."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.inference.resampling import redrawn, resampled
from raterlens.likelihood.nodes import Nodes
from raterlens.models.terms.shape import SHAPE, SHAPE_RIDGE
from raterlens.ratings.groupings import with_sets_of_raters
from tests.support.facets_models import make, ordered, somewhere
from tests.support.piece_ratings import ratings_of as pieces_of
from tests.support.shared_panels import panel


def test_redrawn_ratings_follow_the_model(small):
    """Pass rates of contexts, over many draws, against the marginal probability by quadrature."""
    for kind in ("gmf", "rating scale"):
        ratings = ordered(small) if kind == "rating scale" else small
        model, response = make(small, kind)
        x, random = somewhere(model), np.random.default_rng(1)
        scores = np.stack([redrawn(ratings, model, response, x, random).score for _ in range(400)])
        nodes = Nodes.equally_spaced(-7, 7, 0.1)
        chance = np.exp(response.log_prob(model.predictor(x), nodes.points)) @ np.exp(nodes.log_weights)
        expected = (chance @ np.arange(response.n_categories))[model.contexts.places(ratings)]
        error = (scores.mean(axis=0) - expected) / (scores.std(axis=0, ddof=1) / 20 + 1e-3)
        assert np.abs(error).max() < 5
        assert np.std(error) < 1.3


@pytest.mark.parametrize("odds", [False, True])
def test_redrawn_marks_follow_the_model(odds: bool) -> None:
    """Marks in steps of a half, and probabilities, have the mean and the spread that each rater's have."""
    drawn = rl.simulate(scale="continuous", students=300, raters=3, items=1, noise=[5.0, 8.0, 12.0], seed=1)
    rows = drawn.ratings.table().with_columns(pl.col("score") / 2)
    if odds:
        rows = rows.with_columns((1 / (1 + (2.5 - pl.col("score") / 10).exp())).round(2))
    ratings = rl.read(rows)
    placed = place(rl.fit(ratings, model="gmf", assumptions="ignore").calibration, ratings)
    given = placed.ratings, placed.problem.model, placed.problem.response, placed.parameters
    scores = np.stack([redrawn(*given, np.random.default_rng(seed)).score for seed in range(20)])
    for rater in range(ratings.n_raters):
        own, again = ratings.score[ratings.rater == rater], scores[:, ratings.rater == rater]
        assert again.mean() == pytest.approx(own.mean(), abs=0.3 * own.std())
        assert again.std() == pytest.approx(own.std(), rel=0.1)


def test_resampled_students_keep_their_ratings(small):
    drawn = resampled(small, np.random.default_rng(5))
    assert drawn.n_students == small.n_students
    profiles = {
        tuple(
            zip(
                small.rater[small.student == n],
                small.item[small.student == n],
                small.score[small.student == n],
                strict=True,
            )
        )
        for n in range(small.n_students)
    }
    back_rater, back_item = (
        np.searchsorted(old, new) for old, new in ((small.raters, drawn.raters), (small.items, drawn.items))
    )
    for n in range(drawn.n_students):
        own = drawn.student == n
        profile = tuple(
            zip(back_rater[drawn.rater[own]], back_item[drawn.item[own]], drawn.score[own], strict=True)
        )
        assert profile in profiles


def test_a_rater_who_was_not_drawn_is_left_out():
    frame = pl.DataFrame(
        {"student": [0, 0, 1, 2, 3, 4], "rater": list("abaaaa"), "score": [1, 0, 1, 0, 1, 0]}
    )
    ratings = rl.read(frame)
    seen = {tuple(resampled(ratings, np.random.default_rng(seed)).raters) for seed in range(20)}
    assert seen == {("a",), ("a", "b")}


@pytest.mark.parametrize("kind", ["reading effects and a shape", "pieces", "a shared bias and known answers"])
def test_gradients_vanish_on_average_over_ratings_drawn_from_the_model(kind):
    """E[d log p / dx] = 0 where ratings are the model's own: by every parameter, those of spreads included."""
    if kind == "pieces":
        ratings = pieces_of(students=20, pieces=2, tau=0.5)
        fit = rl.fit(ratings, model="gmf", halo="common", standard_errors=False)
    elif kind == "a shared bias and known answers":
        ratings = panel(students=40, raters=5, known=15, seed=1).ratings
        fit = rl.fit(ratings, model="gmf", shared=True, standard_errors=False)
    else:
        ratings = rl.simulate(students=50, raters=3, items=3, halo=1.0, seed=2).ratings
        fit = rl.fit(ratings, model="gmf", halo="rater", ability="smooth", standard_errors=False)
    placed = place(fit.calibration, ratings)
    model, x, scores = placed.problem.model, placed.parameters, np.asarray(fit.calibration.scores, np.int16)
    x = np.clip(x, *(0.9 * bound for bound in model.bounds(allow_reversed=True)))
    blocks = {name: model.blocks[name] for name in ("halo", "bias", "piece") if name in model.blocks}
    for block in blocks.values():
        x[block] = 0.7  # clear of 0
    random, gradients = np.random.default_rng(3), []
    problem: Any = placed.problem
    nodes = problem.rough_nodes() if kind.startswith("a shared") else Nodes.equally_spaced(-7, 7, 0.2)
    for _ in range(40):
        drawn = redrawn(placed.ratings, model, problem.response, x, random).with_scores(scores)
        gradients.append(place(fit.calibration, drawn).problem.value(x, nodes).gradient)
    found = np.array(gradients)
    if SHAPE in model:  # a ridge holds the shape
        found[:, model.blocks[SHAPE]] += SHAPE_RIDGE * x[model.blocks[SHAPE]]
    z = found.mean(axis=0) / (found.std(axis=0, ddof=1) / np.sqrt(40) + 1e-9)
    assert np.abs(z).max() < 4
    assert np.mean(z**2) < 2
    assert blocks


def test_students_are_redrawn_around_the_mean_of_the_raters_that_they_have():
    ratings = rl.simulate(students=60, raters=5, items=1, raters_per_student=3, seed=4).ratings
    fit = rl.fit(ratings, model="gmf", group_means="raters", standard_errors=False, assumptions="ignore")
    at = place(fit.calibrated("it has no common scale"), ratings)
    assert at.ratings.group is None
    model, random = at.problem.model, np.random.default_rng(0)
    x = at.parameters.copy()
    x[model.blocks["group"]] = 40.0 * np.where(np.arange(model.n_groups) == 0, 1, -1)
    again = redrawn(at.ratings, model, at.problem.response, x, random)
    first = np.asarray(with_sets_of_raters(ratings).student_groups) == 0
    passed = again.score[first[again.student]].mean()
    assert passed > 0.9 > 0.1 > again.score[~first[again.student]].mean()
