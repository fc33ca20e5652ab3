"""Small panels as samples of raters: modes against another program of the same model, and panels with known truth."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, special

import raterlens as rl
from benchmarks.truth.recorded_designs import design
from raterlens.estimation.facets_estimate import Covariance
from raterlens.inference import panel_posterior
from raterlens.inference.panel_posterior import _around, _At, _Quadratic, _quantiles
from raterlens.likelihood.priors import FREEDOM
from raterlens.models.facets import Redundancy


def written_out(made, spread: float, of_severities: float):
    """The mode of slopes and severities on one item, from the formulas alone."""
    t = np.linspace(-8, 8, 321)
    weight = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    ratings, n = made.ratings, made.ratings.n_raters

    def loss(x):
        s = np.multiply.outer(x[:n], t) - x[n:, None]
        log = np.where(
            ratings.score[:, None] == 1,
            special.log_expit(s)[ratings.rater],
            special.log_expit(-s)[ratings.rater],
        )
        total = np.zeros((ratings.n_students, len(t)))
        np.add.at(total, ratings.student, log)
        loglik = special.logsumexp(total, b=weight, axis=1).sum()
        spread_out = optimize.minimize_scalar(
            lambda m: np.log1p(((x[:n] - m) / (spread * np.hypot(x[:n].mean(), 0.1))) ** 2 / FREEDOM).sum(),
            bounds=(-5, 5),
            method="bounded",
            options={"xatol": 1e-9},
        )
        severities = x[n:] - x[n:].mean()
        return -loglik + (FREEDOM + 1) / 2 * spread_out.fun + severities @ severities / (2 * of_severities**2)

    start = np.concatenate([np.ones(n), np.zeros(n)])
    return optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-5}).x


def test_modes_are_those_of_the_model_written_out(monkeypatch):
    made = rl.simulate(students=40, raters=3, items=1, difficulty=0.0, seed=4)
    seen: list[_At] = []
    summary = panel_posterior._summary

    def spy(components, weights, mean):
        seen.extend(components)
        return summary(components, weights, mean)

    monkeypatch.setattr(panel_posterior, "_summary", spy)
    rl.fit(made.ratings, model="gmf", prior="panel")
    assert len(seen) >= 4
    for one in (seen[0], seen[-1]):
        expected = written_out(made, one.prior.slope_spread, one.prior.severity_spread)
        np.testing.assert_allclose(one.mode[:6], expected, atol=3e-3)


def test_a_blind_rater_is_left_where_it_is_and_its_interval_holds_zero():
    slope = [0.0, 1.5, 1.5, 1.5, 1.5]
    made = rl.simulate(students=200, raters=5, items=2, slope=slope, severity=0.0, seed=2)
    row = rl.fit(made.ratings, model="gmf", prior="panel").table("raters").row(0, named=True)
    assert row["sharpness_low"] < 0 < row["sharpness_high"] < 0.5


def test_few_ratings_are_drawn_together_and_many_left_alone():
    spread = {}
    for students in (30, 3000):
        made = rl.simulate(students=students, raters=5, items=2, slope=[0.8, 1.0, 1.2, 1.4, 1.6], seed=3)
        plain, sampled = (
            rl.fit(made.ratings, model="gmf", prior=prior).table("raters") for prior in (None, "panel")
        )
        spread[students] = float(sampled["rho"].std() / plain["rho"].std())
    assert spread[30] < 0.7
    assert spread[3000] == pytest.approx(1.0, abs=0.1)


def test_a_rater_who_passes_everybody_stays_finite_and_moves_nobody():
    """True severities are 0; by maximum likelihood one at -infinity would set everybody's origin."""
    made = rl.simulate(students=80, raters=5, items=2, severity=[-9.0, 0.0, 0.0, 0.0, 0.0], slope=1.2, seed=5)
    raters = rl.fit(made.ratings, model="gmf", prior="panel").table("raters")
    assert raters["flag"][0] == "all pass"
    assert np.abs(raters["eta"][0]) < 8
    assert np.ptp(raters["eta"].to_numpy()[1:]) < 1.0


def test_two_raters_have_a_spread_that_is_taken_for_granted():
    fit = rl.fit(rl.simulate(students=80, raters=2, items=3, seed=6).ratings, model="gmf", prior="panel")
    spread = fit.calibration.spread
    assert spread.slope == pytest.approx(0.5 * spread.mean_slope, rel=0.05)
    assert spread.slope_low is None


def test_the_spread_is_reported_with_an_interval_that_holds_the_truth():
    slope = 1.5 + 0.5 * np.random.default_rng(7).standard_normal(30)
    made = rl.simulate(students=400, raters=30, items=3, raters_per_student=4, slope=slope, seed=7)
    spread = rl.fit(made.ratings, model="gmf", prior="panel").calibration.spread
    assert spread.slope_low < np.std(slope) < spread.slope_high
    assert spread.severity_low < np.std(made.truth.severity) < spread.severity_high
    assert spread.severity_low < spread.severity < spread.severity_high


