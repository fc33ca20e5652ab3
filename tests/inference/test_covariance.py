"""Every kind of covariance: inverses, the students' own scores, known abilities, differences."""

import numpy as np
import polars as pl
import pytest
from scipy import linalg, sparse

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import Covariance
from raterlens.estimation.methods import Conditional, Laplace, estimate, ratings_given_abilities
from raterlens.inference.covariance import (
    UNDETERMINED,
    covariance,
    differenced_information,
    in_full,
    information_given_abilities,
    laplace_curvature,
    sandwich,
    stretch_of_abilities,
)
from raterlens.likelihood.marginal import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.facets import Redundancy, redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.facets_models import KINDS, make, ratings_of, somewhere

# ----------------------------------------------------------------------------------------------------
# The covariance of centred parameters against its definition, for every kind of model.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("anchored", [False, True])
def test_covariance_is_that_of_the_parameters_within_their_constraints(small, kind, anchored):
    """With a basis B of what may move (constraints 0, held parameters still): B inv(B' I B) B'."""
    model, _ = make(small, kind)
    x = somewhere(model)
    held = np.zeros(model.blocks.size, dtype=bool)
    if anchored:
        held[[model.blocks["severity"].start, model.blocks["difficulty"].start]] = True
    jacobian = model.jacobian(x).toarray()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(jacobian))
    information = jacobian.T @ (weights[:, None] * jacobian)
    redundant = redundancy(model, x, held)
    fixed = np.vstack([redundant.constraints, np.eye(len(x))[held]])
    basis = linalg.null_space(fixed) if len(fixed) else np.eye(len(x))
    expected = basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T
    found = covariance(sparse.csr_array(information), redundant, held).matrix
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_covariance_gives_centred_directions_no_variance():
    random = np.random.default_rng(0)
    root = random.normal(size=(9, 4))
    direction, constraint = np.array([[1.0, 1, -1, -1]]), np.array([[0.0, 0, 1, 1]])
    information = root.T @ root
    project = np.eye(4) - direction.T @ direction / 4
    information = project @ information @ project
    found = covariance(
        sparse.csr_array(information), Redundancy(constraint, direction), np.zeros(4, dtype=bool)
    ).matrix
    basis = np.linalg.svd(constraint)[2][1:].T  # parameters that meet the constraint
    np.testing.assert_allclose(
        found, basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T, atol=1e-10
    )


def test_undetermined_parameters_are_named_and_finite():
    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    found = covariance(sparse.csr_array(np.diag([4.0, 0.0, 1.0])), nothing, np.zeros(3, dtype=bool))
    assert found.undetermined.tolist() == [1]
    assert np.isfinite(found.matrix).all()
    assert found.matrix[0, 0] == pytest.approx(0.25)


def test_where_nothing_is_known_of_anything_standard_output_is_left_alone(capfd):
    """LAPACK writes to it if asked to invert a matrix without rows, and the command prints JSON there."""
    nothing = Redundancy(np.zeros((0, 2)), np.zeros((0, 2)))
    found = covariance(sparse.csr_array(-np.eye(2)), nothing, np.zeros(2, dtype=bool))
    assert found.undetermined.tolist() == [0, 1]
    assert np.isfinite(found.matrix).all()
    assert capfd.readouterr().out == ""


def test_a_direction_of_which_next_to_nothing_is_known():
    """Two parameters that the data see as a sum: each is undetermined, their sum is not, and the third is as it was."""
    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    information = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 4.0]])
    found = covariance(sparse.csr_array(information), nothing, np.zeros(3, dtype=bool))
    assert found.undetermined.tolist() == [0, 1]
    total = np.array([1.0, 1.0, 0.0])
    assert total @ found.matrix @ total == pytest.approx(0.5, rel=1e-6)
    # The direction itself is given the least information that counts: 1e-7 of the parameters' own, 2.
    apart = np.array([1.0, -1.0, 0.0])
    assert apart @ found.matrix @ apart == pytest.approx(2 / (2 * UNDETERMINED), rel=1e-6)
    assert found.matrix[2, 2] == pytest.approx(0.25)


def test_where_everything_is_held_nothing_varies():
    nothing = Redundancy(np.zeros((0, 2)), np.zeros((0, 2)))
    found = covariance(sparse.csr_array(np.eye(2)), nothing, np.ones(2, dtype=bool))
    assert not found.matrix.any()
    assert not len(found.undetermined)


def test_a_parameter_that_bends_the_wrong_way_is_set_aside():
    """Its variance is large, and everybody else's is as if it were not there."""
    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    information = np.array([[2.0, 0.3, 0.1], [0.3, -1.0, 0.2], [0.1, 0.2, 3.0]])
    found = covariance(sparse.csr_array(information), nothing, np.zeros(3, dtype=bool))
    others = np.linalg.inv(information[np.ix_([0, 2], [0, 2])])
    np.testing.assert_allclose(found.matrix[np.ix_([0, 2], [0, 2])], others)
    assert found.matrix[1, 1] == pytest.approx(1000.0)
    assert found.undetermined.tolist() == [1]
    # One that does so only together with another.
    both = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    found = covariance(sparse.csr_array(both), nothing, np.zeros(3, dtype=bool))
    assert found.matrix[2, 2] == pytest.approx(0.25)
    assert 2 not in found.undetermined
    assert len(found.undetermined) >= 1


