"""Comparisons of raters on fits: what the tables promise, and plain words."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.errors import OptionError


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
    return rl.fit(pl.concat([frame.filter(pl.col("rater") != "R5"), few]))


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
    plain, sampled = (rl.fit(small, prior=prior).compare_raters() for prior in (None, "panel"))
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
        rl.fit(small, standard_errors=False).compare_raters()
