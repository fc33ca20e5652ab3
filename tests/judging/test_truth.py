"""The truth from known answers, judges under it, and shares of good answers per system."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special, stats
from scipy.optimize import minimize
from scipy.special import digamma, expit

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.judging.judges import (
    Counts,
    certain_enough,
    effective_judges,
    guard,
    judges_to_keep,
    measure_judges,
    share_measure,
    slices,
    system_rates,
)
from raterlens.judging.truth import POOLING, Verdicts, _regress, answer_features, estimate_truth
from tests.support.simulated_verdicts import panel

# --- the posterior of the truth, against a slow twin that loops over verdicts, and simulated panels with known truth


TIGHT = 1e-9
"""Sums in another order."""


def slow_naive_bayes(verdicts, known):
    """Log-odds from loops, with the beta prior's strength by search over the same powers of two."""
    judged, passes = verdicts.judged.toarray(), verdicts.passes.toarray()
    logs = {}
    for side in (1, 0):
        rows = np.flatnonzero(known == side)
        k, n = passes[rows].sum(axis=0), judged[rows].sum(axis=0)
        mean = (k.sum() + 0.5) / (n.sum() + 1)

        def evidence(s, k=k, n=n, mean=mean):
            a, b = s * mean, s * (1 - mean)
            return sum(
                math.lgamma(a + x) + math.lgamma(b + m - x) - math.lgamma(s + m)
                + math.lgamma(s) - math.lgamma(a) - math.lgamma(b)
                for x, m in zip(k, n, strict=True)
            )  # fmt: skip

        s = max((2.0**e for e in range(9)), key=evidence)
        a, b = s * mean + k, s * (1 - mean) + n - k
        logs[side] = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    prior = np.log((np.sum(known == 1) + 1) / (np.sum(known == 0) + 1))
    found = np.full(len(known), prior)
    for i in range(len(known)):
        for r in np.flatnonzero(judged[i]):
            which = 0 if passes[i, r] else 1
            found[i] += logs[1][which][r] - logs[0][which][r]
    return found


def test_naive_bayes_is_cross_fitted_and_agrees_with_the_slow_twin():
    verdicts, _ = panel()
    expected = slow_naive_bayes(verdicts, verdicts.known)
    for part in verdicts.folds():
        hidden = verdicts.known.copy()
        hidden[part] = -1
        expected[part] = slow_naive_bayes(verdicts, hidden)[part]
    expected *= 2 / np.sqrt(np.mean(expected**2))
    np.testing.assert_allclose(answer_features(verdicts)[:, 1], expected, rtol=1e-8)


def test_features_have_root_mean_square_two():
    verdicts, _ = panel()
    np.testing.assert_allclose(np.mean(answer_features(verdicts) ** 2, axis=0), 4.0)


def test_folds_keep_linked_answers_together_and_hold_every_known_answer_once():
    verdicts, _ = panel()
    linked = Verdicts(verdicts.passes, verdicts.judged, verdicts.known, np.arange(300) // 2)
    folds = linked.folds()
    assert sorted(np.concatenate(folds)) == sorted(linked.rows)
    clusters = [set(linked.cluster[part]) for part in folds]
    assert not any(one & other for i, one in enumerate(clusters) for other in clusters[:i])


def test_the_mode_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 3)), (rng.random(40) < 0.5).astype(float)
    mean, precision = np.array([0.0, 0.5, 0.0]), np.array([1.0, 2.0, 0.3])

    def loss(b):
        return -(y * (x @ b) - np.logaddexp(0, x @ b)).sum() + 0.5 * (precision * (b - mean) ** 2).sum()

    found = _regress(x, y, (mean, precision))
    np.testing.assert_allclose(found.mode, minimize(loss, mean, tol=1e-12).x, atol=1e-5)
    p = expit(x @ found.mode)
    information = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
    np.testing.assert_allclose(found.root @ found.root.T, np.linalg.inv(information), rtol=1e-8)


def test_a_coefficient_with_infinite_precision_is_left_out():
    x, y = np.ones((10, 2)), np.r_[np.ones(7), np.zeros(3)]
    found = _regress(x, y, (np.zeros(2), np.array([1.0, np.inf])))
    assert found.mode[1] == 0.0
    assert not found.root[1].any()


