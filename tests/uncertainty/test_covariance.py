"""The covariance of centred parameters against its definition, for every kind of model."""

import numpy as np
import pytest
from scipy import linalg, sparse

from raterlens.models.redundancy import redundancy
from raterlens.uncertainty.covariance import covariance
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
    from raterlens.models.redundancy import Redundancy

    found = covariance(
        sparse.csr_array(information), Redundancy(constraint, direction), np.zeros(4, dtype=bool)
    ).matrix
    basis = np.linalg.svd(constraint)[2][1:].T  # parameters that meet the constraint
    np.testing.assert_allclose(
        found, basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T, atol=1e-10
    )


def test_undetermined_parameters_are_named_and_finite():
    from raterlens.models.redundancy import Redundancy

    nothing = Redundancy(np.zeros((0, 3)), np.zeros((0, 3)))
    found = covariance(sparse.csr_array(np.diag([4.0, 0.0, 1.0])), nothing, np.zeros(3, dtype=bool))
    assert found.undetermined.tolist() == [1]
    assert np.isfinite(found.matrix).all()
    assert found.matrix[0, 0] == pytest.approx(0.25)


def test_where_nothing_is_known_of_anything_standard_output_is_left_alone(capfd):
    """LAPACK writes to it if asked to invert a matrix without rows, and the command prints JSON there."""
    from raterlens.models.redundancy import Redundancy

    nothing = Redundancy(np.zeros((0, 2)), np.zeros((0, 2)))
    found = covariance(sparse.csr_array(-np.eye(2)), nothing, np.zeros(2, dtype=bool))
    assert found.undetermined.tolist() == [0, 1]
    assert np.isfinite(found.matrix).all()
    assert capfd.readouterr().out == ""
