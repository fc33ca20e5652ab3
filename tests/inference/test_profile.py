"""Profile likelihood against anchored fits, against Wald on large data, and where raters change places."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize
from scipy.stats import norm

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.inference import profile as profile_module
from raterlens.inference.intervals import AT_ZERO
from raterlens.inference.profile import Profiler
from raterlens.inference.slope_limits import deviance_end
from tests.support.facets_models import ordered
from tests.support.nightly import mostly_nightly


@pytest.fixture(scope="module")
def made():
    return rl.simulate(students=150, raters=4, items=3, slope=[1.5, 1.2, 0.8, 0.5], seed=3)


# Of SciPy on its own last steps, where the gradient no longer changes.
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning")
def test_the_deviance_is_that_of_another_optimiser_in_other_coordinates(made):
    """Trust region on the parameters as they are, with difficulties centred and kappa held as constraints."""
    fit = rl.fit(made.ratings, model="gmf", reference=1.5, origin="absolute")
    profile = Profiler.of(fit, made.ratings).profile(1)
    wanted = fit.raters["kappa"][1] - 0.15
    likelihood = profile.likelihood
    problem, nodes, x = likelihood.problem, likelihood.nodes, likelihood.estimate
    blocks = problem.model.blocks
    slope, severity = blocks["slope"].start + 1, blocks["severity"].start + 1

    def held(y):
        return [
            float(rl.capability.gmf(rho=y[slope] / 1.5, eta=y[severity], sigma=1.5)) - wanted,
            y[blocks["difficulty"]].sum(),
        ]

    best = optimize.minimize(
        lambda y: -problem.value(y, nodes).objective,
        x,
        jac=lambda y: -problem.value(y, nodes).gradient,
        method="trust-constr",
        constraints=optimize.NonlinearConstraint(held, 0, 0),
        options={"gtol": 1e-6, "xtol": 1e-9},
    )
    found, _ = profile.deviance(wanted)
    assert found == pytest.approx(2 * (fit.loglik + best.fun), abs=1e-3)
    assert found > 1
    assert profile.deviance(profile.kappa())[0] == pytest.approx(0, abs=1e-5)


def test_it_agrees_with_the_other_intervals_on_large_data():
    large = rl.simulate(students=4000, raters=5, items=3, raters_per_student=3, seed=7).ratings
    for model in ("gmf", "tfm", "probit"):
        fit = rl.fit(large, model=model)
        found = fit.profile(large, ["R2", "R4"]).raters
        draws = fit.raters.filter(pl.col("rater").is_in(["R2", "R4"]))
        np.testing.assert_allclose(found["kappa"], draws["kappa"], atol=1e-5)
        width = (draws["kappa_high"] - draws["kappa_low"]).to_numpy()
        assert np.abs((found["low"] - draws["kappa_low"]) / width).max() < 0.1
        assert np.abs((found["high"] - draws["kappa_high"]) / width).max() < 0.1


def test_the_yardstick_is_not_taken_for_granted():
    """With a rival close behind, the yardstick's rho may be below 1, and its kappa lower than severity alone allows."""
    ratings = rl.simulate(
        students=150, raters=4, items=3, slope=[1.4, 1.4, 0.8, 0.5], severity=[0.9, -0.9, 0, 0], seed=3
    ).ratings
    fit = rl.fit(ratings, model="gmf")
    top = fit.raters.sort("rho", descending=True)["rater"][0]
    free = fit.profile(ratings, top).raters.row(0, named=True)
    named = rl.fit(ratings, model="gmf", reference=top).profile(ratings, top).raters.row(0, named=True)
    assert named["kappa"] == pytest.approx(free["kappa"], abs=1e-4)
    assert free["low"] < named["low"] - 0.01
    assert free["high"] <= 1


def test_ends_have_the_deviance_of_the_level(made):
    fit = rl.fit(made.ratings, model="gmf")
    found = fit.profile(made.ratings, ["R3"])
    own = Profiler.of(fit, made.ratings).profile(2)
    for end in found.raters.select("low", "high").row(0):
        assert own.deviance(end)[0] == pytest.approx(3.84, abs=0.05)
    assert found.points.filter(pl.col("deviance") == 0)["kappa"].to_list() == found.raters["kappa"].to_list()


def test_a_rater_at_zero_has_a_one_sided_interval():
    random = np.random.default_rng(0)
    made = rl.simulate(students=120, raters=4, items=2, slope=[1.2, 1.0, 1.0, 0.0], seed=12)
    score = made.ratings.score.copy()
    ability = made.truth.ability[made.ratings.student]
    chance = 1 / (1 + np.exp(0.4 * ability))  # against ability
    mine = made.ratings.rater == 3
    score[mine] = random.random(mine.sum()) < chance[mine]
    from dataclasses import replace

    ratings = replace(made.ratings, score=score)
    fit = rl.fit(ratings, model="gmf")
    assert fit.raters["kappa"][3] == 0
    found = fit.profile(ratings, "R4").raters.row(0, named=True)
    assert found["low"] == 0
    assert found["high"] < fit.raters["kappa_high"][3]  # which knows of bad luck
    same = fit.profile(ratings, "R4", level=norm.cdf(AT_ZERO)).raters["high"][0]
    assert same == pytest.approx(fit.raters["kappa_high"][3], abs=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "laplace"}, "by method 'mml'"),
        ({"prior": "panel"}, "has a panel prior"),
        ({"reference": "quantile 0.9"}, "one rater or a fixed slope"),
    ],
)
def test_what_cannot_be_profiled_is_refused(made, options, message):
    with pytest.raises(OptionError, match=message):
        rl.fit(made.ratings, **{"model": "gmf"} | options).profile(made.ratings, "R1")


