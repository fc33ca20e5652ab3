"""Terms whose parameters are a sample, such as interactions and raters' own thresholds: how much they vary.

The parameters h of a term are from N(0, s²). Given the spreads, the mode over h and all other parameters is found; the
spreads are those of restricted maximum likelihood (REML), which allows for what the other parameters take from h. With
V the variance of h given s, from the observed information of all parameters, they solve

    s² = sum of h² / sum of (1 - V / s²)

whose divisor is the number of directions of h that the ratings decide, its degrees of freedom; but for how the
information itself follows, which two looks tell: then it is the maximum of the likelihood that is marginal over all
parameters by Laplace's approximation, the density of other priors in it. Limits are where that is 1.92 lower. Between
looks, which take an information and its inverse each, it runs along a curve.
A term is tested by that likelihood without it: as s cannot be negative, the ratio is 0 half of the time where there is
nothing (p = P(chi2_1 > x) / 2).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.config.limits import SPARSE_PARAMETERS, SPARSE_SHARE
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate, information_scale
from raterlens.estimation.methods import on_scale, sharp_moments
from raterlens.estimation.optimiser import Search
from raterlens.inference.covariance import Inverse, SparseInverse, in_full
from raterlens.inference.slope_limits import CLOSE, LocalSearch, deviance_end, mode_near
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import DrawnPrior, Spread
from raterlens.models.facets import FacetsModel, centre, redundancy

LEAST_SPREAD, LARGEST_SPREAD = 0.01, 5.0
"""Below the least, parameters of a term change no probability that could be seen."""
_FIRST = 0.4
_SPREADS = np.exp(np.linspace(np.log(LEAST_SPREAD), np.log(LARGEST_SPREAD), 2_000))
"""Where curves are looked at."""
# Rounds at most, the change of a logarithm of a spread that ends them, and the largest of a round.
_ROUNDS, _SAME, _JUMP = 40, 0.003, 1.5
# Of that logarithm: a step that tells how the information follows.
_STEP = 0.05
# A step that tells how well it is known.
_APART = 0.3
# The share of parameters that ratings decide, from which on the information hardly follows their spread.
_DECIDED = 0.95
_SEVERITIES_SAME = 0.02
_NOTHING, _SLIGHT = 1e-3, 1e-9
# In standard errors: the log-likelihood is then off by less than its square.
_ROUGH, _NEAR = 1e-3, 1e-5
_FEWEST, _MANY = 0.05, 50
"""Degrees of freedom, below which ratings say nothing of a spread; and from which on limits are where its curve says,
and nobody looks there."""

Information = Callable[[FacetsMarginal, Array, Nodes], Matrix]


@dataclass(frozen=True, slots=True)
class _Curve:
    """How the log-likelihood runs along a spread s, by what is known at one of them. With y the square of their ratio,

        A / p (1 - 1 / (1 - p + p y)) / 2 - f / w log(1 - w + w y) / 2 - c log(y) / 2

    as if the ratings decided all directions of h to the same share: p of its squares, w of its degrees of freedom. Its
    first and second derivative in log s are right where both were taken.
    """

    spread: float
    squares: float
    """A: sum of h² / s²."""
    freedom: float
    """f"""
    decided: float
    """p"""
    share: float
    """w"""
    tilt: float
    """c: the rise of half the log determinant as the information follows the mode."""
    drift: Array
    """(parameters,): by how much estimates move with log s."""
    certain: bool = False
    """Spreads are taken for equally likely beforehand, so that 0 is not the likeliest."""

    @staticmethod
    def of(h: Array, spread: float, inverse: Inverse | SparseInverse, own: slice, tilt: float) -> "_Curve":
        """The curve of parameters h, in their place among all."""
        size = len(h)
        variances, squares = inverse.among(np.arange(own.start, own.stop))
        known = float(np.sum(variances)) / spread**2
        freedom = max(size - known, 0.0)
        each = size - 2 * known + squares / spread**4
        whole = np.zeros(inverse.size)
        whole[own] = h
        follows = np.asarray(inverse @ whole) / spread**2
        left = float(h @ follows[own])
        square = float(h @ h)
        return _Curve(
            spread,
            square / spread**2,
            freedom,
            1 - min(left / square, 1 - _SLIGHT) if square > 0 else _SLIGHT,
            float(np.clip(each / max(freedom, _SLIGHT), _SLIGHT, 1.0)),
            tilt,
            2 * follows,
        )

    def rise(self, spread: Array) -> Array:
        y, p, w = (spread / self.spread) ** 2, self.decided, self.share
        return np.asarray(
            self.squares / p * (1 - 1 / (1 - p + p * y)) / 2
            - self.freedom / w * np.log(1 - w + w * y) / 2
            - self.tilt * np.log(y) / 2
        )

    def height(self, spread: Array) -> Array:
        """The same with what is known of spreads beforehand."""
        return self.rise(spread) + (np.log(spread / self.spread) if self.certain else 0.0)

    def error(self) -> Array:
        """(parameters,): how far off estimates are where log s is off by its standard error."""
        below, above = self.height(self.spread * np.exp([-_APART, _APART]))
        return np.asarray(self.drift / np.sqrt(max(-float(below + above) / _APART**2, 1.0)))

    def top(self) -> float:
        """The likeliest spread, 0 for the least one."""
        rise = self.height(_SPREADS)
        best = int(np.argmax(rise))
        if best in (0, len(rise) - 1):
            return float(_SPREADS[best]) if best else 0.0
        below, here, above = rise[best - 1 : best + 2]
        return float(
            _SPREADS[best]
            * (_SPREADS[1] / _SPREADS[0]) ** ((below - above) / (2 * (below - 2 * here + above)))
        )

    def end(self, side: int, last: float) -> float:
        """Where the log-likelihood has fallen by 1.92, below or above its spread; the last place where it does not."""
        beyond = np.append(self.spread, _SPREADS[side * (_SPREADS - self.spread) > 0][::side])
        root = np.maximum.accumulate(np.sqrt(2 * np.maximum(-self.rise(beyond), 0.0)))
        return float(np.exp(np.interp(NORMAL_95, root, np.log(beyond), right=np.log(last))))


@dataclass(frozen=True, slots=True, eq=False)
class _At:
    """The mode at given spreads, 0 for terms that are left out."""

    spreads: Array
    problem: FacetsMarginal
    parameters: Array
    at_limit: Mask
    value: Value
    loglik: float
    """Marginal over all parameters, with the priors of raters and terms, but for a constant."""
    information: Matrix
    """Information of everything but the prior of these terms."""
    inverse: Inverse | SparseInverse
    """The inverse of that with it."""

    def severities_follow(self) -> "_At":
        """The same, next to the spread of severities that follows from it; itself where it is nearly that."""
        if (prior := self.problem.prior) is None:
            return self
        learned = prior.severities_learned(self.parameters, lambda some: self.inverse.among(some)[0])
        spread = max(learned, LEAST_SPREAD)
        if abs(spread / prior.severity_spread - 1) < _SEVERITIES_SAME:
            return self
        return replace(self, problem=replace(self.problem, prior=prior.at(prior.slope_spread, spread)))

    def curves(self, tilt: Array) -> dict[int, _Curve]:
        """The curve of each term that is in."""
        model, found = self.problem.model, {}
        for j in np.flatnonzero(self.spreads).tolist():
            own = model.blocks[model.drawn[j].name]
            curve = _Curve.of(self.parameters[own], float(self.spreads[j]), self.inverse, own, float(tilt[j]))
            found[j] = replace(curve, certain=model.drawn[j].certain)
        return found


def over_drawn(
    found: FacetsEstimate, information: Information, search: Search, *, allow_reversed: bool
) -> FacetsEstimate:
    """The estimate with the drawn terms of its model, from one in which they are held at 0; its log-likelihood is
    marginal over them.

    Parameters
    ----------
    information
        Of a problem, its prior included, at its parameters and nodes.
    """
    terms = _Terms(found, information, search, allow_reversed)
    best, curves = terms.best(np.full(len(found.model.drawn), _FIRST))
    # Without each in turn: its statistic, and whether the ratings show it at all.
    without = [terms.without(best, j) if spread > 0 else best for j, spread in enumerate(best.spreads)]
    statistics = [2 * max(best.loglik - less.loglik, 0.0) for less in without]
    seen = np.array([statistic > 2 * _NOTHING for statistic in statistics])
    seen |= [term.certain for term in found.model.drawn]
    if (best.spreads[~seen] > 0).any():
        best, curves = terms.best(np.where(seen, best.spreads, 0.0))
    moments = sharp_moments(best.problem, best.parameters, best.problem.moments(best.parameters, found.nodes))
    return replace(
        found,
        problem=best.problem,
        parameters=best.parameters,
        value=_marginal(best.problem, best.parameters, best.value, best.information),
        moments=on_scale(found.model, best.parameters, moments),
        held=terms.held(best.spreads),
        at_limit=best.at_limit,
        covariance=best.inverse.covariance if isinstance(best.inverse, Inverse) else None,
        drifts=tuple(curve.error() for curve in curves.values() if curve.certain),
        spreads=tuple(
            Spread(
                term.name,
                float(best.spreads[j]),
                *terms.limits(best, j, curves, statistics[j]),
                statistics[j],
            )
            for j, term in enumerate(found.model.drawn)
        ),
    )


class _Terms:
    """A fit, ready to be looked at with some of its terms, at any spreads."""

    def __init__(
        self, found: FacetsEstimate, information: Information, search: Search, allow_reversed: bool
    ) -> None:
        self.found, self.model, self._information = found, found.model, information
        scale = information_scale(self.model, found.parameters, found.problem.n_students)
        self._local = LocalSearch("spreads", scale, _NEAR, search.max_iterations, search.on_progress)
        prior = found.problem.prior
        own_slopes = self._own_prior = prior is not None and prior.slopes is not None
        self._bounds = self.model.bounds(allow_reversed=allow_reversed or own_slopes)
        nothing, x = np.zeros(len(self.model.drawn)), found.parameters
        plain = information(found.problem, x, found.nodes)
        fixed = self.held(nothing) | self.model.at_limit(x)
        inverse, problem = self._inverse(None, plain, x, fixed), found.problem
        if (restricted := DrawnPrior.of(self.model, nothing)).restricted is not None:
            problem, x = replace(problem, drawn=restricted), x + inverse @ restricted.restricted
        first = problem.value(x, found.nodes)
        loglik = first.objective - inverse.half_determinant - self._half_unit(x, fixed)
        self._none = _At(nothing, problem, x, found.at_limit, first, loglik, plain, inverse)

    def best(self, spreads: Array) -> tuple[_At, dict[int, _Curve]]:
        """The mode at the likeliest spreads, from these on, 0 where they vanish; and the curves through them.

        The first mode takes the information from the fit without terms.
        """
        at, curves = self._settled(self._at(spreads, self._none, rough=True), np.zeros(len(spreads)))
        if all(curve.decided > _DECIDED for curve in curves.values()):
            return at, curves
        tilt = np.zeros(len(spreads))
        for j, curve in curves.items():
            aside = at.spreads * np.exp(np.where(np.arange(len(tilt)) == j, _STEP, 0.0))
            rise = self._at(aside, at).loglik - at.loglik
            tilt[j] = (float(curve.rise(aside[j])) - rise) / _STEP
        return self._settled(at, tilt)

    def _settled(self, at: _At, tilt: Array) -> tuple[_At, dict[int, _Curve]]:
        """From there to where each spread is at the top of its curve, and the curves there."""
        for _ in range(_ROUNDS):
            curves, follows, spreads = at.curves(tilt), at.severities_follow(), at.spreads.copy()
            for j, curve in curves.items():
                top = np.clip(curve.top(), curve.spread * np.exp(-_JUMP), curve.spread * np.exp(_JUMP))
                spreads[j] = min(top, LARGEST_SPREAD) if top > LEAST_SPREAD else 0.0
            same = np.allclose(spreads, at.spreads, rtol=_SAME, atol=0) and follows is at
            if same and at.information is not self._none.information:
                break
            at = self._at(spreads, follows)
            if at is self._none:
                return at, {}
        return at, curves

    def without(self, at: _At, term: int) -> _At:
        """The mode without a term, the spreads of the others as they are."""
        spreads = at.spreads.copy()
        spreads[term] = 0.0
        return self._at(spreads, at)

    def limits(self, at: _At, j: int, curves: dict[int, _Curve], statistic: float) -> tuple[float, float]:
        """95 % limits of a spread by profile likelihood, the other spreads as they are; NaN where the ratings set no
        upper limit."""
        if j not in curves or curves[j].freedom < _FEWEST:
            return 0.0, float("nan")
        curve = curves[j]
        guesses = curve.end(-1, LEAST_SPREAD), curve.end(1, float("nan"))
        if curve.freedom > _MANY:
            return guesses if statistic > NORMAL_95**2 else (0.0, guesses[1])

        def look(logarithm: float, near: _At) -> tuple[float, _At]:
            spreads = at.spreads.copy()
            spreads[j] = np.exp(logarithm)
            there = self._at(spreads, near)
            return float(np.sqrt(2 * max(at.loglik - there.loglik, 0.0))), there

        def end(guess: float, last: float) -> float:
            centre, begin = np.log([curve.spread, last if np.isnan(guess) else guess])
            to, root, _ = deviance_end(look, float(centre), at, float(begin), float(np.log(last)), NORMAL_95)
            return float(np.exp(to)) if last == LEAST_SPREAD or root > NORMAL_95 - CLOSE else float("nan")

        low = end(guesses[0], LEAST_SPREAD) if statistic > NORMAL_95**2 else 0.0
        return low, end(guesses[1], LARGEST_SPREAD)

    def held(self, spreads: Array) -> Mask:
        """Parameters that are not estimated: as before, except for the terms that have a spread."""
        held = self.found.held.copy()
        for term, spread in zip(self.model.drawn, spreads, strict=True):
            held[self.model.blocks[term.name]] = spread == 0
        return held

    def _at(self, spreads: Array, near: _At, *, rough: bool = False) -> _At:
        """By the information of a neighbour, under the prior of its own; `rough`: of its own it has none."""
        if not spreads.any():
            return self._none
        prior, held = DrawnPrior.of(self.model, spreads), self.held(spreads)
        problem, nodes = replace(near.problem, drawn=prior), self.found.nodes
        start = np.where(held & self.model.of_drawn, 0.0, near.parameters)
        inverse = near.inverse
        if ((near.spreads > 0) != (spreads > 0)).any():  # it knows nothing of what the neighbour leaves out
            inverse = self._inverse(prior, near.information, start, held | self.model.at_limit(start))
        how = replace(self._local, near=_ROUGH if rough else _NEAR, inverse=inverse)
        optimum = mode_near(problem, nodes, start, held, self._bounds, how)
        at_limit = self.model.at_limit(optimum.parameters) & ~held
        x, information = centre(self.model, optimum.parameters, held), near.information
        if not rough:
            information = self._information(replace(problem, drawn=None), x, nodes)
            inverse = self._inverse(prior, information, x, held | at_limit)
        loglik = optimum.value.objective - inverse.half_determinant - self._half_unit(x, held | at_limit)
        return _At(spreads, problem, x, at_limit, optimum.value, loglik, information, inverse)

    def _half_unit(self, x: Array, fixed: Mask) -> float:
        """Half of what the log determinant has more on the scale of slopes on which what few ratings say of one is
        about normal, h' = (1 + a⁴)^(-1/4); nothing where slopes have a prior."""
        slopes = self.model.blocks["slope"]
        free = ~fixed[slopes] & (not self._own_prior)
        return float(np.log1p(x[slopes][free] ** 4).sum()) / 4

    def _inverse(
        self, prior: DrawnPrior | None, information: Matrix, x: Array, fixed: Mask
    ) -> Inverse | SparseInverse:
        more, redundant = np.zeros(len(x)), redundancy(self.model, x, fixed)
        if prior is not None:
            more[prior.at] = 1 / prior.spread**2
        couplings = np.count_nonzero(information) if isinstance(information, np.ndarray) else information.nnz
        if len(x) <= SPARSE_PARAMETERS or couplings > SPARSE_SHARE * len(x) ** 2:
            return Inverse.of(information, redundant, fixed, more, self.model.of_drawn)
        return SparseInverse.of(information, redundant, fixed, more)


