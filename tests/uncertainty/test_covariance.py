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
