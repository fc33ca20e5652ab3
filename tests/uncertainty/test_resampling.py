"""Ratings drawn again: from the model by quadrature, and students with all their ratings."""

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.engine.protocol import Nodes
from raterlens.uncertainty.resampling import redrawn, resampled
from tests.support.facets_models import make, ordered, somewhere


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
