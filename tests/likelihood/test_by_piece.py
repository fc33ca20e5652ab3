"""Pieces of work, against brute force: every student's integral over ability and over each of its pieces."""

import numpy as np
import pytest
from scipy import linalg, sparse, stats

from raterlens.likelihood.engines.by_piece import (
    MOST_IN_MATRIX,
    SMALL,
    PieceEngine,
    Toeplitz,
    fine_enough,
    kernel,
    points_of,
)
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.nodes import Nodes

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


def test_a_large_toeplitz_matrix_is_the_one_written_out():
    values, given = np.exp(-((0.1 * np.arange(300)) ** 2)), np.random.default_rng(1).random((4, 300))
    matrix, convolved = linalg.toeplitz(values), Toeplitz(values)
    assert given @ convolved == pytest.approx(given @ matrix, rel=1e-12)
    assert given @ convolved.T == pytest.approx(given @ matrix.T, rel=1e-12)
    assert convolved.sum(axis=0) == pytest.approx(matrix.sum(axis=0), rel=1e-12)


def test_many_nodes_are_convolved_and_few_in_a_matrix():
    """To the same log-likelihood and derivatives."""
    fine = Nodes.equally_spaced(-8.0, 8.0, 16 / (2 * MOST_IN_MATRIX))
    assert isinstance(kernel(fine, 0.36).weights, Toeplitz)
    engine = PieceEngine(COUNTS, SUMS, STUDENT)
    few, many = (engine.evaluate(tables(nodes, 0.36), nodes) for nodes in (NODES, fine))
    assert many.loglik == pytest.approx(few.loglik, abs=1e-10)
    assert many.d_piece == pytest.approx(few.d_piece, abs=1e-8)
