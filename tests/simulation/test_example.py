"""The bundled example and the printed table: the file is its recipe, the recipe has the published counts."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.simulation import example as writing
from raterlens.simulation.example import build_example, example_table, load_example

# --- the bundled example: the file is its recipe, the recipe has the published counts, the truth is recovered


ITEMS = ["specificity", "coherence", "structure", "grammar", "content"]

# Wang, Wu and Qiu (2025), table of the empirical study: ratings and summed scores by rater (AM, BE, CO, DA)
# and topic (Family, School, Sport, Work).
COUNTS = [440, 525, 370, 455, 435, 470, 535, 380, 450, 535, 485, 440, 365, 520, 460, 395]
SUMS = [338, 392, 286, 335, 273, 298, 320, 233, 195, 220, 178, 183, 103, 155, 142, 106]


def test_the_file_is_what_the_recipe_makes():
    assert_frame_equal(example_table(), build_example())


def test_the_design_has_the_published_counts():
    ratings = load_example()
    assert (ratings.n_students, ratings.n_raters, ratings.n_items) == (363, 16, 5)
    assert ratings.raters.to_list() == [
        f"{rater}:{topic}"
        for rater in ("AM", "BE", "CO", "DA")
        for topic in ("Family", "School", "Sport", "Work")
    ]
    np.testing.assert_array_equal(np.bincount(ratings.rater), COUNTS)
    np.testing.assert_array_equal(np.bincount(ratings.student), 20)


def test_no_student_has_two_essays_by_one_rater_on_one_topic():
    assert not example_table().select("student", "rater", "topic").is_duplicated().any()


def test_pass_rates_are_near_the_published_ones():
    # Drawn from a model with rounded parameters, not copied: a rate of 400 ratings of 90 students has a
    # standard error near 0.035, and the model itself misses the published rates by up to 0.075.
    ratings = load_example()
    rate = np.bincount(ratings.rater, ratings.score) / COUNTS
    np.testing.assert_allclose(rate, np.array(SUMS) / COUNTS, atol=0.15)
    assert abs(ratings.score.mean() - sum(SUMS) / sum(COUNTS)) < 0.03


def test_scores_are_pass_or_fail_and_the_table_is_wide():
    table = example_table()
    assert table.columns == ["student", "rater", "topic", *ITEMS]
    assert set(table.select(pl.col(ITEMS)).unpivot()["value"].unique()) == {0, 1}


def test_a_fit_recovers_the_published_values():
    # The truth behind the ratings: rho and eta of three raters as printed, at sigma = 2.51. Estimates are within
    # three standard errors of it.
    raters = rl.fit(load_example(), model="gmf").raters
    for rater, rho, eta in (("AM:Sport", 0.48, -1.77), ("CO:School", 0.88, 0.99), ("DA:Work", 0.82, 1.76)):
        (row,) = raters.filter(pl.col("rater") == rater).iter_rows(named=True)
        truth = float(rl.capability.gmf(rho=rho, eta=eta, sigma=2.51))
        assert row["kappa"] == pytest.approx(truth, abs=3 * row["kappa_se"])
        assert row["eta"] == pytest.approx(eta, abs=3 * row["eta_se"])
        assert row["kappa_se"] < 0.15


# ------------------------------------------------------------- the printed table of the writing assessment


def test_the_table_is_the_printed_one():
    # Sums that the paper quotes in its text: 7,260 ratings of which 3,757 are passes.
    assert sum(row.n for row in writing.TABLE) == 7260
    assert sum(row.total for row in writing.TABLE) == 3757
    assert all(row.n % len(writing.DELTA) == 0 for row in writing.TABLE)
    assert sorted(writing.RATERS) == writing.RATERS


def test_the_intercept_gives_the_printed_number_of_passes():
    def pass_rate(row, difficulty):
        def integrand(theta):
            predictor = row.rho * writing.SIGMA * theta - row.eta - difficulty + writing.ALPHA
            return special.expit(predictor) * stats.norm.pdf(theta)

        return integrate.quad(integrand, -9, 9)[0]

    expected = sum(
        row.n / len(writing.DELTA) * pass_rate(row, difficulty)
        for row in writing.TABLE
        for difficulty in writing.DELTA.values()
    )
    assert abs(expected - 3757) < 3