def test_estimates_do_not_depend_on_which_errors_are_shown():
    ratings = rl.simulate(students=60, raters=5, items=2, seed=8).ratings
    shown, hidden, robust = (
        rl.fit(ratings, prior="panel", **{"model": "gmf"} | options).table("raters")
        for options in ({}, {"standard_errors": False}, {"covariance": "sandwich"})
    )
    for other in (hidden, robust):
        np.testing.assert_allclose(other["kappa"], shown["kappa"], rtol=1e-12)
    assert hidden["kappa_se"].fill_nan(None).is_null().all()


def test_covariates_say_what_is_usual_of_such_raters():
    years = np.array([1.0, 2.0, 4.0, 8.0, 9.0, 12.0])
    made = rl.simulate(students=150, raters=6, items=2, slope=1.2, severity=0.2 * years - 1.2, seed=9)
    known = {"rater": made.ratings.raters.to_list(), "years": years.tolist()}
    alone, helped = (
        rl.fit(made.ratings, model="gmf", prior="panel", covariates=given).calibration.spread
        for given in (None, known)
    )
    assert helped.severity < 0.6 * alone.severity


def _coarse(weights: np.ndarray) -> np.ndarray:
    return weights[::100] / weights[::100].sum()


def test_quantiles_of_a_grid():
    values = np.exp(np.linspace(-1, 1, 2001))
    weights = np.exp(-(np.log(values) ** 2) / (2 * 0.2**2))
    weights /= weights.sum()
    middle, low, high = _quantiles([(1.0, values, weights)])
    np.testing.assert_allclose(np.log([middle, low, high]), [0.0, -0.392, 0.392], atol=0.002)
    # Two grids that hardly overlap: half of the mixture is on each.
    apart = _quantiles([(0.5, values[::100], _coarse(weights)), (0.5, 20 * values, weights)])
    assert np.log(apart[1]) == pytest.approx(-1.645 * 0.2, abs=0.02)
    assert np.log(apart[2]) == pytest.approx(np.log(20) + 1.645 * 0.2, abs=0.02)
    assert _around(3)[-1] > _around(30)[-1]


def test_out_of_core_ratings_have_the_same_raters(tmp_path):
    ratings = rl.simulate(students=300, raters=60, items=2, raters_per_student=3, seed=10).ratings
    ratings.table().write_parquet(tmp_path / "ratings.parquet")
    packed = rl.pack(tmp_path / "ratings.parquet", tmp_path / "ratings.rlpack")
    here, there = (rl.fit(given, model="gmf", prior="panel") for given in (rl.read(ratings.table()), packed))
    np.testing.assert_allclose(there.raters["kappa"], here.raters["kappa"], atol=1e-6)
    assert there.spread.slope == pytest.approx(here.spread.slope, rel=1e-5)


def test_covariates_of_a_sample_are_a_regression():
    years = np.linspace(0.0, 10.0, 12)
    made = rl.simulate(students=300, raters=12, items=3, slope=1.5, severity=0.15 * years - 0.75, seed=11)
    known = {"rater": made.ratings.raters.to_list(), "years": years.tolist()}
    found = (
        rl.fit(made.ratings, model="gmf", prior="panel", covariates=known)
        .table("covariates")
        .row(1, named=True)
    )
    assert found["term"] == "years"
    assert abs(found["severity"] - 0.15) < 3 * found["severity_se"]
    assert abs(found["slope"]) < 3 * found["slope_se"]


def test_abilities_stay_on_the_scale_of_the_anchors():
    """Students a unit more able than those of the fit that anchors half of the raters."""
    earlier = rl.simulate(students=400, raters=4, items=3, slope=1.5, seed=12)
    known = rl.fit(earlier.ratings, model="gmf")
    held = {
        str(label): (1.5, float(b))
        for label, b in zip(known.raters["rater"][:2], earlier.truth.severity, strict=False)
    }
    ability = 1.0 + np.random.default_rng(3).standard_normal(200)
    now = rl.simulate(
        students=200,
        raters=4,
        items=3,
        slope=1.5,
        severity=earlier.truth.severity,
        difficulty=earlier.truth.difficulty,
        alpha=earlier.truth.alpha,
        ability=ability,
        seed=13,
    )
    items = {
        str(label): float(d - earlier.truth.alpha)
        for label, d in zip(now.ratings.items, now.truth.difficulty, strict=True)
    }
    fit = rl.fit(now.ratings, model="gmf", prior="panel", anchors=rl.Anchors(raters=held, items=items))
    assert fit.students["theta"].mean() == pytest.approx(1.0, abs=0.25)


