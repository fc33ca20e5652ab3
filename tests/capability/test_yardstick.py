"""The user's yardstick: every reference, population and origin, at the fit and after it, against their definitions."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.capability.population import Normal
from raterlens.capability.yardstick import (
    LARGEST_SLOPE,
    Yardstick,
    may_set_yardstick,
    severity_of_origin,
    slope_of_yardstick,
    students_of,
)
from raterlens.inference.measurement import RATER_COLUMNS

NUMBERS = list(RATER_COLUMNS)
# Computed twice from the same numbers.
SAME = 1e-12


@pytest.fixture(scope="module")
def fit(small):
    return rl.fit(small, model="gmf")


@pytest.fixture(scope="module")
def slopes(fit) -> np.ndarray:
    return fit.raters["rho"].to_numpy() * fit.sigma


def test_the_default_restates_the_fit(fit):
    assert_frame_equal(fit.capability(), fit.raters.select("rater", *NUMBERS), check_exact=True)


@pytest.mark.parametrize(
    "choice",
    [
        {"reference": "quantile 0.5"},
        {"reference": "R2"},
        {"reference": 2.0},
        {"reference": "perfect"},
        {"population": (0.5, 1.3)},
        {"population": "estimated"},
        {"population": rl.Window(0.3, 0.4)},
        {"origin": "absolute"},
        {"reference": "R3", "population": "window -0.5 0.2", "origin": "absolute"},
    ],
)
def test_the_same_choice_at_the_fit_and_after_it(small, fit, choice):
    fitted = rl.fit(small, **{"model": "gmf"} | choice)
    assert fitted.loglik == fit.loglik
    assert_frame_equal(fitted.raters.select("rater", *NUMBERS), fit.capability(**choice), check_exact=True)
    assert_frame_equal(fitted.raters.select("rater", *NUMBERS), fitted.capability(), check_exact=True)


def test_the_perfect_rater_holds_still(fit, small):
    """kappa and sharpness are those of the formulas, whoever else is on the panel."""
    found = fit.capability(reference="perfect")
    slope, eta = fit.raters["rho"].to_numpy() * fit.sigma, found["eta"].to_numpy()
    best = rl.capability.delta(slope) * np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found["rho"], best, rtol=1e-9)
    expected = capability.gmf(rho=np.ones(len(slope)), eta=eta, sigma=slope) * best
    np.testing.assert_allclose(found["kappa"], expected, rtol=1e-9)
    np.testing.assert_allclose(
        found["sharpness"], capability.sharpness(slope=slope, severity=eta), rtol=1e-12
    )
    for other in ({"reference": "R2"}, {"reference": 3.0}):
        np.testing.assert_allclose(fit.capability(**other)["sharpness_se"], found["sharpness_se"], rtol=1e-12)


def test_reference_quantile_rater_and_number(fit, slopes):
    for reference, sigma in (
        ("max", slopes.max()),
        ("quantile 0.75", np.quantile(slopes, 0.75)),
        ("quantile 0", slopes.min()),
        ("R2", slopes[1]),
        (1.3, 1.3),
        ("1.3", 1.3),
    ):
        rho = fit.capability(reference=reference)["rho"].to_numpy()
        np.testing.assert_allclose(rho, slopes / sigma, rtol=1e-10)


def test_kappa_may_exceed_one_where_the_yardstick_is_not_the_best(fit, slopes):
    weakest = int(slopes.argmin())
    table = fit.capability(reference=fit.raters["rater"][weakest])
    assert table["kappa"].max() > 1
    assert table["rho"][weakest] == 1
    expected = capability.gmf(rho=1.0, eta=table["eta"][weakest], sigma=slopes[weakest])
    assert table["kappa"][weakest] == pytest.approx(float(expected), abs=1e-10)


def test_a_report_takes_any_yardstick(small, slopes, tmp_path):
    weakest = small.raters[int(slopes.argmin())]
    for choice in ({"reference": weakest}, {"population": rl.Window(0.5, 0.2)}, {"origin": "absolute"}):
        page = rl.fit(small, **{"model": "gmf"} | choice).report(tmp_path / "report.html").read_text()
        assert weakest in page


def test_a_fixed_yardstick_has_no_error_of_its_own(small, slopes):
    fitted = rl.fit(small, model="gmf", reference=2.0)
    assert (fitted.sigma, fitted.sigma_se) == (2.0, 0.0)
    spread = np.sqrt(np.diag(fitted.calibration.covariance))[: len(slopes)]
    np.testing.assert_allclose(fitted.raters["rho_se"], spread / 2.0, rtol=1e-10)


def test_standard_errors_carry_the_yardsticks_own(fit, slopes):
    """The delta method by hand, for the median rater as yardstick and severity from the average."""
    table, n = fit.capability(reference="quantile 0.5"), len(slopes)
    middle = int(np.argsort(slopes)[n // 2])
    effects = np.concatenate([fit.calibration.effects["slope"], fit.calibration.effects["severity"]])

    def kappa(x: np.ndarray, rater: int) -> float:
        a, b = x[:n], x[n:]
        index = capability.gmf(
            rho=0.5, eta=b[rater] - b.mean(), sigma=2 * a[rater]
        )  # a[rater], whatever sigma
        return float(index * capability.delta(2 * a[rater]) / capability.delta(a[middle]))

    for rater in range(n):
        h = 1e-5
        gradient = [
            (kappa(effects + h * e, rater) - kappa(effects - h * e, rater)) / (2 * h) for e in np.eye(2 * n)
        ]
        spread = fit.calibration.covariance[: 2 * n, : 2 * n]
        assert table["kappa_se"][rater] == pytest.approx(np.sqrt(gradient @ spread @ gradient), rel=1e-6)
        assert table["kappa"][rater] == pytest.approx(kappa(effects, rater), abs=SAME)


def test_population_normal_is_that_of_the_pure_functions(fit):
    table = fit.capability(population=(0.5, 1.3))
    expected = capability.gmf(rho=table["rho"], eta=table["eta"], sigma=fit.sigma, mean=0.5, sd=1.3)
    np.testing.assert_allclose(table["kappa"], expected, atol=SAME)


def test_population_window_is_a_difference_of_pass_rates(fit, slopes):
    table = fit.capability(population=rl.Window(0.3, 0.4))
    logistic = lambda s: 1 / (1 + np.exp(-s))  # noqa: E731
    eta = table["eta"].to_numpy()
    rate = logistic(slopes * 0.7 - eta) - logistic(slopes * -0.1 - eta)
    best = logistic(fit.sigma * 0.4) - logistic(-fit.sigma * 0.4)
    np.testing.assert_allclose(table["kappa"], rate / best, atol=1e-10)


def test_the_estimated_population_is_near_the_one_it_was_drawn_from():
    made = rl.simulate(students=2000, raters=5, items=4, raters_per_student=3, seed=6)
    fit = rl.fit(made.ratings, model="gmf")
    np.testing.assert_allclose(
        fit.capability(population="estimated")["kappa"], fit.raters["kappa"], atol=0.01
    )


def test_absolute_severity_keeps_alpha(fit):
    absolute, average = fit.capability(origin="absolute"), fit.capability()
    np.testing.assert_allclose(absolute["eta"], average["eta"].to_numpy() - fit.alpha, atol=SAME)
    expected = capability.gmf(rho=absolute["rho"], eta=absolute["eta"], sigma=fit.sigma)
    np.testing.assert_allclose(absolute["kappa"], expected, atol=SAME)


def test_an_items_difficulty_counts_with_its_uncertainty(fit):
    item = fit.items.row(0, named=True)
    table = fit.capability(item=item["item"])
    eta = fit.raters["eta"].to_numpy() - fit.alpha + item["delta"]
    np.testing.assert_allclose(table["eta"], eta, atol=SAME)
    n = fit.n_raters
    spread = fit.calibration.covariance
    for rater in range(n):
        both = np.zeros(len(spread))
        both[[n + rater, 2 * n]] = 1.0
        assert table["eta_se"][rater] == pytest.approx(np.sqrt(both @ spread @ both), rel=1e-9)


def test_items_with_slopes_and_thresholds_of_their_own(writing_scores):
    fit = rl.fit(writing_scores, model="gmf", scale="partial credit", item_slopes=True)
    item = fit.items.row(1, named=True)
    table = fit.capability(item=item["item"])
    slope = fit.raters["rho"].to_numpy() * fit.sigma * item["slope"]
    np.testing.assert_allclose(table["rho"], slope / slope.max(), rtol=1e-9)
    tau = fit.table("thresholds").filter(item=item["item"])["threshold"].to_numpy()
    t = np.linspace(-8, 8, 2001)
    s = slope[3] * t - table["eta"][3]
    weights = np.exp(np.multiply.outer(s, np.arange(4)) - np.append(0, np.cumsum(tau)))
    score = weights @ np.arange(4) / weights.sum(axis=1) / 3
    rate = np.sum(np.diff(score) * np.exp(-(((t[1:] + t[:-1]) / 2) ** 2) / 2)) / np.sqrt(2 * np.pi)
    best = table["kappa"][3]
    highest = fit.calibration.curve(item["item"])
    from raterlens.capability.population import Normal

    assert best == pytest.approx(rate / float(Normal().best(highest, np.array(slope.max()))), rel=1e-4)


def test_curves_are_those_of_the_pure_functions(fit):
    theta = [-1.0, 0.0, 2.0]
    table = fit.capability(theta=theta)
    assert table.columns == ["rater", "theta", "kappa", "kappa_low", "kappa_high"]
    raters = fit.raters
    expected = capability.gmf(
        rho=raters["rho"].to_numpy()[:, None],
        eta=raters["eta"].to_numpy()[:, None],
        sigma=fit.sigma,
        theta=theta,
    )
    np.testing.assert_allclose(table["kappa"].to_numpy().reshape(-1, 3), expected, atol=SAME)
    assert (table["kappa_low"] <= table["kappa"]).all()
    assert (table["kappa"] <= table["kappa_high"]).all()


def test_curves_average_to_kappa(fit):
    theta = np.linspace(-8, 8, 161)
    table = fit.capability(theta=theta.tolist())
    curve = table["kappa"].to_numpy().reshape(-1, len(theta))
    average = curve @ (0.1 * np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi))
    np.testing.assert_allclose(average, fit.raters["kappa"], atol=1e-9)


def test_probit_raters_have_a_yardstick_of_their_own(small):
    fit = rl.fit(small, model="probit")
    assert (fit.yardstick.reference, fit.yardstick.origin) == ("perfect", "absolute")
    noise = np.sqrt(1 / fit.raters["rho"].to_numpy() ** 2 - 1)
    expected = capability.probit(noise=noise, threshold=fit.raters["eta"].to_numpy() * noise)
    np.testing.assert_allclose(fit.raters["kappa"], expected, atol=1e-10)
    best = fit.capability(reference="max", origin="average")
    assert best["rho"].max() == 1
    assert best["eta"].mean() == pytest.approx(0, abs=SAME)
    window = fit.capability(population=rl.Window(0.0, 0.5))  # no rater does better than one without noise
    assert window["kappa"].max() < 1


def test_everything_survives_a_file(fit, tmp_path):
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    for choice in (
        {"reference": "R2", "origin": "absolute"},
        {"item": "I1"},
        {"theta": 0.5},
        {"population": "estimated"},
    ):
        assert_frame_equal(loaded.capability(**choice), fit.capability(**choice), check_exact=True)
    other = rl.fit(rl.simulate(students=40, raters=3, seed=1).ratings, model="gmf", reference=1.5)
    assert rl.load(other.save(tmp_path / "other.json")).yardstick == other.yardstick


def test_large_panels_keep_the_covariance_within_raters(small, tmp_path, monkeypatch):
    full = rl.fit(small, model="gmf")
    monkeypatch.setattr("raterlens.models.calibration.MOST_RATERS", 2)
    kept = rl.load(rl.fit(small, model="gmf").save(tmp_path / "fit.json"))
    assert_frame_equal(kept.raters, full.raters, check_exact=True)
    # A fixed yardstick and an absolute origin need nothing from other raters: the intervals are the same.
    choice = {"reference": 2.0, "origin": "absolute"}
    assert_frame_equal(kept.capability(**choice), full.capability(**choice), abs_tol=1e-12)
    # Others go without the covariances between raters: near, not equal.
    near = kept.capability()["kappa_se"].to_numpy() / full.capability()["kappa_se"].to_numpy()
    assert 0.5 < near.min() < near.max() < 2
    assert not np.allclose(near, 1)


def test_slopes_at_the_limit_are_no_quantile():
    slopes = np.array([1.0, 2.0, 3.0, LARGEST_SLOPE])
    raters = pl.Series(list("abcd"))
    assert slope_of_yardstick("max", raters, slopes).of(slopes) == 3.0
    assert slope_of_yardstick("quantile 0.5", raters, slopes).of(slopes) == 2.0
    assert slope_of_yardstick("d", raters, slopes).of(slopes) == LARGEST_SLOPE
    assert slope_of_yardstick("max", raters, -slopes).of(slopes) == 3.0


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"reference": "R22"}, r"no rater 'R22'.*did you mean 'R2'.*'R1', 'R2'"),
        ({"reference": "prefect"}, "did you mean .perfect."),
        ({"reference": "quantile 90"}, "between 0 and 1"),
        ({"reference": "quantile high"}, "write it like 'quantile 0.9'"),
        ({"reference": -1.0}, "must be above 0"),
        ({"reference": ["R1"]}, "give 'max', 'perfect', 'quantile 0.9', a rater's label or a number"),
        ({"population": "normal"}, r"choose 'standard'.*Window\(0.3, 0.5\)"),
        ({"population": "normal 0 x"}, "choose 'standard'"),
        ({"population": (0.0, -1.0)}, "standard deviation above 0"),
        ({"population": 3}, "choose 'standard'"),
        ({"origin": "relative"}, "choose 'average'"),
    ],
)
def test_wrong_yardsticks_say_what_to_do(small, fit, choice, message):
    with pytest.raises(OptionError, match=message):
        fit.capability(**choice)
    with pytest.raises(OptionError, match=message):
        rl.fit(small, **{"model": "gmf"} | choice)


def test_wrong_items_and_abilities_say_what_to_do(fit):
    with pytest.raises(OptionError, match="unknown item 'I9'"):
        fit.capability(item="I9")
    with pytest.raises(OptionError, match="all finite"):
        fit.capability(theta=[0.0, np.nan])


def test_a_rater_who_tells_nobody_apart_is_no_yardstick():
    frame = pl.DataFrame(
        {
            "student": np.repeat(np.arange(40), 3),
            "rater": ["a", "b", "c"] * 40,
            "score": [int(s % 2 == 0) if r < 2 else int(s % 2 == 1) for s in range(40) for r in range(3)],
        }
    )
    fit = rl.fit(frame, model="gmf")
    assert fit.raters.filter(rater="c")["rho"].item() == 0
    with pytest.raises(OptionError, match="slope of 0"):
        fit.capability(reference="c")


def test_raters_at_the_limit_or_apart_set_neither_yardstick_nor_origin():
    slopes, raters = np.array([1.0, 2.0, 3.0, 9.0]), pl.Series(["a", "b", "c", "d"])
    at_limit, apart = np.array([False, False, True, False]), np.array([False, False, False, True])
    may = may_set_yardstick(slopes, at_limit, apart)
    assert may.tolist() == [True, True, False, False]
    assert slope_of_yardstick("max", raters, slopes, may).of(slopes) == 2.0
    assert severity_of_origin("average", 4, at_limit | apart).of(np.array([1.0, 2.0, 50.0, -50.0])) == 1.5
    # Where only they discriminate, they are all there is.
    assert may_set_yardstick(slopes * apart, at_limit, apart).tolist() == [True, True, False, True]
    assert severity_of_origin("average", 4, np.ones(4, bool)).of(slopes) == slopes.mean()


def test_an_origin_of_hundreds_of_digits_is_quoted_in_part() -> None:
    ratings = rl.simulate(students=20, raters=3, items=1, seed=1).ratings
    with pytest.raises(OptionError, match="unknown origin") as refused:
        rl.fit(ratings, model="gmf", origin=[10**400])
    assert len(str(refused.value)) < 300


def test_students_whose_pieces_differ_are_spread_further():
    nobody = np.empty(0)
    found = students_of("standard", nobody, nobody, None, 0.44)
    assert isinstance(found, Normal)
    assert found.mean == 0.0
    assert found.sd == pytest.approx(1.2)
    assert students_of("standard", nobody, nobody) == Normal(0.0, 1.0)


def test_an_origin_is_a_word_or_a_finite_number():
    raters = pl.Series(["a", "b"])
    assert Yardstick.chosen(Yardstick(), raters, origin="0.7").origin == 0.7
    assert Yardstick.chosen(Yardstick(), raters, origin=-1).origin == -1.0
    for wrong in ("severe", float("nan"), float("inf"), [1.0]):
        with pytest.raises(OptionError, match="unknown origin"):
            Yardstick.chosen(Yardstick(), raters, origin=wrong)
