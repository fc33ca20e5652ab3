"""The three estimators on the writing data against the paper and other programs; gradients by differences."""

import numpy as np
import pytest
from scipy import special

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.errors import OptionError
from raterlens.estimation.methods import Known, estimate
from raterlens.models.build import Options, build
from raterlens.models.facets import SHAPE
from raterlens.models.registry import facets_spec
from tests.support.facets_models import by_hand

# Marginal log-likelihoods on 161 equally spaced nodes over [-8, 8], computed apart from this package. TFM with
# the logit link also by PyPI's mirt 1.2.0:  fit_mfrm(ManyFacetRaschModel(...), ...).log_likelihood
MARGINAL = {
    ("tfm", "logit"): -3310.3655,
    ("gmf", "logit"): -3297.7409,
    ("tfm", "probit"): -3317.3326,
    ("tfm", "cauchit"): -3334.1992,
    ("tfm", "cloglog"): -3407.4336,
    ("gmf", "probit"): -3303.5770,
    ("gmf", "cauchit"): -3323.1519,
    ("gmf", "cloglog"): -3388.2754,
}


@pytest.mark.parametrize(("model", "link"), MARGINAL)
def test_marginal_loglik_on_the_writing_data(writing, model, link):
    fit = rl.fit(writing, model=model, link=link, standard_errors=False)
    assert fit.converged
    assert fit.loglik == pytest.approx(MARGINAL[model, link], abs=0.001)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_a_start_without_any_discrimination_does_not_hold_the_optimiser(small, method):
    """With all slopes at 0 the gradient by each is 0, though it is no maximum."""
    options = Options(facets_spec("gmf"), get_link("logit"))
    model, response = build(small, options, 2)
    level = np.full(model.blocks.size, np.nan)
    level[model.blocks["slope"]] = 0.0
    usual, stuck = (
        estimate(small, model, response, options.link, method, Known(begin=begin)) for begin in (None, level)
    )
    assert stuck.loglik == pytest.approx(usual.loglik, abs=1e-4)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_a_rater_who_shares_no_student_does_not_stay_at_a_slope_of_0(method):
    """By symmetry the likelihood is level there; the raters of other students do not change that."""
    rng = np.random.default_rng(3)
    rows = []
    for rater, slope in (("a", 1.5), ("b", 1.0), ("alone", 1.5)):
        for student, ability in enumerate(rng.normal(size=30)):
            name = f"{'apart' if rater == 'alone' else 'shared'} {student}"
            passed = rng.random(4) < 1 / (1 + np.exp(-slope * ability))
            rows += [(name, rater, f"i{item}", score) for item, score in enumerate(passed)]
    ratings = by_hand(rows)
    link = get_link("logit")
    model, response = build(ratings, Options(facets_spec("gmf"), link))
    best = estimate(ratings, model, response, link, method)
    begin = best.parameters.copy()
    alone = list(ratings.raters).index("alone")
    begin[model.blocks["slope"]][alone] = 0.0
    found = estimate(ratings, model, response, link, method, Known(begin=begin))
    assert best.parameters[model.blocks["slope"]][alone] > 0.5
    assert found.loglik == pytest.approx(best.loglik, abs=1e-4)


@pytest.mark.parametrize("method", ["mml", "laplace"])
def test_ratings_without_information_about_ability_rank_nobody(method):
    """Every student is passed on one item and failed on the other: ratings go against each other, if anything."""
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), method=method)
    assert fit.sigma == 0
    assert fit.raters["kappa"].to_list() == [0.0] * 3
    assert fit.raters.select("kappa_low", "kappa_high").rows() == [(0.0, 1.0)] * 3
    assert fit.raters["flag"].to_list() == ["slope at 0"] * 3
    assert any("hold no information about ability" in warning for warning in fit.warnings)


def test_a_common_slope_at_its_least_is_said():
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), model="tfm")
    assert any("hold no information about ability" in warning for warning in fit.warnings)


