"""Raters explained by covariates: recovery, the user's units, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.models.covariates import read_covariates


@pytest.fixture(scope="module")
def made():
    """log slope = 0.2 + 0.05 years - 0.3 novice; severity = 0.5 - 0.08 years + 0.4 novice, years around 2000."""
    rng = np.random.default_rng(3)
    years, novice = 2000 + rng.integers(0, 12, 20), np.tile([0, 1], 10)
    slope = np.exp(0.2 + 0.05 * (years - 2006) - 0.3 * novice)
    severity = 0.5 - 0.08 * (years - 2006) + 0.4 * novice
    made = rl.simulate(
        students=1500, raters=20, items=3, raters_per_student=3, slope=slope, severity=severity, seed=2
    )
    return made, pl.DataFrame({"rater": made.ratings.raters, "since": years, "novice": novice.astype(bool)})


def test_coefficients_are_recovered_in_the_users_units(made):
    simulated, frame = made
    fit = rl.fit(simulated.ratings, model="gmf", covariates=frame.sample(fraction=1, shuffle=True, seed=1))
    assert fit.converged
    table = fit.table("covariates")
    assert table["term"].to_list() == ["intercept", "since", "novice"]
    for name, true in (("severity", [-0.08, 0.4]), ("log_discrimination", [0.05, -0.3])):
        z = (table[name].to_numpy()[1:] - true) / table[f"{name}_se"].to_numpy()[1:]
        assert np.abs(z).max() < 3, name
        assert table[f"{name}_se"].to_numpy()[1:].max() < 0.1
    assert fit.n_parameters == 3 + 3 + 3 - 1
    # Every rater's slope and severity is the linear function that the table states.
    terms = np.column_stack([np.ones(20), *(frame[name].cast(float) for name in ("since", "novice"))])
    effects = fit.calibration.effects
    np.testing.assert_allclose(effects["severity"], terms @ table["severity"].to_numpy(), atol=1e-8)
    np.testing.assert_allclose(
        np.log(effects["slope"]), terms @ table["log_discrimination"].to_numpy(), atol=1e-8
    )


def test_units_do_not_matter(small):
    frame = pl.DataFrame({"rater": small.raters, "years": [1.0, 5.0, 2.0, 8.0, 3.0]})
    days = frame.with_columns(years=365.25 * pl.col("years") + 1e5)
    one, other = rl.fit(small, model="gmf", covariates=frame), rl.fit(small, model="gmf", covariates=days)
    assert one.loglik == pytest.approx(other.loglik, abs=1e-8)
    for column in ("severity", "severity_se", "log_discrimination", "log_discrimination_se"):
        ratio = one.table("covariates")[column][1] / other.table("covariates")[column][1]
        assert ratio == pytest.approx(365.25, rel=1e-4)


def test_a_standard_error_against_a_profile(small):
    """Twice the fall of the log-likelihood one standard error away is about 1."""
    frame = pl.DataFrame({"rater": small.raters, "years": [1.0, 5.0, 2.0, 8.0, 3.0]})
    fit = rl.fit(small, model="tfm", covariates=frame)
    row = fit.table("covariates").row(1, named=True)
    assert set(row) == {"term", "severity", "severity_se"}
    best, h = fit.loglik, row["severity_se"]

    def fall(shift: float) -> float:
        own = fit.calibration.effects["severity"] + shift * frame["years"].to_numpy()
        # The intercept and the items are free: hold the differences between raters, let their origin move.
        anchors = rl.Anchors(raters=dict(zip(small.raters, [(None, float(b)) for b in own], strict=True)))
        return 2 * (best - rl.fit(small, model="tfm", anchors=anchors, standard_errors=False).loglik)

    assert fall(0.0) == pytest.approx(0, abs=1e-6)
    assert (fall(h) + fall(-h)) / 2 == pytest.approx(1, abs=0.02)


def test_any_dataframe_and_any_order(small):
    frame = pd.DataFrame({"rater": ["R5", "R4", "R3", "R2", "R1", "R0"], "x": [5, 4, 3, 2, 1, 0]})
    found = read_covariates(frame, small.raters)
    assert found.names == ("x",)
    assert found.values[:, 0].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"rater": ["R1", "R2"], "x": [1, 2]}, "covariates lack 'R3', 'R4', 'R5'"),
        ({"judge": ["R1"], "x": [1]}, "into one called 'rater'"),
        ({"rater": [f"R{i}" for i in range(1, 6)]}, "at least one column"),
        ({"rater": ["R1", "R1", "R2", "R3", "R4", "R5"], "x": range(6)}, "rater 'R1' more than once"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": list("abcde")}, "code categories as 0 and 1"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": [1, 2, None, 4, 5]}, "no finite number for 'R3'"),
        ({"rater": [f"R{i}" for i in range(1, 6)], "x": [2] * 5}, "is 2 for every rater"),
        (
            {"rater": [f"R{i}" for i in range(1, 6)], "x": range(5), "y": [1.0, 3.0, 5.0, 7.0, 9.0]},
            "'y' is determined",
        ),
        (
            {"rater": [f"R{i}" for i in range(1, 6)]}
            | {c: np.random.default_rng(ord(c)).random(5) for c in "abcde"},
            "fewer columns than raters",
        ),
    ],
)
def test_wrong_covariates_say_what_to_do(small, columns, message):
    with pytest.raises(InputError, match=message):
        rl.fit(small, model="gmf", covariates=pl.DataFrame(columns, strict=False))


def test_wrong_combinations_say_what_to_do(small):
    frame = pl.DataFrame({"rater": small.raters, "x": [1, 2, 3, 4, 6]})
    with pytest.raises(OptionError, match="takes no covariates"):
        rl.fit(small, model="probit", covariates=frame)
    with pytest.raises(OptionError, match="leave out one of them"):
        rl.fit(small, model="gmf", covariates=frame, anchors=rl.Anchors(items={"I1": 0.0}))
    with pytest.raises(InputError, match="cannot read a table from an object of type 'int'"):
        rl.fit(small, model="gmf", covariates=3)
