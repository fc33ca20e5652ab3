"""The likelihood over two abilities: against integration, differences, and a finer grid."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from raterlens.capability.links import get_link
from raterlens.estimation.optimiser import Search, Space
from raterlens.estimation.shared_estimate import fit_shared
from raterlens.inference.covariance import in_full
from raterlens.likelihood.latent import Crossed, Fallible
from raterlens.likelihood.marginal import ACCURACY
from raterlens.likelihood.nodes import ProductNodes
from raterlens.likelihood.priors import Ridge
from raterlens.models.responses import Adjacent, Graded, Linked, Predictor
from raterlens.models.term import Effect
from raterlens.models.terms.shared_bias import BIAS, SharedBias
from tests.support.facets_models import assert_gradient, by_differences, ordered, with_facet, with_some_known
from tests.support.shared_panels import panel, problem_on


def test_the_likelihood_against_a_very_fine_grid_over_both_abilities() -> None:
    made = panel(students=6, raters=5, known=3, seed=2)
    problem, x = problem_on(made.ratings, get_link("logit"))
    blocks = problem.model.blocks
    a, severity, b = (
        x[blocks["slope"]],
        x[blocks["severity"]] + x[blocks["difficulty"]],
        problem.model.term(BIAS, SharedBias).table(x[blocks[BIAS]]),
    )
    threshold = x[blocks["known"]][0]
    score = made.table["score"].to_numpy().reshape(6, 5)
    gold = made.table["gold"].to_numpy().reshape(6, 5)[:, 0]
    assert b[1] == 0.0

    step = 0.02
    line = np.arange(-7, 7 + step / 2, step)
    t, z = (each.ravel() for each in np.meshgrid(line, line))
    weight, whole = stats.norm.pdf(t) * stats.norm.pdf(z) * step**2, 0.0
    for given, answer in zip(score, gold, strict=True):
        found = (
            weight * (0.95 * special.expit((2 * answer - 1) * (6.0 * t - threshold)) + 0.025)
            if np.isfinite(answer)
            else weight
        )
        for rater, y in enumerate(given):
            found = found * special.expit((2 * y - 1) * (a[rater] * t + b[rater] * z - severity[rater]))
        whole += np.log(found.sum())
    assert problem.value(x, problem.own_nodes(x)).loglik == pytest.approx(whole, rel=ACCURACY)


@pytest.mark.parametrize(
    ("link", "scale", "model", "change"),
    [
        ("logit", "rating scale", "gmf", lambda ratings: ratings),
        ("probit", "rating scale", "probit", with_facet),
        ("logit", "partial credit", "gmf", ordered),
        ("probit", "graded", "tfm", ordered),
    ],
)
def test_gradients(small, link, scale, model, change) -> None:
    problem, x = problem_on(with_some_known(change(small)), get_link(link), scale, model)
    nodes = problem.rough_nodes()
    assert_gradient(lambda at: problem.value(at, nodes), x)


def test_the_best_start_wins_the_grid_is_fine_enough_and_most_follow_what_is_shared() -> None:
    made = panel(students=80, raters=6, known=30, seed=1)
    problem, x = problem_on(made.ratings, get_link("logit"))
    space = Space(np.full(len(x), 10.0), problem.model.bounds(allow_reversed=False))
    mirrored = x.copy()
    mirrored[problem.model.blocks[BIAS]] *= -1
    found = fit_shared(problem, [x, mirrored], space, Search())
    assert found.optimum.record.converged
    assert found.optimum.parameters[problem.model.blocks[BIAS]].sum() > 0
    assert isinstance(found.nodes, ProductNodes)
    finer = problem.value(found.optimum.parameters, found.nodes.finer()).loglik
    assert finer == pytest.approx(found.optimum.value.loglik, rel=ACCURACY)
    assert np.abs(problem.value(found.optimum.parameters, found.nodes).gradient).max() < 1e-3


def test_the_ridge_does_not_say_which_way_the_truth_lies() -> None:
    problem, _ = problem_on(panel(students=6, raters=5, known=3, seed=2).ratings, get_link("logit"))
    terms = tuple(term for term in problem.model.terms if term.name != BIAS)
    model = replace(problem.model, terms=terms).plus(SharedBias(Effect.each(5)))
    x = np.random.default_rng(1).standard_normal(model.blocks.size)
    slope, bias = model.blocks["slope"], model.blocks[BIAS]
    turned = x.copy()
    turned[slope], turned[bias] = 0.6 * x[slope] - 0.8 * x[bias], 0.8 * x[slope] + 0.6 * x[bias]
    ridge = Ridge(model, 0.7, own_slopes=True)
    value, gradient = ridge.value(x)
    assert value < 0
    assert ridge.value(turned)[0] == pytest.approx(value)
    assert gradient == pytest.approx(-(ridge.information(x) @ x))


@pytest.mark.parametrize(
    ("link", "scale", "model", "change"),
    [
        ("logit", "rating scale", "gmf", lambda ratings: ratings),
        ("probit", "rating scale", "probit", with_facet),
        ("logit", "partial credit", "gmf", ordered),
        ("logit", "graded", "tfm", ordered),
    ],
)
def test_information_agrees_with_differences(small, link, scale, model, change) -> None:
    problem, x = problem_on(with_some_known(change(small)), get_link(link), scale, model)
    nodes = problem.rough_nodes()
    expected = by_differences(problem, x, nodes)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_the_gradient_of_abilities(small) -> None:
    problem, x = problem_on(with_some_known(small), get_link("logit"))
    nodes, step = problem.rough_nodes(), 1e-5

    def about_mean(posterior: np.ndarray) -> np.ndarray:
        return posterior * (nodes.points - (posterior @ nodes.points)[:, None])

    found = problem.student_scores(x, nodes, about_mean).toarray()
    for place in (0, problem.model.blocks["known"].start, len(x) - 1):
        d = step * np.eye(len(x))[place]
        ahead, back = (problem.moments(x + sign * d, nodes).mean for sign in (1, -1))
        np.testing.assert_allclose(found[:, place], (ahead - back) / (2 * step), atol=1e-7)


PRODUCT = ProductNodes.of((1.0, 1.5), 4.0)
BIASES = np.array([0.7, -0.3])


RESPONSES = pytest.mark.parametrize(
    "response",
    [Adjacent(2), Adjacent(4), Linked(get_link("probit")), Graded(get_link("logit"), 3)],
    ids=["two scores", "four scores", "probit", "graded"],
)


@RESPONSES
def test_each_node_is_the_response_with_what_is_shared_in_its_intercepts(response) -> None:
    steps = response.n_categories - 1
    predictor = Predictor(np.array([1.2, 0.4]), np.array([0.3, -0.2])[:, None] - np.arange(steps))
    shared = Crossed(Fallible(response, 2), np.empty(0), np.empty(0)).on(PRODUCT.points, PRODUCT.z)
    both = Predictor(predictor.slope, np.column_stack([predictor.intercepts, BIASES]))
    counts = np.random.default_rng(1).random((2, response.n_categories, len(PRODUCT.points)))
    found = [
        shared.log_prob(both, PRODUCT.points),
        shared.scores(both, PRODUCT.points),
        *shared.summed_scores(both, PRODUCT.points, counts),
        *shared.summed_curvature(both, PRODUCT.points, counts),
    ]
    for q, (t, z) in enumerate(zip(PRODUCT.points, PRODUCT.z, strict=True)):
        shift = np.outer(z * BIASES, response.lever)
        at = Predictor(predictor.slope, predictor.intercepts + shift)
        # Derivatives of single intercepts in all that a context depends on.
        through = np.zeros((steps, steps + 2))
        through[:, 0], through[:, 1:-1] = t * response.lever, np.eye(steps)
        through[:, -1] = z * response.lever
        scores = np.tensordot(through, response.scores(at, np.array([t]))[..., 0], (0, 0))
        bend = through.T @ response.curvature(at, np.array([t]), counts[..., [q]])[:, 0] @ through
        np.testing.assert_allclose(found[0][..., q], response.log_prob(at, np.array([t]))[..., 0])
        np.testing.assert_allclose(found[1][..., q], scores[1:], atol=1e-14)
        summed = np.einsum("jck,ck->jc", scores, counts[..., q])
        found[2] -= summed[0]
        found[3] -= summed[1:].T
        found[4] -= bend[:, 0, 0]
        found[5] -= bend[:, 0, 1:]
        found[6] -= bend[:, 1:, 1:]
    for left in found[2:]:
        np.testing.assert_allclose(left, 0.0, atol=1e-8)


@RESPONSES
def test_one_known_answer_in_20_says_nothing(response) -> None:
    """The second context is of known answers; derivatives by differences."""
    steps, t, step = response.n_categories - 1, np.linspace(-2.0, 2.0, 5), 1e-5
    predictor = Predictor(np.array([1.2, 6.0]), np.array([0.3, -0.2])[:, None] - np.arange(steps))
    fallible = Fallible(response, 1)
    found, whole = fallible.log_prob(predictor, t), response.log_prob(predictor, t)
    np.testing.assert_allclose(found[0], whole[0])
    np.testing.assert_allclose(np.exp(found[1]), 0.95 * np.exp(whole[1]) + 0.05 / response.n_categories)
    counts = np.random.default_rng(1).random((2, response.n_categories, len(t)))
    scores, curvature = fallible.scores(predictor, t), fallible.curvature(predictor, t, counts)
    for place in range(steps):
        moved = [
            Predictor(predictor.slope, predictor.intercepts + sign * step * np.eye(steps)[place])
            for sign in (1, -1)
        ]
        ahead, back = (fallible.log_prob(at, t) for at in moved)
        np.testing.assert_allclose(scores[place], (ahead - back) / (2 * step), atol=1e-7)
        up, down = (np.einsum("jckq,ckq->cqj", fallible.scores(at, t), counts) for at in moved)
        np.testing.assert_allclose(curvature[:, :, place], (up - down) / (2 * step), atol=1e-6)
