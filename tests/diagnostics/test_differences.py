"""Differences between raters: the tests' levels and power, and their words."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.differences import (
    Differences,
    Hypothesis,
    bootstrap_p,
    differences,
    severity_test,
    sharpness_test,
)
from raterlens.inference import resampling

# ------------------------------- do raters differ at all: the tests' levels and power, and their words


def fitted(slope, severity, seed):
    ratings = rl.simulate(students=150, raters=5, items=2, slope=slope, severity=severity, seed=seed).ratings
    return rl.fit(ratings, model="gmf"), ratings


def test_equal_raters_are_called_equal_as_often_as_the_level_says():
    """8 panels of equal raters: at 5 % hardly more than two rejections (chance of more: 0.6 %)."""
    p = np.array([[test.p for test in differences(*fitted([1.5] * 5, [0.0] * 5, k)).tests] for k in range(8)])
    assert ((p < 0.05).sum(axis=0) <= 2).all()
    assert (p > 0.3).mean() > 0.4


def test_raters_who_differ_are_found_and_said_in_words():
    found = differences(*fitted([2.5, 1.5, 1.5, 1.5, 0.2], [1.5, -1.0, 0.0, 0.0, -0.5], 3))
    assert [test.of for test in found.tests] == ["severity", "sharpness"]
    assert not found.equal
    assert found.words() == [
        "Raters differ in severity (p < 0.001) and sharpness (p < 0.001).",
    ]


def test_the_likelihood_ratio_is_that_of_the_two_models():
    fit, ratings = fitted([1.5] * 5, [0.0] * 5, 1)
    test, preferred = sharpness_test(fit, ratings, replicates=20)
    equal = rl.fit(ratings, model="tfm")
    assert test is not None
    assert test.statistic == pytest.approx(2 * (fit.loglik - equal.loglik), abs=1e-6)
    assert "BIC prefer" in preferred


def test_slopes_are_compared_by_the_delta_method_without_another_fit():
    """By brute force: contrasts of arcsinh(a), with the Jacobian of finite differences."""
    fit, ratings = fitted([2.5, 1.5, 1.5, 1.5, 0.2], [0.0] * 5, 1)
    test, preferred = sharpness_test(fit, ratings)
    known = fit.calibration
    assert known is not None
    assert test is not None
    slope = known.panel().slope
    contrast = np.eye(4, 5) - np.eye(4, 5, 1)

    def apart(a: np.ndarray) -> np.ndarray:
        return np.asarray(contrast @ np.log(a + np.sqrt(a**2 + 1)))

    rise = np.stack([(apart(slope + 1e-5 * e) - apart(slope - 1e-5 * e)) / 2e-5 for e in np.eye(5)], axis=1)
    spread = rise @ np.asarray(known.covariance)[:5, :5] @ rise.T
    assert test.statistic == pytest.approx(apart(slope) @ np.linalg.solve(spread, apart(slope)), rel=1e-5)
    assert (test.test, test.df, preferred) == ("Wald", 4, "")


def test_the_yardstick_does_not_matter_to_the_likelihood_ratio():
    """Were it one that follows from standard errors, which the other fit does without."""
    ratings = rl.simulate(students=60, raters=4, items=2, seed=3).ratings
    found = [
        sharpness_test(rl.fit(ratings, model="gmf", reference=reference), ratings)[0]
        for reference in ("max", "max corrected")
    ]
    assert found[0].p == pytest.approx(found[1].p)


def test_without_ratings_the_slopes_themselves_are_compared():
    fit, ratings = fitted([2.5, 1.5, 1.5, 1.5, 0.2], [0.0] * 5, 2)
    wald, prefers = sharpness_test(fit, None)
    assert wald is not None
    assert (wald.test, prefers) == ("Wald", "")
    assert wald.p < 0.001
    assert severity_test(rl.fit(ratings, model="dawid-skene")) is not None


def test_halo_and_drift_are_tested_where_they_were_looked_for():
    fit, ratings = fitted([1.5] * 5, [0.0] * 5, 4)
    found = differences(fit, ratings, fit.diagnose(ratings, time=np.arange(ratings.n_ratings)))
    assert [test.of for test in found.tests] == ["severity", "sharpness", "halo", "drift"]
    assert found.table.columns == ["of", "test", "statistic", "df", "p"]


def test_words_of_equal_raters():
    tests = (
        Hypothesis("severity", "Wald", 3.0, 4, 0.55),
        Hypothesis("sharpness", "likelihood ratio", 3.0, 4, 0.12),
    )
    found = Differences(tests)
    assert found.equal
    assert found.words() == [
        "Raters do not differ beyond chance in severity (p = 0.55) or sharpness (p = 0.12)."
    ]
    assert not Differences(()).equal


def test_halo_and_drift_make_no_rank():
    """All raters may have the same halo: they differ only where severity or sharpness does."""
    tests = (
        Hypothesis("severity", "Wald", 3.0, 4, 0.55),
        Hypothesis("halo", "Simes", 3.0, 4, 0.001),
        Hypothesis("drift", "Simes", 3.0, 4, 0.4),
    )
    found = Differences(tests)
    assert found.equal
    assert found.words()[1:] == [
        "At least one rater shows halo (p = 0.001).",
        "There is no clear sign of drift (p = 0.40).",
    ]


def test_raters_who_are_held_are_not_tested():
    fit, ratings = fitted([1.5] * 5, [1.0, 0.5, 0.0, -0.5, -1.0], 1)
    held = rl.fit(ratings, model="gmf", anchors=fit)
    assert differences(held, ratings).tests == ()


def test_two_tests_share_the_level():
    """Holm: alone, 0.03 of two does not count; beside a clear difference it does."""

    def found(severity: float, sharpness: float) -> Differences:
        numbers = (("severity", severity), ("sharpness", sharpness))
        return Differences(tuple(Hypothesis(of, "Wald", 1.0, 3, p) for of, p in numbers))

    assert found(0.03, 0.2).equal
    assert found(0.03, 0.2).words() == [
        "Raters do not differ beyond chance in severity (p = 0.030) or sharpness (p = 0.20); of two tests, one has to "
        "be below 0.025."
    ]
    assert found(0.001, 0.03).words() == ["Raters differ in severity (p = 0.001) and sharpness (p = 0.030)."]


def test_a_prior_does_not_change_the_test_of_sharpness():
    """Likelihoods are compared at their own maxima, whatever the fit's prior; on the grid of nodes of that fit."""
    ratings = rl.simulate(students=80, raters=5, items=2, seed=1).ratings
    sampled = (
        rl.fit(ratings, model="gmf", prior="panel")
        .differences(ratings)
        .table.filter(pl.col("of") == "sharpness")
    )
    own, equal = (rl.fit(ratings, model=model) for model in ("gmf", "tfm"))
    assert sampled["statistic"].item() == pytest.approx(2 * (own.loglik - equal.loglik), abs=1e-3)


