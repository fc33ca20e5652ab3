"""The optimisers against SciPy's and against closed forms."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, sparse

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.curvature import as_bent, joint_inverse, own_curvature, worth_joining
from raterlens.estimation.facets_estimate import information_scale
from raterlens.estimation.methods import estimate
from raterlens.estimation.optimiser import News, Progress, Search, Space, maximise, newton
from raterlens.inference.covariance import in_full
from raterlens.models.build import build
from raterlens.models.facets import redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from tests.support.objectives import negative, quadratic, rosenbrock

FREE = (np.full(8, -np.inf), np.full(8, np.inf))


def test_parameters_held_by_their_bounds_stay_and_cost_one_evaluation():
    function, centre = quadratic()
    found = maximise(
        negative(function), np.zeros(8), Space(np.ones(8), (centre + 1, centre + 1)), stage="test"
    )
    np.testing.assert_array_equal(found.parameters, centre + 1)
    assert found.record.evaluations == 1
    assert found.record.converged


def test_progress_and_the_limit_of_iterations():
    seen: list[Progress] = []
    found = maximise(
        negative(rosenbrock),
        np.zeros(8),
        Space(np.ones(8), FREE),
        stage="here",
        search=Search(max_iterations=5, on_progress=seen.append),
    )
    assert [step.iteration for step in seen] == [1, 2, 3, 4, 5]
    assert seen[-1].loglik == found.value.loglik
    assert not found.record.converged
    assert "limit of 5 iterations" in found.record.stopped


def test_without_bounds_it_finds_the_centre_of_a_quadratic():
    function, centre = quadratic()
    found = maximise(negative(function), np.zeros(8), Space(np.ones(8), FREE), stage="test")
    assert found.record.converged
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_within_bounds_it_agrees_with_scipy(seed):
    function, centre = quadratic(seed)
    lower, upper = centre - 1 + np.arange(8) / 4, centre + 3
    expected = optimize.minimize(
        function, upper, jac=True, bounds=optimize.Bounds(lower, upper), options={"gtol": 1e-9, "ftol": 0}
    )
    found = maximise(negative(function), upper, Space(np.full(8, 3.0), (lower, upper)), stage="test")
    assert found.record.converged
    assert (found.parameters >= lower).all()
    assert (found.parameters <= upper).all()
    np.testing.assert_allclose(found.parameters, expected.x, atol=1e-5)


def test_a_curved_valley_with_a_bound_across_it():
    lower, upper = np.full(8, -2.0), np.full(8, 2.0)
    upper[3] = 0.5
    expected = optimize.minimize(rosenbrock, np.zeros(8), jac=True, bounds=optimize.Bounds(lower, upper))
    found = maximise(negative(rosenbrock), np.zeros(8), Space(np.ones(8), (lower, upper)), stage="test")
    assert found.record.converged
    assert found.parameters[3] == 0.5
    np.testing.assert_allclose(-found.value.objective, expected.fun, rtol=1e-6)


def test_who_is_at_a_bound_is_held_there_whatever_rounding_does_to_it():
    """A bound times a scale, divided by it, is below the bound for some of these scales."""
    information, upper = np.array([1, 0.97, 1, 2.66, 1, 2.75, 1, 3.05]), np.full(8, 10.0)
    assert (upper * np.sqrt(information) / np.sqrt(information) < upper).any()
    target = np.where(np.arange(8) % 2, 20.0, 3.0)
    objective = negative(lambda x: (float(((x - target) ** 2).sum()) / 2, x - target))
    found = maximise(objective, np.zeros(8), Space(information, (-upper, upper)), stage="test")
    assert found.record.gradient <= found.record.tolerance
    np.testing.assert_array_equal(found.parameters[1::2], 10.0)


def test_where_the_objective_bends_the_wrong_way_it_still_climbs():
    """-cos has its lowest points at 0, where its curvature is that of a minimum."""
    objective = negative(lambda x: (float(np.cos(x).sum()), -np.sin(x)))
    found = maximise(objective, np.full(8, 0.1), Space(np.ones(8), FREE), stage="test")
    np.testing.assert_allclose(np.cos(found.parameters), -1, atol=1e-9)


def test_steps_into_where_the_objective_is_undefined_are_taken_back():
    def logarithms(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float((x - np.log(x)).sum()), 1 - 1 / x

    found = maximise(negative(logarithms), np.full(8, 8.0), Space(np.full(8, 1e-3), FREE), stage="test")
    np.testing.assert_allclose(found.parameters, 1, atol=1e-5)


def test_an_objective_that_becomes_another_on_the_way_is_climbed_to_its_own_top():
    function, centre = quadratic()
    shift, gradients = np.full(8, 0.3), []

    def objective(x):
        return negative(function)(x + shift)

    def nearer(_, gradient):
        gradients.append(gradient)
        if len(gradients) == 2:
            return News(inverse_curvature=sparse.eye_array(8, format="csr"))
        if len(gradients) != 4:
            return News()
        shift[:] = 0.0
        return News(objective_changed=True)

    found = maximise(objective, np.zeros(8), Space(np.ones(8), FREE), stage="test", on_iteration=nearer)
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)
    assert found.value.loglik == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_with_the_curvature_itself_a_quadratic_takes_one_more_step(seed):
    function, centre = quadratic(seed)
    matrix = np.stack([function(centre + unit)[1] for unit in np.eye(8)])
    news = News(inverse_curvature=sparse.csr_array(np.linalg.inv(matrix)))
    found = maximise(
        negative(function),
        np.zeros(8),
        Space(np.full(8, 5.0), FREE),
        stage="test",
        on_iteration=lambda *_: news,
    )
    assert found.record.iterations == 2
    np.testing.assert_allclose(found.parameters, centre, atol=1e-6)


def test_a_curvature_that_misleads_is_given_up():
    function, centre = quadratic()
    wrong = News(inverse_curvature=sparse.csr_array(-np.eye(8)))
    told = iter([wrong])
    found = maximise(
        negative(function),
        np.zeros(8),
        Space(np.ones(8), FREE),
        stage="test",
        on_iteration=lambda *_: next(told, News()),
    )
    np.testing.assert_allclose(found.parameters, centre, atol=1e-5)


def hessian(function):
    return lambda x: np.stack([(function(x + h)[1] - function(x - h)[1]) / 2e-5 for h in 1e-5 * np.eye(8)])


def test_newton_takes_a_few_steps_on_a_quadratic():
    function, centre = quadratic()
    found = newton(negative(function), hessian(function), np.zeros(8), Space(np.ones(8), FREE), stage="here")
    np.testing.assert_allclose(found.parameters, centre, atol=1e-6)
    assert found.record.converged
    assert found.record.iterations <= 4


def test_newton_follows_a_curved_valley_from_far_away():
    found = newton(
        negative(rosenbrock), optimize.rosen_hess, np.zeros(8), Space(np.ones(8), FREE), stage="here"
    )
    np.testing.assert_allclose(found.parameters, 1, atol=1e-5)


def test_newton_within_bounds_agrees_with_scipy():
    function, centre = quadratic(3)
    lower, upper = centre + np.linspace(-1, 0.5, 8), np.full(8, 9.0)
    expected = optimize.minimize(
        function, upper, jac=True, bounds=optimize.Bounds(lower, upper), options={"gtol": 1e-9, "ftol": 0}
    )
    found = newton(
        negative(function), hessian(function), upper, Space(np.ones(8), (lower, upper)), stage="here"
    )
    np.testing.assert_allclose(found.parameters, expected.x, atol=1e-5)


def test_newton_keeps_the_limit_of_iterations_and_tells():
    seen: list[Progress] = []
    search = Search(max_iterations=2, on_progress=seen.append)
    space = Space(np.ones(8), FREE)
    found = newton(negative(rosenbrock), optimize.rosen_hess, np.zeros(8), space, search, stage="here")
    assert not found.record.converged
    assert "limit of 2 iterations" in found.record.stopped
    assert [step.iteration for step in seen] == [0, 1, 2]
    assert seen[-1].loglik == pytest.approx(found.value.loglik)


# ----------------------------------------------------------------------------------------------------
# The curvature that the optimiser is given, against the exact one; of ordered scores, too.


@pytest.mark.parametrize(
    ("model_name", "link", "categories", "halo"),
    [
        ("gmf", "logit", 2, "none"),
        ("tfm", "logit", 2, "none"),
        ("gmf", "cloglog", 2, "none"),
        ("probit", "probit", 2, "none"),
        ("gmf", "logit", 4, "none"),
        ("gmf", "logit", 2, "common"),
    ],
)
def test_each_rater_s_block_is_near_the_exact_one(model_name, link, categories, halo):
    thresholds = None if categories == 2 else np.linspace(-1.0, 1.0, categories - 1)
    made = rl.simulate(
        students=1500,
        raters=15,
        items=4,
        raters_per_student=3,
        thresholds=thresholds,
        link=link,
        halo=0.0 if halo == "none" else 1.0,
        seed=5,
    )
    ratings, link = made.ratings, get_link(link)
    model, response = build(
        ratings, Options(MODELS[model_name], link, "rating scale", False, halo=halo), categories
    )
    found = estimate(ratings, model, response, link, "mml")
    information = information_scale(model, found.parameters)
    own = own_curvature(found.problem, found.parameters, information, found.nodes, found.moments)
    inverse = own.inverse(information, None, found.parameters)
    exact = in_full(found.problem.information(found.parameters, found.nodes))
    names = [name for name in ("slope", "severity") if model.blocks.sizes[name] == 15]
    for rater in range(15):
        places = [model.blocks[name].start + rater for name in names]
        product = inverse.toarray()[np.ix_(places, places)] @ exact[np.ix_(places, places)]
        values = np.linalg.eigvals(product).real
        assert values.min() > (0.5 if halo == "none" else 0.35)
        assert values.max() < 1.6
    if halo != "none":
        variance = model.blocks["halo"].start
        assert 0.5 < exact[variance, variance] / information[variance] < 2


def test_it_saves_evaluations(monkeypatch):
    ratings = rl.simulate(students=3000, raters=60, items=4, raters_per_student=3, seed=6).ratings
    with_it = rl.fit(ratings, model="gmf")
    monkeypatch.setattr("raterlens.estimation.quadrature.own_curvature", lambda *_: None)
    without = rl.fit(ratings, model="gmf")
    assert with_it.loglik == pytest.approx(without.loglik, abs=1e-6)
    assert with_it.optimiser.evaluations < 0.85 * without.optimiser.evaluations


def test_explained_raters_have_no_blocks():
    ratings = rl.simulate(students=200, raters=6, items=3, seed=7).ratings
    years = {"rater": ratings.raters.to_list(), "years": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]}
    assert rl.fit(ratings, model="gmf", covariates=pl.DataFrame(years)).converged


def test_scaled_blocks_are_the_likelihoods_own_on_average():
    """Two raters per student: far more is missing than normal posteriors say."""
    ratings = rl.simulate(students=900, raters=100, items=3, raters_per_student=2, seed=8).ratings
    link = get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link))
    found = estimate(ratings, model, response, link, "mml")
    begin = found.parameters.copy()
    begin[model.blocks["slope"]] = 1.2
    information = information_scale(model, begin)
    own = own_curvature(found.problem, begin, information, found.nodes, found.moments)
    scaled = as_bent(own, found.problem, begin, found.nodes)
    exact = in_full(found.problem.information(begin, found.nodes)).diagonal()[own.own]
    before, after = (blocks.diagonal(axis1=1, axis2=2).sum(axis=0) for blocks in (own.blocks, scaled))
    np.testing.assert_allclose(after, exact.sum(axis=0), rtol=0.05)
    assert before[0] > 1.3 * exact[:, 0].sum()


SCALES = ["rating scale", "partial credit", "graded"]


def drawn(students: int, raters: int) -> rl.Ratings:
    thresholds = np.linspace(-2, 2, 5)
    return rl.simulate(
        students=students, raters=raters, items=3, raters_per_student=3, thresholds=thresholds, seed=5
    ).ratings


@pytest.mark.parametrize("scale", SCALES)
def test_most_directions_bend_as_they_should(scale):
    ratings, link = drawn(600, 8), get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link, scale, False), 6)
    found = estimate(ratings, model, response, link, "mml")
    x, nodes, information = found.parameters, found.nodes, information_scale(model, found.parameters)
    own = own_curvature(found.problem, x, information, nodes, found.moments)
    inverse = joint_inverse(found.problem, x, information, nodes, own).toarray()
    exact = in_full(found.problem.information(x, nodes))
    # Without the directions that change no probability.
    level = redundancy(model, x).constraints
    kept = np.linalg.svd(level)[2][len(level) :]
    values = np.linalg.eigvals(np.linalg.inv(kept @ np.linalg.inv(inverse) @ kept.T) @ kept @ exact @ kept.T)
    assert np.median(values.real) == pytest.approx(1, abs=0.25)
    # What all raters share, above all the spread of abilities, is known worse than it would be with these known.
    assert np.sum((values.real < 0.5) | (values.real > 1.5)) <= 4
    assert values.real.min() > 0


@pytest.mark.parametrize("scale", SCALES)
def test_joining_raters_saves_evaluations_of_ordered_scores(scale, monkeypatch):
    ratings = drawn(600, 20)
    asked = {"scale": scale, "halo": "none", "ability": "normal", "standard_errors": False}
    with_it = rl.fit(ratings, **{"model": "gmf"} | asked)
    monkeypatch.setattr("raterlens.estimation.quadrature.worth_joining", lambda _: False)
    without = rl.fit(ratings, **{"model": "gmf"} | asked)
    assert with_it.loglik == pytest.approx(without.loglik, abs=1e-6)
    assert with_it.optimiser.evaluations < 0.7 * without.optimiser.evaluations


def test_pass_fail_ratings_do_without():
    ratings = rl.simulate(students=60, raters=4, items=3, seed=1).ratings
    options = Options(MODELS["gmf"], get_link("logit"), "rating scale", False)
    assert not worth_joining(build(ratings, options, 2)[0])