@pytest.mark.parametrize("left", [0.0, 1e-9, 1e-4])
def test_a_direction_without_information_is_found_in_the_matrix_as_it_was(left):
    """The Cholesky factor is tried in the matrix's place. Two parameters are all but one, to the correlation left."""
    size = 150
    root = np.random.default_rng(0).normal(size=(size, size))
    information = np.eye(size) + 0.1 * root @ root.T / size
    information[1] = information[:, 1] = 0
    information[0] = information[:, 0] = 0
    information[:2, :2] = [[1, 1 - left], [1 - left, 1]]
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    expected = (vectors / np.maximum(values, UNDETERMINED)) @ vectors.T / np.outer(scale, scale)
    nothing = Redundancy(np.zeros((0, size)), np.zeros((0, size)))
    found = covariance(information.copy(), nothing, np.zeros(size, dtype=bool))
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-6, atol=1e-9)
    assert found.undetermined.tolist() == ([0, 1] if left < UNDETERMINED else [])


# ----------------------------------------------------------------------------------------------------
# Every covariance against differences of the gradient, against each other where the model holds, and where not.


@pytest.fixture(scope="module")
def large():
    return rl.simulate(students=2500, raters=5, items=3, raters_per_student=3, seed=7).ratings


@pytest.fixture(scope="module")
def by_observed(large):
    return rl.fit(large, model="gmf")


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
    found = rl.fit(large, model="gmf", method=method, covariance=kind)
    assert found.covariance == kind
    for name in ("eta_se", "kappa_se"):
        np.testing.assert_allclose(found.raters[name], expected[name], rtol=within)


def test_abilities_held_fixed_make_standard_errors_too_small(small):
    honest = rl.fit(small, model="gmf", method="hl").raters
    found = rl.fit(small, model="gmf", method="hl", covariance="conditional").raters
    assert (found["kappa_se"].to_numpy() < honest["kappa_se"].to_numpy()).all()


def test_what_is_not_offered_is_refused_before_any_work(small):
    with pytest.raises(
        OptionError, match="not offered for method 'hl'; choose one of: observed, conditional"
    ):
        rl.fit(small, model="gmf", method="hl", covariance="sandwich")
    with pytest.raises(OptionError, match="did you mean 'sandwich'"):
        rl.fit(small, model="gmf", covariance="sandwhich")
    few = rl.simulate(students=10, raters=5, items=3).ratings
    with pytest.raises(InputError, match="10 students for 13 parameters"):
        rl.fit(few, model="gmf", covariance="opg")


# ----------------------------------------------------------------------------------------------------
# Information of the methods without a grid, against differences of their gradients.


# Central differences of exact gradients in double precision.
BY_DIFFERENCES = 1e-6


def by_differences(gradient, x, step=1e-5) -> np.ndarray:
    return np.column_stack([(gradient(x - d) - gradient(x + d)) / (2 * step) for d in step * np.eye(len(x))])


@pytest.mark.parametrize(
    ("model", "link"),
    [("gmf", "logit"), ("gmf", "cloglog"), ("gmf", "probit"), ("probit", "probit"), ("tfm", "logit")],
)
def test_information_of_the_methods_without_a_grid(small, model, link):
    facets, _ = build(small, Options(MODELS[model], get_link(link)), 2)
    pseudo = pseudo_ratings(facets, 2)
    data = Conditional(small, facets, get_link(link))
    x = somewhere(facets)
    theta = data.modes(facets.predictor(x), np.zeros(small.n_students))
    approximation = Laplace(data, facets, pseudo)
    information, scores = laplace_curvature(data, facets, pseudo, x, theta)
    expected = by_differences(lambda y: approximation.value(y).gradient, x)
    atol = BY_DIFFERENCES * np.abs(expected).max()
    np.testing.assert_allclose(information.toarray(), expected, atol=atol)
    gradient = approximation.value(x).gradient - pseudo.value(facets, data.response, x)[1]
    np.testing.assert_allclose(scores.sum(axis=0), gradient, atol=1e-8)
    fixed = information_given_abilities(data, facets, pseudo, x, theta).toarray()
    expected = by_differences(lambda y: ratings_given_abilities(data, facets, pseudo, theta, y).gradient, x)
    np.testing.assert_allclose(fixed, expected, atol=BY_DIFFERENCES * np.abs(expected).max())


def test_the_stretch_of_hierarchical_likelihood_is_found_again(small):
    options = Options(MODELS["gmf"], get_link("logit"))
    facets, response = build(small, options, 2)
    found = estimate(small, facets, response, options.link, "hl")
    data = Conditional(small, facets, options.link)
    stretch = stretch_of_abilities(data, facets, found.parameters, found.moments.mean)
    unscaled = found.parameters.copy()
    unscaled[facets.blocks["slope"]] /= stretch
    theta = data.modes(facets.predictor(unscaled), found.moments.mean)
    assert stretch == pytest.approx(theta.std(ddof=1), rel=1e-3)


def test_differences_of_the_gradient_are_near_the_exact_information(small):
    model, response = make(small, "gmf")
    problem = marginal(small, model, response, pseudo_ratings(model, 2))
    x, nodes = somewhere(model), Nodes.equally_spaced(-6, 6, 0.2)
    exact = in_full(problem.information(x, nodes))
    found = differenced_information(problem, x, nodes, redundancy(model, x)).toarray()
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())


# ----------------------------------------------------------------------------------------------------
# Scores of students and their outer products, against the gradient, a regression and a halo.


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