def test_the_hierarchical_likelihood_refuses_ratings_that_are_likelier_without_ability():
    """Coins: what students have in common is chance, which it takes for ability."""
    random = np.random.default_rng(0)
    pairs = [(s, r) for s in range(40) for r in random.choice(3, 2, replace=False)]
    coins = by_hand([(s, f"r{r}", "i", random.integers(2)) for s, r in pairs])
    with pytest.raises(OptionError, match=r"takes chance for ability.*; use method='mml'") as refused:
        rl.fit(coins, method="hl")
    # Without ability raters are coins of their own bias: the likelihood has a closed form.
    passes, n = (coins.tally("rater").total, coins.tally("rater").n)
    without = float(np.sum(special.xlogy(passes, passes / n) + special.xlogy(n - passes, 1 - passes / n)))
    assert f"with none at all {without:.1f}" in str(refused.value)
    assert rl.fit(rl.load_example(), method="hl").sigma > 0.5


def test_hierarchical_likelihood_on_16_ratings_is_refused_or_ends_in_numbers():
    rows = [(n // 8, f"r{n // 4 % 2}", f"i{n % 4}", int(score)) for n, score in enumerate("1001110111011001")]
    with pytest.raises(OptionError, match="takes chance for ability"):
        rl.fit(by_hand(rows), model="probit", method="hl")
    fit = rl.fit(by_hand(rows), model="probit", method="hl", max_iterations=3)  # not converged, which it says
    assert np.isfinite(fit.loglik)
    assert np.isfinite(fit.raters["kappa"].to_numpy()).all()


def test_marginal_estimates_on_the_writing_data(writing):
    fit = rl.fit(writing)
    assert fit.sigma == pytest.approx(2.1007, abs=1e-4)
    assert fit.alpha == pytest.approx(0.0876, abs=1e-3)
    delta = dict(zip(fit.items["item"], fit.items["delta"], strict=True))
    assert delta == pytest.approx(
        {"spe": -1.430, "coh": -1.345, "str": 0.170, "gra": 0.701, "con": 1.904}, abs=0.001
    )
    kappa = fit.raters.sort("kappa").select("rater", "kappa").rows()
    assert kappa[0] == ("AM:Sport", pytest.approx(0.580, abs=0.001))
    assert kappa[-1] == ("CO:School", pytest.approx(0.948, abs=0.001))


def test_a_fit_whose_tolerance_follows_rounding_can_be_saved(monkeypatch, small, tmp_path):
    """On millions of ratings; here the rounding is made coarse instead."""
    monkeypatch.setattr("raterlens.estimation.optimiser._ROUNDING", 1e-9)
    fit = rl.fit(small)
    assert fit.optimiser.tolerance > 1e-5
    fit.save(tmp_path / "fit.json")
    assert rl.load(tmp_path / "fit.json").converged


def test_a_shape_is_looked_for_from_several_sides_of_many_ratings_too():
    """From a normal distribution, the likelihood of these leads to one that is nearly normal again: its peak lies where
    the scale of the shape levels off. The truth is nearest at c3 = 0.289 and c4 = -0.012, by the Kullback-Leibler
    distance on a grid."""
    random = np.random.default_rng([71, 1, 0, 1])
    ability = (random.chisquare(3, 500) - 3) / np.sqrt(6)
    drawn = rl.simulate(
        students=500,
        raters=6,
        items=4,
        slope=[0.8, 1.0, 1.3, 1.6, 2.0, 2.4],
        severity=[0.8, -0.6, 0.3, -0.9, 0.9, -0.5],
        difficulty=np.linspace(-1, 1, 4),
        ability=ability,
        seed=[71, 1, 0],
    )
    normal, smooth = (
        rl.fit(drawn.ratings, ability=kind, standard_errors=False) for kind in ("normal", "smooth")
    )
    assert smooth.loglik > normal.loglik + 40
    np.testing.assert_allclose(smooth.calibration.effects[SHAPE], [0.289, -0.012], atol=0.05)
