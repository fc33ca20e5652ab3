"""How abilities move with the estimates of raters and items, against finite differences."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import Covariance, Known
from raterlens.estimation.methods import estimate, on_scale
from raterlens.inference import tables
from raterlens.inference.tables import _gradient, ability_errors
from raterlens.models.anchors import anchor
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.piece_ratings import ratings_of as pieces_of


@pytest.mark.parametrize(
    ("link", "scale", "thresholds", "options"),
    [
        ("logit", "rating scale", None, {}),
        ("probit", "graded", [-0.5, 0.6], {}),
        ("logit", "rating scale", [-0.5, 0.6], {"halo": "common", "smooth": True}),
        pytest.param("probit", "graded", [-0.5, 0.6], {"halo": "common"}, marks=pytest.mark.nightly),
    ],
)
def test_gradient_of_posterior_means(link, scale, thresholds, options):
    made = rl.simulate(
        students=25, raters=4, items=2, link=link, scale=scale, thresholds=thresholds, halo=1.0, seed=1
    )
    ratings, used = made.ratings, get_link(link)
    model, response = build(ratings, Options(MODELS["gmf"], used, scale, **options))
    found = estimate(ratings, model, response, used, "mml")
    gradient, step = _gradient(found).toarray(), 1e-5
    for place in range(model.blocks.size):
        ahead, back = found.parameters.copy(), found.parameters.copy()
        ahead[place] += step
        back[place] -= step
        change = (
            found.problem.moments(ahead, found.nodes).mean - found.problem.moments(back, found.nodes).mean
        )
        # Scores are taken no nearer to a spread of 0 than 0.02.
        np.testing.assert_allclose(gradient[:, place], change / (2 * step), atol=1e-4 if options else 1e-5)
    spread = Covariance(0.04 * np.eye(model.blocks.size), np.empty(0, np.int64))
    expected = np.sqrt(found.moments.sd**2 + 0.04 * (gradient**2).sum(axis=1))
    np.testing.assert_allclose(ability_errors(found, ratings, spread), expected)
    np.testing.assert_allclose(ability_errors(found, ratings, None), found.moments.sd)


def test_ratings_on_disk_are_as_in_memory_and_of_very_many_the_posterior_says_enough(monkeypatch, tmp_path):
    ratings, used = rl.simulate(students=25, raters=3, items=2, seed=1).ratings, get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], used, "rating scale"))
    found = estimate(ratings, model, response, used, "mml")
    spread = Covariance(0.04 * np.eye(model.blocks.size), np.empty(0, np.int64))
    stored = StoredRatings(open_packed(rl.pack(ratings.table(), tmp_path / "ratings.rlpack")))
    monkeypatch.setattr(tables, "THETA_ERROR_RATINGS", ratings.n_ratings)
    assert (ability_errors(found, ratings, spread) > found.moments.sd).all()
    np.testing.assert_allclose(
        ability_errors(found, stored, spread), ability_errors(found, ratings, spread), rtol=1e-10
    )
    monkeypatch.setattr(tables, "THETA_ERROR_RATINGS", ratings.n_ratings - 1)
    np.testing.assert_array_equal(ability_errors(found, ratings, spread), found.moments.sd)


@pytest.mark.parametrize("pieces", [True, False], ids=["pieces", "a shape"])
def test_of_pieces_and_of_a_shape_against_differences(pieces):
    ratings = (
        pieces_of(students=15, pieces=2) if pieces else rl.simulate(students=25, raters=3, items=2).ratings
    )
    used = get_link("logit")
    options = Options(MODELS["gmf"], used, "rating scale", pieces=pieces, smooth=not pieces)
    model, response = build(ratings, options)
    found = estimate(ratings, model, response, used, "mml")
    size, step = model.blocks.size, 1e-4
    lower, upper = model.bounds(allow_reversed=True)
    free = (found.parameters > lower + 0.1) & (found.parameters < upper - 0.1)
    root = np.where(free[:, None] & free, np.random.default_rng(0).normal(scale=0.05, size=(size, size)), 0.0)
    spread = Covariance(root @ root.T, np.empty(0, np.int64))
    gradient = np.stack(
        [
            (
                found.problem.moments(found.parameters + axis, found.nodes).mean
                - found.problem.moments(found.parameters - axis, found.nodes).mean
            )
            / (2 * step)
            for axis in step * np.eye(size) * free
        ],
        axis=1,
    )
    added = np.einsum("ni,ij,nj->n", gradient, spread.matrix, gradient)
    found_added = ability_errors(found, ratings, spread) ** 2 - found.moments.sd**2
    np.testing.assert_allclose(found_added, added, rtol=1e-4, atol=1e-6)
    assert added.max() > 1e-3


def test_students_of_a_population_of_their_own():
    """Where anchors hold the scale, θ = mean + sd z: its mean moves with every parameter, these two included."""
    made = rl.simulate(students=25, raters=3, items=2, severity=0.3, seed=1)
    ratings, used = made.ratings, get_link("logit")
    anchors = rl.Anchors(raters={"R1": (1.0, 0.3), "R2": (1.2, 0.1)}, items={"I1": 0.0, "I2": -0.2})
    model, response = build(ratings, Options(MODELS["gmf"], used, "rating scale"))
    shifted, held = anchor(anchors, ratings, model)
    found = estimate(ratings, shifted, response, used, "mml", known=Known(held=held))
    gradient, step = _gradient(found).toarray(), 1e-5

    def means(x):
        return on_scale(shifted, x, found.problem.moments(x, found.nodes)).mean

    for place, axis in enumerate(step * np.eye(shifted.blocks.size)):
        change = means(found.parameters + axis) - means(found.parameters - axis)
        np.testing.assert_allclose(gradient[:, place], change / (2 * step), atol=1e-5)
    assert np.abs(gradient[:, -2:]).max() > 0.1
    spread = Covariance(4.0 * np.eye(shifted.blocks.size), np.empty(0, np.int64))
    mean, sd = found.parameters[-2], np.exp(found.parameters[-1])
    most = np.sqrt(sd**2 + (found.moments.mean - mean) ** 2)
    np.testing.assert_allclose(
        ability_errors(found, ratings, spread),
        np.minimum(np.sqrt(found.moments.sd**2 + 4.0 * (gradient**2).sum(axis=1)), most),
    )


@pytest.mark.nightly
def test_stated_errors_of_small_panels_are_the_true_ones():
    """60 students, 5 raters, 3 ratings each: within Monte-Carlo error of what 100 such panels gave, 1.10 ± 0.03."""
    squares, covered = [], []
    for seed in range(25):
        made = rl.simulate(
            students=60, raters=5, items=1, raters_per_student=3, difficulty=0.0, slope=1.5, seed=seed
        )
        students = rl.fit(made.ratings, model="gmf", prior="panel").table("students")
        off = students["theta"].to_numpy() - made.truth.ability
        z = off / students["theta_se"].to_numpy()
        squares.append(np.mean(z**2))
        covered.append(np.mean(np.abs(z) < 1.96))
    assert np.mean(squares) == pytest.approx(1.05, abs=0.12)
    assert np.mean(covered) > 0.92


def test_no_error_is_larger_than_that_of_knowing_nothing_but_the_population():
    """Raters who contradict each other on every student leave next to nothing known."""
    rows = [
        (f"S{s}", r, score if r == "A" else 1 - score) for s, score in enumerate([0, 1, 1, 1]) for r in "AB"
    ]
    found = rl.fit(
        rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row")), model="gmf"
    ).students
    assert (found["theta_se"] <= np.sqrt(1 + found["theta"] ** 2) + 1e-9).all()
