"""Raters compared: differences and ranks."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.capability.curves import PassCurve
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal
from raterlens.capability.yardstick import Measure
from raterlens.inference.intervals import measure
from raterlens.inference.measurement import Measurement, measured_fit
from raterlens.inference.rater_comparison import (
    RaterComparison,
    _drawn,
    _own_se,
    _pairs,
    against_mean,
    each_pair,
    holm,
    kappa_covariance,
    own_error,
    ranks,
    ratings_needed,
)
from raterlens.models.calibration import Panel

# ----------------------------------------------------------------------------------------------------
# Comparisons of raters on fits: what the tables promise, and plain words.


@pytest.fixture(scope="module")
def fit():
    """Four raters alike but one who cannot tell students apart, and one with few ratings."""
    slope = [1.4, 1.4, 1.4, 0.1, 1.4]
    made = rl.simulate(
        students=400, raters=5, items=3, raters_per_student=3, slope=slope, severity=0.0, seed=2
    )
    frame = pl.DataFrame(
        {
            "student": made.ratings.students.gather(made.ratings.student),
            "rater": made.ratings.raters.gather(made.ratings.rater),
            "item": made.ratings.items.gather(made.ratings.item),
            "score": made.ratings.score,
        }
    )
    few = frame.filter(pl.col("rater") == "R5").head(30)
    return rl.fit(pl.concat([frame.filter(pl.col("rater") != "R5"), few]), model="gmf")


def test_the_one_who_differs_is_found_and_nobody_else(fit):
    found = fit.compare_raters(k=1)
    assert found.raters.filter(pl.col("verdict") == "below the mean")["rater"].to_list() == ["R4"]
    clear = found.pairs.filter(pl.col("p_holm") < 0.05)
    assert set(clear["other"]) == {"R4"}
    assert set(clear["rater"]) >= {"R1", "R2", "R3"}
    worst = found.raters.filter(rater="R4").row(0, named=True)
    assert worst["p_worst"] > 0.6  # the rater with few ratings could be worse
    assert worst["rank"] == 5
    assert worst["rank_low"] >= 4
    assert found.raters["p_best"].sum() == pytest.approx(1)


def test_who_has_too_few_ratings_is_told(fit):
    found = fit.compare_raters()
    few = found.raters.filter("too_few")
    assert few["rater"].to_list() == ["R5"]
    words = found.summary()
    assert "Too few ratings to say anything about R5 (30)" in words
    assert "Less capable than the panel's mean: 'R4'." in words
    assert "1 pair" not in words
    clear = found.pairs.filter(pl.col("p_holm") < 0.05).height
    assert 0 < clear < 10
    assert f"{clear} of 10 pairs of raters clearly differ." in words


def test_pairs_are_complete_and_consistent_with_the_table(fit):
    found = fit.compare_raters()
    assert found.pairs.height == 10
    assert (found.pairs["difference"] >= 0).all()
    np.testing.assert_allclose(
        found.pairs["difference"], found.pairs["kappa"] - found.pairs["other_kappa"], atol=1e-12
    )
    assert (found.pairs["p_holm"] >= found.pairs["p_fdr"] - 1e-12).all()
    np.testing.assert_allclose(found.raters["kappa"], fit.raters["kappa"])


def test_comparisons_of_a_sample_of_raters_claim_less(small):
    plain, sampled = (rl.fit(small, model="gmf", prior=prior).compare_raters() for prior in (None, "panel"))
    assert sampled.raters["p_best"].max() <= plain.raters["p_best"].max() + 0.05
    assert (sampled.raters["p_holm"] >= plain.raters["p_holm"] - 0.05).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 5}, "from 1 to 4"),
        ({"k": 0}, "from 1 to 4"),
        ({"alpha": 0.0}, "between 0 and 1"),
        ({"target_se": 0.0}, "above 0"),
    ],
)
def test_wrong_options_say_what_to_do(fit, options, message):
    with pytest.raises(OptionError, match=message):
        fit.compare_raters(**options)


def test_a_fit_without_standard_errors_is_refused(small):
    with pytest.raises(OptionError, match="standard_errors=True"):
        rl.fit(small, model="gmf", standard_errors=False).compare_raters()


def row(rater: str, kappa: float, verdict: str, **other) -> dict:
    known = {
        "n": 1200,
        "rank": 1,
        "rank_low": 1,
        "rank_high": 2,
        "p_best": 0.5,
        "too_few": False,
        "more": None,
    }
    return {"rater": rater, "kappa": kappa, "verdict": verdict, **known, **other}


def test_a_comparison_in_plain_words():
    raters = [
        row("A", 0.9, "above the mean", p_best=0.875, rank_high=3),
        row("B", 0.8, "above the mean", p_best=0.625, rank=2),
        row("C", 0.5, "no clear difference", p_best=0.25, n=12, too_few=True, more=1500.0),
        row("D", 0.2, "below the mean", p_best=0.0, n=7, too_few=True),
    ]
    pairs = pl.DataFrame(
        [("A", "D", 0.7, 1e-6, 1e-5), ("A", "C", 0.4, 0.01, 0.05), ("B", "D", 0.6, 1e-3, 4e-3)],
        ["rater", "other", "difference", "p", "p_holm"],
        orient="row",
    )
    found = RaterComparison({"raters": pl.DataFrame(raters), "pairs": pairs}, 0.05, 2, 0.03)
    assert found.summary().splitlines() == [
        "4 raters; findings at 5%, corrected for the number of comparisons (Holm).",
        "More capable than the panel's mean: 'A', 'B'.",
        "Less capable than the panel's mean: 'D'.",
        "No clear difference from the mean: 'C'.",
        "2 of 3 pairs of raters clearly differ.",
        "The clearest differences: A over D (0.70), B over D (0.60).",
        "A: rank 1 (between 1 and 3), among the best 2 with probability 88%.",
        "B: rank 2 (between 1 and 2), among the best 2 with probability 62%.",
        "Too few ratings to say anything about C (12): about 1,500 more ratings would bring the standard error to "
        "0.03.",
        "Too few ratings to say anything about D (7): more ratings by this rater alone would not be enough, because "
        "the yardstick is uncertain too.",
    ]
    many = [row(f"R{n}", 0.5, "no clear difference", too_few=True, more=float(n)) for n in range(7)]
    found = RaterComparison({"raters": pl.DataFrame(many), "pairs": pairs[:0]}, 0.1, 1, 0.03)
    words = found.summary().splitlines()
    assert words[1] == "More capable than the panel's mean: nobody, for certain."
    assert words[4].startswith("R0: rank 1 (between 1 and 2), the best rater with probability")
    assert [line.split()[7] for line in words[5:10]] == [f"R{n}" for n in range(5)]
    assert words[10:] == ["Too few ratings to say anything about 2 more: column `too_few`."]


def test_what_is_said_of_raters_follows_from_their_intervals(fit):
    found = fit.compare_raters(target_se=0.04).raters
    width = found["kappa_high"] - found["kappa_low"]
    assert found["too_few"].to_list() == (width > 0.5).to_list()
    assert fit.compare_raters().k == 1
    where = measured_fit(fit, fit.yardstick)
    own = _own_se(where)
    # By differences, from the raters' own parts of the covariance.
    blocks, step, on = own_error(where.panel), 1e-5, where.on
    by = np.stack(
        [
            (
                where.index.kappa(on.a + a, on.eta + b, on.sigmas)
                - where.index.kappa(on.a - a, on.eta - b, on.sigmas)
            )
            / (2 * step)
            for a, b in ((step, 0.0), (0.0, step))
        ]
    )
    np.testing.assert_allclose(own, np.sqrt(np.einsum("ir,rij,jr->r", by, blocks, by)), rtol=1e-4)
    se = width.to_numpy() / (2 * 1.959964)
    expected = ratings_needed(found["n"].to_numpy(), own, se, 0.04)
    np.testing.assert_allclose(found["more"].fill_null(np.inf).to_numpy(), expected)
    summed = found.filter(pl.col("p_holm") < 0.05)
    assert (summed["verdict"] != "no clear difference").all()
    assert ((summed["verdict"] == "above the mean") == (summed["difference"] > 0)).all()


def test_pairs_of_very_many_raters_are_left_out():
    """With the columns that they would have."""
    few = _pairs(pl.Series("rater", ["a", "b"]), np.array([0.5, 0.4]), 0.01 * np.eye(2))
    many = _pairs(pl.Series("rater", [str(r) for r in range(501)]), np.full(501, 0.5), np.eye(501))
    sparse = _pairs(pl.Series("rater", ["a", "b"]), np.array([0.5, 0.4]), None)
    assert many.columns == sparse.columns == few.columns
    assert (many.height, sparse.height, few.height) == (0, 0, 1)


def test_it_takes_two_raters(small):
    alone = rl.read(small.table().filter(pl.col("rater") == small.raters[0]))
    with pytest.raises(OptionError, match="only one rater"):
        rl.fit(alone, model="gmf").compare_raters()


def test_a_notebook_shows_intervals_from_the_best_rater_down(fit):
    found = fit.compare_raters()
    assert repr(found) == "<RaterComparison of 5 raters: see summary()>"
    page = found._repr_html_()
    labels = fit.raters.sort("kappa", descending=True)["rater"].to_list()
    places = [page.index(f">{label}<") for label in labels]
    assert places == sorted(places)
    assert found.summary().splitlines()[0] in page


# ----------------------------------------------------------------------------------------------------
# Tests and ranks against closed forms and a normal world with known truth.


INDEX = Index(PassCurve(get_link("logit")), Normal())
# Of 2,000 draws.
BY_CHANCE = 0.04


def on_yardstick(slope, severity, covariance, sigma=2.0):
    n = len(slope)
    panel = Panel(np.asarray(slope, float), np.asarray(severity, float), covariance, np.zeros(n))
    origin = Measure(0.0, np.zeros(n))
    yardstick = Measure(sigma, np.zeros(n))
    on = measure(panel, yardstick, origin, is_most=False)
    return Measurement(panel, on, INDEX, yardstick, origin, absolute=False)


def test_holm_on_a_worked_example():
    """Holm (1979): 0.01, 0.02, 0.03, 0.005 times 3, 2, 1, 4, made monotone."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.02, 0.03, 0.005])), [0.03, 0.04, 0.04, 0.02])