def test_verdicts_that_repeat_count_once():
    verdicts, _ = panel()
    coo = verdicts.passes.tocoo()
    answer, judge, verdict = (np.tile(part, 2) for part in (coo.row, coo.col, coo.data))
    again = Verdicts.of(answer, judge, verdict, verdicts.known)
    np.testing.assert_allclose(
        estimate_truth(again).probability, estimate_truth(verdicts).probability, rtol=TIGHT
    )


def test_truth_of_a_simulated_panel():
    verdicts, truth = panel(n=1000, seed=3)
    found = estimate_truth(verdicts)
    hidden = verdicts.known < 0
    np.testing.assert_array_equal(found.probability[~hidden], truth[~hidden])
    p = found.probability[hidden]
    loss = -np.log(np.where(truth[hidden] == 1, p, 1 - p)).mean()
    # Bayes' rule with the true rates has 0.28 on this panel
    assert loss < 0.33
    assert found.weights.sum() == pytest.approx(1.0)
    assert len(found.weights) == len(POOLING)


def test_a_panel_that_shares_a_bias_is_overruled_by_known_answers():
    """Eight judges follow a cue that points away from the truth, two follow the truth."""
    rng = np.random.default_rng(4)
    n = 400
    truth = rng.random(n) < 0.5
    cue = np.where(rng.random(n) < 0.7, ~truth, truth)
    verdict = np.column_stack(
        [np.where(rng.random(n) < 0.9, side, ~side) for side in [cue] * 8 + [truth] * 2]
    ).astype(int)
    known = np.full(n, -1)
    known[:40] = truth[:40]
    answer, judge = (part.ravel() for part in np.indices(verdict.shape))
    found = estimate_truth(Verdicts.of(answer, judge, verdict.ravel(), known))
    right = (found.probability > 0.5)[40:] == truth[40:]
    assert right.mean() > 0.85


def test_drawn_truths_keep_what_is_known_and_average_to_the_probability():
    verdicts, truth = panel()
    found = estimate_truth(verdicts)
    drawn = np.concatenate(list(found.draws(400)), axis=1)
    assert drawn.shape == (300, 400)
    rows = verdicts.rows
    assert (drawn[rows] == truth[rows, None]).all()
    assert np.abs(drawn.mean(axis=1) - found.probability).max() < 0.2
    assert abs(drawn.mean() - found.probability.mean()) < 0.03


# ----------------------------------------------------- judges under a truth that is known or simulated


def test_counts_are_those_of_a_table():
    verdicts = Verdicts.of(
        np.array([0, 1, 2, 3]), np.zeros(4, int), np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    )
    counts = Counts.under(verdicts, np.array([1.0, 1.0, 0.0, 0.0]))
    assert [float(x[0]) for x in (counts.right, counts.good, counts.good_passed)] == [2, 2, 1]


def test_measures_where_all_is_known_are_shares_with_two_pseudo_verdicts():
    verdicts, truth = panel(n_known=300)
    found = measure_judges(estimate_truth(verdicts))
    passes = verdicts.passes.toarray()
    right = (passes == truth[:, None]).sum(axis=0)
    mean = (right.sum() + 0.5) / (300 * 5 + 1)
    np.testing.assert_allclose(found["accuracy"].value, (right + 2 * mean) / 302)
    good = truth == 1
    np.testing.assert_allclose(found["sensitivity"].value, passes[good].mean(axis=0), atol=0.01)
    np.testing.assert_allclose(found["specificity"].value, 1 - passes[~good].mean(axis=0), atol=0.01)
    np.testing.assert_allclose(
        found["capability"].value, found["sensitivity"].value + found["specificity"].value - 1
    )


def test_intervals_hold_the_true_rates():
    inside = []
    for seed in range(8):
        verdicts, _ = panel(n=400, seed=seed)
        found = measure_judges(estimate_truth(verdicts))
        j = np.array([0.7, 0.7, 0.4, 0.45, 0.5])
        inside.append((found["capability"].low <= j) & (j <= found["capability"].high))
        assert (found["capability"].low < found["capability"].value).all()
    assert np.mean(inside) >= 0.85


