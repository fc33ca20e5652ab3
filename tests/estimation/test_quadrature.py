"""The grid that an estimation ends on, against much finer ones; and what it learns of raters on the way, where the
spread that their own ratings speak for is known in closed form.
"""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, optimize, special, stats

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.curvature import OwnCurvature
from raterlens.estimation.methods import estimate
from raterlens.estimation.quadrature import LEAST_SPREAD, _height, _known_well, learned_spreads
from raterlens.inference.covariance import in_full
from raterlens.likelihood.nodes import Nodes, accuracy_for
from raterlens.likelihood.priors import FREEDOM, PanelPrior
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.facets_models import setting
from tests.support.shared_panels import panel


@pytest.mark.parametrize(
    ("students", "raters", "items", "slope"),
    [(50, 20, 40, (0.025, 0.5)), (40, 20, 250, (0.5, 2.0))],
    ids=["study 1", "5,000 ratings per student"],
)
@pytest.mark.parametrize("model", ["tfm", "gmf"])
def test_the_grid_is_fine_enough_where_posteriors_are_narrow(students, raters, items, slope, model):
    ratings = rl.simulate(
        students=students, raters=raters, items=items, slope=np.linspace(*slope, raters), seed=1
    ).ratings
    facets, response, _, link, _ = setting(ratings, "logit", model)

    found = estimate(ratings, facets, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 5)
    assert found.loglik == pytest.approx(found.problem.value(found.parameters, fine).loglik, abs=1e-4)


def test_each_of_many_students_is_integrated_well():
    """On more students than the error of the whole log-likelihood is held to a constant for."""
    n = 20_000
    ratings = rl.simulate(students=n, raters=8, items=5, raters_per_student=2, seed=3).ratings
    facets, response, _, link, _ = setting(ratings, "logit", "gmf")
    found = estimate(ratings, facets, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 5)
    exact = found.problem.value(found.parameters, fine)
    assert accuracy_for(n) > accuracy_for(1_000)
    assert found.loglik == pytest.approx(exact.loglik, abs=accuracy_for(n))
    np.testing.assert_allclose(exact.gradient, found.value.gradient, atol=1e-3)


@pytest.mark.parametrize("scale", ["rating scale", "graded"])
def test_scripts_that_everybody_marks_leave_the_tables_coarse(scale):
    """Twenty among 2,000: all numbers are those of a grid that is fine for everybody."""
    ratings = rl.simulate(
        students=2_000,
        raters=60,
        items=3,
        common_students=20,
        slope=np.linspace(0.8, 1.6, 60),
        thresholds=np.linspace(-2, 2, 4),
        scale=scale,
        seed=4,
    ).ratings
    link = get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link, scale, False), 5)
    found = estimate(ratings, model, response, link, "mml")
    assert found.nodes.parts > 1
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.finest_step / 5)
    exact = found.problem.value(found.parameters, fine)
    assert found.loglik == pytest.approx(exact.loglik, abs=accuracy_for(ratings.n_students))
    np.testing.assert_allclose(exact.gradient, found.value.gradient, atol=1e-4)
    information, expected = (
        in_full(found.problem.information(found.parameters, nodes)) for nodes in (found.nodes, fine)
    )
    np.testing.assert_allclose(information, expected, atol=1e-6 * np.abs(expected).max())


def test_the_grid_resolves_steep_flanks_of_wide_posteriors():
    """Four ratings per student leave a posterior wide, but the cauchit with a slope of 8 turns within a tenth."""
    slope = [8, 7, 6, 2, 1, 8] * 2
    ratings = rl.simulate(
        students=1000, raters=12, items=2, raters_per_student=2, link="cauchit", slope=slope, seed=2
    ).ratings
    link = get_link("cauchit")
    model, response = build(ratings, Options(MODELS["gmf"], link, "rating scale", False), 2)
    found = estimate(ratings, model, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.step / 8)
    assert found.problem.value(found.parameters, fine).loglik == pytest.approx(found.loglik, abs=2e-5)


def test_the_grid_reaches_as_far_as_students_who_pass_everything():
    """Their posteriors have the population's tail, many posterior standard deviations long: a finer step is no help."""
    slope = np.linspace(3, 6, 12)
    ratings = rl.simulate(
        students=2000, raters=12, items=4, raters_per_student=2, slope=slope, seed=4
    ).ratings
    facets, response, _, link, _ = setting(ratings, "logit", "gmf")
    found = estimate(ratings, facets, response, link, "mml")
    fine = Nodes.equally_spaced(-9, 9, found.nodes.step / 5)
    assert found.loglik == pytest.approx(found.problem.value(found.parameters, fine).loglik, abs=2e-5)
    assert found.record.n_nodes < 300


