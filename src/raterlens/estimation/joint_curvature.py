"""How the likelihood of ordered scores bends in all parameters together, roughly.

Thresholds and difficulties are shared by raters and tied to each other: an optimiser that scales each by itself
takes three times the steps. The information that ratings would have with abilities known couples them all and costs
little more than an evaluation. Near the optimum each rater's block is replaced by one that knows what is missing
(`curvature.py`), and what raters share is stretched with it.
"""

import numpy as np
from scipy import sparse

from raterlens.base.types import Array
from raterlens.engine.protocol import Nodes
from raterlens.estimation.curvature import OwnCurvature
from raterlens.likelihood.context_curvature import context_curvature
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.models.facets import FacetsModel

# Parameters up to which a full matrix is worth its eigenvectors.
_MOST_PARAMETERS = 600
# Of the usual curvature of a parameter; directions that bend less (some change no probability at all) are taken for so
# much.
_LEAST = 1e-3


def worth_joining(model: FacetsModel) -> bool:
    """Whether raters share thresholds, and the model is small enough."""
    return model.thresholds is not None and not model.pieces and model.blocks.size <= _MOST_PARAMETERS


def joint_inverse(
    problem: FacetsMarginal,
    parameters: Array,
    information: Array,
    nodes: Nodes,
    own: OwnCurvature | None = None,
) -> sparse.csr_array:
    """(parameters, parameters): inverse of the information with abilities known, less what raters' own blocks say is
    missing.

    Parameters
    ----------
    information
        Its diagonal, roughly, for parameters on which no predictor depends.
    """
    model = problem.model
    counts = problem.derivatives(parameters, nodes).counts
    curvature = context_curvature(problem.response, model.predictor(parameters), nodes, counts)
    jacobian = problem.jacobian(parameters)
    whole = -np.asarray((jacobian.T @ curvature @ jacobian).toarray())
    of_others = whole.diagonal() <= 1e-9 * information
    whole[of_others, of_others] = information[of_others]
    if own is not None:
        stretch = _stretch(whole, own)
        whole = stretch @ whole @ stretch.T
    if problem.prior is not None:
        known = problem.prior.own_information(parameters)
        whole[np.diag_indices(len(whole))] += np.maximum(known, 0.0)
    root = np.sqrt(whole.diagonal())
    values, vectors = np.linalg.eigh(whole / np.multiply.outer(root, root))
    inverse = (vectors / np.maximum(values, _LEAST)) @ vectors.T
    return sparse.csr_array(inverse / np.multiply.outer(root, root))


def _stretch(whole: Array, own: OwnCurvature) -> Array:
    """(parameters, parameters): what turns the raters' blocks of `whole` into their own."""
    places = own.own[:, :, None], own.own[:, None, :]
    blocks = whole[places]
    root = np.sqrt(np.einsum("rii->ri", blocks))
    scale = root[:, :, None] * root[:, None, :]
    through = _power(own.blocks / scale, 0.5) @ _power(blocks / scale, -0.5)
    found = np.eye(len(whole))
    found[places] = root[:, :, None] * through / root[:, None, :]
    return found


def _power(matrices: Array, power: float) -> Array:
    """Of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, _LEAST) ** power
    return np.asarray((vectors * values[:, None]) @ vectors.transpose(0, 2, 1))