def test_differences_of_independent_raters():
    kappa, variance = np.array([0.8, 0.5, 0.6]), np.array([0.01, 0.02, 0.03])
    one, other, tests = each_pair(kappa, np.diag(variance))
    assert list(zip(one, other, strict=True)) == [(0, 1), (0, 2), (2, 1)]
    np.testing.assert_allclose(tests.difference, [0.3, 0.2, 0.1])
    np.testing.assert_allclose(tests.se, np.sqrt([0.03, 0.04, 0.05]))
    np.testing.assert_allclose(tests.p, 2 * stats.norm.sf([0.3 / 0.03**0.5, 1.0, 0.1 / 0.05**0.5]))
    mean = against_mean(kappa, np.diag(variance))
    # kappa_1 - mean = (2 k_1 - k_2 - k_3) / 3
    assert mean.se[0] == pytest.approx(np.sqrt(4 * 0.01 + 0.02 + 0.03) / 3)


def test_raters_who_err_together_differ_by_less_than_they_err():
    covariance = np.full((2, 2), 0.04) + 0.0001 * np.eye(2)
    _, _, tests = each_pair(np.array([0.6, 0.55]), covariance)
    assert tests.p[0] < 0.001


def test_covariance_of_kappas_by_differences():
    random = np.random.default_rng(2)
    root = 0.1 * random.normal(size=(6, 6))
    slope, severity, weights = np.array([1.0, 1.4, 0.6]), np.array([0.2, -0.7, 0.9]), np.full(3, 1 / 3)
    panel = Panel(slope, severity, root @ root.T, np.zeros(3))
    origin, yardstick = Measure(0.0, weights), Measure(1.4, np.zeros(3))
    on = measure(panel, yardstick, origin, is_most=False)
    found = kappa_covariance(Measurement(panel, on, INDEX, yardstick, origin, absolute=False))

    def kappa(x):
        return INDEX.kappa(x[:3], x[3:] - x[3:] @ weights, np.full(3, 1.4))

    x, step = np.concatenate([slope, severity]), 1e-6
    through = np.column_stack([(kappa(x + d) - kappa(x - d)) / (2 * step) for d in step * np.eye(6)])
    np.testing.assert_allclose(found, through @ panel.covariance @ through.T, rtol=1e-6)