@pytest.mark.parametrize(("information", "settled"), [(60.0, True), (40.0, False)])
def test_what_raters_have_in_common_is_learnt_again_where_their_own_errors_matter(information, settled):
    """Slopes differ by 0.45; an error variance of a tenth of its square is the line."""
    ones = np.ones((4, 1))
    prior = PanelPrior(slice(0, 4), slice(4, 8), slope_means=ones, severity_means=ones, slope_spread=0.3)
    own = np.arange(8).reshape(2, 4).T
    found = OwnCurvature(own, np.broadcast_to(information * np.eye(2), (4, 2, 2)), np.zeros(8))
    assert _known_well(prior, found, np.repeat([1.5, 0.0], 4)) == settled


def prior_of(n: int, *, slopes: bool = True) -> PanelPrior:
    ones = np.ones((n, 1))
    return PanelPrior(slice(0, n) if slopes else None, slice(n, 2 * n), ones, ones)


def blocks_of(n: int, error: float):
    return np.tile(np.eye(2) / error, (n, 1, 1))


def test_severities_known_exactly_have_the_spread_of_the_sample():
    x = np.concatenate([np.full(8, 1.0), np.random.default_rng(1).normal(size=8)])
    found = learned_spreads(prior_of(8), x, np.zeros(16), blocks_of(8, 1e-8))
    assert found.severity_spread == pytest.approx(np.std(x[8:], ddof=1), rel=1e-4)
    assert found.slope_spread == LEAST_SPREAD


def test_equal_errors_have_a_fixed_point():
    """v² (n - 1) = k² D + n V, with k = v² / (v² + e), V = k e and D the sum of squares."""
    b, error = np.random.default_rng(2).normal(0, 1.5, 10), 0.4

    def off(v: float) -> float:
        k = v**2 / (v**2 + error)
        return v**2 * 9 - k**2 * float(np.sum((b - b.mean()) ** 2)) - 10 * k * error

    x = np.concatenate([np.ones(10), b])
    found = learned_spreads(prior_of(10), x, np.zeros(20), blocks_of(10, error))
    assert found.severity_spread == pytest.approx(optimize.brentq(off, 0.3, 5.0), rel=1e-3)


def test_the_gradient_says_where_the_ratings_alone_would_put_a_rater():
    """A quadratic log-likelihood seen from two places gives the same spreads."""
    n, error = 6, 0.3
    top = np.concatenate([np.linspace(0.5, 2.0, n), np.linspace(-1, 1, n)])
    there = top + 0.2 * np.sin(np.arange(2 * n))
    at_top = learned_spreads(prior_of(n), top, np.zeros(2 * n), blocks_of(n, error))
    elsewhere = learned_spreads(prior_of(n), there, (top - there) / error, blocks_of(n, error))
    assert elsewhere.slope_spread == pytest.approx(at_top.slope_spread, rel=1e-6)
    assert elsewhere.severity_spread == pytest.approx(at_top.severity_spread, rel=1e-6)


def test_one_rater_unlike_the_others_does_not_stretch_the_spread():
    alike = np.concatenate([1.5 + 0.1 * np.linspace(-1, 1, 9), [1.5], np.zeros(10)])
    one_off = alike.copy()
    one_off[9] = -3.0
    plain, robust = (
        learned_spreads(prior_of(10), x, np.zeros(20), blocks_of(10, 1e-4)).slope_spread
        for x in (alike, one_off)
    )
    assert robust < 3 * plain


@pytest.mark.parametrize(
    ("n", "freedom", "expected"), [(800, 2, (2, 4)), (800, 1e6, (8, 100)), (100, 1e6, (FREEDOM,))]
)
def test_many_raters_show_how_heavy_their_tails_are(n, freedom, expected):
    random = np.random.default_rng(5)
    slopes = 3 + 0.3 * random.standard_t(freedom, n) + np.sqrt(0.05) * random.standard_normal(n)
    x = np.concatenate([slopes, random.normal(size=n)])
    found = learned_spreads(prior_of(n), x, np.zeros(2 * n), blocks_of(n, 0.05))
    assert found.freedom in expected
    if freedom > 100 and n > 200:
        assert found.slope_spread * 3 == pytest.approx(0.3, rel=0.1)


def test_tails_are_weighed_by_the_likelihood_of_the_slopes():
    """Against the convolution of a t and a normal distribution, by adaptive quadrature."""
    top, error, means = np.array([-1.0, 0.2, 0.8]), np.array([0.2, 0.3, 0.1]), np.ones((3, 1))
    prior = stats.t(4.0, 0.0, 0.5)

    def density(y: float, e: float) -> float:
        both = integrate.quad(lambda a: prior.pdf(a) * stats.norm.pdf(y, a, np.sqrt(e)), -30, 30, points=[y])
        return float(both[0])

    exact = sum(np.log(density(y, e)) for y, e in zip(top, error, strict=True))
    assert _height(top, error, means, 0.5, np.zeros(3), 4.0) == pytest.approx(exact, abs=1e-3)


# ----------------------------------------------------------------------------------------------------
# Planted biases are found again, whichever side most raters are on.


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
