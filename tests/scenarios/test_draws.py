"""Raters who answer the same question several times."""

import numpy as np
import polars as pl
import pytest
from scipy import special

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
    of_items = fit.calibration.covariance.diagonal()[10:]
    np.testing.assert_allclose(np.sqrt(of_items), fit.items["delta_se"], atol=1e-12)


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


CLASS_MODELS = pytest.mark.parametrize("model", ["dawid-skene", "hrm"])


def of_classes(
    correlation: float, draws: int, seed: int = 1, judges: int = 6
) -> tuple[pl.DataFrame, np.ndarray]:
    """Draws of 150 students x 2 items whose pass rates given the true category vary by a beta distribution, and J."""
    random = np.random.default_rng(seed)
    good = random.random((150, 2, 1)) < special.expit(1.5 * random.standard_normal((150, 1, 1)))
    right = random.uniform(0.7, 0.95, (2, judges))
    rate = np.where(good, right[1], 1 - right[0])
    if correlation:
        rate = random.beta(rate * (1 / correlation - 1), (1 - rate) * (1 / correlation - 1))
    passed = random.random((*rate.shape, draws)) < rate[..., None]
    student, item, rater, draw = (each.ravel() for each in np.indices(passed.shape))
    columns = {"student": student, "item": item, "epoch": draw, "score": passed.ravel().astype(int)}
    return pl.DataFrame(columns | {"rater": [f"j{each}" for each in rater]}), right.sum(axis=0) - 1


@CLASS_MODELS
def test_copies_change_nothing_given_the_true_category(model):
    table = of_classes(0.0, 1)[0]
    once = rl.fit(rl.read(table.drop("epoch")), model=model)
    often = rl.fit(rl.read(copied(table, "j3", 5), draw="epoch"), model=model)
    np.testing.assert_allclose(numbers(often)[:, :6], numbers(once)[:, :6], rtol=0, atol=1e-6)
    # another path of the optimiser
    np.testing.assert_allclose(often.raters["eta"], once.raters["eta"], rtol=0, atol=1e-5)
    near = rl.fit(rl.read(copied(table, "j3", 4, flips=0.001), draw="epoch"), model=model)
    np.testing.assert_allclose(near.raters["kappa"], once.raters["kappa"], rtol=0.02)


@CLASS_MODELS
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_draws_are_as_correlated_as_they_were_drawn(model, correlation):
    table, capability = of_classes(correlation, 5)
    fit = rl.fit(rl.read(table, draw="epoch"), model=model)
    separate = rl.fit(rl.read(table, draw="epoch"), model=model, repeats="separate")
    # moments of 300 student-items: off by up to .03 here
    assert fit.raters["draw_correlation"].mean() == pytest.approx(correlation, abs=0.06)
    width, narrow = (
        (each.raters["kappa_high"] - each.raters["kappa_low"]).mean() for each in (fit, separate)
    )
    # a mean of 5 draws has the variance 1 + 4 c of that of independent ones
    assert width / narrow == pytest.approx(np.sqrt(1 + 4 * correlation), rel=0.15)
    low, high = fit.raters.sort("rater").select("kappa_low", "kappa_high").to_numpy().T
    assert ((low <= capability) & (capability <= high)).sum() >= 5
