"""Covariance of the estimates from their information, with redundant and undetermined directions told apart; and the
choices of `rl.fit(covariance=...)` that are not the observed information itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from scipy import linalg, sparse

from raterlens.base.arrays import Array, Indices, Mask, mirrored, single_threaded_blas
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import Link
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate, information_scale
from raterlens.estimation.methods import Conditional
from raterlens.inference.resampling import redrawn
from raterlens.likelihood.derivatives import context_curvature
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.engines.contract import in_full as in_full
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import PSEUDO_NODES, Pseudo
from raterlens.models.facets import FacetsModel, Redundancy
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

# A direction with less information than this, relative to the parameters' own, is undetermined by the data.
UNDETERMINED = 1e-7
# The information left to a parameter that is set aside, relative to its own.
SET_ASIDE = 1e-3


def dense(matrix: object) -> TypeGuard[Array]:
    """Whether all entries are kept: of large panels only some are."""
    return isinstance(matrix, np.ndarray)


def covariance(information: Matrix, redundant: Redundancy, held: Mask) -> Covariance:
    """Invert the information over the parameters that are not held fixed."""
    return Inverse.of(information, redundant, held).covariance


@dataclass(frozen=True, eq=False)
class _Centred:
    """The inverse of an information over the parameters that are not held fixed, among what centring allows.

    Centring holds its constraints U at 0. With A = inv(I + U'U), the inverse of I among what they allow is
    `V = A - A U' inv(U A U') U A`, whether or not a prior says something of the directions that are redundant without
    it.
    """

    size: int
    free: Indices
    scale: Array
    """(free,): parameters times these have information 1 of their own."""
    constraints: Array
    """U on this scale."""

    def _solved(self, right: Array) -> Array:
        """A times these columns, on this scale."""
        raise NotImplementedError

    def _half_of_all(self) -> float:
        """Half the log determinant of I + U'U on this scale."""
        raise NotImplementedError

    @cached_property
    def _along(self) -> tuple[Array, Array]:
        """A U' on this scale, and inv(U A U')."""
        along = self._solved(self.constraints.T)
        return along, np.asarray(np.linalg.inv(self.constraints @ along), np.float64)

    @property
    def half_determinant(self) -> float:
        """Half the log determinant of the information among what centring allows."""
        own = self._half_of_all() + np.log(self.scale).sum()
        return float(own - np.linalg.slogdet(self._along[1])[1] / 2)

    def __matmul__(self, vector: Array) -> Array:
        found = np.zeros(self.size)
        found[self.free] = self._columns(vector[self.free][:, None])[:, 0]
        return found

    def _columns(self, right: Array) -> Array:
        """V times columns, (free, columns)."""
        right = right / self.scale[:, None]
        along, taken = self._along
        return np.asarray((self._solved(right) - along @ (taken @ (along.T @ right))) / self.scale[:, None])


@dataclass(frozen=True, eq=False)
class Inverse(_Centred):
    """By Cholesky's factor."""

    correlation: Array
    """I + U'U on this scale."""
    factor: Array | None
    """The lower one; None where the likelihood bends the wrong way."""

    @staticmethod
    def of(
        information: Matrix,
        redundant: Redundancy,
        held: Mask,
        more: Array | float = 0.0,
        last: Mask | None = None,
    ) -> "Inverse":
        """`more`: what else is known of each parameter; of the `last` among themselves, the inverse costs little."""
        free = np.flatnonzero(~held)
        if last is not None:
            free = np.concatenate([free[~last[free]], free[last[free]]])
        every = np.array_equal(free, np.arange(len(held)))  # a plain copy takes a fifth of the time
        full = np.array(in_full(information)) if every else in_full(information)[free[:, None], free]
        u = redundant.constraints[:, free]
        full[np.diag_indices(len(free))] += np.broadcast_to(more, held.shape)[free]
        for row in u:
            some = np.flatnonzero(row)
            full[some[:, None], some] += np.outer(row[some], row[some])
        scale = np.sqrt(np.maximum(np.abs(np.diag(full)), 1e-12))
        full *= 1 / scale
        full *= (1 / scale)[:, None]
        return Inverse(len(held), free, scale, u / scale, full, _factor(full))

    @cached_property
    def _steadied(self) -> tuple[Array, Indices]:
        return _steadied(self.correlation)

    def _solved(self, right: Array) -> Array:
        if self.factor is None:
            return self._steadied[0] @ right
        return np.asarray(linalg.cho_solve((self.factor, True), right, check_finite=False))

    def _half_of_all(self) -> float:
        if self.factor is None:
            return float(-np.linalg.slogdet(self._steadied[0])[1] / 2)
        return float(np.log(np.diag(self.factor)).sum())

    @cached_property
    def covariance(self) -> Covariance:
        undetermined = np.empty(0, dtype=np.int64)
        found = None if self.factor is None else _of_factor(self.factor)
        if found is None:
            found, undetermined = self._steadied
        found = self._allowed(found, slice(None))
        if not np.array_equal(self.free, np.arange(self.size)):
            whole = np.zeros((self.size, self.size))
            whole[self.free[:, None], self.free] = found
            found = whole
        return Covariance(found, self.free[undetermined])

    def _allowed(self, inverse: Array, own: Indices | slice) -> Array:
        """V in these places, from A on this scale."""
        along, taken = self._along
        found = along[own] @ -taken @ along[own].T
        found += inverse
        found /= self.scale[own]
        found /= self.scale[own][:, None]
        return found

    def among(self, some: Indices) -> tuple[Array, float]:
        """The variances of some parameters, and the sum of their squared covariances among each other."""
        own, variances = np.flatnonzero(np.isin(self.free, some)), np.zeros(len(some))
        first, block = len(self.free) - len(own), None
        if (
            self.factor is not None and (own >= first).all()
        ):  # the last corner of A needs that of the factor alone
            block = _of_factor(self.factor[first:, first:])
        if block is None:
            block = in_full(self.covariance.matrix)[np.ix_(self.free[own], self.free[own])]
        else:
            block = self._allowed(block, own)
        variances[np.isin(some, self.free)] = np.diag(block)
        return variances, float(np.sum(block**2))


# Columns that are solved for together.
_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class SparseInverse(_Centred):
    """By the factors of a sparse matrix: those of [[I, U'], [U, -1]]."""

    factors: "SuperLU"

    @staticmethod
    def of(information: Matrix, redundant: Redundancy, held: Mask, more: Array) -> "SparseInverse":
        from scipy.sparse.linalg import splu  # most fits do without

        free = np.flatnonzero(~held)
        among = sparse.csr_array(sparse.csr_array(information) + sparse.diags_array(more))[free][:, free]
        u = redundant.constraints[:, free]
        bordered = sparse.block_array(
            [[among, sparse.csr_array(u.T)], [sparse.csr_array(u), -sparse.eye_array(len(u))]], format="csc"
        )
        factors = splu(bordered, "MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options={"SymmetricMode": True})
        return SparseInverse(len(held), free, np.ones(len(free)), u, factors)

    def _solved(self, right: Array) -> Array:
        whole = np.zeros((self.factors.shape[0], right.shape[1]))
        whole[: len(right)] = right
        return np.asarray(self.factors.solve(whole)[: len(right)])

    def _half_of_all(self) -> float:
        return float(np.log(np.abs(self.factors.U.diagonal())).sum() / 2)

    def among(self, some: Indices) -> tuple[Array, float]:
        """As of others, in batches."""
        own, variances, squares = np.flatnonzero(np.isin(self.free, some)), np.zeros(self.size), 0.0
        for first in range(0, len(own), _AT_ONCE):
            batch = own[first : first + _AT_ONCE]
            unit = np.zeros((len(self.free), len(batch)))
            unit[batch, np.arange(len(batch))] = 1.0
            columns = self._columns(unit)
            squares += float(np.sum(columns[own] ** 2))
            variances[self.free[batch]] = columns[batch, np.arange(len(batch))]
        return variances[some], squares


def _factor(matrix: Array) -> Array | None:
    """The Cholesky factor; None where there is none."""
    if not len(matrix):  # LAPACK would complain of it on standard output
        return matrix
    with single_threaded_blas(len(matrix)):
        factor, failed = linalg.lapack.dpotrf(matrix, lower=1)
    return None if failed else factor


def _of_factor(factor: Array) -> Array | None:
    """The inverse from the factor, a third of the work of solving for every column. None where something is
    undetermined."""
    if not len(factor):
        return factor
    with single_threaded_blas(len(factor)):
        inverse, _ = linalg.lapack.dpotri(factor, lower=1)
    return None if inverse.diagonal().max() >= 1 / UNDETERMINED else mirrored(inverse.T)


def _steadied(correlation: Array) -> tuple[Array, Indices]:
    """The inverse of a matrix that hardly has one, and what is undetermined.

    Where the likelihood bends the wrong way (a rater at discrimination 0), a parameter has no standard error of its
    own; left in, it would take everybody else's. Such parameters are set aside with a large variance.
    """
    kept, whole = np.flatnonzero(np.diag(correlation) > 0), np.diag(np.full(len(correlation), 1 / SET_ASIDE))
    while len(kept):
        part = correlation[np.ix_(kept, kept)]
        # Eigenvectors with next to no information alone: all of them would take five times as long.
        values, vectors = linalg.eigh(part, subset_by_value=(-np.inf, 2 * UNDETERMINED))
        wrong = values < -UNDETERMINED
        if not wrong.any():
            break
        kept = np.delete(kept, np.unique(np.abs(vectors[:, wrong]).argmax(axis=0)))
    else:
        return whole, np.arange(len(correlation))
    # Given as much information as parameters have, they leave a matrix with an inverse; theirs is put right afterwards.
    factor = _factor(part + (vectors * (1 - values)) @ vectors.T)
    assert factor is not None
    inverse = _of_factor(factor)
    assert inverse is not None
    inverse += (vectors * (1 / np.maximum(values, UNDETERMINED) - 1)) @ vectors.T
    weak = np.flatnonzero((vectors[:, values < UNDETERMINED] ** 2).sum(axis=1) > 0.05)
    whole[np.ix_(kept, kept)] = inverse
    return whole, np.union1d(kept[weak], np.setdiff1d(np.arange(len(correlation)), kept))


# ----------------------------------------------------------------------------------------------------
# Covariances from the students' own scores: robust to what the model gets wrong about them.
#
# A student's score is the gradient of that student's log-likelihood; by Fisher's identity it is the posterior mean of
# the complete-data score. Students are independent, whatever their ratings are among themselves, so the sum of the
# scores' outer products estimates the variance of the gradient:
#
#     sandwich = inv(I) (sum_n g_n g_n') inv(I)
#
# It is right where ratings of a student depend on each other in ways that the model leaves out (a halo, say).


def sandwich(bread: Covariance, scores: sparse.csr_array) -> Covariance:
    """The covariance that holds where students are independent, with n / (n - 1) as for a mean."""
    n = scores.shape[0]
    half = np.asarray(scores @ bread.matrix)
    return Covariance(half.T @ half * (n / (n - 1)), bread.undetermined)


# ----------------------------------------------------------------------------------------------------
# Information of the methods that work at each student's most probable ability: Laplace and hierarchical likelihood.
#
# Laplace: L = sum_n h - log(-h'') / 2 at theta* = argmax h. Its second derivative in a student's slopes and
# intercepts p is a small block for each rating and three vectors per student,
#
#     b = h'_p,   g = h''_p,   w = h'''_p        (primes: derivatives in theta)
#
#     L_pp = h_pp - h''_pp / (2 h'') + h''' h'_pp / (2 h''^2)
#          + bb' (-1 / h'' - h'''' / (2 h''^3) + h'''^2 / h''^4) + gg' / (2 h''^2)
#          - (bg' + gb') h''' / h''^3 + (bw' + wb') / (2 h''^2)
#
# which follows by differentiating through theta*(p). So it is exact and costs about as much as a few gradients.

# For the fourth derivative of a log-probability, from its exact third one: off by 1e-8 relative.
_STEP = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Ratings at their students' abilities: slope a, ability t, and derivatives of log P in the predictor, the first to
    the fourth; h is their sum over a student."""

    a: Array
    t: Array
    log_p: tuple[Array, Array, Array, Array]

    def along(self, k: int) -> Array:
        """The kth derivative of a rating's part of h in ability, k > 0."""
        return np.asarray(self.a**k * self.log_p[k - 1])

    def first(self, k: int) -> Array:
        """(2, ratings): its derivatives in slope and intercept; of that part itself with k = 0."""
        a, t, l = self.a, self.t, self.log_p  # noqa: E741
        own = k * a ** (k - 1) * l[k - 1] if k else 0.0
        return np.stack([own + a**k * t * l[k], a**k * l[k]])

    def second(self, k: int) -> Array:
        """(3, ratings): its second ones in (slope, slope), (slope, intercept), (intercept, intercept)."""
        a, t, l = self.a, self.t, self.log_p  # noqa: E741
        twice = k * (k - 1) * a ** (k - 2) * l[k - 1] if k > 1 else 0.0
        once = k * a ** (k - 1) * l[k] if k else 0.0
        return np.stack(
            [twice + 2 * t * once + a**k * t**2 * l[k + 1], once + a**k * t * l[k + 1], a**k * l[k + 1]]
        )


def laplace_curvature(
    conditional: Conditional, model: FacetsModel, pseudo: Pseudo, parameters: Array, theta: Array
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The information by exact second derivatives of the Laplace approximation, and each student's part of the gradient
    (students, parameters); `theta`: the students' most probable abilities."""
    x, each = _cells(conditional, model, parameters, theta), conditional.student
    h2, h3, h4 = (conditional.per_student(x.along(k)) - (k == 2) for k in (2, 3, 4))
    b, g, w = (x.first(k) for k in (1, 2, 3))
    gradient = x.first(0) - g / (2 * h2)[each] + b * (h3 / (2 * h2**2))[each]
    own = x.second(0) - x.second(2) / (2 * h2)[each] + x.second(1) * (h3 / (2 * h2**2))[each]
    rows_b, rows_g, rows_w = (_per_student(conditional, vector) for vector in (b, g, w))

    def squares(one: sparse.csr_array, weights: Array, other: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(one.T @ (sparse.diags_array(weights) @ other))

    mixed = squares(rows_b, -h3 / h2**3, rows_g) + squares(rows_b, 1 / (2 * h2**2), rows_w)
    curvature = (
        _per_context(conditional, own)
        + squares(rows_b, -1 / h2 - h4 / (2 * h2**3) + h3**2 / h2**4, rows_b)
        + squares(rows_g, 1 / (2 * h2**2), rows_g)
        + mixed
        + mixed.T
    )
    scores = _per_student(conditional, gradient)
    information = _in_parameters(conditional, model, pseudo, parameters, curvature, scores.sum(axis=0))
    return information, sparse.csr_array(scores @ model.jacobian(parameters))


def information_given_abilities(
    conditional: Conditional, model: FacetsModel, pseudo: Pseudo, parameters: Array, theta: Array
) -> sparse.csr_array:
    """Information about the parameters if the abilities were known: a generalised linear model of the ratings.

    This is what the paper's procedure implies. Abilities are not known, so its standard errors are too small.
    """
    x = _cells(conditional, model, parameters, theta)
    curvature = _per_context(conditional, x.second(0))
    totals = _per_student(conditional, x.first(0)).sum(axis=0)
    return _in_parameters(conditional, model, pseudo, parameters, curvature, totals)


def stretch_of_abilities(
    conditional: Conditional, model: FacetsModel, parameters: Array, standard: Array
) -> float:
    """The s for which a theta* / s maximises the likelihood: hierarchical likelihood reports slopes s a."""
    predictor = model.predictor(parameters)
    slope = predictor.slope[conditional.context] * standard[conditional.student]

    def falls(log_s: float) -> float:
        first = conditional.derivatives(predictor, standard / np.exp(log_s)).first
        return float(np.sum(first * slope))

    low, high = -2.0, 2.0
    if falls(low) * falls(high) > 0:
        return 1.0
    from scipy.optimize import brentq  # only here, and slow to load

    return float(np.exp(brentq(falls, low, high)))


def _cells(conditional: Conditional, model: FacetsModel, parameters: Array, theta: Array) -> _Cells:
    predictor = model.predictor(parameters)
    a, t = predictor.slope[conditional.context], theta[conditional.student]
    s = a * t + predictor.intercepts[conditional.context, 0]
    d = conditional.derivatives(predictor, theta)
    ahead, back = (conditional.link.slopes(s + step, conditional.passed)[2] for step in (_STEP, -_STEP))
    fourth = conditional.weight * (ahead - back) / (2 * _STEP)
    return _Cells(a, t, (d.first, d.second, d.third, fourth))


def _per_student(conditional: Conditional, values: Array) -> sparse.csr_array:
    """(students, slopes and intercepts of the contexts) of values (2, ratings)."""
    columns = np.concatenate([conditional.context, conditional.n_contexts + conditional.context])
    rows = np.tile(conditional.student, 2)
    shape = (int(conditional.student[-1]) + 1, 2 * conditional.n_contexts)
    return sparse.csr_array((values.ravel(), (rows, columns)), shape=shape)


def _per_context(conditional: Conditional, values: Array) -> sparse.csr_array:
    """(2 contexts, 2 contexts) of values (3, ratings): slope-slope, slope-intercept, intercept-intercept."""
    slopes, mixed, intercepts = (sparse.diags_array(conditional.per_context(part)) for part in values)
    return sparse.csr_array(sparse.block_array([[slopes, mixed], [mixed, intercepts]]))


def _in_parameters(
    conditional: Conditional,
    model: FacetsModel,
    pseudo: Pseudo,
    parameters: Array,
    curvature: sparse.csr_array,
    totals: Array,
) -> sparse.csr_array:
    """Minus the second derivative in the parameters, with the half ratings of extreme raters and items."""
    predictor, response, counts = model.predictor(parameters), conditional.response, pseudo.spread()
    curvature = curvature + context_curvature(response, predictor, PSEUDO_NODES, counts)
    at_nodes = response.counted_scores(predictor, PSEUDO_NODES.points, counts)
    n = conditional.n_contexts
    d_slope = totals[:n] + at_nodes @ response.lever @ PSEUDO_NODES.points
    d_intercepts = totals[n:, None] + at_nodes.sum(axis=1)
    jacobian = model.jacobian(parameters)
    second = jacobian.T @ curvature @ jacobian + model.second(parameters, d_slope, d_intercepts)
    return sparse.csr_array(-(second + second.T) / 2)


# ----------------------------------------------------------------------------------------------------
# Observed information by differences of the gradient, for a likelihood whose curvature jumps (the log link's corner).
#
# Louis's identity (information.py) would need the corner resolved in every student's scores; the gradient has it
# resolved already.

# In standard errors: far enough to average over the jumps, near enough for a quadratic likelihood.
_DIFFERENCE = 0.2


def differenced_information(
    problem: FacetsMarginal, parameters: Array, nodes: Nodes, redundant: Redundancy
) -> sparse.csr_array:
    """(parameters, parameters): minus the second derivative of what was maximised."""
    size = len(parameters)
    steps = _DIFFERENCE / np.sqrt(
        np.maximum(information_scale(problem.model, parameters, problem.n_students), 1e-12)
    )
    information = np.empty((size, size))
    for j in range(size):
        ahead, back = parameters.copy(), parameters.copy()
        ahead[j] += steps[j]
        back[j] -= steps[j]
        change = problem.value(ahead, nodes).gradient - problem.value(back, nodes).gradient
        information[:, j] = -change / (2 * steps[j])
    # Along redundant directions the likelihood is flat, and differences only nearly so: take the part off them.
    u, d = redundant.constraints, redundant.directions
    off = np.eye(size) - d.T @ np.linalg.solve(u @ d.T, u)
    information = off.T @ information @ off
    return sparse.csr_array((information + information.T) / 2)


OBSERVED, EXPECTED, OPG, SANDWICH, CONDITIONAL = "observed", "expected", "opg", "sandwich", "conditional"
KINDS = {
    "mml": (OBSERVED, EXPECTED, OPG, SANDWICH),
    "laplace": (OBSERVED, OPG, SANDWICH),
    "hl": (OBSERVED, CONDITIONAL),
}
"""Kinds of covariance per method, its default first."""

# Data sets over which the expected information averages; each is within a few percent by itself.
_DATA_SETS = 20
_SEED = 20250212

Invert = Callable[[Matrix], Covariance]
"""From an information matrix to the covariance of centred parameters."""


def check_kind(kind: str, method: str, link: Link) -> None:
    """Raise where a covariance is not offered."""
    if kind not in KINDS[method]:
        raise OptionError(
            f"covariance {kind!r} is not offered for method {method!r}",
            f"choose one of: {', '.join(KINDS[method])}",
            value=kind,
            option="covariance",
        )
    if link.name == "log" and kind != OBSERVED:
        raise OptionError(
            f"covariance {kind!r} is not offered for link 'log', whose likelihood has corners",
            Message("use ", Option("covariance", OBSERVED)),
            value=kind,
        )


def covariance_of(
    kind: str, method: str, ratings: Ratings, found: FacetsEstimate, link: Link, invert: Invert
) -> Covariance:
    """The covariance of that kind."""
    if kind == EXPECTED:
        return invert(_expected(ratings, found))
    if method == "mml":
        scores = found.problem.student_scores(found.parameters, found.nodes)
        information = scores if kind == OPG else found.problem.information(found.parameters, found.nodes)
    else:
        conditional, model, pseudo = (
            Conditional(ratings, found.model, link),
            found.model,
            found.problem.pseudo,
        )
        theta = found.moments.mean
        if kind == CONDITIONAL:
            theta = theta / stretch_of_abilities(conditional, model, found.parameters, theta)
            return invert(information_given_abilities(conditional, model, pseudo, found.parameters, theta))
        theta = conditional.modes(model.predictor(found.parameters), theta)
        information, scores = laplace_curvature(conditional, model, pseudo, found.parameters, theta)
    if kind == OPG:
        if ratings.n_students <= scores.shape[1]:
            raise InputError(
                f"covariance 'opg' needs more students than parameters, and there are {ratings.n_students:,} students "
                f"for {scores.shape[1]:,} parameters",
                Message("use ", Option("covariance", OBSERVED), " or ", Option("covariance", SANDWICH)),
            )
        return invert(sparse.csr_array(scores.T @ scores))
    bread = invert(information)
    return bread if kind == OBSERVED else sandwich(bread, scores)


def _expected(ratings: Ratings, found: FacetsEstimate) -> sparse.csr_array:
    """Observed information averaged over data sets drawn from the fitted model on the same design."""
    problem, random = found.problem, np.random.default_rng(_SEED)
    total = sparse.csr_array((found.model.blocks.size,) * 2)
    for _ in range(_DATA_SETS):
        drawn = redrawn(ratings, problem.model, problem.response, found.parameters, random)
        again = marginal(drawn, problem.model.single, problem.response.single, problem.pseudo)
        total = total + again.information(found.parameters, found.nodes)
    return sparse.csr_array(total / _DATA_SETS)
