"""The three estimators on the writing data against the paper and other programs; gradients by differences."""

import numpy as np
import pytest
from scipy import special

import raterlens as rl
from raterlens.base.errors import OptionError
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


def test_the_hierarchical_likelihood_refuses_ratings_that_are_likelier_without_ability():
    """Coins: what students have in common is chance, which it takes for ability."""
    random = np.random.default_rng(0)
    pairs = [(s, r) for s in range(40) for r in random.choice(3, 2, replace=False)]
    coins = by_hand([(s, f"r{r}", "i", random.integers(2)) for s, r in pairs])
    with pytest.raises(OptionError, match=r"takes chance for ability.*; use method='mml'") as refused:
        rl.fit(coins, model="gmf", method="hl")
    # Without ability raters are coins of their own bias: the likelihood has a closed form.
    passes, n = (coins.tally("rater").total, coins.tally("rater").n)
    without = float(np.sum(special.xlogy(passes, passes / n) + special.xlogy(n - passes, 1 - passes / n)))
    assert f"with none at all {without:.1f}" in str(refused.value)
    assert rl.fit(rl.load_example(), model="gmf", method="hl").sigma > 0.5


def test_hierarchical_likelihood_on_16_ratings_is_refused_or_ends_in_numbers():
    rows = [(n // 8, f"r{n // 4 % 2}", f"i{n % 4}", int(score)) for n, score in enumerate("1001110111011001")]
    with pytest.raises(OptionError, match="takes chance for ability"):
        rl.fit(by_hand(rows), model="probit", method="hl")
    fit = rl.fit(by_hand(rows), model="probit", method="hl", max_iterations=3)  # not converged, which it says
    assert np.isfinite(fit.loglik)
    assert np.isfinite(fit.raters["kappa"].to_numpy()).all()


def test_marginal_estimates_on_the_writing_data(writing):
    fit = rl.fit(writing, model="gmf")
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
    fit = rl.fit(small, model="gmf")
    assert fit.optimiser.tolerance > 1e-5
    fit.save(tmp_path / "fit.json")
    assert rl.load(tmp_path / "fit.json").converged