@pytest.mark.parametrize("raters", [8, 60])
def test_raters_drawn_to_their_mean_are_found_to_differ_as_without_a_prior(raters):
    """The test of severities forgets the prior: by a likelihood ratio in a small panel, and by the variance that
    drawn estimates have by chance in a large one."""
    ratings = rl.simulate(
        students=60 * raters,
        raters=raters,
        items=2,
        raters_per_student=2,
        severity=np.linspace(-0.8, 0.8, raters),
        seed=3,
    ).ratings
    drawn, plain = (
        next(
            test
            for test in rl.fit(ratings, model="gmf", prior=prior).differences().tests
            if test.of == "severity"
        )
        for prior in ("panel", None)
    )
    assert drawn.df == plain.df == raters - 1
    assert drawn.statistic == pytest.approx(plain.statistic, rel=0.25)


def test_raters_whose_severity_varies_from_item_to_item_differ() -> None:
    """Their severities may have the same mean."""
    ratings = rl.simulate(students=300, raters=5, items=4, slope=1.5, severity=[0.0] * 5, seed=5).ratings
    off = np.zeros((5, 4))
    off[0], off[1] = [1.5, -1.5, 1.0, -1.0], [-1.0, 1.0, -1.5, 1.5]
    chance = np.clip(0.5 - off[ratings.rater, ratings.item] / 4, 0.02, 0.98)
    coin = np.random.default_rng(1).random(ratings.n_ratings)
    turned = replace(
        ratings, score=np.where(coin < 0.5, ratings.score, coin * 2 - 1 < chance).astype(np.int16)
    )
    plain, with_items = (rl.fit(turned, model="gmf", interactions=by) for by in (None, "rater:item"))
    same, differs = severity_test(plain), severity_test(with_items)
    assert same is not None
    assert differs is not None
    assert (differs.test, differs.df) == ("Simes, by item", 2)
    assert Differences((differs,)).words() == ["Raters differ in severity from item to item (p < 0.001)."]
    assert differs.p < 0.001 < same.p


# ---------------------- the bootstrap of the likelihood ratio: its level, its power, and when it stops


def pair(slope, seed: int, students: int = 60) -> tuple[rl.Fit, rl.Fit, rl.Ratings]:
    ratings = rl.simulate(
        students=students, raters=3, items=1, slope=slope, difficulty=0.0, seed=seed
    ).ratings
    equal, own = (rl.fit(ratings, model=model, standard_errors=False) for model in ("tfm", "gmf"))
    return equal, own, ratings


def test_raters_who_differ_are_beyond_all_replicates():
    assert bootstrap_p(*pair([0.0, 2.0, 2.0], 1, students=200), replicates=12) == pytest.approx(1 / 13)


@pytest.mark.nightly
def test_the_ratio_of_equal_raters_is_nothing_unusual():
    p = [bootstrap_p(*pair(1.5, seed), replicates=9) for seed in range(4)]
    assert 0.15 < np.mean(p) < 0.95


def test_the_yardstick_does_not_matter_to_a_ratio():
    _, _, ratings = pair([0.0, 2.0, 2.0], 1)
    for reference in ("max", "max corrected"):
        equal, own = (rl.fit(ratings, model=model, reference=reference) for model in ("tfm", "gmf"))
        assert bootstrap_p(equal, own, ratings, replicates=4) == pytest.approx(1 / 5)


def test_it_stops_when_it_is_plain_and_is_the_same_again(monkeypatch):
    panel = pair(1.5, 0)
    drawn: list[int] = []
    redraw = resampling.redrawn

    def counted(*given):
        drawn.append(1)
        return redraw(*given)

    monkeypatch.setattr("raterlens.diagnostics.differences.ENOUGH", 3)
    monkeypatch.setattr("raterlens.diagnostics.differences.redrawn", counted)
    first = bootstrap_p(*panel, replicates=1000)
    assert first == 3 / len(drawn)
    assert bootstrap_p(*panel, replicates=1000) == first


def test_panels_that_cannot_be_fitted_say_nothing(monkeypatch):
    """Ratings that all have the same score, and then a test that does without."""
    panel = equal, _, ratings = pair(1.5, 0)
    monkeypatch.setattr(
        "raterlens.diagnostics.differences.redrawn",
        lambda drawn, *_: drawn.with_scores(np.zeros(drawn.n_ratings, np.int16)),
    )
    assert bootstrap_p(*panel, replicates=3) is None
    found, _ = sharpness_test(equal, ratings, replicates=3)
    assert found is not None
    assert found.test == "likelihood ratio"