def test_severities_are_integrated_out_at_every_spread():
    """Two raters, on a grid: ∫ exp(g d − d' I d / 2) v^-1 exp(−(m + d)' C (m + d) / 2 v²) dd, C centring."""
    mode, uphill = np.array([0.4, -0.3]), np.array([0.2, -0.5])
    information, centring = np.array([[3.0, 0.8], [0.8, 2.0]]), np.array([[0.5, -0.5], [-0.5, 0.5]])
    prior = SimpleNamespace(
        severities=slice(0, 2),
        severity_curvature=lambda: centring,
        n_raters=2,
        severity_means=np.ones((2, 1)),
        usual_slope=lambda mode: 1.5,
    )
    none, bounds = np.zeros((0, 2)), (np.full(2, -9.0), np.full(2, 9.0))
    held = np.zeros(2, dtype=bool)
    known = _Quadratic(prior, mode, uphill, information, Redundancy(none, none), held, bounds)
    side = np.linspace(-7, 7, 561)
    moves = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    plain = moves @ uphill - np.einsum("ni,ij,nj->n", moves, information, moves) / 2
    heights = []
    for spread in (0.4, 1.1):
        at = mode + moves
        logs = plain - np.einsum("ni,ij,nj->n", at, centring, at) / (2 * spread**2) - np.log(spread)
        # s exp(-s / 1), per unit of log s, of the spread relative to the usual slope
        expected = special.logsumexp(logs) + 2 * np.log(spread / 1.5) - spread / 1.5
        weight = np.exp(logs - special.logsumexp(logs))
        height, mean, matrix = known.under(spread)
        np.testing.assert_allclose(mean, weight @ at, atol=1e-6)
        off = at - weight @ at
        np.testing.assert_allclose(matrix, (weight[:, None] * off).T @ off, atol=1e-6)
        heights.append((height, expected))
    assert heights[1][0] - heights[0][0] == pytest.approx(heights[1][1] - heights[0][1], abs=1e-6)


def test_a_mixture_has_what_is_within_its_parts_and_what_is_between_them():
    random = np.random.default_rng(0)
    parts = [(np.array([0.0, 1.0]), np.diag([1.0, 0.5])), (np.array([2.0, -1.0]), np.diag([0.2, 2.0]))]
    drawn = np.concatenate(
        [random.multivariate_normal(*parts[0], 60_000), random.multivariate_normal(*parts[1], 140_000)]
    )
    mean, matrix = panel_posterior._mixed(np.array([0.3, 0.7]), parts)
    np.testing.assert_allclose(mean, drawn.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(matrix, np.cov(drawn.T), atol=0.03)


def test_a_spread_is_likeliest_where_it_is_usual():
    spreads = np.linspace(0.05, 5, 991)
    for usual in (0.5, 1.0):
        density = [panel_posterior._of_spread(s, usual) - np.log(s) for s in spreads]
        assert spreads[np.argmax(density)] == pytest.approx(usual, abs=0.006)


def test_a_spread_of_raters_known_well_has_the_error_of_a_standard_deviation():
    """1 / sqrt(2 n) of its logarithm; raters who are known half as well count a quarter."""
    assert panel_posterior._log_deviation(np.zeros(50), 0.7) == pytest.approx(0.1)
    assert panel_posterior._log_deviation(np.full(50, 0.5 * 0.7**2), 0.7) == pytest.approx(0.2)
    assert panel_posterior._log_deviation(np.full(50, 9.0), 0.7) == pytest.approx(2.0)
    known = Covariance(np.diag(np.r_[np.full(3, 9.0), np.zeros(50)]), np.empty(0, np.int64))
    found = panel_posterior._known_well(0.7, known, slice(3, 53))
    assert found == pytest.approx((0.7, 0.7 * np.exp(-0.1959964), 0.7 * np.exp(0.1959964)))
    assert panel_posterior._known_well(0.7, None, slice(3, 53)) == (0.7, None, None)


@pytest.mark.parametrize("number", [18, 39])
def test_a_spread_whose_quadratic_leads_far_astray_does_not_count(monkeypatch, number):
    """All but flat some way, it has a mean far from the mode, where the posterior is lower."""
    seen: list[tuple[list[_At], np.ndarray]] = []
    summary = panel_posterior._summary

    def spy(components, weights, mean):
        seen.append((components, weights))
        return summary(components, weights, mean)

    monkeypatch.setattr(panel_posterior, "_summary", spy)
    made, options = design(number)
    fit = rl.fit(made.frame(), "gmf", assumptions="ignore", **options)
    ((components, weights),) = seen
    away = [np.abs(one.mean - one.mode).max() for one in components]
    assert weights @ away < 0.5
    assert fit.spread is not None
    assert 0.9 < fit.spread.mean_slope < 1.5


def test_where_nobody_discriminates_raters_may_be_worse_than_chance_as_well_as_better():
    """A slope of 0 is at no bound where raters are a sample."""
    made, options = design(145)
    raters = rl.fit(made.frame(), "gmf", assumptions="ignore", **options).table("raters")
    assert (raters["rho"] == 0).all()
    assert (raters["kappa_low"] < -0.9).all()
    assert (raters["kappa_high"] > 0.9).all()
