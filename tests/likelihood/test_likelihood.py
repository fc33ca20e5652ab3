"""The likelihood with every effect and with combinations: value, gradient, information, students' scores, engines."""

from functools import partial

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.inference.covariance import in_full
from raterlens.likelihood.derivatives import context_curvature, score_terms
from raterlens.likelihood.engines.contract import about_means
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Adjacent, Graded, Linked, Predictor
from raterlens.ratings.packed import StoredRatings, open_packed, write_ratings
from tests.support.likelihoods import CASES, NODES, problem_of, ratings_of, written_out

# Two rules for the same integrals; those over heavy tails are exact to less.
VALUE, HEAVY = 1e-9, 1e-6
# Differences of a value and of a gradient, in standard errors.
GRADIENT, INFORMATION = 1e-7, 1e-6
STEP = 1e-3
# What compiled code loses by going over every second or fourth node of a wide posterior.
THINNED = 1e-7


@pytest.fixture(scope="module", params=CASES)
def known(request):
    found = CASES[request.param]
    ratings = ratings_of(found)
    return found, ratings, *problem_of(found, ratings)


def differences(function, x, step=STEP):
    """(parameters, ...): derivatives, exact to the fifth power of the step."""
    return np.array(
        [
            (8 * (function(x + d) - function(x - d)) - (function(x + 2 * d) - function(x - 2 * d)))
            / (12 * step)
            for d in np.eye(len(x)) * step
        ]
    )


def test_the_value_is_the_one_written_out(known):
    case, ratings, problem, x = known
    found = problem.value(x, NODES).loglik
    close = HEAVY if case.link in ("cauchit", "cloglog") else VALUE
    assert found == pytest.approx(written_out(case, ratings, problem, x), abs=close * ratings.n_students)


def test_gradient_and_information_are_those_of_the_value(known):
    _, _, problem, x = known
    information = in_full(problem.information(x, NODES))
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-3))
    gradient = problem.value(x, NODES).gradient
    expected = differences(lambda at: problem.value(at, NODES).objective, x)
    np.testing.assert_allclose(gradient / scale, expected / scale, atol=GRADIENT * len(x))
    bend = -differences(lambda at: problem.value(at, NODES).gradient, x)
    np.testing.assert_allclose(
        information / np.outer(scale, scale), bend / np.outer(scale, scale), atol=INFORMATION
    )


def test_students_scores_add_up_to_the_gradient_and_move_their_abilities(known):
    case, ratings, _, _ = known
    problem, x = problem_of(case, ratings, pseudo=False)
    found = problem.student_scores(x, NODES)
    assert found.shape == (ratings.n_students, len(x))
    plain = problem.value(x, NODES).gradient
    if "ability" in problem.model.blocks:  # held near a normal one
        from raterlens.models.terms.students import SHAPE_RIDGE

        at = problem.model.blocks["ability"]
        plain[at] += SHAPE_RIDGE * x[at]
    np.testing.assert_allclose(found.sum(axis=0), plain, atol=1e-8 * max(1.0, np.abs(plain).max()))
    moved = problem.student_scores(x, NODES, partial(about_means, points=NODES.points))
    expected = differences(lambda at: problem.moments(at, NODES).mean, x)
    np.testing.assert_allclose(moved.toarray(), expected.T, atol=1e-7)


def by_compiled_code(case, ratings, monkeypatch, folder):
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    return problem_of(case, ratings)[0]


def on_disk(case, ratings, monkeypatch, folder):
    return problem_of(case, stored(ratings, monkeypatch, folder))[0]


def on_workers(case, ratings, monkeypatch, folder):
    pytest.importorskip("distributed")
    from tests.support.cluster_in_process import Cluster

    return problem_of(case, ratings, client=Cluster("one", "two"))[0]


def on_workers_from_a_file(case, ratings, monkeypatch, folder):
    return on_workers(case, stored(ratings, monkeypatch, folder), monkeypatch, folder)


