"""Consequences for students: expected scores, raw and fair results, and none if raters are alike."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl
from raterlens.diagnostics.differences import consequences, observed_agreement
from raterlens.inference import expected_scores
from raterlens.inference.expected_scores import (
    _towards,
    fair_results,
    panel_of,
    rater_shifts,
)
from raterlens.inference.measurement import variance_between

# ----------------------------- consequences for students: by brute force, and none if raters are alike


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
    named = replace(found, most_lenient=("R1", 4.1), most_severe=("R2", 2.0))
    assert named.extremes() == ("4.10", "2.00")
    assert replace(named, equally_severe=True).extremes() is None
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


# ------------------- raw and fair results: the file's scale, chance allowed for, one number everywhere


EQUAL = {"students": 60, "raters": 5, "items": 1, "slope": 1.5, "severity": 0.0}


def half_marks():
    table = rl.simulate(
        students=120, raters=5, items=1, raters_per_student=2, thresholds=[-1, 0, 1], seed=3
    ).ratings.table()
    return rl.read(table.with_columns(pl.col("score") / 2 + 4))


def test_everything_is_on_the_scale_of_the_file():
    ratings = half_marks()
    fit = rl.fit(ratings, model="gmf")
    table = ratings.table().with_columns(pl.col("score") * ratings.score_step)
    means = table.group_by("student").agg(pl.col("score").mean()).sort("student")["score"]
    np.testing.assert_allclose(fit.students["mean_score"], means)
    decided = fit.decisions(ratings, cut=4.75).table
    assert (decided["raw_grade"] == "pass").to_list() == (means >= 4.75).to_list()
    assert decided["fair"].is_between(3.5, 6.0).all()
    assert fit.diagnose(ratings).tables["unexpected"]["score"].is_in([4.0, 4.5, 5.0, 5.5]).all()
    assert fit.calibration.values.tolist() == [4.0, 4.5, 5.0, 5.5]
    assert not any("nobody ever gave" in warning for warning in fit.warnings)


def test_one_fair_result_for_all_who_ask():
    ratings = half_marks()
    fit = rl.fit(ratings, model="gmf")
    results = fair_results(fit, ratings)
    decided = fit.decisions(ratings, cut=4.75)
    np.testing.assert_allclose(decided.table["fair"], results.fair, atol=1e-6)
    np.testing.assert_allclose(fit.diagnose(ratings).tables["students"]["fair_average"], results.fair)
    assert decided.changed == fit.consequences(ratings, cut=4.75).changed
    assert fit.consequences(ratings).changed is None  # no pass mark is invented
    assert "marks on average" in fit.consequences(ratings).words()[0]


def test_variance_between_raters_is_what_is_left_of_it_without_errors():
    values = np.array([-1.0, 0.5, 2.0, 0.1])
    assert variance_between(values, np.full(4, 0.3)) == pytest.approx(np.var(values, ddof=1) - 0.3)
    assert variance_between(values, np.full(4, 9.0)) == 0.0
    unequal = np.array([0.1, 0.2, 0.4, 0.8])
    weight = 1 / (variance_between(values, unequal) + unequal)
    assert weight @ (values - weight @ values / weight.sum()) ** 2 == pytest.approx(3)


def test_a_severity_goes_back_with_the_slope_that_took_it_along():
    """The rater whose slope is too steep as well is drawn further than another of the same severity and error."""
    values = np.array([[1.0, 0.5], [2.5, 2.0], [1.0, 2.0], [1.0, -1.5], [1.1, -0.5], [0.9, 0.0]])
    error = np.tile(np.diag([0.2, 0.4]), (6, 1, 1))
    error[1] += 0.25 * (1 - np.eye(2))  # severity and slope err together
    drawn, left = _towards(values, error, np.array([1.0, 0.0]), np.ones((6, 2), bool))
    assert drawn[1, 1] < drawn[2, 1] < 2.0
    assert (left[:, 1] < np.sqrt(0.4)).all()


@pytest.mark.nightly
def test_equal_raters_change_next_to_nobody():
    shares = []
    for seed in range(10):
        ratings = rl.simulate(**EQUAL, seed=seed).ratings
        shares.append(rl.fit(ratings, model="gmf").consequences(ratings).changed / 60)
    assert np.mean(shares) <= 0.003


def test_agreement_is_what_was_observed():
    scores = pl.DataFrame({"student": [1, 1, 2, 2, 3, 3], "rater": [*"ababab"], "score": [1, 1, 0, 1, 0, 0]})
    ratings = rl.read(scores)
    assert (
        rl.fit(ratings, model="gmf", standard_errors=False).consequences(ratings).observed_agreement == 2 / 3
    )


# ---------------------------------------------------- probabilities of the scores, whichever the model


@pytest.mark.parametrize("options", [{"model": "gmf"}, {"model": "hrm"}, {"scale": "partial credit"}])
def test_probabilities_sum_to_1_and_weights_too(options):
    thresholds = (-1, 0, 1) if "scale" in options else None
    ratings = rl.simulate(students=80, raters=4, items=2, thresholds=thresholds, seed=1).ratings
    panel = panel_of(rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | options))
    np.testing.assert_allclose(panel.probabilities.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(panel.average.sum(axis=0), 1, atol=1e-12)
    assert panel.weights.sum() == pytest.approx(1)
    assert panel.categories == (4 if thresholds else 2)


def test_shifts_are_what_the_model_expects_of_raters_beyond_the_average_one():
    ratings = rl.simulate(students=80, raters=4, items=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    known = fit.calibration
    effects, ability = known.effects, fit.students["theta"].to_numpy()
    shift, fall = rater_shifts(known, ratings, ability, known, known.average())
    theta = ability[ratings.student]

    def expit(slope, severity):
        return 1 / (1 + np.exp(-(slope * theta - severity - effects["difficulty"][ratings.item])))

    own = expit(effects["slope"][ratings.rater], effects["severity"][ratings.rater])
    average = expit(effects["slope"].mean(), effects["severity"].mean())
    np.testing.assert_allclose(shift, own - average, atol=1e-12)
    np.testing.assert_allclose(fall, own * (1 - own), atol=1e-3)


def test_large_panels_are_represented_by_some(monkeypatch):
    ratings = rl.simulate(students=80, raters=9, items=5, raters_per_student=4, seed=1).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    monkeypatch.setattr(expected_scores, "MOST_RATERS", 4)
    monkeypatch.setattr(expected_scores, "MOST_ITEMS", 2)
    panel = panel_of(fit)
    assert panel.probabilities.shape[0] == 4
    assert (panel.n_items, len(panel.average_scores)) == (2, 9)
