"""The paper's printed numbers, checked against each other, and its designs."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens import capability
from raterlens.capability.links import get_link
from raterlens.simulation import example as assessment
from raterlens.studies import paper
from raterlens.studies.paper import simulate_study1, simulate_writing

ROUNDED = 0.005


def integral(function):
    return integrate.quad(function, -30, 30, epsabs=1e-12, limit=200)[0]


def logistic_density(x):
    return special.expit(x) * special.expit(-x)


# ---------------------------------------------------------------------------------------- the index


def test_capability_at_an_ability_is_not_bounded_by_one():
    assert capability.tfm(eta=0.0, theta=0.0) == pytest.approx(0.25 / 0.206621, abs=1e-4)
    assert capability.tfm(eta=0.0, theta=0.0) > 1.2
    assert capability.tfm(eta=0.0) == pytest.approx(1.0)


def test_the_approximation_of_delta_is_low():
    assert capability.delta_approximation(1.0) / capability.delta(1.0) == pytest.approx(1 - 0.012, abs=0.0005)
    assert capability.delta_approximation(2.51) / capability.delta(2.51) == pytest.approx(
        1 - 0.061, abs=0.0005
    )


def test_information_is_proportional_to_capability_and_not_to_its_square():
    # I = (dmu/dtheta)^2 / (mu (1 - mu)) = a f(S) for the logit link = a Delta kappa.
    theta = np.linspace(-3, 3, 13)
    kappa = capability.gmf(rho=0.6, eta=0.5, sigma=2.0, theta=theta)
    slope, s = 1.2, 1.2 * theta - 0.5
    information = (slope * logistic_density(s)) ** 2 / (special.expit(s) * special.expit(-s))
    assert np.ptp(information / kappa) < 1e-12
    assert np.ptp(information / kappa**2) > 1
    np.testing.assert_allclose(information, slope * capability.delta(2.0) * kappa)


def test_appendix_a_and_b_state_a_derivative_that_is_not_the_one():
    # T(z) = integral f(x) phi((x + z) / s) dx. The appendices drop the part with x, and B a factor 1 / s.
    for s, z in ((1.0, 1.0), (2.0, 1.5)):

        def sensitivity(z, s=s):
            return integral(lambda x: logistic_density(x) * stats.norm.pdf((x + z) / s))

        true = (sensitivity(z + 1e-4) - sensitivity(z - 1e-4)) / 2e-4
        stated = -z / s * sensitivity(z)
        assert stated / true > 2
        # Both densities are log-concave and even, so T is too: the conclusion, a maximum at 0, holds.
        grid = np.array([sensitivity(v) for v in np.linspace(-4, 4, 17)])
        assert np.all(np.diff(grid[:9]) > 0)
        np.testing.assert_allclose(grid, grid[::-1])


def test_appendix_c_has_a_root_too_many():
    noise, eta = 1.25, 1.5
    exact = integral(lambda t: stats.norm.pdf(t / noise - eta) / noise * stats.norm.pdf(t)) * np.sqrt(
        2 * np.pi
    )
    corrected = np.exp(-(noise**2) * eta**2 / (2 * (1 + noise**2))) / np.sqrt(1 + noise**2)
    printed = np.exp(-(noise**2) * eta**2 / (2 * np.sqrt(1 + noise**2))) / np.sqrt(1 + noise**2)
    assert corrected == pytest.approx(exact, abs=1e-10)
    assert abs(printed - exact) > 0.1
    assert capability.probit(noise=noise, threshold=eta * noise) == pytest.approx(exact, abs=1e-10)


def test_less_noise_is_not_always_more_capability():
    # At a fixed eta = threshold / noise it is, as the paper shows. A rater has a threshold, though: beyond 1, kappa-bar
    # rises with the noise until noise^2 = threshold^2 - 1.
    noise = np.linspace(0.05, 4, 80)
    at_fixed_eta = capability.probit(noise=noise, threshold=2.0 * noise)
    assert np.all(np.diff(at_fixed_eta) < 0)
    at_fixed_threshold = capability.probit(noise=noise, threshold=2.0)
    assert noise[at_fixed_threshold.argmax()] == pytest.approx(np.sqrt(3), abs=0.05)


def test_the_printed_hierarchical_model_has_negative_capability():
    # P(y = 1) = F(c - a xi) falls with xi where a > 0; with 1 - F it is DeCarlo's, and kappa is positive.
    c, a = 1.0, 2.0
    printed = special.expit(c - a) - special.expit(c)
    assert printed < 0
    assert capability.hrm(criterion=c, slope=a) == pytest.approx(-printed)
    # One line has F20 and F21 exchanged: a better student would then be passed less often by a good rater.
    passed = {0: 0.2, 1: 0.9}
    right, swapped = ([f1 * passed[one] + (1 - f1) * passed[1 - one] for f1 in (0.4, 0.6)] for one in (1, 0))
    assert right[1] > right[0]
    assert swapped[1] < swapped[0]


@pytest.mark.parametrize(("link", "same"), [("logit", True), ("cloglog", False)])
def test_shift_in_the_second_line_of_the_closed_form_matters_for_skew_links(link, same):
    # kappa-bar = integral f(x) phi((x + eta) / a) dx, printed with x - eta: the same for even f only.
    density = get_link(link).density
    plus, minus = (
        integral(lambda x, sign=sign: float(density(np.array(x))) * stats.norm.pdf(x + sign * 0.8))
        for sign in (1, -1)
    )
    assert (abs(plus - minus) < 1e-9) == same


def test_delta_of_the_five_links():
    delta = {
        link: float(capability.delta(1.0, link=link))
        for link in ("logit", "probit", "cauchit", "cloglog", "log")
    }
    assert delta == pytest.approx(
        {"logit": 0.206621, "probit": 0.282095, "cauchit": 0.208709, "cloglog": 0.262631, "log": 0.312828},
        abs=1e-6,
    )
    # log: T(eta) = exp(1/2 - eta) Phi(eta - 1), highest at eta = 0.6974.
    eta = np.linspace(0.5, 0.9, 400_001)
    closed = np.exp(0.5 - eta) * special.ndtr(eta - 1)
    assert eta[closed.argmax()] == pytest.approx(0.6974, abs=1e-4)
    assert closed.max() == pytest.approx(0.312828, abs=1e-6)


# ------------------------------------------------------------------------------------------ Study 1


def test_printed_severities_lack_the_minus_one_and_printed_capabilities_are_of_centred_ones():
    r = np.arange(1, 21)
    assert (21 - r[[0, -1]]) / 9 == pytest.approx([2.22, 0.11], abs=ROUNDED)
    variants = {
        "text": (21 - r) / 9 - 1,
        "printed": (21 - r) / 9,
        "centred": paper.ETA,
    }
    ends = {
        name: capability.gmf(rho=paper.RHO, eta=eta, sigma=0.5)[[0, -1]].round(2).tolist()
        for name, eta in variants.items()
    }
    assert ends["centred"] == [0.04, 0.79]
    assert ends["text"] != [0.04, 0.79]
    assert ends["printed"] != [0.04, 0.79]


def test_abilities_are_standardised_and_all_students_are_in_the_table():
    assert len(paper.ABILITY) == paper.STUDENTS
    assert paper.ABILITY.mean() == pytest.approx(0, abs=ROUNDED)
    assert paper.ABILITY.std(ddof=1) == pytest.approx(1, abs=ROUNDED)


def test_row_13_is_rater_14_and_rater_13_has_no_row():
    # Bias of rho under the TFM is 1 - r / 20; our table has the corrected labels.
    printed, raters = paper.printed("rho", "tfm"), printed_raters()
    assert printed["bias"].to_list() == pytest.approx([1 - r / 20 for r in raters])
    assert set(range(1, 21)) - set(raters) == {13}


def printed_raters():
    return np.array([int(level[1:]) for level in paper.printed("kappa", "tfm")["level"]])


def expected_rmse(alpha, eta, delta):
    """Expected RMSE of the items, from the Fisher information of their ratings at the truth."""
    s = paper.SIGMA * paper.RHO[:, None] * paper.ABILITY - eta[:, None] + alpha
    return 1 / np.sqrt(logistic_density(s[..., None] - delta).sum(axis=(0, 1)))


def test_the_intercept_belongs_to_centred_severities_and_difficulties():
    # Printed RMSE of easy items is larger than that of hard ones. So it is where alpha = 0.5 is added to centred
    # parameters; with the text's uncentred ones the mean predictor would be -0.75, and hard items the imprecise ones.
    printed = paper.printed("delta", "gmf")["rmse"].to_numpy()
    r, i = np.arange(1, 21), np.arange(1, 41)
    distance = {
        "centred": expected_rmse(0.5, paper.ETA, paper.DELTA),
        "as in the text": expected_rmse(0.5, (21 - r) / 9 - 1, i / 19),
        "delta = i / 39": expected_rmse(0.5, paper.ETA, i / 39 - np.mean(i / 39)),
    }
    rms = {name: float(np.sqrt(np.mean((rmse - printed) ** 2))) for name, rmse in distance.items()}
    # Rounding alone gives 0.003, chance in 200 replications 0.0035.
    assert rms["centred"] < 0.006
    assert rms["as in the text"] > 0.010
    assert rms["delta = i / 39"] > rms["centred"]


def test_printed_rmse_is_around_the_truth():
    raters = paper.PRINTED.filter(paper.PRINTED["parameter"].is_in(["kappa", "rho", "eta"]))
    assert np.all(raters["rmse"].to_numpy() >= np.abs(raters["bias"].to_numpy()) - 1e-12)
    # The formula, around the mean estimate, would give the spread: none at all for rho = 1 of the TFM.
    assert paper.printed("rho", "tfm").row(0)[-2:] == (0.95, 0.95)


def test_printed_tfm_capability_is_at_sigma_one():
    # At the true severities (whose TFM estimates are biased by 0.04 at most): which sigma comes nearest?
    raters, printed = printed_raters(), paper.printed("kappa", "tfm")["bias"].to_numpy()
    truth = capability.gmf(rho=paper.RHO, eta=paper.ETA, sigma=paper.SIGMA)[raters - 1]
    far = {
        sigma: float(np.abs(capability.tfm(eta=paper.ETA[raters - 1], sigma=sigma) - truth - printed).max())
        for sigma in (0.26, 0.5, 1.0, 2.0)
    }
    assert min(far, key=far.__getitem__) == 1.0
    assert far[1.0] < 0.026
    assert far[0.26] > 0.08
    # Nearer still is an average over the 50 abilities with the sign of the severity reversed, as it is in the second
    # line of the closed form; nothing tried is exact.
    reversed_sign = logistic_density(paper.ABILITY[:, None] + paper.ETA[raters - 1]).mean(
        axis=0
    ) / capability.delta(1.0)
    assert np.abs(reversed_sign - truth - printed).max() < 0.013


def test_severities_under_the_tfm_are_not_unbiased():
    # Rater 20: bias 0.04, RMSE 0.06, so the spread is 0.045 and the standard error of the bias 0.003.
    *_, bias, rmse = paper.printed("eta", "tfm").row(-1)
    assert bias / (np.sqrt(rmse**2 - bias**2) / np.sqrt(paper.REPLICATIONS)) > 10


def test_slopes_were_not_kept_above_zero():
    # Rater 1 has rho = 0.05. Normal estimates cut off at 0 with the printed RMSE of 0.09 would have this bias:
    def moments(spread):
        z = 0.05 / spread
        mean = 0.05 * stats.norm.cdf(z) + spread * stats.norm.pdf(z)
        square = (0.05**2 + spread**2) * stats.norm.cdf(z) + 0.05 * spread * stats.norm.pdf(z)
        return mean - 0.05, np.sqrt(square - 0.1 * mean + 0.05**2)

    spreads = np.linspace(0.05, 0.3, 2001)
    bias, rmse = np.array([moments(spread) for spread in spreads]).T
    expected = bias[np.abs(rmse - 0.09).argmin()]
    printed = paper.printed("rho", "gmf")["bias"][0]
    assert expected > 0.025
    assert abs(expected - printed) > ROUNDED + 3 * 0.09 / np.sqrt(paper.REPLICATIONS)


# -------------------------------------------------------------------------------- empirical study


def test_printed_capabilities_are_exact_integrals_and_the_closed_form_is_off():
    exact = capability.gmf(rho=assessment.RHO, eta=assessment.ETA, sigma=assessment.SIGMA)
    # Rounding of kappa, and of rho, eta and sigma before it.
    assert np.abs(exact - assessment.KAPPA).max() < ROUNDED + 0.005
    closed = capability.gmf_approximation(assessment.RHO, assessment.ETA, assessment.SIGMA)
    assert 0.02 < np.abs(closed - assessment.KAPPA).max() < 0.04


def test_printed_topic_means_follow_from_the_table():
    for topic, printed in paper.TOPIC_KAPPA.items():
        mean = np.mean([row.kappa for row in assessment.TABLE if row.topic == topic])
        assert mean == pytest.approx(printed, abs=ROUNDED + 1e-9)


def test_the_text_on_discrimination_and_on_am_contradicts_the_table():
    rho = {
        name: np.mean([row.rho for row in assessment.TABLE if row.rater == name])
        for name in ("AM", "BE", "CO", "DA")
    }
    assert sorted(rho, key=rho.__getitem__) == ["AM", "BE", "DA", "CO"]
    most = max(assessment.TABLE, key=lambda row: row.rho)
    assert most.label == "AM:Family"
    am = {row.topic: row.eta for row in assessment.TABLE if row.rater == "AM"}
    assert am["Sport"] < am["School"] < 0


def test_printed_estimates_are_hierarchical_likelihood_and_not_the_laplace_maximum(writing):
    by_hl = rl.fit(writing, model="gmf", method="hl", standard_errors=False)
    by_laplace = rl.fit(writing, model="gmf", method="laplace", standard_errors=False)
    assert np.abs(by_hl.raters["rho"].to_numpy() - assessment.RHO).max() < 0.006
    assert np.abs(by_laplace.raters["rho"].to_numpy() - assessment.RHO).max() > 0.1
    assert by_laplace.sigma < assessment.SIGMA - 0.3


def test_study1_is_complete_and_has_the_printed_capabilities():
    drawn = simulate_study1([1, 2], ability=paper.ABILITY)
    assert drawn.ratings.n_ratings == 20 * 50 * 40
    assert drawn.truth.kappa[[0, 19]].round(2).tolist() == [0.04, 0.79]
    np.testing.assert_array_equal(drawn.truth.ability, paper.ABILITY)
    assert not np.array_equal(simulate_study1([1, 2]).truth.ability, paper.ABILITY)


def test_the_writing_design_has_the_printed_counts_and_capabilities():
    drawn = simulate_writing([1, 2])
    assert drawn.ratings.raters.to_list() == assessment.RATERS
    np.testing.assert_array_equal(np.bincount(drawn.ratings.rater), [row.n for row in assessment.TABLE])
    np.testing.assert_allclose(drawn.truth.kappa, assessment.KAPPA, atol=0.01)
    flat = simulate_writing([1, 2], severity=np.zeros(16))
    np.testing.assert_array_equal(flat.truth.severity, np.zeros(16))