def test_tests_hold_their_level_where_raters_are_alike():
    """Estimates of five equal raters, drawn anew from the covariance that the panel claims."""
    random, runs, hits, any_hit = np.random.default_rng(4), 400, 0.0, 0
    covariance = np.diag(np.r_[np.full(5, 0.01), np.full(5, 0.02)])
    for _ in range(runs):
        x = np.r_[np.ones(5), np.full(5, 0.3)] + np.sqrt(np.diag(covariance)) * random.normal(size=10)
        where = on_yardstick(x[:5], x[5:], covariance)
        kappa = INDEX.kappa(where.on.a, where.on.eta, where.on.sigmas)
        _, _, tests = each_pair(kappa, kappa_covariance(where))
        hits += (tests.p < 0.05).mean() / runs
        any_hit += bool((tests.holm < 0.05).any())
    assert hits == pytest.approx(0.05, abs=0.02)
    assert any_hit / runs < 0.08


def test_probability_of_being_best_has_a_closed_form_for_two():
    """Small errors, so that kappa is linear: P = Phi(difference / se of the difference)."""
    covariance = np.diag([1e-4, 1e-4, 0.0, 0.0])
    found = ranks(on_yardstick([1.0, 1.01], [0.0, 0.0], covariance), 1)
    assert found["p_best"][1] == pytest.approx(stats.norm.cdf(0.01 / np.sqrt(2e-4)), abs=BY_CHANCE)
    assert found["p_worst"][0] == pytest.approx(found["p_best"][1])
    assert found["rank"].tolist() == [2, 1]