def stored(ratings, monkeypatch, folder):
    """Packed, and never in memory whole; in parts of two students or three."""
    write_ratings(ratings, folder / "r.rlpack", cut=None)
    whole = property(lambda self: pytest.fail("taken into memory whole"))
    monkeypatch.setattr(StoredRatings, "_whole", whole)
    return StoredRatings(open_packed(folder / "r.rlpack"), part=ratings.n_ratings // 3)


@pytest.mark.parametrize("engine", [by_compiled_code, on_disk, on_workers, on_workers_from_a_file])
def test_every_engine_gives_what_numpy_does(known, engine, monkeypatch, tmp_path):
    case, ratings, _, x = known
    with monkeypatch.context() as readable:
        readable.setattr("raterlens.kernels.library.NUMBERS", np.inf)
        problem = problem_of(case, ratings)[0]
    other = engine(case, ratings, monkeypatch, tmp_path)
    one, two = problem.value(x, NODES), other.value(x, NODES)
    assert two.loglik == pytest.approx(one.loglik, rel=1e-10)
    np.testing.assert_allclose(two.gradient, one.gradient, rtol=1e-10, atol=1e-9)
    for pieces in (False, True):
        moments = [each.moments(x, NODES, pieces=pieces) for each in (problem, other)]
        np.testing.assert_allclose(moments[1].mean, moments[0].mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(moments[1].sd, moments[0].sd, rtol=1e-10, atol=1e-10)
    scores = [each.student_scores(x, NODES).toarray() for each in (problem, other)]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9, atol=1e-10)
    information = [in_full(each.information(x, NODES)) for each in (problem, other)]
    scale = np.abs(information[0]).max()
    np.testing.assert_allclose(information[1] / scale, information[0] / scale, atol=THINNED)


def test_a_grid_for_convolutions_gives_the_same(monkeypatch):
    case = CASES["pieces"]
    problem, x = problem_of(case, ratings_of(case))
    found = in_full(problem.information(x, NODES))
    monkeypatch.setattr("raterlens.likelihood.engines.by_piece.MOST_IN_MATRIX", 10)
    other, _ = problem_of(case, ratings_of(case))
    np.testing.assert_allclose(in_full(other.information(x, NODES)), found, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "block"), [("pieces", "piece"), ("halo", "halo")])
def test_a_spread_of_0_has_information_too(name, block):
    case = CASES[name]
    problem, x = problem_of(case, ratings_of(case))
    at = problem.model.blocks[block].start
    x[at] = 0.0
    found = in_full(problem.information(x, NODES))[at, at]
    change = problem.value(x, NODES).gradient - problem.value(x + 4e-3 * np.eye(len(x))[at], NODES).gradient
    assert found == pytest.approx(change[at] / 4e-3, rel=0.05)


# ----------------------------------------------------------------------------------------------------
# Derivatives of log-probabilities, against differences of the log-probabilities themselves.


DERIVATIVES_STEP = 1e-5
T = np.linspace(-3, 3, 7)
RESPONSES = [
    Graded(get_link("logit"), 4),
    Graded(get_link("probit"), 3),
    Adjacent(4),
    Adjacent(2),
    Linked(get_link("cloglog")),
]


def predictor(steps):
    random = np.random.default_rng(steps)
    return Predictor(random.uniform(0.5, 2, 3), -np.sort(-random.normal(0, 1, (3, steps)), axis=1))


def spread_out(found, n_rows, t):
    """(rows of the Jacobian, cells, nodes)"""
    cells = np.arange(len(found[0][0]))
    table = np.zeros((n_rows, len(cells), len(t)))
    for row, values in found:
        table[row, cells] += values
    return table


def by_differences(response, at, t):
    parts = [(at.slope, [(c,) for c in range(3)]), (at.intercepts, list(np.ndindex(at.intercepts.shape)))]
    rows = []
    for values, places in parts:
        for place in places:
            logs = []
            for by in (DERIVATIVES_STEP, -DERIVATIVES_STEP):
                values[place] += by
                logs.append(response.log_prob(at, t).reshape(-1, len(t)))
                values[place] -= by
            rows.append((logs[0] - logs[1]) / (2 * DERIVATIVES_STEP))
    return np.array(rows)


@pytest.mark.parametrize("response", RESPONSES)
def test_terms_of_cells_are_the_derivatives(response):
    at = predictor(len(response.lever))
    expected = by_differences(response, at, T)
    found = spread_out(score_terms(response, at, T, by_sums=False), len(expected), T)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scores", [2, 4])
def test_terms_of_contexts_differ_from_those_of_each_score_by_constants(scores):
    response, at = Adjacent(scores), predictor(scores - 1)
    expected = by_differences(response, at, T)
    found = spread_out(score_terms(response, at, T, by_sums=True), len(expected), T)
    found = np.repeat(found, scores, axis=1)
    # Whatever the score, how much a derivative in an intercept changes from node to node is the same.
    np.testing.assert_allclose(np.diff(found[3:]), np.diff(expected[3:]), rtol=1e-5, atol=1e-7)
    # That in the slope lacks the score times ability.
    left_out = (expected - found)[:3]
    own = np.repeat(np.eye(3), scores, axis=1)[..., None] * np.tile(np.arange(scores), 3)[:, None]
    np.testing.assert_allclose(left_out, own * T, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("response", [Adjacent(3), Graded(get_link("logit"), 3)])
def test_second_derivatives_against_differences(response):
    nodes = Nodes.equally_spaced(-2, 2, 0.5)
    counts = np.random.default_rng(0).random((1, 3, len(nodes.points)))

    def value(x):
        predictor = Predictor(x[:1], x[None, 1:])
        return float(np.sum(counts * response.log_prob(predictor, nodes.points)))

    x, h = np.array([1.2, 0.3, -0.4]), 1e-4
    found = context_curvature(response, Predictor(x[:1], x[None, 1:]), nodes, counts).toarray()
    unit = np.eye(3) * h
    for i in range(3):
        for j in range(3):
            corners = [value(x + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            assert abs(found[i, j] - sum(corners) / (4 * h * h)) < 1e-5