@pytest.mark.parametrize(
    "options",
    mostly_nightly(
        [
            {"item_slopes": True, "population": (0.4, 0.8), "origin": "absolute"},
            {"reference": "R3", "population": "window 0.5 0.5"},
            {"reference": 1.7, "origin": -0.3, "population": "estimated"},
            {"model": "probit", "origin": "average"},
            {"link": "cloglog", "allow_reversed": True},
            {"scale": "graded", "link": "probit", "reference": "R1"},
            {"scale": "partial credit", "item_slopes": True},
        ],
        keep=3,
    ),
    ids=str,
)
def test_the_profile_is_of_the_kappa_that_the_fit_s_own_options_make(small, options):
    ratings = ordered(small) if "scale" in options else small
    fit = rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | options)
    profiler = Profiler.of(fit, ratings)
    found = [profiler.profile(place).kappa() for place in range(ratings.n_raters)]
    np.testing.assert_allclose(found, fit.raters["kappa"], rtol=5e-5, atol=2e-4)
    assert profiler.likelihood.top == pytest.approx(fit.loglik, abs=0.5)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1])
def test_a_level_is_a_share(made, level):
    with pytest.raises(OptionError, match="between 0 and 1"):
        rl.fit(made.ratings, model="gmf").profile(made.ratings, "R1", level=level)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"halo": "common"}, "does not know halo='common'"),
        ({"ability": "smooth"}, "does not know ability='smooth'"),
        ({"interactions": "rater:item"}, "does not know interactions="),
    ],
)
def test_what_profile_does_not_know_is_named(made, options, message):
    fit = rl.fit(made.ratings, standard_errors=False, **{"model": "gmf"} | options)
    with pytest.raises(OptionError, match=message):
        profile_module._check(fit, made.ratings)


def test_very_many_parameters_are_refused(made, monkeypatch):
    fit = rl.fit(made.ratings, model="gmf", standard_errors=False)
    monkeypatch.setattr(profile_module, "PROFILED_PARAMETERS", fit.n_parameters)
    assert profile_module._check(fit, made.ratings) is fit.calibration
    monkeypatch.setattr(profile_module, "PROFILED_PARAMETERS", fit.n_parameters - 1)
    with pytest.raises(OptionError, match="would take hours"):
        profile_module._check(fit, made.ratings)


# ----------------------------------------------------------------------------------------------------
# The profile's parts: whitened coordinates, gradients by differences, and ends of intervals.


@pytest.fixture(scope="module")
def profile():
    ratings = rl.simulate(students=80, raters=3, items=2, slope=[1.5, 1.0, 0.6], seed=3).ratings
    return Profiler.of(rl.fit(ratings, model="gmf"), ratings).profile(1)


def test_in_whitened_coordinates_the_likelihood_is_nearly_a_sphere(profile):
    """Falls by |z|^2 / 2 around the maximum, whatever the direction."""
    random = np.random.default_rng(0)
    size = profile.likelihood.unwhiten.shape[1]
    for _ in range(5):
        z = random.normal(size=size)
        z *= 0.02 / np.linalg.norm(z)
        assert profile.likelihood.falls(z)[0] == pytest.approx(0.02**2 / 2, rel=0.02)


def test_gradients_agree_with_differences(profile):
    size, step = profile.likelihood.unwhiten.shape[1], 1e-5
    z = np.random.default_rng(1).normal(scale=0.3, size=size)
    fall, gradient = profile.likelihood.falls(z)
    assert fall > 0
    expected = [
        (profile.likelihood.falls(z + d)[0] - profile.likelihood.falls(z - d)[0]) / (2 * step)
        for d in step * np.eye(size)
    ]
    np.testing.assert_allclose(gradient, expected, atol=1e-5)

    def own(slopes):
        return 1.4, np.zeros_like(slopes)

    expected = [
        (profile._kappa(z + d, own)[0] - profile._kappa(z - d, own)[0]) / (2 * step)
        for d in step * np.eye(size)
    ]
    np.testing.assert_allclose(profile._kappa(z, own)[1], expected, atol=1e-7)


@pytest.mark.parametrize(("guess", "limit", "expected"), [(0.6, 1.0, 0.8), (0.95, 1.0, 0.8), (0.3, 0.0, 0.2)])
def test_an_end_is_where_the_deviance_reaches_its_limit(guess, limit, expected):
    """|k - 0.5| = 0.3, from a guess within and beyond it."""
    end, root, there = deviance_end(
        lambda k, _: (abs(k - 0.5) ** 1.3, f"at {k}"), 0.5, "", guess, limit, 0.3**1.3, close=1e-4, looks=20
    )
    assert end == pytest.approx(expected, abs=1e-3)
    assert root == pytest.approx(0.3**1.3, abs=1e-4)
    assert there == f"at {end}"


def test_an_interval_that_reaches_the_bound_ends_there():
    end, root, _ = deviance_end(lambda k, _: (abs(k - 0.5), None), 0.5, None, 0.7, 1.0, 3.0)
    assert (end, root) == (1.0, 0.5)
