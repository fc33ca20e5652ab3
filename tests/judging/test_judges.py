"""Judges under a truth that is known or simulated."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from raterlens.judging.judges import (
    Counts,
    certain_enough,
    effective_judges,
    guard,
    judges_to_keep,
    measure_judges,
    share_measure,
)
from raterlens.judging.system_rates import slices, system_rates
from raterlens.judging.truth import Verdicts, estimate_truth
from tests.support.simulated_verdicts import panel


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
