"""Terms whose parameters are a sample, such as interactions and raters' own thresholds: how much they vary.

The parameters h of a term are from N(0, s²). Given the spreads, the mode over h and all other parameters is found; the
spreads are those of restricted maximum likelihood (REML), which allows for what the other parameters take from h. With
V the variance of h given s, from the observed information of all parameters, they solve

    s² = sum of h² / sum of (1 - V / s²)

whose divisor is the number of directions of h that the ratings decide, its degrees of freedom. From there one step
along a parabola leads to the maximum of the likelihood that is marginal over all parameters by Laplace's approximation,
the density of other priors in it. Limits are where that is 1.92 lower.
A term is tested by that likelihood without it: as s cannot be negative, the ratio is 0 half of the time where there is
nothing (p = P(chi2_1 > x) / 2).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import NORMAL_95, Array, Indices, Mask
from raterlens.config.limits import SPARSE_PARAMETERS, SPARSE_SHARE
from raterlens.estimation.facets_estimate import FacetsEstimate, information_scale
from raterlens.estimation.methods import on_scale, sharp_moments
from raterlens.estimation.optimiser import Curvature, News, Search, Space, maximise
from raterlens.inference.covariance import Covariance, covariance, in_full
from raterlens.inference.slope_limits import CLOSE, deviance_end
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import DrawnPrior, Spread
from raterlens.models.facets import FacetsModel, Redundancy, centre, redundancy

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

LEAST_SPREAD, LARGEST_SPREAD = 0.01, 5.0
"""Below the least, parameters of a term change no probability that could be seen."""
_FIRST = 0.4
# Rounds at most, and the change of a logarithm of a spread that ends them.
_ROUNDS, _SAME = 40, 0.03
# Of such steps: how alike two may be, and how far they are followed at once.
_CLOSEST, _JUMP = 0.8, 1.5
# Of that logarithm: for a parabola, and how far its top may be.
_STEP, _FURTHEST = 0.1, 0.3
_NOTHING = 1e-3
# In standard errors: the log-likelihood is then off by less than its square.
_NEAR = 1e-5
# Variances that are solved for together.
_AT_ONCE = 256
_FEWEST = 0.05
"""Degrees of freedom, below which ratings say nothing of a spread."""

Information = Callable[[FacetsMarginal, Array, Nodes], Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class _At:
    """The mode at given spreads, 0 for terms that are left out."""

    spreads: Array
    problem: FacetsMarginal
    parameters: Array
    value: Value
    loglik: float
    """Marginal over all parameters, with the priors of raters and terms, but for a constant."""
    information: Matrix
    """Information of everything but the prior of these terms."""
    solved: "_Solved | _SparselySolved"
    """The information with it."""

    def freedom(self, j: int) -> float:
        """Degrees of freedom of a term."""
        block = self.problem.model.blocks[self.problem.model.drawn[j].name]
        own = self.solved.variances(np.arange(block.start, block.stop))
        return max(float(np.sum(1 - own / self.spreads[j] ** 2)), 0.0)

    @property
    def with_severities(self) -> Array:
        """(terms + 1,): the spread of severities last, where raters are a sample."""
        prior = self.problem.prior
        return np.append(self.spreads, 1.0 if prior is None else prior.severity_spread)

    @property
    def following(self) -> Array:
        """(terms + 1,): the spreads that these lead to."""
        found, model = self.with_severities, self.problem.model
        for j in np.flatnonzero(self.spreads).tolist():
            own = self.parameters[model.blocks[model.drawn[j].name]]
            found[j] = np.sqrt(float(own @ own) / max(self.freedom(j), _FEWEST))
        if (prior := self.problem.prior) is not None:
            found[-1] = prior.severities_learned(self.parameters, self.solved.variances)
        return found

    def under(self, severity_spread: float) -> "_At":
        """The same, next to another spread of severities."""
        prior = self.problem.prior
        if prior is None:
            return self
        return replace(
            self, problem=replace(self.problem, prior=prior.at(prior.slope_spread, severity_spread))
        )


def over_drawn(
    found: FacetsEstimate, information: Information, search: Search, *, allow_reversed: bool
) -> FacetsEstimate:
    """The estimate with the drawn terms of its model, from one in which they are held at 0; its log-likelihood is
    given them (`with_marginal`).

    Parameters
    ----------
    information
        Of a problem, its prior included, at its parameters and nodes.
    """
    terms = _Terms(found, information, search, allow_reversed)
    best = terms.best(np.full(len(found.model.drawn), _FIRST))
    # Without each in turn: its statistic, and whether the ratings show it at all.
    without = [terms.without(best, j) if spread > 0 else best for j, spread in enumerate(best.spreads)]
    statistics = [2 * max(best.loglik - less.loglik, 0.0) for less in without]
    seen = np.array([statistic > 2 * _NOTHING for statistic in statistics])
    if (best.spreads[~seen] > 0).any():
        best = terms.best(np.where(seen, best.spreads, 0.0))
    held = terms.held(best.spreads)
    parameters = centre(found.model, best.parameters, held)
    moments = sharp_moments(best.problem, parameters, best.problem.moments(parameters, found.nodes))
    return replace(
        found,
        problem=best.problem,
        parameters=parameters,
        value=best.value,
        moments=on_scale(found.model, parameters, moments),
        held=held,
        at_limit=found.model.at_limit(best.parameters) & ~held,
        spreads=tuple(
            Spread(term.name, float(best.spreads[j]), *terms.limits(best, j, statistics[j]), statistics[j])
            for j, term in enumerate(found.model.drawn)
        ),
    )


class _Terms:
    """A fit, ready to be looked at with some of its terms, at any spreads."""

    def __init__(
        self, found: FacetsEstimate, information: Information, search: Search, allow_reversed: bool
    ) -> None:
        self.found, self.model, self._information = found, found.model, information
        self._search = Search(search.max_iterations, search.on_progress)
        prior = found.problem.prior
        own_slopes = self._own_prior = prior is not None and prior.slopes is not None
        self._bounds = self.model.bounds(allow_reversed=allow_reversed or own_slopes)
        self._scale = information_scale(self.model, found.parameters, found.problem.n_students)
        nothing, x = np.zeros(len(self.model.drawn)), found.parameters
        first = found.problem.value(x, found.nodes)
        plain = information(found.problem, x, found.nodes)
        fixed = self.held(nothing) | self.model.at_limit(x)
        solved = self._solved(None, plain, x, fixed)
        loglik = first.objective - solved.half_determinant - self._half_unit(x, fixed)
        self._none = _At(nothing, found.problem, x, first, loglik, plain, solved)

    def best(self, spreads: Array) -> _At:
        """The mode at spreads that follow from themselves, from these on; 0 where they vanish."""
        at, before = self._at(spreads, self._none), np.zeros(len(spreads) + 1)
        for _ in range(_ROUNDS):
            here, following = at.with_severities, at.following
            following = np.where(following < LEAST_SPREAD, 0.0, np.minimum(following, LARGEST_SPREAD))
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.log(following / here)
            if np.nan_to_num(np.abs(step), nan=0.0, posinf=1.0).max(initial=0.0) < _SAME:
                break
            *further, severities = _further(here, following, step, before)
            if not any(further):
                return self._none
            at, before = self._at(np.array(further), at.under(max(severities, LEAST_SPREAD))), step
        return self._at_the_top(at)

    def _at_the_top(self, at: _At) -> _At:
        """Each spread where a parabola through the likelihood around it has its top; the others as they are."""
        logs = np.log(np.maximum(at.spreads, LEAST_SPREAD))
        for j in np.flatnonzero(at.spreads):
            step = np.eye(len(logs))[j] * _STEP
            below, above = (
                self._at(np.where(at.spreads > 0, np.exp(logs + side * step), 0.0), at) for side in (-1, 1)
            )
            bend = below.loglik - 2 * at.loglik + above.loglik
            if bend < 0:
                logs[j] += np.clip(_STEP * (below.loglik - above.loglik) / (2 * bend), -_FURTHEST, _FURTHEST)
        top = self._at(np.where(at.spreads > 0, np.clip(np.exp(logs), LEAST_SPREAD, LARGEST_SPREAD), 0.0), at)
        return top if top.loglik > at.loglik else at

    def without(self, at: _At, term: int) -> _At:
        """The mode without a term, the spreads of the others as they are."""
        spreads = at.spreads.copy()
        spreads[term] = 0.0
        return self._at(spreads, at)

    def limits(self, at: _At, j: int, statistic: float) -> tuple[float, float]:
        """95 % limits of a spread by profile likelihood, the other spreads as they are; NaN where the ratings set no
        upper limit."""
        freedom = at.freedom(j) if at.spreads[j] > 0 else 0.0
        if freedom < _FEWEST:
            return 0.0, float("nan")
        centre = float(np.log(at.spreads[j]))
        # Were all parameters known alike, that of the logarithm would have this error.
        reach = NORMAL_95 * float(np.sqrt(self.model.blocks.sizes[self.model.drawn[j].name] / 2)) / freedom

        def look(logarithm: float, near: _At) -> tuple[float, _At]:
            spreads = at.spreads.copy()
            spreads[j] = np.exp(logarithm)
            there = self._at(spreads, near)
            return float(np.sqrt(2 * max(at.loglik - there.loglik, 0.0))), there

        def end(side: int, last: float) -> float:
            to, root, _ = deviance_end(
                look, centre, at, centre + side * reach, float(np.log(last)), NORMAL_95
            )
            return float(np.exp(to)) if side < 0 or root > NORMAL_95 - CLOSE else float("nan")

        return end(-1, LEAST_SPREAD) if statistic > NORMAL_95**2 else 0.0, end(1, LARGEST_SPREAD)

    def held(self, spreads: Array) -> Mask:
        """Parameters that are not estimated: as before, except for the terms that have a spread."""
        held = self.found.held.copy()
        for term, spread in zip(self.model.drawn, spreads, strict=True):
            held[self.model.blocks[term.name]] = spread == 0
        return held

    def _at(self, spreads: Array, near: _At) -> _At:
        """By the information of a neighbour, under the prior of its own."""
        if not spreads.any():
            return self._none
        prior, held = DrawnPrior.of(self.model, spreads), self.held(spreads)
        problem, nodes = replace(near.problem, drawn=prior), self.found.nodes
        start = np.where(held & self.model.of_drawn, 0.0, near.parameters)
        bounds = tuple(np.where(held, start, bound) for bound in self._bounds)
        at_limit = held | self.model.at_limit(start)
        curvature = near.solved
        if (
            (near.spreads > 0) != (spreads > 0)
        ).any():  # the neighbour's own knows nothing of what it leaves out
            curvature = self._solved(prior, near.information, start, at_limit)
        scale = self._scale.copy()
        scale[prior.at] += 1 / prior.spread**2
        optimum = maximise(
            lambda x: problem.value(x, nodes),
            start,
            Space(scale, (bounds[0], bounds[1])),
            self._search,
            stage="spreads",
            tolerance=_NEAR,
            on_iteration=_told(curvature.inverse),
        )
        x = optimum.parameters
        information = self._information(replace(problem, drawn=None), x, nodes)
        fixed = held | self.model.at_limit(x)
        solved = self._solved(prior, information, x, fixed)
        loglik = optimum.value.objective - solved.half_determinant - self._half_unit(x, fixed)
        return _At(spreads, problem, x, optimum.value, loglik, information, solved)

    def _half_unit(self, x: Array, fixed: Mask) -> float:
        """Half of what the log determinant has more on the scale of slopes on which what few ratings say of one is
        about normal, h' = (1 + a⁴)^(-1/4); nothing where slopes have a prior."""
        slopes = self.model.blocks["slope"]
        free = ~fixed[slopes] & (not self._own_prior)
        return float(np.log1p(x[slopes][free] ** 4).sum()) / 4

    def _solved(
        self, prior: DrawnPrior | None, information: Matrix, x: Array, fixed: Mask
    ) -> "_Solved | _SparselySolved":
        known = information if prior is None else information + prior.information(x)
        couplings = np.count_nonzero(known) if isinstance(known, np.ndarray) else known.nnz
        many = len(x) > SPARSE_PARAMETERS and couplings < SPARSE_SHARE * len(x) ** 2
        kind = _SparselySolved if many else _Solved
        return kind.of(known, redundancy(self.model, x, fixed), fixed)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """The inverse information of all that is estimated, redundant directions held."""

    inverse: Array
    half_determinant: float
    """Half the logarithm of the information's determinant."""

    @staticmethod
    def of(information: Matrix, redundant: Redundancy, fixed: Mask) -> "_Solved":
        whole, free = in_full(information), np.flatnonzero(~fixed)
        constraints = redundant.constraints
        determinant = np.linalg.slogdet((whole + constraints.T @ constraints)[np.ix_(free, free)])[1]
        return _Solved(in_full(covariance(whole, redundant, fixed).matrix), float(determinant) / 2)

    def variances(self, some: Indices) -> Array:
        return self.inverse[some, some]


