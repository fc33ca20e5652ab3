"""Agreement on the same work: coefficients against the libraries known for them, and every two raters."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.agreement import agreement, paired_ratings, rater_pairs
from tests.support.three_raters import panel, read, units

# --- agreement coefficients against the libraries known for them, on the same 40 units by three raters


# y = the scores of `panel`
# fleiss_kappa(counts), cohens_kappa(table)                          # statsmodels 0.14
# cohen_kappa_score(y[:, a], y[:, b])                                # scikit-learn
# krippendorff.alpha(reliability_data=y.T, level_of_measurement=..)  # krippendorff
# pingouin.intraclass_corr(long, "u", "r", "y")                      # pingouin, ICC(1,1) and ICC(1,k)


EXACT = 1e-12


def values(ratings: rl.Ratings) -> dict[str, float]:
    table = agreement(ratings, units(ratings))
    inside = table.filter((pl.col("low") <= pl.col("value")) & (pl.col("value") <= pl.col("high")))
    assert inside.height == table.height
    return dict(table.select("coefficient", "value").iter_rows())


def test_coefficients_equal_the_libraries():
    found = values(read(panel()))
    assert found["Fleiss' kappa"] == pytest.approx(0.28049465992130407, rel=EXACT)
    assert found["Krippendorff's alpha (nominal)"] == pytest.approx(0.2864905377552932, rel=EXACT)
    assert found["Krippendorff's alpha (interval)"] == pytest.approx(0.6896008661843595, rel=EXACT)
    # krippendorff.alpha(reliability_data=y.T, level_of_measurement="ordinal")
    assert found["Krippendorff's alpha (ordinal)"] == pytest.approx(0.6711672758125572, rel=EXACT)
    assert found["ICC(1)"] == pytest.approx(0.693217, abs=1e-6)
    assert found["ICC(1,k)"] == pytest.approx(0.871447, abs=1e-6)


def test_alpha_with_missing_ratings_equals_krippendorff():
    y = panel()
    kept = np.ones(y.shape, dtype=bool)
    kept[::4, 0] = False
    found = values(read(y, kept))
    assert found["Krippendorff's alpha (nominal)"] == pytest.approx(0.2814525139664805, rel=EXACT)
    assert found["Krippendorff's alpha (interval)"] == pytest.approx(0.6953049232700097, rel=EXACT)


@pytest.mark.parametrize("thresholds", [None, (-1.0, 0.0, 1.0)])
def test_the_model_expects_the_agreement_that_it_draws(thresholds):
    ratings = rl.simulate(
        students=1_500, raters=6, items=3, raters_per_student=3, thresholds=thresholds, seed=4
    ).ratings
    found = rl.fit(ratings, model="gmf", standard_errors=False).diagnose(ratings).table("agreement")
    rows = {row["coefficient"]: row for row in found.iter_rows(named=True)}
    seen, expected = rows["exact agreement"], rows["expected agreement"]
    assert seen["low"] < expected["value"] < seen["high"]
    assert expected["low"] < expected["value"] < expected["high"]


def test_nothing_to_agree_on():
    alone = rl.read(pl.DataFrame({"student": [1, 2, 3], "rater": ["A", "A", "B"], "score": [0, 1, 1]}))
    assert agreement(alone, units(alone))["value"].is_nan().all()
    assert rater_pairs(alone, paired_ratings(alone, units(alone))).height == 0


# ------------------------------------------------ pairs of raters against statsmodels and scikit-learn


EXACT_PAIRS = 1e-12


def test_cohens_kappa_equals_statsmodels_and_scikit_learn():
    ratings = read(panel())
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    assert table["kappa"].to_list() == pytest.approx(
        [0.19259882253994953, 0.29765886287625415, 0.3570219966159053], rel=EXACT_PAIRS
    )
    assert table["kappa_se"].to_list() == pytest.approx(
        [0.10194449195075292, 0.10158511277818547, 0.10208020754725616], rel=EXACT_PAIRS
    )
    y = panel()
    assert table["agreement"][0] == np.mean(y[:, 0] == y[:, 1])


def test_weighted_kappa_equals_statsmodels_and_scikit_learn():
    # statsmodels: cohens_kappa(table, wt="quadratic"), .kappa and .std_kappa;
    # scikit-learn: cohen_kappa_score(y[:, a], y[:, b], weights="quadratic")
    ratings = read(panel())
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    kappa = [0.7013574660633485, 0.6202531645569622, 0.7383966244725739]
    error = [0.06911965535245934, 0.09195356315552557, 0.07037401243736977]
    assert table["weighted_kappa"].to_list() == pytest.approx(kappa, rel=EXACT_PAIRS)
    assert table["weighted_kappa_se"].to_list() == pytest.approx(error, rel=EXACT_PAIRS)
    assert (table["weighted_kappa_low"] < table["weighted_kappa"]).all()


def test_a_rater_met_nobody_by_meeting_oneself():
    scores = {"student": [1, 1, 1, 2], "rater": ["b", "b", "a", "a"], "score": [0, 1, 1, 0]}
    ratings = rl.read(pl.DataFrame(scores), duplicates="keep")
    table = rater_pairs(ratings, paired_ratings(ratings, units(ratings)))
    assert table.select("n", "agreement").rows() == [(2, 0.5)]


def test_marks_out_of_100_are_compared_in_marks():
    """Hardly any two are the same; and a table of 101 x 101 marks for every two raters would be out of proportion."""
    made = rl.simulate(scale="continuous", students=80, raters=3, items=1, seed=4).ratings
    table = rater_pairs(made, paired_ratings(made, units(made)))
    assert table.columns[:5] == ["rater", "other", "n", "difference", "apart"]
    wide = made.table().pivot("rater", index="student", values="score")
    x, y = (wide[name].to_numpy() for name in ("R1", "R2"))
    assert table["difference"][0] == pytest.approx(np.mean(x - y))
    assert table["apart"][0] == pytest.approx(np.mean(np.abs(x - y)))
    apart = np.mean((x - y) ** 2)
    by_chance = np.mean((x[:, None] - y) ** 2)
    assert table["weighted_kappa"][0] == pytest.approx(1 - apart / by_chance)
    coefficients = agreement(made, units(made))["coefficient"].to_list()
    assert coefficients == ["Krippendorff's alpha (interval)", "ICC(1)", "ICC(1,k)"]
