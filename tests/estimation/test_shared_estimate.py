"""Planted biases are found again, whichever side most raters are on."""

import numpy as np
import polars as pl
from scipy import special, stats

import raterlens as rl
from tests.support.shared_panels import panel


def test_planted_biases() -> None:
    made = panel(students=250, known=80, seed=3)
    fit = rl.fit(made.ratings, model="gmf", shared=True, reference="perfect")
    raters = fit.raters
    off = (raters["bias"].to_numpy() - made.bias) / raters["bias_se"].to_numpy()
    assert np.abs(off).max() < 3.2
    assert np.corrcoef(fit.students["shared"], made.zeta)[0, 1] > 0.7
    low, high = raters["bias_low"].to_numpy(), raters["bias_high"].to_numpy()
    np.testing.assert_allclose((low + high) / 2, raters["bias"])


def test_a_panel_most_of_whom_are_biased_is_not_ranked_upside_down() -> None:
    made = panel(students=300, raters=10, known=80, bias=3.0, share=0.8, seed=4)
    honest = made.bias == 0
    for shared, above in ((False, False), ("auto", True)):
        fit = rl.fit(made.ratings, model="gmf", shared=shared, reference="perfect", standard_errors=False)
        kappa = fit.raters["kappa"].to_numpy()
        assert (kappa[honest].mean() > kappa[~honest].mean()) == above


def test_trusted_raters_define_ability_where_no_answer_is_known() -> None:
    made = panel(students=250, raters=8, seed=5)
    fit = rl.fit(made.table.drop("gold"), model="gmf", trusted=["r06", "r07"], shared=True)
    bias = fit.raters["bias"].to_numpy()
    assert bias[6] == bias[7] == 0.0
    assert fit.raters["bias_se"][6] == 0.0
    assert bias[:4].min() > bias[4:].max()


def test_few_known_answers_place_the_truth_where_raters_differ_much_and_some_are_opposed_to_it() -> None:
    random = np.random.default_rng(2)
    theta, zeta = random.standard_normal((2, 110))
    slope, bias = np.linspace(-1.0, 3.5, 24), random.uniform(0.0, 2.0, 24)
    score = random.random((110, 24)) < special.expit(np.outer(theta, slope) + np.outer(zeta, bias))
    table = pl.DataFrame(
        {
            "student": np.repeat(np.arange(110), 24),
            "rater": np.tile([f"r{place:02}" for place in range(24)], 110),
            "score": score.ravel().astype(int),
            "gold": [int(theta[n] > 0) if n < 25 else None for n in range(110) for _ in range(24)],
        }
    )
    fit = rl.fit(
        rl.read(table, known="gold"), model="gmf", shared=True, reference="perfect", standard_errors=False
    )
    kappa = fit.raters["kappa"].to_numpy()
    assert stats.spearmanr(kappa, slope).statistic > 0.9
    assert kappa.min() < 0.0
