"""The covariance of centred parameters against its definition, for every kind of model."""

import numpy as np
import pytest
from scipy import linalg, sparse

from raterlens.inference.covariance import UNDETERMINED, covariance
from raterlens.models.facets import Redundancy, redundancy
from tests.support.facets_models import KINDS, make, somewhere


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
