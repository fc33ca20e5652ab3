"""Predictions of fitted models, against brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.diagnostics.residuals import of_abilities, of_categories, residuals
from tests.support.facets_models import with_some_known
from tests.support.latent_class_panels import panel

# ------------------------------------- both families of models fill in the same record in the same way


@pytest.mark.parametrize("model", ["gmf", "hrm", "dawid-skene"])
def test_pairs_are_the_ratings_of_one_thing_by_one_rater(small, model):
    fit = rl.fit(small, model=model, standard_errors=False, **({} if model == "gmf" else {"starts": 1}))
    found = of_categories(fit, small) if fit.calibration is None else of_abilities(fit.calibration, small)
    judged = small.student if model == "gmf" else small.student * small.n_items + small.item
    assert len(np.unique(judged)) == found.n_judged
    # The same things are judged together, whatever they are called.
    assert len(np.unique(np.stack([judged, found.judged]), axis=1)[0]) == found.n_judged
    pairs = np.unique(np.stack([found.judged, small.rater]), axis=1)
    np.testing.assert_array_equal(found.judged[found.pairs.example], pairs[0])
    np.testing.assert_array_equal(small.rater[found.pairs.example], pairs[1])
    assert found.pairs.size.sum() == small.n_ratings
    assert found.prior.shape in [(1, len(found.nodes.points)), (found.n_judged, len(found.nodes.points))]
    assert len(found.prior_apart) == (len(found.pairs) if model == "hrm" else 0)
    assert len(found.slopes) == small.n_raters


# ----------------------------- expectations of facets models, against scipy's integrals of one student


@pytest.mark.parametrize("slope", [1.0, 6.0])
def test_the_grid_gives_the_integral_of_every_student(slope):
    """Steep raters leave posteriors a tenth as wide as the population."""
    ratings = rl.simulate(students=40, raters=4, items=3, slope=slope, seed=2).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    model = of_abilities(fit.calibration, ratings)
    effects, t = fit.calibration.effects, model.nodes.points
    a, b = (
        effects["slope"][ratings.rater],
        (effects["severity"][ratings.rater] + effects["difficulty"][ratings.item]),
    )
    sign = np.where(ratings.score == 1, 1.0, -1.0)
    for student in (0, 17, 39):
        mine = model.judged == student
        np.testing.assert_array_equal(mine, ratings.student == student)

        def log(theta, mine=mine):
            return special.log_expit(sign[mine] * (a[mine] * theta - b[mine])).sum()

        weights = np.array([log(theta) for theta in t]) + model.prior[0]
        top = max(log(theta) for theta in np.linspace(-5, 5, 201))
        exact, _ = integrate.quad(
            lambda theta, log=log, top=top: np.exp(log(theta) - top) * stats.norm.pdf(theta),
            -8,
            8,
            points=[-2, 0, 2],
        )
        assert special.logsumexp(weights) - top == pytest.approx(np.log(exact), abs=1e-6)


def test_only_models_with_slopes_of_their_own_have_adapted_them():
    ratings = rl.simulate(students=40, raters=4, items=3, seed=2).ratings
    for model, own in (("gmf", True), ("tfm", False)):
        assert (
            of_abilities(rl.fit(ratings, model=model, standard_errors=False).calibration, ratings).own_slopes
            == own
        )


# ------------------- expectations of latent class models, against brute force over all true categories


MODELS = ("hrm", "dawid-skene")
# The fit's own grid of abilities is a little coarser.
GRID = 1e-4


@pytest.mark.parametrize("model", MODELS)
def test_posteriors_are_those_of_the_fit(model):
    ratings = panel(1)
    fit = rl.fit(ratings, model=model, starts=1, standard_errors=False)
    got = residuals(fit, ratings)
    assert np.abs(got.ability.mean - fit.table("truth")["probability"].to_numpy()).max() < GRID


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_residuals_equal_brute_force(model, link):
    """All true categories of a student's items and all abilities, with and without one rater."""
    ratings = panel(2, students=60, raters=4, items=3, raters_per_student=2)
    fit = rl.fit(ratings, model=model, link=link, starts=1, standard_errors=False)
    got = residuals(fit, ratings)
    raters, items = fit.table("raters"), fit.table("items")
    t = np.linspace(-7, 7, 1401) if model == "hrm" else np.zeros(1)
    weight = np.exp(-(t**2) / 2) if model == "hrm" else np.ones(1)
    shape = special.expit if link == "logit" else special.ndtr
    p1 = raters["sensitivity"].to_numpy()
    p0 = 1 - raters["specificity"].to_numpy()
    assert p1 == pytest.approx(shape((raters["slope"] - raters["criterion"]).to_numpy()), abs=1e-12)
    rising = special.expit(fit.sigma * t - (items["delta"].to_numpy() - fit.alpha)[:, None])

    def chances(rows):
        """(combinations, items), and the weight of each given these ratings."""
        combos = np.array(list(product([0, 1], repeat=3)))
        weights = []
        for combo in combos:
            level = np.prod([rising[i] if xi else 1 - rising[i] for i, xi in enumerate(combo)], axis=0)
            mu = np.where(combo[ratings.item[rows]] == 1, p1[ratings.rater[rows]], p0[ratings.rater[rows]])
            weights.append((weight * level).sum() * np.prod(np.where(ratings.score[rows] == 1, mu, 1 - mu)))
        return combos, np.array(weights) / np.sum(weights)

    for i in range(0, ratings.n_ratings, 29):
        mine = ratings.student == ratings.student[i]
        r, item, y = ratings.rater[i], ratings.item[i], ratings.score[i]
        combos, full = chances(np.flatnonzero(mine))
        mu = np.where(combos[:, item] == 1, p1[r], p0[r])
        assert got.expected[i] == pytest.approx(full @ mu, abs=GRID)
        assert got.squared[i] == pytest.approx(full @ (y - mu) ** 2, abs=GRID)
        combos, others = chances(np.flatnonzero(mine & (ratings.rater != r)))
        mu = np.where(combos[:, item] == 1, p1[r], p0[r])
        assert got.foreseen[i] == pytest.approx(others @ mu, abs=GRID)
        assert got.rest[got.pairs.of_rating[i]] == pytest.approx(others @ combos[:, item], abs=GRID)


def test_raters_that_the_fit_does_not_know_and_other_scores_are_refused():
    ratings = panel(7, students=60)
    fit = rl.fit(ratings, model="dawid-skene", starts=1)
    with pytest.raises(InputError, match="raters that the fit does not know"):
        fit.diagnose(replace(ratings, raters=ratings.raters + "x"))
    with pytest.raises(InputError, match=r"pass \(1\) and fail \(0\) only"):
        fit.diagnose(replace(ratings, score=ratings.score * 2))


@pytest.mark.parametrize("model", ["hrm", "dawid-skene"])
def test_known_categories_are_not_in_doubt(model: str) -> None:
    ratings = with_some_known(panel(1))
    fit = rl.fit(ratings, model=model, starts=1, standard_errors=False)
    truth = fit.table("truth")
    np.testing.assert_allclose(residuals(fit, ratings).ability.mean, truth["probability"], atol=GRID)
    sure = truth.filter((pl.col("probability") < 1e-12) | (pl.col("probability") > 1 - 1e-12))
    assert sure.height >= 0.8 * len(ratings.known)
