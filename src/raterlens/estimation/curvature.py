"""How the marginal likelihood bends in each rater's own parameters, roughly: what makes an optimiser's steps fit.

Near the optimum nearly all of the curvature is within the raters: in the coordinates in which each rater's block is the
identity, its eigenvalues are within 0.8 and 1.2, but for a few that all raters share. A block is the information that
ratings would have with abilities known, less what is missing since they are not. The latter is taken from normal
posteriors with the variance that is usual at an ability, as if a student's ratings by a rater were one on each item:
with f the expected score, the variance of f is at least that of ability times the square of the mean of f'.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.derivatives import context_curvature
from raterlens.likelihood.engines.contract import in_full
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.likelihood.priors import PanelPrior
from raterlens.models.facets import FacetsModel

# Of the information of complete data, so much may be missing at most.
_MISSING = 0.9
# A table of nodes by nodes is worth its memory (32 MB) up to here.
_MOST_NODES = 2_000
# A rater with less information than this, relative to what was expected of its ratings, is not rescaled.
_LEAST = 1e-3
# Random directions in which the likelihood's own bend is taken, by differences of so much, and what it may be.
_PROBES, _PROBE, _CREDIBLE = 1, 1e-3, (0.2, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class OwnCurvature:
    """How the log-likelihood rises and bends in each rater's own parameters."""

    own: Indices
    """(raters, own): where they stand."""
    blocks: Array
    """(raters, own, own): information."""
    gradient: Array
    """(parameters,): of the log-likelihood, without any prior."""

    def inverse(self, information: Array, prior: PanelPrior | None, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): a block for each rater, `information` inverted for everything else."""
        size, own, blocks = len(information), self.own, self.blocks
        if prior is not None:
            known = np.maximum(prior.information(parameters).diagonal()[own], 0.0)
            blocks = blocks + known[:, :, None] * np.eye(own.shape[1])
        rest = np.setdiff1d(np.arange(size), own)
        rows, columns = np.broadcast_arrays(own[:, :, None], own[:, None, :])
        values = np.concatenate([np.linalg.inv(blocks).ravel(), 1 / information[rest]])
        places = (np.concatenate([rows.ravel(), rest]), np.concatenate([columns.ravel(), rest]))
        return sparse.csr_array((values, places), shape=(size, size))


def as_bent(found: OwnCurvature, problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> Array:
    """(raters, own, own): the blocks, scaled so that on average over raters they are the likelihood's own.

    With few ratings per student, far more is missing than normal posteriors say: of two raters with three ratings each,
    0.6 of the information about slopes is left. For random signs v, v' H v is the sum of the diagonal of H, but for
    noise that averages out over many raters.
    """
    random, scale = np.random.default_rng(0), np.ones(found.own.shape[1])
    for place, own in enumerate(found.own.T):
        bends = 0.0
        for _ in range(_PROBES):
            step = np.zeros_like(parameters)
            step[own] = _PROBE * random.choice([-1.0, 1.0], len(own))
            ahead = problem.gradient(problem.at(parameters + step, nodes))
            bends += float((found.gradient - ahead) @ step) / (_PROBE**2 * _PROBES)
        scale[place] = np.sqrt(np.clip(bends / found.blocks[:, place, place].sum(), *_CREDIBLE))
    return np.asarray(found.blocks * scale[:, None] * scale)


def exact_inverse(
    problem: FacetsMarginal, parameters: Array, information: Array, nodes: Nodes
) -> sparse.csr_array:
    """(parameters, parameters): of the exact information, steadied in directions of which the ratings tell little."""
    full, scale = in_full(problem.information(parameters, nodes)), np.sqrt(information)
    values, vectors = np.linalg.eigh(full / np.outer(scale, scale))
    half = vectors / np.sqrt(np.maximum(values, _LEAST)) / scale[:, None]
    return sparse.csr_array(half @ half.T)


def own_curvature(
    problem: FacetsMarginal, parameters: Array, information: Array, nodes: Nodes, moments: Moments
) -> OwnCurvature | None:
    """None for models without parameters of single raters or with pieces, and on very fine grids."""
    own = problem.model.of_single_raters
    if not own.size or len(nodes.points) > _MOST_NODES or problem.model.nested:
        return None
    at = problem.at(parameters, nodes)
    blocks = _own_information(problem, parameters, own, nodes, moments, at.found.counts)
    expected = information[own]
    scaled = blocks / np.sqrt(expected[:, :, None] * expected[:, None, :])
    usable = np.asarray(np.isfinite(scaled).all(axis=(1, 2)))
    usable[usable] = np.linalg.eigvalsh(scaled[usable])[:, 0] > _LEAST
    blocks[~usable] = np.eye(own.shape[1]) * expected[~usable][:, None]
    return OwnCurvature(own, blocks, problem.gradient(at))


def _own_information(
    problem: FacetsMarginal,
    parameters: Array,
    own: Indices,
    nodes: Nodes,
    moments: Moments,
    counts: Array,
) -> Array:
    """(raters, own, own)"""
    model, response, t = problem.model, problem.response, nodes.points
    predictor = model.predictor(parameters)
    # Known answers are nobody's ratings: they have no part in what a rater's own tell.
    n, every, steps = model.n_rated, len(model.contexts), len(response.lever)
    bend = response.shift_information(predictor, t, counts)[:n]
    rater, counts = model.contexts.rater[:n], counts[:n]
    predictor = predictor.first(n)
    by_slope, by_shift = _of_own(model.jacobian(parameters), own[rater], every, steps)
    by_shift /= response.lever[0]
    of_rater = sparse.csr_array((np.ones(n), (rater, np.arange(n))), shape=(len(own), n))
    items = np.minimum(np.bincount(rater, minlength=len(own)), model.n_items)
    students = of_rater @ counts.sum(axis=1) / items[:, None]
    each = np.where(students > 1e-9, 1 / np.maximum(students, 1e-9), 0.0)
    if (variances := model.reading_variances(parameters)) is not None:
        # A reading's ratings tell of its effect what they tell of the rater, so much less of the rater.
        told = each * (of_rater @ bend)
        bend /= 1 + (variances[:, None] * told)[rater]
    # With s of the slope and i of the shift, (i + t s) bend (i + t s)', summed over nodes.
    level, first, second = (bend @ t**power for power in range(3))
    mixed = _outer(first, by_shift, by_slope)
    complete = _outer(level, by_shift, by_shift) + _outer(second, by_slope, by_slope)
    complete += mixed + mixed.swapaxes(1, 2)
    # Of a student's ratings by a rater: how the expected score rises with ability, and what it tells of ability.
    rise = predictor.slope[:, None] * bend
    tells = each * (of_rater @ (predictor.slope[:, None] * rise))
    rises = np.empty((len(own), len(t), own.shape[1]))
    for place, (of_slope, of_shift) in enumerate(zip(by_slope.T, by_shift.T, strict=True)):
        rises[..., place] = each * (of_rater @ (rise * (of_shift[:, None] + np.multiply.outer(of_slope, t))))
    # Averaged over a posterior: its square times the variance is what a normal one is missing.
    usual = _usual_variance(moments, t)
    within = np.exp(-0.5 * np.subtract.outer(t, t) ** 2 / usual[:, None])
    within /= within.sum(axis=1, keepdims=True)
    rises = within @ rises
    tells = tells @ within.T
    more = tells - (students * tells).sum(axis=0) / np.maximum(students.sum(axis=0), 1e-9)
    variance = 1 / np.maximum(1 / usual + more, 1.0)
    missing = rises.swapaxes(1, 2) @ ((variance * students)[..., None] * rises)
    return _less((of_rater @ complete.reshape(n, -1)).reshape(missing.shape), missing)


def _of_own(jacobian: sparse.csr_array, own: Indices, every: int, steps: int) -> tuple[Array, Array]:
    """(contexts, own), both: derivatives of the slope and of the first intercept of the first contexts in the
    parameters that stand at `own`; `every`: how many contexts there are."""
    context = np.arange(len(own))
    rows = np.column_stack([context, every + context * steps])
    places = np.repeat(rows.ravel(), own.shape[1]), np.repeat(own, 2, axis=0).ravel()
    found = np.asarray(jacobian[places], np.float64).reshape(len(own), 2, -1)
    return found[:, 0], found[:, 1]


def _outer(weight: Array, one: Array, other: Array) -> Array:
    """(contexts, own, own)"""
    return weight[:, None, None] * one[:, :, None] * other[:, None]


def _usual_variance(moments: Moments, t: Array) -> Array:
    """(nodes,): mean posterior variance of the students whose abilities are nearest."""
    place = np.clip(np.rint((moments.mean - t[0]) / (t[1] - t[0])).astype(int), 0, len(t) - 1)
    number, total = np.bincount(place, minlength=len(t)), np.bincount(place, moments.sd**2, len(t))
    seen = np.flatnonzero(number)
    return np.asarray(np.interp(np.arange(len(t)), seen, total[seen] / number[seen]))


def _less(complete: Array, missing: Array) -> Array:
    """The difference, in which something is left of every direction."""
    root = np.sqrt(np.maximum(np.einsum("rii->ri", complete), 1e-300))
    scale = root[:, :, None] * root[:, None, :]
    values, vectors = np.linalg.eigh(complete / scale)
    values = np.maximum(values, 1e-9)
    whiten = vectors / np.sqrt(values)[:, None]
    share, axes = np.linalg.eigh(whiten.transpose(0, 2, 1) @ (missing / scale) @ whiten)
    left = (axes * (1 - np.minimum(share, _MISSING))[:, None]) @ axes.transpose(0, 2, 1)
    back = vectors * np.sqrt(values)[:, None]
    return np.asarray(scale * (back @ left @ back.transpose(0, 2, 1)))


# ----------------------------------------------------------------------------------------------------
# How the likelihood of ordered scores bends in all parameters together, roughly.
#
# Thresholds and difficulties are shared by raters and tied to each other: an optimiser that scales each by itself
# takes three times the steps. The information that ratings would have with abilities known couples them all and costs
# little more than an evaluation. Near the optimum each rater's block is replaced by one that knows what is missing
# (`curvature.py`), and what raters share is stretched with it.

# Parameters up to which a full matrix is worth its eigenvectors.
_MOST_PARAMETERS = 600
# Of the usual curvature of a parameter; directions that bend less (some change no probability at all) are taken for so
# much.
_LEAST_JOINT = 1e-3


def worth_joining(model: FacetsModel) -> bool:
    """Whether raters share thresholds, and the model is small enough."""
    return model.thresholds is not None and not model.nested and model.blocks.size <= _MOST_PARAMETERS


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
    counts = problem.at(parameters, nodes).found.counts
    curvature = context_curvature(problem.response, model.predictor(parameters), nodes, counts)
    jacobian = model.jacobian(parameters)
    whole = -np.asarray((jacobian.T @ curvature @ jacobian).toarray())
    of_others = whole.diagonal() <= 1e-9 * information
    whole[of_others, of_others] = information[of_others]
    if own is not None:
        stretch = _stretch(whole, own)
        whole = stretch @ whole @ stretch.T
    if problem.prior is not None:
        known = problem.prior.information(parameters).diagonal()
        whole[np.diag_indices(len(whole))] += np.maximum(known, 0.0)
    root = np.sqrt(whole.diagonal())
    values, vectors = np.linalg.eigh(whole / np.multiply.outer(root, root))
    inverse = (vectors / np.maximum(values, _LEAST_JOINT)) @ vectors.T
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
    """Powers of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, _LEAST_JOINT) ** power
    return np.asarray((vectors * values[:, None]) @ vectors.transpose(0, 2, 1))
