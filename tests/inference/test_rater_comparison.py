"""Comparisons of raters on fits: what the tables promise, and plain words."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.inference.measurement import measured_fit
from raterlens.inference.rater_comparison import (
    RaterComparison,
    _own_se,
    _pairs,
    own_error,
    ratings_needed,
)


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
