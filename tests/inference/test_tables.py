"""The tables of a fit."""

import pytest

import raterlens as rl

COLUMNS = [
    *(
        "rater",
        "n",
        "mean_score",
        "rho",
        "rho_se",
        "eta",
        "eta_se",
        "kappa",
        "kappa_se",
        "kappa_low",
        "kappa_high",
    ),
    *(
        "sharpness",
        "sharpness_se",
        "sharpness_low",
        "sharpness_high",
        "passes",
        "passes_low",
        "passes_high",
        "flag",
    ),
]


def test_tables_have_the_promised_columns(small):
    fit = rl.fit(small, model="gmf")
    assert fit.raters.columns == COLUMNS
    assert fit.items.columns == ["item", "n", "mean_score", "delta", "delta_se"]
    assert fit.students.columns == ["student", "n", "mean_score", "theta", "theta_se"]
    assert fit.raters["rho"].max() == 1
    assert fit.raters["eta"].mean() == pytest.approx(0, abs=1e-12)
    assert fit.items["delta"].sum() == pytest.approx(0, abs=1e-12)
    assert fit.aic == 2 * fit.n_parameters - 2 * fit.loglik
    assert fit.n_parameters == 2 * 5 + 3 - 1
