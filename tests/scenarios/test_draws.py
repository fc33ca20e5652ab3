"""Raters who answer the same question several times."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.ratings.groupings import inconsistent_raters
from raterlens.ratings.packed import StoredRatings, open_packed, open_ratings, write_ratings
from tests.support.repeated_verdicts import verdicts

NUMBERS = [
    "kappa",
    "kappa_low",
    "kappa_high",
    "sharpness",
    "sharpness_low",
    "sharpness_high",
    "eta",
    "eta_low",
]


def numbers(fit) -> np.ndarray:
    return fit.raters.select(name for name in NUMBERS if name in fit.raters.columns).to_numpy()


def copied(table, rater, times, flips=0.0) -> pl.DataFrame:
    own, random = table.filter(pl.col("rater") == rater), np.random.default_rng(0)
    copies = []
    for k in range(1, times + 1):
        flip = random.random(own.height) < flips
        score = np.where(flip, 1 - own["score"].to_numpy(), own["score"].to_numpy())
        copies.append(own.with_columns(score=score, epoch=pl.lit(k, pl.Int64)))
    return pl.concat([table, *copies])


def test_copies_of_a_judges_verdicts_change_nothing():
    table = verdicts(0.0, 1)
    once = rl.fit(rl.read(table.drop("epoch")), model="gmf")
    often = rl.fit(rl.read(copied(table, "j3", 5), draw="epoch"), model="gmf")
    np.testing.assert_allclose(numbers(often), numbers(once), rtol=0, atol=1e-6)
    assert often.raters.filter(pl.col("rater") == "j3")["n"].item() == 900


def test_near_copies_change_little_where_separate_ratings_change_much():
    table = verdicts(0.0, 1)
    once = rl.fit(rl.read(table.drop("epoch")), model="gmf", reference="perfect")
    ratings = rl.read(copied(table, "j3", 4, flips=0.001), draw="epoch")
    assert inconsistent_raters(ratings).sum() == 1
    often = rl.fit(ratings, model="gmf", reference="perfect")
    separate = rl.fit(ratings, model="gmf", reference="perfect", repeats="separate")
    np.testing.assert_allclose(often.raters["sharpness"], once.raters["sharpness"], rtol=0.02)
    np.testing.assert_allclose(often.raters["kappa"], once.raters["kappa"], rtol=0.02)
    assert (separate.raters["sharpness"] / once.raters["sharpness"] - 1).abs().max() > 0.2


def test_slopes_are_those_of_single_answers_whatever_the_spread():
    ratings = rl.read(verdicts([0.0, 1.0, 1.0, 3.0, 3.0], 4, students=400), draw="epoch")
    fit = rl.fit(ratings, model="gmf")
    assert fit.calibration is not None
    assert fit.calibration.covariance is not None
    error = np.sqrt(fit.calibration.covariance.diagonal()[:5])
    assert np.abs((fit.calibration.effects["slope"] - np.linspace(0.9, 2.0, 5)) / error).max() < 3
    stretch = np.exp(fit.calibration.effects["draw"])
    np.testing.assert_allclose(np.sqrt((stretch**2 - 1) / 0.346), [0, 1, 1, 3, 3], atol=0.6)


def test_a_saved_fit_scores_the_same_ratings_alike(tmp_path):
    ratings = rl.read(verdicts(2.0, 3, students=60), draw="epoch")
    fit = rl.fit(ratings, model="gmf")
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json").score(ratings)
    np.testing.assert_allclose(again["theta"], fit.students["theta"], atol=1e-6)


def test_methods_that_know_no_draws_say_so():
    ratings = rl.read(verdicts(1.0, 3, students=60), draw="epoch")
    fit = rl.fit(ratings, model="gmf", method="laplace")
    assert any("count as independent" in str(warning) for warning in fit.warnings)
    with pytest.raises(OptionError, match="shared"):
        rl.fit(ratings, model="gmf", shared="yes", trusted=["j1"])


def test_draws_go_with_known_answers():
    right = pl.when(pl.col("student") < 30).then(pl.col("student") % 2)
    table = verdicts([0.0, 1.0, 2.0, 3.0, 3.0], 3, students=60).with_columns(gold=right)
    fit = rl.fit(rl.read(table, draw="epoch", known="gold"), model="gmf")
    assert fit.converged
    assert fit.table("draws").height == 5


def test_draws_in_a_packed_file_give_the_same_fit(tmp_path):
    ratings = rl.read(verdicts(2.0, 3, students=60), draw="epoch")
    write_ratings(ratings, tmp_path / "draws.rlpack", None)
    stored = open_ratings(open_packed(tmp_path / "draws.rlpack"), in_memory=0)
    assert isinstance(stored, StoredRatings)
    assert rl.fit(stored, model="gmf").loglik == pytest.approx(rl.fit(ratings, model="gmf").loglik, abs=1e-9)


def test_a_report_of_repeated_ordered_scores(tmp_path):
    """The use of the scale is that of single answers."""
    drawn = rl.simulate(students=60, raters=4, items=2, thresholds=[-0.8, 0.8], seed=5).ratings
    table = drawn.table()
    again = table.filter(pl.col("rater") == "R1").with_columns((pl.col("score") + 1) % 3, run=2)
    ratings = rl.read(pl.concat([table.with_columns(run=1), again]), draw="run")
    fit = rl.fit(ratings, model="gmf", scale="rater", assumptions="ignore")
    fit.report(tmp_path / "report.html")
    assert "category use" in fit.diagnose().tables
