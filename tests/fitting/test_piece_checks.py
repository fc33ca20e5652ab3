"""Pieces of work in a fit: estimated where they can be told, refused with the reason where not."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, RaterlensError
from raterlens.estimation.scoring import place
from tests.support.piece_ratings import ratings_of, table_of


@pytest.fixture(scope="module")
def ratings():
    return ratings_of()


@pytest.fixture(scope="module")
def fit(ratings):
    return rl.fit(ratings, model="gmf", halo="common", ability="normal")


def test_both_spreads_are_estimated_and_pieces_have_a_quality(ratings, fit):
    effect = fit.table("piece effect").row(0, named=True)
    assert effect["low"] < 0.6 < effect["high"]
    assert effect["speaks"] == pytest.approx(1 / np.sqrt(1 + effect["spread"] ** 2))
    pieces = fit.pieces
    assert pieces.columns == ["student", "piece", "n", "mean_score", "quality", "quality_se"]
    assert pieces.height == 180
    assert pieces["n"].sum() == ratings.n_ratings
    # What a student can do in general is nearer to the mean than what its pieces are worth.
    own = pieces.group_by("student").agg(pl.col("quality").mean()).join(fit.students, on="student")
    assert np.corrcoef(own["quality"], own["theta"])[0, 1] > 0.98
    assert own["quality"].std() > own["theta"].std()


def test_gradients_by_differences(ratings, fit):
    placed = place(fit.calibration, ratings)
    problem, x = placed.problem, placed.parameters
    nodes = problem.fine_enough(fit_nodes(), x)
    found = problem.value(x, nodes).gradient
    for j, step in enumerate(np.eye(len(x)) * 1e-5):
        ahead, back = (problem.value(x + sign * step, nodes).objective for sign in (1, -1))
        assert found[j] == pytest.approx((ahead - back) / 2e-5, abs=2e-4)


def fit_nodes():
    from raterlens.likelihood.nodes import Nodes

    return Nodes.equally_spaced(-6.0, 6.0, 0.4)


def test_capability_is_that_of_pieces(fit):
    omega = fit.table("piece effect")["spread"][0]
    asked = fit.capability(population=(0.0, float(np.sqrt(1 + omega**2))))
    np.testing.assert_allclose(asked["kappa"], fit.raters["kappa"], atol=1e-9)


def test_a_saved_fit_and_a_diagnosis(fit, ratings, tmp_path):
    again = rl.load(fit.save(tmp_path / "fit.json"))
    assert again.pieces.equals(fit.pieces)
    assert fit.diagnose(ratings).table("raters").height == 6


def test_one_piece_per_student_is_refused():
    table = table_of(students=20, pieces=1)
    with pytest.raises(InputError, match="one piece of work only"):
        rl.fit(
            table, model="gmf", student="student", rater="rater", item="item", score="score", piece="essay"
        )


def test_pieces_that_are_read_once_have_a_reading_effect_only():
    ratings = ratings_of(students=30, twice=0.0)
    fit = rl.fit(ratings, model="gmf", halo="common", standard_errors=False)
    assert "pieces" not in fit.tables
    assert any("read by one rater" in text for text in fit.warnings)
    # A rater who reads two of a student's pieces has two readings, not one.
    assert fit.raters["halo"][0] > 0.3


@pytest.mark.parametrize(
    "options", [{"method": "laplace"}, {"ability": "smooth"}, {"covariance": "sandwich"}]
)
def test_what_does_not_go_with_pieces(ratings, options):
    with pytest.raises(RaterlensError, match="does not go with"):
        rl.fit(ratings, **{"model": "gmf"} | options)


def test_scoring_needs_the_pieces_too(fit):
    bare = rl.read(
        table_of(students=5).drop("essay"), student="student", rater="rater", item="item", score="score"
    )
    with pytest.raises(InputError, match="name none"):
        fit.score(bare)
