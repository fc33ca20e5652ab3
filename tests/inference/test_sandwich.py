"""Scores of students and their outer products, against the gradient, a regression and a halo."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.estimation.facets_estimate import Covariance
from raterlens.inference.covariance import sandwich
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import pseudo_ratings
from tests.support.facets_models import KINDS, make, ratings_of, somewhere


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_students_add_up_to_the_gradient(small, kind):
    ratings = ratings_of(small, kind)
    model, response = make(small, kind)
    pseudo = pseudo_ratings(model, response.n_categories)
    problem = marginal(ratings, model, response, pseudo)
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    scores = problem.student_scores(x, nodes)
    assert scores.shape == (ratings.n_students, model.blocks.size)
    expected = problem.value(x, nodes).gradient - pseudo.value(model, response, x)[1]
    np.testing.assert_allclose(scores.sum(axis=0), expected, atol=1e-9 * np.abs(expected).max())


def test_the_sandwich_is_the_heteroscedastic_one_of_a_regression():
    random = np.random.default_rng(0)
    x, e = random.normal(size=(40, 3)), random.normal(size=40)
    bread = np.linalg.inv(x.T @ x)
    from scipy import sparse

    found = sandwich(Covariance(bread, np.empty(0, dtype=np.int64)), sparse.csr_array(x * e[:, None]))
    np.testing.assert_allclose(found.matrix, 40 / 39 * bread @ (x.T * e**2) @ x @ bread)


def with_halo(seed: int) -> rl.Ratings:
    """Each rater has an impression of each student that colours all six items."""
    random = np.random.default_rng(seed)
    n, raters, items = 80, 4, 6
    student, rater, item = (
        a.ravel() for a in np.meshgrid(np.arange(n), np.arange(raters), np.arange(items), indexing="ij")
    )
    ability, impression = random.normal(size=n), 1.5 * random.normal(size=(n, raters))
    s = ability[student] + impression[student, rater] - np.linspace(-0.5, 0.5, raters)[rater]
    score = (random.random(s.size) < 1 / (1 + np.exp(-s))).astype(int)
    return rl.read(pl.DataFrame({"student": student, "rater": rater, "item": item, "score": score}))


@pytest.mark.nightly
def test_the_sandwich_holds_where_a_halo_makes_the_others_too_small():
    raters = [rl.fit(with_halo(run), model="gmf", covariance="sandwich").raters for run in range(20)]
    spread = np.sqrt(np.mean(np.var([table["eta"] for table in raters], axis=0, ddof=1)))
    # 20 runs x 4 raters leave about 9 % of chance in the spread.
    assert np.sqrt(np.mean([table["eta_se"] ** 2 for table in raters])) == pytest.approx(spread, rel=0.25)
    observed = rl.fit(with_halo(0), model="gmf").raters["eta_se"]
    assert np.sqrt((observed**2).mean()) < 0.75 * spread
