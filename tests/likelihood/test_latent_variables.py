"""Latent variables below ability, against brute force: what pieces of work are worth, and true categories."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse, stats

import raterlens as rl
from raterlens.estimation.latent_estimate import posterior_truth
from raterlens.inference.covariance import in_full
from raterlens.likelihood.engines.by_piece import (
    MOST_IN_MATRIX,
    SMALL,
    PieceEngine,
    fine_enough,
    kernel,
    points_of,
)
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.true_category import as_known, known_categories
from tests.support.facets_models import assert_gradient, by_differences, with_some_known
from tests.support.latent_class import (
    BOTH,
    DIFFERENCE,
    long,
    nodes_of,
    problem_on,
    somewhere,
)

NODES = Nodes.equally_spaced(-8.0, 8.0, 0.1)
STUDENT = np.array([0, 0, 1, 2, 2, 2], dtype=np.int32)
COUNTS = sparse.csr_array(np.array([[1, 0], [0, 2], [1, 1], [0, 1], [3, 0], [1, 0]], dtype=float))
SUMS = sparse.csr_array(np.array([[1.0], [0.0], [2.0], [1.0], [2.0], [0.0]]))
SLOPE, OFFSET = np.array([1.5, 0.8]), np.array([0.3, -0.5])
LINEAR = np.array([0.7])


def log_cells(psi):
    return -np.log1p(np.exp(np.multiply.outer(SLOPE, psi) - OFFSET[:, None]))


def tables(nodes, variance, shift=0.0):
    points = points_of(nodes, variance)
    cells = log_cells(points)
    cells[0] += shift
    return Tables(cells, LINEAR, variance)


def by_brute_force(omega, student):
    """A fine grid of abilities, and around each of them Gauss's rule over ten omegas both ways."""
    theta, z = np.linspace(-9, 9, 3_601), np.polynomial.legendre.leggauss(200)
    psi = np.add.outer(theta, 10 * omega * z[0])
    weight = 10 * omega * z[1] * stats.norm.pdf(psi, theta[:, None], omega)
    total = stats.norm.logpdf(theta)
    for p in np.flatnonzero(student == STUDENT):
        cells = np.tensordot(COUNTS.toarray()[p], log_cells(psi.ravel()).reshape(2, *psi.shape), 1)
        total += np.log(np.sum(weight * np.exp(cells + SUMS.toarray()[p, 0] * LINEAR[0] * psi), axis=1))
    return np.log(np.exp(total).sum() * (theta[1] - theta[0]))


@pytest.mark.parametrize("omega", [0.6, 0.05])
def test_log_likelihood_against_brute_force(omega):
    engine = PieceEngine(COUNTS, SUMS, STUDENT)
    assert engine.n_students == 3
    found = engine.evaluate(tables(NODES, omega**2), NODES)
    expected = sum(by_brute_force(omega, student) for student in range(3))
    own = [loglik for _, _, loglik in engine.posteriors(tables(NODES, omega**2), NODES)]
    assert np.concatenate(own).sum() == pytest.approx(expected, abs=1e-8)
    assert found.loglik == pytest.approx(np.concatenate(own).sum(), abs=1e-12)


@pytest.mark.parametrize("omega", [0.6, 0.05])
def test_derivatives_by_differences(omega):
    engine, v = PieceEngine(COUNTS, SUMS, STUDENT), omega**2
    found = engine.evaluate(tables(NODES, v), NODES)
    h = 1e-5 * v
    ahead, back = (engine.evaluate(tables(NODES, v + sign * h), NODES).loglik for sign in (1, -1))
    assert found.d_piece == pytest.approx((ahead - back) / (2 * h), rel=1e-4)
    ahead, back = (engine.evaluate(tables(NODES, v, sign * 1e-5), NODES).loglik for sign in (1, -1))
    assert found.counts[0].sum() == pytest.approx((ahead - back) / 2e-5, rel=1e-7)
    changed = [
        engine.evaluate(Tables(tables(NODES, v).cells, LINEAR + sign * 1e-5, v), NODES) for sign in (1, -1)
    ]
    assert found.linear is not None
    assert found.linear[0] == pytest.approx((changed[0].loglik - changed[1].loglik) / 2e-5, rel=1e-6)


def test_the_two_rules_meet():
    engine = PieceEngine(COUNTS, SUMS, STUDENT)
    below, above = (engine.evaluate(tables(NODES, (SMALL + side) ** 2), NODES) for side in (-1e-9, 1e-9))
    assert below.loglik == pytest.approx(above.loglik, abs=1e-9)
    assert below.d_piece == pytest.approx(above.d_piece, abs=1e-6)


def test_without_a_spread_pieces_are_what_their_student_is():
    engine = PieceEngine(COUNTS, SUMS, STUDENT)
    students, pieces = (engine.moments(tables(NODES, 0.0), NODES, pieces=own) for own in (False, True))
    np.testing.assert_allclose(pieces.mean, students.mean[STUDENT], atol=1e-3)
    np.testing.assert_allclose(pieces.sd, students.sd[STUDENT], atol=1e-3)


def test_the_grid_is_fine_and_wide_enough_for_pieces():
    found = fine_enough(Nodes.equally_spaced(-5.0, 5.0, 0.5), 0.09)
    assert found.step <= 0.75 * 0.3 + 1e-12
    assert found.high >= 5 * np.sqrt(1.09) - found.step
    assert fine_enough(Nodes.equally_spaced(-5.0, 5.0, 0.5), 0.01).step == 0.5