def _marginal(problem: FacetsMarginal, x: Array, value: Value, information: Matrix) -> Value:
    """With the log-likelihood marginal over drawn terms, by the information without their prior."""
    prior = problem.drawn
    if prior is None or not len(prior.at):  # the ratings show none
        return value
    own = in_full(information[prior.at][:, prior.at]) + np.diag(1 / prior.spread**2)
    integrated = prior.density(x)[0] - float(np.linalg.slogdet(own)[1]) / 2
    return replace(value, loglik=value.loglik + integrated)


def with_marginal(found: FacetsEstimate, information: Information) -> FacetsEstimate:
    """The estimate with the log-likelihood marginal over its drawn terms, where it has gone since."""
    problem, x, nodes = replace(found.problem, drawn=None), found.parameters, found.nodes
    value = _marginal(found.problem, x, found.problem.value(x, nodes), information(problem, x, nodes))
    return replace(found, value=value)


def item_variance(model: FacetsModel, known: Covariance) -> Array | None:
    """(raters, items): Var(b_r + h_ri) less the variance of the rater's severity, which has the mean of h, where raters
    differ from item to item by h; None where that is not known."""
    terms = [term for term in model.terms if term.levels == ("rater", "item")]
    if not terms or model.severity.size != model.n_raters:
        return None
    (term,) = terms
    n, m = model.n_raters, model.n_items
    cells = np.reshape(term.table(np.arange(1.0, term.size + 1)), (n, m)).astype(int) - 1  # -1: not met
    own, severity = (model.blocks[name].start for name in (term.name, "severity"))
    matrix, there = in_full(known.matrix), cells >= 0
    cell, rater = cells[there] + own, np.nonzero(there)[0] + severity
    through = model.effect_jacobian(np.zeros(len(matrix)), "severity")
    average = (through @ (through @ matrix).T).diagonal()
    found = np.repeat((matrix.diagonal()[model.blocks["severity"]] - average)[:, None], m, axis=1)
    found[there] += matrix[cell, cell] + 2 * matrix[cell, rater]
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