@dataclass(frozen=True, slots=True, eq=False)
class _SparselySolved:
    """The same by the factors of a sparse matrix: with U the constraints, those of [[I, U'], [U, -1]]."""

    half_determinant: float
    _factors: "SuperLU"
    _place: Indices
    """(parameters,): among those that are estimated, or -1."""
    _along: Array
    """(estimated, constraints): inv(I + U'U) U'"""
    _taken: Array
    """(constraints, estimated): what centring takes from it."""

    @staticmethod
    def of(information: Matrix, redundant: Redundancy, fixed: Mask) -> "_SparselySolved":
        from scipy.sparse.linalg import splu  # most fits do without

        free = np.flatnonzero(~fixed)
        among = sparse.csr_array(information)[free][:, free]
        u = sparse.csr_array(redundant.constraints[:, free])
        held = -sparse.eye_array(u.shape[0])
        bordered = sparse.block_array([[among, u.T], [u, held]], format="csc")
        factors = splu(bordered, "MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options={"SymmetricMode": True})

        along = factors.solve(np.vstack([u.T.toarray(), np.zeros((u.shape[0],) * 2)]))[: len(free)]
        place = np.full(len(fixed), -1)
        place[free] = np.arange(len(free))
        return _SparselySolved(
            float(np.log(np.abs(factors.U.diagonal())).sum()) / 2,
            factors,
            place,
            along,
            np.linalg.solve(u @ along, along.T),
        )

    @property
    def inverse(self) -> "_SparselySolved":
        return self

    def __matmul__(self, vector: Array) -> Array:
        free, found = self._place >= 0, np.zeros_like(vector)
        right = np.zeros(self._factors.shape[0])
        right[: np.count_nonzero(free)] = vector[free]
        found[free] = self._factors.solve(right)[: np.count_nonzero(free)]
        return found

    def variances(self, some: Indices) -> Array:
        found, place = np.zeros(len(some)), self._place[some]
        for first in range(0, len(some), _AT_ONCE):
            own = place[first : first + _AT_ONCE]
            own = own[own >= 0]
            unit = np.zeros((self._factors.shape[0], len(own)))
            unit[own, np.arange(len(own))] = 1.0
            solved = self._factors.solve(unit)[own, np.arange(len(own))]
            taken = np.einsum("pc,cp->p", self._along[own], self._taken[:, own])
            found[first : first + _AT_ONCE][place[first : first + _AT_ONCE] >= 0] = solved - taken
        return found


def _further(spreads: Array, following: Array, step: Array, before: Array) -> Array:
    """Spreads where the steps that are getting shorter lead in the end (Aitken), in logarithms: near 0 each round only
    divides a spread by the same number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(step / before, 0.0, _CLOSEST)
        jump = np.clip(step / (1 - share), -_JUMP, _JUMP)
        steady = np.isfinite(jump) & (before != 0) & (step * before > 0)  # a spread of 0 has infinite steps
    found = np.where(steady, spreads * np.exp(np.where(steady, jump, 0.0)), following)
    return np.where(found < LEAST_SPREAD, 0.0, np.minimum(found, LARGEST_SPREAD))


def with_marginal(found: FacetsEstimate, information: Information) -> FacetsEstimate:
    """The estimate with the log-likelihood marginal over its drawn terms, wherever it has gone since."""
    prior = found.problem.drawn
    if prior is None or not len(prior.at):  # the ratings show none
        return found
    value = found.problem.value(found.parameters, found.nodes)
    own = in_full(information(found.problem, found.parameters, found.nodes))[np.ix_(prior.at, prior.at)]
    integrated = prior.value(found.parameters)[0] - float(np.linalg.slogdet(own)[1]) / 2
    return replace(found, value=replace(value, loglik=value.loglik + integrated))


def _told(inverse: Curvature) -> Callable[[Array, float], News]:
    """The curvature, after the first step."""
    left = [inverse]

    def news(parameters: Array, gradient: float) -> News:
        return News(inverse_curvature=left.pop()) if left else News()

    return news


def item_variance(model: FacetsModel, known: Covariance) -> Array | None:
    """(raters, items): Var(b_r + h_ri) - Var(b_r), where raters differ from item to item by h; None where that is not
    known."""
    terms = [term for term in model.terms if term.levels == ("rater", "item")]
    if not terms or model.severity.size != model.n_raters:
        return None
    (term,) = terms
    n, m = model.n_raters, model.n_items
    cells = np.reshape(term.table(np.arange(1.0, term.size + 1)), (n, m)).astype(int) - 1  # -1: not met
    own, severity = (model.blocks[name].start for name in (term.name, "severity"))
    matrix, there = in_full(known.matrix), cells >= 0
    cell, rater = cells[there] + own, np.nonzero(there)[0] + severity
    found = np.zeros((n, m))
    found[there] = matrix[cell, cell] + 2 * matrix[cell, rater]
    return found


def curve_covariance(model: FacetsModel, parameters: Array, known: Covariance) -> Array | None:
    """(raters, 2 + contrasts, 2 + contrasts): of each rater's slope, severity and use of the scale, where raters have
    their own."""
    n, names = model.n_raters, [term.name for term in model.terms if term.uses_scale]
    if not names:
        return None
    own = sum(model.effect_jacobian(parameters, name) for name in names)
    whole = sparse.csr_array(sparse.vstack([model.effect_jacobian(parameters, "slope", "severity"), own]))
    contrasts = 2 * n + np.arange(whole.shape[0] - 2 * n).reshape(n, -1)
    rows = (whole[[rater, n + rater, *contrasts[rater]]] for rater in range(n))
    return np.stack([each @ (each @ in_full(known.matrix)).T for each in rows])


def spread_table(found: FacetsEstimate) -> pl.DataFrame:
    """term, spread, low, high, statistic, p"""
    rows = [
        (term.title, each.value, each.low, each.high, each.statistic, each.p)
        for term, each in zip(found.model.drawn, found.spreads, strict=True)
    ]
    names = ["term", "spread", "low", "high", "statistic", "p"]
    return pl.DataFrame(rows, schema=names, orient="row")
