"""Other choices: each is the fit that it says."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.sensitivity import sensitivity


def test_other_links_and_models_are_those_fits(small):
    fit = rl.fit(small)
    table = sensitivity(fit, small)
    assert set(table["change"]) == {
        "link probit",
        "model tfm",
        f"without {fit.raters.sort('rho')['rater'][-1]}",
    }
    tfm = table.filter(pl.col("change") == "model tfm")
    assert tfm["other"].to_numpy() == pytest.approx(
        rl.fit(small, model="tfm").raters["kappa"].to_numpy(), abs=1e-6
    )
    assert table["difference"].to_numpy() == pytest.approx((table["other"] - table["kappa"]).to_numpy())


def test_groups_are_left_out_in_turn(small):
    school = np.where(small.student % 2 == 0, "a", "b")
    table = sensitivity(rl.fit(small), small, links=(), models=(), groups={"school": school})
    assert {"without school a", "without school b"} <= set(table["change"])
