"""Consequences for students: by brute force, and none if raters are alike."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.diagnostics.consequences import consequences, observed_agreement


@pytest.fixture(scope="module")
def panel():
    severity = [2.0, -2.0, 0.0, 0.0]
    ratings = rl.simulate(
        students=300, raters=4, items=2, slope=[1.5] * 4, severity=severity, raters_per_student=2, seed=1
    ).ratings
    return rl.fit(ratings, model="gmf"), ratings


def test_agreement_and_reliability_are_those_of_many_draws(panel):
    fit, ratings = panel
    found = consequences(fit, ratings)
    random, n = np.random.default_rng(0), 400_000
    effects = fit.calibration.effects
    theta, item = random.normal(size=n), random.integers(0, 2, n)
    one, two = random.integers(0, 4, n), random.integers(1, 4, n)
    two = (one + two) % 4
    p, q = (
        special.expit(effects["slope"][r] * theta - effects["severity"][r] - effects["difficulty"][item])
        for r in (one, two)
    )
    assert found.agreement == pytest.approx(np.mean(p * q + (1 - p) * (1 - q)), abs=0.003)
    assert found.agreement < found.agreement_if_alike

    # Two raters on two items each, drawn with replacement: the correlation of two such means.
    def mean_score():
        who = random.integers(0, 4, (n, 2))
        s = (
            effects["slope"][who][..., None] * theta[:, None, None]
            - effects["severity"][who][..., None]
            - effects["difficulty"]
        )
        return (random.random(s.shape) < special.expit(s)).mean(axis=(1, 2))

    assert found.raters_per_student == 2
    assert found.reliability == pytest.approx(np.corrcoef(mean_score(), mean_score())[0, 1], abs=0.01)
    assert found.reliability + 0.1 < found.reliability_if_alike


def test_students_of_severe_raters_change_and_those_of_alike_raters_do_not(panel):
    fit, ratings = panel
    assert consequences(fit, ratings).changed > 5
    alike = rl.simulate(students=200, raters=4, items=2, slope=[1.5] * 4, severity=[0.0] * 4, seed=2).ratings
    equal = rl.fit(alike, model="tfm")
    held = rl.fit(
        alike, model="gmf", anchors=rl.Anchors(raters=dict.fromkeys(["R1", "R2", "R3", "R4"], (1.5, 0.0)))
    )
    assert consequences(held, alike).changed == 0
    assert consequences(equal, alike).changed <= 4
    assert consequences(fit).changed is None


def test_the_extremes_are_named_and_told_in_words(panel):
    fit, ratings = panel
    found = consequences(fit, ratings)
    assert (found.most_lenient[0], found.most_severe[0]) == ("R2", "R1")
    first, second, *_ = found.words()
    assert found.changed_interval is not None
    low, high = found.changed_interval
    assert found.changed is not None
    assert low <= found.changed <= high
    assert first.startswith(
        f"Of 300 students, {found.changed} (95 % interval {low} to {high}) would change between pass and fail"
    )
    assert "with R2, but" in second
    assert len(found.summary().splitlines()) == 4
    rise = 100 * (found.agreement_if_alike - found.agreement)
    assert f"agreement would rise by {rise:.0f} points" in found.words()[2]
    assert "hardly change" in replace(found, agreement_if_alike=found.agreement).words()[2]
    nobody = replace(found, changed_interval=(0, 0), cuts=(-5.0,))
    assert nobody.words()[0].startswith("Of 300 students, none would change")


@pytest.mark.parametrize(
    "options", [{}, {"scale": "partial credit"}, {"scale": "graded"}, {"item_slopes": True}]
)
def test_ordered_scores(options):
    ratings = rl.simulate(students=150, raters=4, items=3, thresholds=(-1, 0, 1), seed=3).ratings
    found = consequences(rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | options), ratings)
    assert found.ordered
    assert 0 < found.agreement <= found.agreement_if_alike + 0.02 < 1
    assert "can expect a score of" in found.words()[1]
    assert replace(found, most_lenient=("R1", 4.1), most_severe=("R2", 2.0)).extremes() == ("4.10", "2.00")
    assert replace(found, most_lenient=("R1", 62.14), most_severe=("R2", 7.0)).extremes() == ("62.1", "7.0")
    strict = consequences(
        rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | options), ratings, cut=2.0
    )
    assert strict.changed is not None


@pytest.mark.parametrize("model", ["hrm", "dawid-skene", "probit"])
def test_other_models(model):
    ratings = rl.simulate(model="hrm", students=120, raters=4, items=2, seed=3).ratings
    found = consequences(rl.fit(ratings, model=model), ratings)
    assert 0.4 < found.agreement < 1
    assert found.changed is not None
    assert np.isfinite(found.reliability) == (model == "probit")


def test_a_sample_of_the_students_is_counted_as_such():
    """Diagnostics of very many ratings use some students: shares are of those."""
    ratings = rl.simulate(students=300, raters=4, items=3, raters_per_student=2, seed=3).ratings
    fit = rl.fit(ratings, model="gmf")
    some = ratings.sample(600)
    found = fit.consequences(some)
    assert found.students == some.n_students < 300
    # Two models cannot be compared on a part of what was fitted.
    assert [test.test for test in fit.differences(some).tests] == ["Wald", "Wald"]


def test_repeated_answers_of_a_rater_are_no_agreement_of_two_and_no_halo():
    """Two judges who never agree with each other and always with themselves."""
    one = [(s, "a", e, s % 2) for s in range(60) for e in range(3)]
    other = [(s, "b", e, (s + 1) % 2) for s in range(60) for e in range(3)]
    noisy = [
        (s, r, e, int((s * 7 + e + 5 * (r == "c")) % 5 < 2))
        for s in range(60)
        for r in "cd"
        for e in range(3)
    ]
    table = pl.DataFrame(one + other + noisy, schema=["student", "rater", "epoch", "score"], orient="row")
    plain = table.filter(pl.col("rater").is_in(["a", "b"]))
    assert observed_agreement(rl.read(plain, draw="epoch")) == 0.0
    ratings = rl.read(table, draw="epoch")
    keys = table.select("student", "rater", "score").rows()
    pairs = [(x[2] == y[2]) for x in keys for y in keys if x[0] == y[0] and x[1] < y[1]]
    found = consequences(rl.fit(ratings, model="gmf"), ratings)
    assert found.observed_agreement == pytest.approx(np.mean(pairs))
    effects = rl.fit(ratings, model="gmf").diagnose(ratings).tables["effects"]
    assert effects["halo"].is_nan().all()