def test_weights_are_normal_densities():
    known, t, one = kernel(NODES, 0.36), NODES.points, np.eye(len(NODES.points))
    weights = stats.norm.pdf(t, t[:, None], 0.6)
    assert pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-15) == known.averaged(one).T
    step = 1e-6
    higher = kernel(NODES, 0.36 + step)
    more = (one @ higher.weights - one @ known.weights) / step
    assert one @ known.by_variance == pytest.approx(more, abs=1e-5)


def test_of_many_nodes_those_nearby_are_kept():
    """To the same log-likelihood and derivatives."""
    fine = Nodes.equally_spaced(-8.0, 8.0, 16 / (2 * MOST_IN_MATRIX))
    weights: Any = kernel(fine, 0.36).weights
    assert weights.nnz < np.prod(weights.shape) / 1.3
    engine = PieceEngine(COUNTS, SUMS, STUDENT)
    few, many = (engine.evaluate(tables(nodes, 0.36), nodes) for nodes in (NODES, fine))
    assert many.loglik == pytest.approx(few.loglik, abs=1e-10)
    assert many.d_piece == pytest.approx(few.d_piece, abs=1e-8)


# ----------------------------------------------------------------------------------------------------
# The latent class likelihood: the sum over all true categories, with exact derivatives.


def answers_of(panel, student: int) -> dict[int, int]:
    """Known answers of a student on items that were rated."""
    if panel.known is None:
        return {}
    own, rated = panel.known.student == student, panel.item[panel.student == student]
    both = zip(panel.known.item[own].tolist(), panel.known.answer[own].tolist(), strict=True)
    return {item: answer for item, answer in both if item in rated}


@BOTH
def test_known_categories_have_exact_derivatives_too(panel, rasch):
    problem = problem_on(with_some_known(panel), rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    assert_gradient(lambda at: problem.value(at, nodes), x)
    found = in_full(problem.information(x, nodes))
    np.testing.assert_allclose(found, by_differences(problem, x, nodes), atol=1e-5 * np.abs(found).max())


@BOTH
@pytest.mark.parametrize("known", [False, True])
def test_likelihood_is_the_sum_over_all_true_categories(panel, rasch, known):
    """For each student, over all 2^items combinations of true categories that could be, and all abilities."""
    panel = with_some_known(panel) if known else panel
    problem = problem_on(panel, rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    line = problem.model.lines(x)
    prevalence = problem.model.prevalence(x, nodes.points)
    expected, truths = 0.0, []
    for student in range(panel.n_students):
        mine = panel.student == student
        total, passed = np.zeros(len(nodes.points)), np.zeros(panel.n_items)
        told = answers_of(panel, student)
        for truth in itertools.product((0, 1), repeat=panel.n_items):
            if any(truth[item] != answer for item, answer in told.items()):
                continue
            category = np.array(truth)[panel.item[mine]]
            passing = 1 - stats.logistic.cdf(line[panel.rater[mine], category])
            ratings = np.prod(np.where(panel.score[mine] == 1, passing, 1 - passing))
            level_2 = np.prod([prevalence[xi, item] for item, xi in enumerate(truth)], axis=0)
            total += ratings * level_2
            passed += np.array(truth) * ((ratings * level_2) @ np.exp(nodes.log_weights))
        marginal = total @ np.exp(nodes.log_weights)
        expected += np.log(marginal)
        truths += list(passed[np.unique(panel.item[mine])] / marginal)
    assert problem.value(x, nodes).loglik == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(posterior_truth(problem, x, nodes), truths, atol=1e-10)


@BOTH
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_and_information_are_exact(panel, rasch, link):
    problem = problem_on(panel, rasch, link)
    x, nodes, h = somewhere(problem, 1), nodes_of(problem), 1e-5
    ahead = [problem.value(x + h * e, nodes) for e in np.eye(len(x))]
    behind = [problem.value(x - h * e, nodes) for e in np.eye(len(x))]
    slope = [(a.objective - b.objective) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    bend = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(problem.value(x, nodes).gradient, slope, atol=DIFFERENCE)
    np.testing.assert_allclose(problem.information(x, nodes), -np.array(bend), atol=DIFFERENCE)


def test_a_pattern_is_one_cell_however_its_rows_are_ordered():
    one = [("A", "R1", "I1", 1), ("A", "R2", "I1", 0), ("A", "R1", "I1", 1)]
    other = [("B", "R2", "I1", 0), ("B", "R1", "I1", 1), ("B", "R1", "I1", 1)]
    different = [("C", "R1", "I1", 1), ("C", "R2", "I1", 0), ("C", "R1", "I1", 0)]
    units = problem_on(long(one + other + different)).units
    assert units.cell[0] == units.cell[1] != units.cell[2]
    assert units.n.tolist() == [3, 3, 3]
    assert units.passes.tolist() == [2, 2, 1]
    assert units.members[[units.cell[0]]].toarray().tolist() == [[0, 2, 1, 0]]


def test_a_category_is_known_where_its_own_answer_is():
    """Before, between and after the known ones, none is."""
    table = pl.DataFrame(
        {
            "student": [s for s in "abcde" for _ in "xy"],
            "rater": ["r", "q"] * 5,
            "item": ["x", "y"] * 5,
            "score": [0, 1] * 5,
            "known": [None, None, None, 1, None, None, 0, 1, None, None],
        }
    )
    ratings = rl.read(table, known="known")
    student, item = np.repeat(np.arange(5), 2), np.tile([0, 1], 5)
    found = known_categories(ratings, student, item)
    assert found.tolist() == [-1, -1, -1, 1, -1, -1, 0, 1, -1, -1]
    plain = rl.read(table.drop("known"))
    assert known_categories(plain, student, item).tolist() == [-1] * 10
    log_given = as_known(np.zeros((10, 2)), found)
    assert np.argwhere(np.isinf(log_given)).tolist() == [[3, 0], [6, 1], [7, 0]]
