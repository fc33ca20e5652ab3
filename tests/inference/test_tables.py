"""Tables of a fit, and intervals of what is beside ability."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate
from raterlens.estimation.methods import estimate
from raterlens.inference import tables as halo_interval
from raterlens.inference.rater_comparison import own_error
from raterlens.inference.tables import spreads_of
from raterlens.models.build import build
from raterlens.models.calibration import Panel
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.repeated_verdicts import verdicts

# ----------------------------------------------------------------------------------------------------
# The tables of a fit.


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


def fit_of(true: float, **options):
    drawn = rl.simulate(students=150, raters=4, items=4, raters_per_student=2, halo=true, seed=4)
    return rl.fit(drawn.ratings, **{"model": "gmf"} | options)


def test_a_clear_spread_has_an_interval_around_it():
    row = fit_of(1.2, halo="common").raters.row(0, named=True)
    assert 0.5 < row["halo_low"] < row["halo"] < row["halo_high"] < 2.2
    assert row["halo_se"] == pytest.approx((row["halo_high"] - row["halo_low"]) / 3.92, rel=0.2)


@pytest.mark.parametrize("true", [0.8, 1.4])
def test_the_interval_allows_for_what_other_parameters_take_up(monkeypatch, true):
    with_it = fit_of(true, halo="common").raters
    assert (with_it["halo"][0] < 1) == (true < 1)
    monkeypatch.setattr(halo_interval, "_MOST_PARAMETERS", 0)
    without = fit_of(true, halo="common").raters
    assert with_it["halo"][0] == without["halo"][0]
    assert with_it["halo_high"][0] > without["halo_high"][0]


def test_a_spread_of_0_has_a_one_sided_interval():
    found = fit_of(0.0, halo="rater").raters
    none = found.filter(found["halo"] == 0)
    assert none.height > 0
    assert (none["halo_low"] == 0).all()
    assert (none["halo_high"] > 0).all()
    assert np.isnan(none["halo_se"].to_numpy()).all()


def test_without_standard_errors_there_is_no_interval():
    found = fit_of(1.2, halo="common", standard_errors=False).raters
    assert found["halo"][0] > 0.5
    assert np.isnan(found["halo_low"].to_numpy()).all()


# ------------------------------------------------------------------------------- against what it means, spelled out


@pytest.fixture(scope="module")
def found() -> FacetsEstimate:
    made = rl.simulate(students=60, raters=3, items=3, raters_per_student=2, halo=1.0, seed=4)
    link = get_link("logit")
    model, response = build(made.ratings, Options(MODELS["gmf"], link, "rating scale", halo="common"))
    return estimate(made.ratings, model, response, link, "mml")


def at_variance(found: FacetsEstimate, variance: float) -> FacetsEstimate:
    x = found.parameters.copy()
    x[found.model.blocks["halo"]] = variance
    return replace(found, parameters=x)


def known_to(found: FacetsEstimate, error: float) -> Covariance:
    """The variance of the reading effect has this standard error."""
    matrix = 0.01 * np.eye(found.model.blocks.size)
    place = found.model.blocks["halo"].start
    matrix[place, place] = error**2
    return Covariance(matrix, np.empty(0, np.int64))


def _columns(found, known):
    return dict(
        zip(("halo", "halo_se", "halo_low", "halo_high"), spreads_of(found, known, "halo"), strict=True)
    )


@pytest.mark.parametrize(
    ("variance", "error", "low", "high"),
    [
        # Far from 0, of the spread: sqrt(1.1) -+ 1.96 x 1.2 x 0.2 / (2 sqrt(1.1)).
        (1.0, 0.2, 1.1**0.5 - 1.96 * 0.12 / 1.1**0.5, 1.1**0.5 + 1.96 * 0.12 / 1.1**0.5),
        # 0 is within a one-sided interval of the variance, which ends at 0.5 + 0.1 + 1.96 x 1.2 x 0.4.
        (0.5, 0.4, 0.0, (0.6 + 1.96 * 0.48) ** 0.5),
    ],
)
def test_an_interval_is_of_the_spread_far_from_0_and_of_the_variance_near_it(
    found, monkeypatch, variance, error, low, high
):
    monkeypatch.setattr(halo_interval, "_adjustment", lambda *given: (0.1, 1.2))
    columns = _columns(at_variance(found, variance), known_to(found, error))
    np.testing.assert_allclose(columns["halo"], variance**0.5)
    np.testing.assert_allclose(columns["halo_se"], error / (2 * variance**0.5))
    np.testing.assert_allclose(columns["halo_low"], low, rtol=1e-4)
    np.testing.assert_allclose(columns["halo_high"], high, rtol=1e-4)


@pytest.mark.parametrize("fall", [0.0, 3.0])
def test_a_variance_of_0_could_be_as_large_as_the_likelihood_allows(found, monkeypatch, fall):
    """It falls by g v + v² / (2 e²), of which 1.6449² / 2 is allowed."""
    monkeypatch.setattr(halo_interval, "_adjustment", lambda *given: (0.0, 1.0))
    at = at_variance(found, 0.0)
    gradient = at.value.gradient.copy()
    gradient[at.model.blocks["halo"]] = -fall
    columns = _columns(replace(at, value=replace(at.value, gradient=gradient)), known_to(found, 0.3))
    largest = np.roots([1 / (2 * 0.3**2), fall, -(1.6449**2) / 2]).max()
    np.testing.assert_allclose(columns["halo_high"], largest**0.5, rtol=1e-4)
    assert (columns["halo_low"] == 0).all()
    assert np.isnan(columns["halo_se"]).all()


@pytest.mark.parametrize(("rise", "bend"), [(0.8, 0.6), (0.8, -0.6), (-0.8, 0.6), (40.0, 0.0)])
def test_the_adjustment_is_a_newton_step_on_the_adjusted_profile(found, monkeypatch, rise, bend):
    """With -log|I| / 2 added, where log|I| = -2 (rise v + bend v² / 2), and the error shrinking as exp(0.3 v)."""
    place, error = found.model.blocks["halo"].start, 0.25
    here = float(found.parameters[place])

    def told(estimate, problem, parameters, name):
        v = parameters[place] - here
        return -2 * (rise * v + bend * v**2 / 2), -0.6 * v

    monkeypatch.setattr(halo_interval, "_told", told)
    more, factor = halo_interval._adjustment(found, known_to(found, error), "halo")
    # The profile itself falls by v² / (2 e²); it is bent further, never less.
    newton = rise / (1 / error**2 - min(bend, 0.0))
    assert more == pytest.approx(np.clip(newton, 0.0, error))
    assert factor == pytest.approx(np.exp(0.3 * more))


def test_there_is_no_adjustment_where_nothing_follows_from_it(found, monkeypatch):
    nothing = (0.0, 1.0)
    assert halo_interval._adjustment(at_variance(found, 0.0), known_to(found, 0.3), "halo") == nothing
    assert halo_interval._adjustment(found, known_to(found, 0.0), "halo") == nothing
    for wrong in ((np.nan, 0.0), (0.0, -np.inf)):
        monkeypatch.setattr(halo_interval, "_told", lambda *given, wrong=wrong: wrong)
        assert halo_interval._adjustment(found, known_to(found, 0.3), "halo") == nothing


def test_no_halo_has_the_same_limit_where_raters_are_a_sample():
    """Spreads of raters are looked at with variances of 0 held there, which says nothing of how large they may be."""
    ratings = rl.simulate(students=80, raters=3, items=3, seed=2).ratings
    highest = [
        rl.fit(ratings, model="gmf", halo="common", prior=prior, assumptions="ignore").raters["halo_high"][0]
        for prior in ("none", "panel")
    ]
    assert highest[0] > 0.5
    assert highest[1] == pytest.approx(highest[0], rel=0.02)


# ----------------------------------------------------------------------------------------------------
# The table of repeated answers.


@pytest.fixture(scope="module")
def fit():
    table = verdicts([0.0, 1.0, 3.0, 3.0, 3.0], 3, students=120)
    same = pl.col("score").first().over("student", "rater")
    table = table.with_columns(score=pl.when(pl.col("rater") == "j4").then(same).otherwise("score"))
    table = table.filter((pl.col("rater") != "j0") | (pl.col("epoch") == 0))
    return rl.fit(rl.read(table, draw="epoch"), model="gmf", reference="perfect"), table


def test_raters_who_were_asked_once_are_left_out(fit):
    assert fit[0].table("draws")["rater"].to_list() == ["j1", "j2", "j3", "j4"]


def test_consistency_is_the_share_of_pairs_that_agree(fit):
    found, table = fit
    for label in ("j1", "j4"):
        pairs = [
            one == other
            for scores in table.filter(pl.col("rater") == label).group_by("student").agg("score")["score"]
            for one, other in combinations(scores, 2)
        ]
        row = found.table("draws").row(by_predicate=pl.col("rater") == label, named=True)
        assert row["consistency"] == pytest.approx(np.mean(pairs))
        assert row["consistency_low"] < row["consistency"] <= row["consistency_high"]
        assert (row["questions"], row["answers"]) == (120, 3)


def test_one_answer_is_worth_what_the_table_of_raters_says_and_more_are_worth_more(fit):
    found, _ = fit
    draws = found.table("draws").join(found.raters.select("rater", "kappa", "sharpness"), on="rater")
    for name in ("kappa", "sharpness"):
        values = draws.select(f"{name}_{n}" for n in ("1", "3", "5", "11", "all")).to_numpy()
        np.testing.assert_allclose(values[:, 0], draws[name], rtol=1e-9)
        assert (np.diff(values[:3], axis=1) > 0).all()
        np.testing.assert_allclose(values[3], values[3, 0])  # never differs: asking again buys nothing
    shares = draws.select("share_answer", "share_reading", "share_draw").to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[3, 2] == 0
    assert draws["spread"].null_count() == 1


def test_the_shares_of_variance_by_hand(fit):
    found, _ = fit
    assert found.calibration is not None
    slope, x = (found.calibration.effects[name][1] for name in ("slope", "draw"))
    spread = np.sqrt(np.expm1(2 * x) / 0.346)
    parts = np.array([np.exp(2 * x) * slope**2, spread**2, np.pi**2 / 3])
    row = found.table("draws").row(0, named=True)
    shares = [row[name] for name in ("share_answer", "share_reading", "share_draw")]
    np.testing.assert_allclose(shares, parts / parts.sum())
    assert row["spread"] == pytest.approx(spread)


def test_the_report_and_the_folder_show_it(fit, tmp_path):
    found, _ = fit
    found.report(tmp_path / "report.html")
    assert "Asked several times" in (tmp_path / "report.html").read_text()


# ----------------------------------------------------------------------------------------------------
# The error that a rater's own ratings decide, apart from what all raters share.


SLOPE, SEVERITY = np.array([0.5, 1.0, 1.5, 2.0, 1.2]), np.linspace(-1, 1, 5)


def panel_of(covariance) -> Panel:
    return Panel(SLOPE, SEVERITY, covariance, np.zeros(5))


def test_a_common_scale_and_origin_are_nobodys_own():
    shared = np.zeros((10, 10))
    shared[:5, :5] = 0.2 * np.outer(SLOPE, SLOPE)
    shared[5:, 5:] = 0.1 * np.outer(SLOPE, SLOPE)  # abilities that are all shifted
    panel = panel_of(shared + 1e-6 * np.eye(10))
    assert np.abs(own_error(panel)).max() < 1e-4


@pytest.mark.parametrize("error", [0.01, 0.3])
def test_independent_errors_are_their_own(error):
    panel = panel_of(error * np.eye(10))
    np.testing.assert_allclose(own_error(panel), np.broadcast_to(error * np.eye(2), (5, 2, 2)), rtol=1e-3)


def test_centred_severities_are_as_uncertain_as_their_number_allows():
    """Five severities with errors of variance 0.2, counted from their mean: given four, the fifth's is 5 / 4 of it."""
    covariance = np.zeros((10, 10))
    covariance[:5, :5] = 0.1 * np.eye(5)
    covariance[5:, 5:] = 0.2 * (np.eye(5) - 1 / 5)
    own = own_error(panel_of(covariance))
    np.testing.assert_allclose(own[:, 1, 1], 0.2 * 5 / 4, rtol=1e-3)


def test_of_a_slope_that_ran_to_its_limit_nothing_is_known():
    root = np.random.default_rng(0).normal(size=(10, 10))
    panel, ran = panel_of(root @ root.T), np.arange(5) == 1
    plain, found = own_error(panel), own_error(replace(panel, ran=ran))
    assert found[1, 0, 0] == 1e4
    plain[1, 0, 0] = found[1, 0, 0]
    np.testing.assert_array_equal(found, plain)
