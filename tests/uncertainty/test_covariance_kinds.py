"""Every covariance against differences of the gradient, against each other where the model holds, and where not."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.engine.protocol import Nodes
from raterlens.errors import InputError, OptionError
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.extremes import pseudo_ratings
from raterlens.estimation.hierarchical import ratings_given_abilities
from raterlens.estimation.laplace import Laplace
from raterlens.estimation.marginal import marginal
from raterlens.estimation.methods import estimate
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec
from raterlens.uncertainty.conditional_information import (
    information_given_abilities,
    laplace_curvature,
    stretch_of_abilities,
)
from raterlens.uncertainty.covariance import Covariance
from raterlens.uncertainty.resampling import redrawn, resampled
from raterlens.uncertainty.sandwich import sandwich, student_scores
from tests.support.facets_models import KINDS, make, ordered, somewhere, with_facet

# Central differences of exact gradients in double precision.
BY_DIFFERENCES = 1e-6


def by_differences(gradient, x, step=1e-5) -> np.ndarray:
    return np.column_stack([(gradient(x - d) - gradient(x + d)) / (2 * step) for d in step * np.eye(len(x))])


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_students_add_up_to_the_gradient(small, kind):
    ratings = small
    if kind in ("rating scale", "partial credit", "graded"):
        ratings = ordered(small)
    elif "facet" in kind:
        ratings = with_facet(small)
    model, response = make(small, kind)
    pseudo = pseudo_ratings(model, response.n_categories)
    problem = marginal(ratings, model, response, pseudo)
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    scores = student_scores(problem, ratings, x, nodes)
    assert scores.shape == (ratings.n_students, model.blocks.size)
    expected = problem.value(x, nodes).gradient - pseudo.value(model, response, x)[1]
    np.testing.assert_allclose(scores.sum(axis=0), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("model", "link"),
    [("gmf", "logit"), ("gmf", "cloglog"), ("gmf", "probit"), ("probit", "probit"), ("tfm", "logit")],
)
def test_information_of_the_methods_without_a_grid(small, model, link):
    facets, _ = build(small, Options(facets_spec(model), get_link(link)), 2)
    pseudo = pseudo_ratings(facets, 2)
    data = Conditional(small, facets, get_link(link))
    x = somewhere(facets)
    theta = data.modes(facets.predictor(x), np.zeros(small.n_students))
    approximation = Laplace(data, facets, pseudo)
    found = laplace_curvature(data, facets, pseudo, x, theta)
    expected = by_differences(lambda y: approximation.value(y).gradient, x)
    atol = BY_DIFFERENCES * np.abs(expected).max()
    np.testing.assert_allclose(found.information.toarray(), expected, atol=atol)
    gradient = approximation.value(x).gradient - pseudo.value(facets, data.response, x)[1]
    np.testing.assert_allclose(found.scores.sum(axis=0), gradient, atol=1e-8)
    fixed = information_given_abilities(data, facets, pseudo, x, theta).toarray()
    expected = by_differences(lambda y: ratings_given_abilities(data, facets, pseudo, theta, y).gradient, x)
    np.testing.assert_allclose(fixed, expected, atol=BY_DIFFERENCES * np.abs(expected).max())


def test_the_stretch_of_hierarchical_likelihood_is_found_again(small):
    options = Options(facets_spec("gmf"), get_link("logit"))
    facets, response = build(small, options, 2)
    found = estimate(small, facets, response, options.link, "hl")
    data = Conditional(small, facets, options.link)
    stretch = stretch_of_abilities(data, facets, found.parameters, found.moments.mean)
    unscaled = found.parameters.copy()
    unscaled[facets.blocks["slope"]] /= stretch
    theta = data.modes(facets.predictor(unscaled), found.moments.mean)
    assert stretch == pytest.approx(theta.std(ddof=1), rel=1e-3)


def test_the_sandwich_is_the_heteroscedastic_one_of_a_regression():
    random = np.random.default_rng(0)
    x, e = random.normal(size=(40, 3)), random.normal(size=40)
    bread = np.linalg.inv(x.T @ x)
    from scipy import sparse

    found = sandwich(Covariance(bread, np.empty(0, dtype=np.int64)), sparse.csr_array(x * e[:, None]))
    np.testing.assert_allclose(found.matrix, 40 / 39 * bread @ (x.T * e**2) @ x @ bread)


@pytest.fixture(scope="module")
def large():
    return rl.simulate(students=2500, raters=5, items=3, raters_per_student=3, seed=7).ratings


@pytest.fixture(scope="module")
def by_observed(large):
    return rl.fit(large)


@pytest.mark.parametrize(
    ("method", "kind", "within"),
    [
        ("mml", "expected", 0.06),
        ("mml", "opg", 0.1),
        ("mml", "sandwich", 0.1),
        ("laplace", "observed", 0.1),
        ("laplace", "opg", 0.15),
        ("laplace", "sandwich", 0.15),
    ],
)
def test_covariances_agree_where_the_model_holds(large, by_observed, method, kind, within):
    expected = by_observed.raters
    found = rl.fit(large, method=method, covariance=kind)
    assert found.covariance == kind
    for name in ("eta_se", "kappa_se"):
        np.testing.assert_allclose(found.raters[name], expected[name], rtol=within)


def test_abilities_held_fixed_make_standard_errors_too_small(small):
    honest = rl.fit(small, method="hl").raters
    found = rl.fit(small, method="hl", covariance="conditional").raters
    assert (found["kappa_se"].to_numpy() < honest["kappa_se"].to_numpy()).all()


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


def test_the_sandwich_holds_where_a_halo_makes_the_others_too_small():
    raters = [rl.fit(with_halo(run), covariance="sandwich").raters for run in range(20)]
    spread = np.sqrt(np.mean(np.var([table["eta"] for table in raters], axis=0, ddof=1)))
    # 20 runs x 4 raters leave about 9 % of chance in the spread.
    assert np.sqrt(np.mean([table["eta_se"] ** 2 for table in raters])) == pytest.approx(spread, rel=0.25)
    observed = rl.fit(with_halo(0)).raters["eta_se"]
    assert np.sqrt((observed**2).mean()) < 0.75 * spread


def test_what_is_not_offered_is_refused_before_any_work(small):
    with pytest.raises(
        OptionError, match="not offered for method 'hl'; choose one of: observed, conditional"
    ):
        rl.fit(small, method="hl", covariance="sandwich")
    with pytest.raises(OptionError, match="did you mean 'sandwich'"):
        rl.fit(small, covariance="sandwhich")
    few = rl.simulate(students=10, raters=5, items=3).ratings
    with pytest.raises(InputError, match="10 students for 13 parameters"):
        rl.fit(few, covariance="opg")


def test_redrawn_ratings_follow_the_model(small):
    """Pass rates of contexts, over many draws, against the marginal probability by quadrature."""
    for kind in ("gmf", "rating scale"):
        ratings = ordered(small) if kind == "rating scale" else small
        model, response = make(small, kind)
        x, random = somewhere(model), np.random.default_rng(1)
        scores = np.stack([redrawn(ratings, model, response, x, random).score for _ in range(400)])
        nodes = Nodes.equally_spaced(-7, 7, 0.1)
        chance = np.exp(response.log_prob(model.predictor(x), nodes.points)) @ np.exp(nodes.log_weights)
        expected = (chance @ np.arange(response.n_categories))[model.contexts.places(ratings)]
        error = (scores.mean(axis=0) - expected) / (scores.std(axis=0, ddof=1) / 20 + 1e-3)
        assert np.abs(error).max() < 5
        assert np.std(error) < 1.3


def test_resampled_students_keep_their_ratings(small):
    drawn = resampled(small, np.random.default_rng(5))
    assert drawn.n_students == small.n_students
    profiles = {
        tuple(
            zip(
                small.rater[small.student == n],
                small.item[small.student == n],
                small.score[small.student == n],
                strict=True,
            )
        )
        for n in range(small.n_students)
    }
    back_rater, back_item = (
        np.searchsorted(old, new) for old, new in ((small.raters, drawn.raters), (small.items, drawn.items))
    )
    for n in range(drawn.n_students):
        own = drawn.student == n
        profile = tuple(
            zip(back_rater[drawn.rater[own]], back_item[drawn.item[own]], drawn.score[own], strict=True)
        )
        assert profile in profiles


def test_a_rater_who_was_not_drawn_is_left_out():
    frame = pl.DataFrame(
        {"student": [0, 0, 1, 2, 3, 4], "rater": list("abaaaa"), "score": [1, 0, 1, 0, 1, 0]}
    )
    ratings = rl.read(frame)
    seen = {tuple(resampled(ratings, np.random.default_rng(seed)).raters) for seed in range(20)}
    assert seen == {("a",), ("a", "b")}