def test_ranks_of_a_sure_panel_are_sure():
    found = ranks(on_yardstick([0.5, 1.5, 1.0], np.zeros(3), 1e-8 * np.eye(6)), 1)
    assert found["rank"].tolist() == found["rank_low"].tolist() == found["rank_high"].tolist() == [3, 1, 2]
    assert found["p_best"].tolist() == [0, 1, 0]


def test_a_sparse_covariance_gives_the_same_as_a_dense_one():
    from scipy import sparse

    dense = np.diag(np.r_[np.full(4, 0.04), np.full(4, 0.02)])
    dense[np.arange(4), 4 + np.arange(4)] = dense[4 + np.arange(4), np.arange(4)] = 0.01
    slope, severity = [0.5, 1.5, 1.0, 1.1], [0.1, 0.2, -0.4, 0.0]
    thick = on_yardstick(slope, severity, dense)
    thin = on_yardstick(slope, severity, sparse.csr_array(dense))
    np.testing.assert_allclose(kappa_covariance(thick), kappa_covariance(thin).toarray(), atol=1e-14)
    np.testing.assert_allclose(ranks(thick, 1)["p_best"], ranks(thin, 1)["p_best"], atol=BY_CHANCE)


def test_ratings_needed():
    """Half the standard error takes four times the ratings; what comes from the yardstick stays."""
    given, own, total = (
        np.array([100, 100, 100, 100]),
        np.array([0.1, 0.1, 0.1, 0.03]),
        np.array([0.1, 0.12, 0.2, 0.04]),
    )
    needed = ratings_needed(given, own, total, 0.05)
    assert needed[0] == 300
    assert needed[1] == np.inf
    assert needed[2] == np.inf
    assert needed[3] == 0
    assert ratings_needed(given[:1], np.array([0.08]), np.array([0.082]), 0.05)[0] == pytest.approx(
        194, abs=1
    )


def test_draws_reach_as_far_as_the_intervals_where_a_slope_ran_to_its_limit():
    """Standard errors say nothing about a rater who seems never to err; comparisons use its interval."""
    raters = {"slope": [3.0, 1.0, 1.2], "severity": [0.2, 0.0, -0.2]}
    ratings = rl.simulate(students=40, raters=3, items=1, difficulty=0.0, seed=10, **raters).ratings
    fit = rl.fit(ratings, model="gmf", reference=3.0)
    where = measured_fit(fit, fit.yardstick)
    kappa = np.concatenate(list(_drawn(where)))
    ends = np.quantile(kappa, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(ends, fit.raters.select("kappa_low", "kappa_high").to_numpy().T, atol=0.08)
    np.testing.assert_allclose(kappa_covariance(where), np.cov(kappa, rowvar=False))
    steep = int(np.flatnonzero(fit.calibration.at_limit)[0])
    assert fit.compare_raters().raters["rank_high"][steep] > 1