def test_an_interval_of_a_share_stays_inside():
    found = share_measure(np.array([0.999, 0.5]), np.array([0.0001, 0.0025]))
    assert found.high.max() <= 1
    assert found.low.min() > 0
    # far from the ends it is the usual one
    assert found.high[1] - found.low[1] == pytest.approx(2 * 1.96 * 0.05, rel=0.02)


def test_the_guard_flags_who_is_right_more_often_than_expected():
    """Expected 1/2 everywhere: with h of n right, z = (h - n/2) / sqrt(n/4)."""
    verdicts, _ = panel(n=600, n_known=120)
    truth = estimate_truth(verdicts)
    assert not guard(truth).flagged.any()
    even = replace(truth, out_of_fold=np.where(verdicts.known >= 0, 0.5, np.nan))
    found = guard(even)
    rows = verdicts.rows
    right = (verdicts.passes.toarray()[rows] == verdicts.known[rows, None]).sum(axis=0)
    np.testing.assert_allclose(found.z, (right - 60) / np.sqrt(30))
    np.testing.assert_allclose(found.right, right / 120)
    np.testing.assert_array_equal(found.flagged, np.abs(right - 60) > 3.3 * np.sqrt(30))
    assert found.flagged.any()


def test_one_unlikely_answer_of_four_contradicts_nobody():
    """It is 3.6 standard errors off, but 1 - 0.983^4 is 7 %."""
    few = Verdicts.of(np.arange(4), np.zeros(4, int), np.ones(4, int), np.array([1, 1, 1, 0]))
    found = guard(replace(estimate_truth(panel()[0]), verdicts=few, out_of_fold=np.full(4, 0.983)))
    assert found.z[0] < -3.3
    assert not found.flagged.any()
    often = Verdicts.of(np.arange(80), np.zeros(80, int), np.ones(80, int), np.arange(80) % 4 // 3 ^ 1)
    assert guard(
        replace(estimate_truth(panel()[0]), verdicts=often, out_of_fold=np.full(80, 0.983))
    ).flagged.all()


def copies_of_first(verdicts, noise=0.0, seed=1):
    """The panel with a sixth judge who says what the first does, but for some noise."""
    rng = np.random.default_rng(seed)
    passes = verdicts.passes.toarray()
    turned = np.where(rng.random(len(passes)) < noise, 1 - passes[:, 0], passes[:, 0])
    both = np.column_stack([passes, turned])
    answer, judge = (part.ravel() for part in np.indices(both.shape))
    return Verdicts.of(answer, judge, both.ravel(), verdicts.known)


def test_independent_judges_count_and_copies_do_not():
    verdicts, _ = panel(n=800, n_known=400)
    found = effective_judges(estimate_truth(verdicts), list("abcde"))
    assert found.low > 4.2
    assert found.p > 0.01
    assert found.near_copies == ()
    copied = effective_judges(estimate_truth(copies_of_first(verdicts, noise=0.001)), list("abcdef"))
    assert copied.near_copies == (("a", "f"),)
    assert copied.p < 0.001
    assert copied.high < 6
    assert copied.words()[1] == "'a', 'f' nearly always err together: they count as one."


def test_the_effective_number_of_equal_judges_is_kishs():
    """Errors of all judges of an answer are equal in a third of the answers: rho = 1/3, 6 / (1 + 5/3) = 2.25."""
    rng = np.random.default_rng(1)
    n = 6000
    truth = rng.random(n) < 0.5
    own, common = rng.random((n, 6)) < 0.2, rng.random((n, 1)) < 0.2
    wrong = np.where(rng.random((n, 1)) < 1 / 3, common, own)
    verdict = np.where(wrong, ~truth[:, None], truth[:, None]).astype(int)
    answer, judge = (part.ravel() for part in np.indices(verdict.shape))
    found = effective_judges(
        estimate_truth(Verdicts.of(answer, judge, verdict.ravel(), truth.astype(int))), list("abcdef")
    )
    assert found.kish == pytest.approx(2.25, abs=0.1)
    assert found.given_truth == pytest.approx(found.kish, abs=0.03)
    assert found.low < 2.25 < found.high


def test_a_useful_panel_is_kept_and_random_judges_are_not():
    verdicts, _ = panel(n=600, n_known=300, sensitivity=[0.8] * 5, specificity=[0.8] * 5)
    assert len(judges_to_keep(estimate_truth(verdicts)).judges) > 1
    poor, _ = panel(
        n=600, n_known=300, sensitivity=[0.95, 0.5, 0.5, 0.5, 0.5], specificity=[0.95, 0.5, 0.5, 0.5, 0.5]
    )
    assert judges_to_keep(estimate_truth(poor)).judges == (0,)


def test_labels_need_people_where_too_few_answers_are_known():
    verdicts, _ = panel(n_known=25)
    assert certain_enough(estimate_truth(verdicts)) > 1


def test_the_share_of_wrong_labels_is_bounded():
    wrong = []
    for seed in range(10):
        verdicts, truth = panel(n=500, n_known=100, seed=seed)
        found = estimate_truth(verdicts)
        threshold = certain_enough(found)
        p = found.probability
        taken = (np.maximum(p, 1 - p) >= threshold) & (verdicts.known < 0)
        wrong.append(np.mean((p > 0.5)[taken] != truth[taken]) if taken.any() else 0.0)
    assert np.mean(np.array(wrong) > 0.13) <= 0.1


SYSTEMS, JUDGES = pl.Series("system", ["old", "new"]), pl.Series("judge", list("abcdef"))


def biased_on_one_system(seed):
    """Two systems with the same share of good answers; all judges are too kind to the second."""
    rng = np.random.default_rng(seed)
    n, r = 600, 6
    system, truth = np.arange(n) % 2, rng.random(n) < 0.5
    passing = np.where(truth, 0.85, np.where(system == 1, 0.6, 0.15))
    verdict = (rng.random((n, r)) < passing[:, None]).astype(int)
    known = np.full(n, -1)
    chosen = rng.choice(n, 120, replace=False)
    known[chosen] = truth[chosen]
    answer, judge = (part.ravel() for part in np.indices(verdict.shape))
    return Verdicts.of(answer, judge, verdict.ravel(), known), system, truth


def test_pass_rates_hold_where_judges_err_on_one_system():
    covered = []
    for seed in range(8):
        verdicts, system, _ = biased_on_one_system(seed)
        found = system_rates(estimate_truth(verdicts, system), SYSTEMS, "system")[0]
        covered += list((found["low"] <= 0.5) & (found["high"] >= 0.5))
        assert found["observed"][1] > 0.65
    assert np.mean(covered) >= 0.85


def test_accuracy_differs_by_system_where_it_does():
    verdicts, system, truth = biased_on_one_system(1)
    found = slices(estimate_truth(verdicts, system), JUDGES, SYSTEMS, "system")
    assert found["judge"].to_list() == [name for name in "abcdef" for _ in range(2)]
    assert found["p"].median() < 0.05
    first = verdicts.passes.toarray()[system == 0][:, 0] == truth[system == 0]
    assert found["accuracy"][0] == pytest.approx(first.mean(), abs=0.05)
    plain, _ = panel(n=600, n_known=200)
    same = slices(estimate_truth(plain, np.arange(600) % 2), JUDGES, SYSTEMS, "system")
    assert stats.combine_pvalues(same.filter(system="old")["p"]).pvalue > 0.001


def test_the_better_a_judge_the_higher_both_ends() -> None:
    """Also where it is nearly always right: 100 verdicts, each end beside that of Clopper and Pearson."""
    n = 100
    share = np.array([0.5, 0.9, 0.99, 0.999])
    found = share_measure(share, share * (1 - share) / n)
    assert (np.diff(found.low) > 0).all()
    assert (np.diff(found.high) > 0).all()
    exact = stats.beta.ppf(0.025, share * n, n * (1 - share) + 1)
    np.testing.assert_allclose(found.low, exact, atol=0.05)
    assert found.low[-1] > 0.96


# --------------------------------- `rl.pass_rate`: shares of good answers, allowing for judges' errors


GOOD = {"a": 0.6, "b": 0.75, "c": 0.85}


def answers(seed: int, n: int = 400, known: int = 150, bias: float = 0.0, people: int = 0) -> pl.DataFrame:
    """Answers of three systems, judged by people (90 % right) and three judges who may share a bias."""
    rng = np.random.default_rng(seed)
    system = np.repeat(list(GOOD), n)
    truth = rng.random(3 * n) < np.array([GOOD[name] for name in system])
    z = rng.standard_normal(3 * n)
    gold = [
        int(right) if place < known else None
        for place, right in zip(rng.permutation(3 * n), truth, strict=True)
    ]
    shown = {"answer": [f"{s}{k}" for k, s in enumerate(system)], "system": system}
    shown |= {"gold": pl.Series(gold, dtype=pl.Int64)}
    frames = []
    for rater, (right, b) in {
        **{f"person {k}": (0.9, 0.0) for k in range(people)},
        **{f"judge {k}": (0.8, bias) for k in range(3)},
    }.items():
        logit = special.logit(right) * np.where(truth, 1, -1) + b * z
        verdict = (rng.random(3 * n) < special.expit(logit)).astype(int)
        frames.append(pl.DataFrame({**shown, "rater": rater, "verdict": verdict}))
    return pl.concat(frames)


COLUMNS = {"student": "answer", "rater": "rater", "score": "verdict"}


def ratings(table: pl.DataFrame) -> rl.Ratings:
    return rl.read(table, **COLUMNS, facets="system", known="gold")


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_shares_and_differences_are_those_of_the_truth(bias):
    found = rl.pass_rate(ratings(answers(2, bias=bias)), by="system")
    rates = {row["system"]: row for row in found.rates.iter_rows(named=True)}
    assert (found.n_known, found.rates["known"].sum()) == (150, 150)
    for system, share in GOOD.items():
        assert rates[system]["low"] < share < rates[system]["high"]
        assert rates[system]["high"] - rates[system]["low"] < 0.26
    # judges' verdicts favour the worst
    assert rates["c"]["observed"] < rates["c"]["rate"] - 0.1
    pair = found.differences.filter(system="c", other="a").row(0, named=True)
    assert pair["low"] < 0.25 < pair["high"]
    assert pair["difference"] == pytest.approx(rates["c"]["rate"] - rates["a"]["rate"])
    assert "c beats a by" in found.summary()
    assert "share of good answers" in found._repr_html_()
    assert repr(found) == "<PassRates of 3 groups by 'system': see summary()>"


def test_it_is_what_judge_says():
    data = answers(3)
    found = rl.pass_rate(data, **COLUMNS, by="system", known="gold")
    assert found.rates.equals(rl.judge(data, **COLUMNS, by="system", known="gold").systems)
    fit = rl.fit(ratings(data), model="tfm", shared=False, halo="none", ability="normal")
    assert found.rates.equals(rl.pass_rate(fit, by="system").rates)


def test_groups_may_be_a_mapping_of_students():
    data = ratings(answers(4))
    half = {student: "odd" if k % 2 else "even" for k, student in enumerate(data.students)}
    assert set(rl.pass_rate(data, by=half).rates["group"]) == {"odd", "even"}
    with pytest.raises(OptionError, match="no group for 1 student"):
        rl.pass_rate(data, by=dict(list(half.items())[1:]))


def test_a_system_without_known_answers_is_named():
    table = answers(5).with_columns(gold=pl.when(pl.col("system") != "c").then("gold"))
    found = rl.pass_rate(ratings(table), by="system")
    assert "c has 0 known answers: its rate rests on how judges do on other answers." in found.words()


def test_dataframes_are_of_the_kind_that_came_in():
    assert isinstance(rl.pass_rate(ratings(answers(1).to_pandas()), by="system").rates, pd.DataFrame)


def test_misuse_is_named():
    data = ratings(answers(5, n=60))
    with pytest.raises(InputError, match="no answer is known"):
        rl.pass_rate(rl.read(answers(5, n=60), **COLUMNS, facets="system"), by="system")
    with pytest.raises(OptionError, match="no facet 'sistem'"):
        rl.pass_rate(data, by="sistem")
    doubled = answers(5, n=60).with_columns(pl.col("verdict", "gold") * 2)
    with pytest.raises(InputError, match="scores go from 0 to 2"):
        rl.pass_rate(rl.read(doubled, **COLUMNS, known="gold"), by="item")
    mixed = answers(5, n=60).with_columns(
        system=pl.when(pl.col("rater") == "judge 0").then(pl.lit("a")).otherwise("system")
    )
    with pytest.raises(InputError, match="has more than one system"):
        rl.pass_rate(ratings(mixed), by="system")
