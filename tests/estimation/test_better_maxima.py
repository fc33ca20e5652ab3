"""Climbs that end on level ground, or at the lesser of several maxima."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import Known
from raterlens.estimation.methods import estimate
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec
from raterlens.models.terms.shape import SHAPE
from tests.support.facets_models import by_hand


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
    fit = rl.fit(by_hand(rows), model="gmf", method=method)
    assert fit.sigma == 0
    assert fit.raters["kappa"].to_list() == [0.0] * 3
    assert fit.raters.select("kappa_low", "kappa_high").rows() == [(0.0, 1.0)] * 3
    assert fit.raters["flag"].to_list() == ["slope at 0"] * 3
    assert any("hold no information about ability" in warning for warning in fit.warnings)


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
        rl.fit(drawn.ratings, model="gmf", ability=kind, standard_errors=False)
        for kind in ("normal", "smooth")
    )
    assert smooth.loglik > normal.loglik + 40
    np.testing.assert_allclose(smooth.calibration.effects[SHAPE], [0.289, -0.012], atol=0.05)
