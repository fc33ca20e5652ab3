"""How much raters differ from item to item, and what is known of each interaction.

Interactions h are a sample from N(0, w²). Given w, the mode over h and all other parameters is found; the likelihood of
w is marginal over h by Laplace's approximation there,

    L(w) = loglik(x, h) + log N(h; 0, w²) - log det(I_hh + 1 / w²) / 2

with abilities integrated by quadrature as ever, and I_hh the observed information. This is what mixed-model programs
maximise where they take fixed effects from the mode. A term is tested by the fit without it: as w cannot be negative,
its likelihood ratio is 0 half of the time where there is nothing (p = P(chi2_1 > x) / 2).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Mask
from raterlens.estimation.facets_estimate import FacetsEstimate
from raterlens.estimation.methods import on_scale, sharp_moments
from raterlens.estimation.optimiser import Search, Space, maximise
from raterlens.estimation.quasi_newton import News
from raterlens.estimation.starting_values import information_scale
from raterlens.inference.covariance import Covariance, covariance, in_full
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.panel_prior import InteractionPrior, InteractionTerm
from raterlens.models.facets import FacetsModel
from raterlens.models.redundancy import centre, redundancy
from raterlens.models.terms.rater_interactions import ITEM

LEAST_SPREAD, LARGEST_SPREAD = 0.01, 5.0
"""Below the least, interactions change no probability that could be seen."""
_FIRST = 0.4
# Of the logarithm of a spread: for differences, how far off a limit may be, and how far the next is looked for.
_STEP, _CLOSE, _REACH = 2e-3, 0.02, 0.5
_NOTHING = 1e-3
# In standard errors: the log-likelihood is then off by less than its square.
_NEAR = 1e-5
_FALL_95 = 1.920729

Information = Callable[[FacetsMarginal, Array, Nodes], Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class _At:
    """The mode at given spreads, 0 for terms that are left out."""

    spreads: Array
    problem: FacetsMarginal
    parameters: Array
    value: Value
    loglik: float
    """L(w)"""
    information: Array
    """Of everything but the prior of interactions."""


def over_interactions(
    found: FacetsEstimate, information: Information, search: Search, *, allow_reversed: bool
) -> FacetsEstimate:
    """The estimate with the interactions of its model, from one in which they are held at 0; its log-likelihood is
    given them (`with_marginal`).

    Parameters
    ----------
    information
        Of a problem, its prior included, at its parameters and nodes.
    """
    terms = _Terms(found, information, search, allow_reversed)
    every = tuple(range(len(found.model.drawn)))
    best = terms.best(every)
    without = [terms.best(every[:j] + every[j + 1 :]).loglik for j in every]
    statistics = [2 * max(best.loglik - less, 0.0) for less in without]
    seen = tuple(j for j in every if statistics[j] > 2 * _NOTHING)
    best = terms.best(seen)
    limits = [terms.limits(best, j) for j in every]
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
        interactions=tuple(
            InteractionTerm(term.name, float(best.spreads[j]), *limits[j], statistics[j])
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
        own_slopes = prior is not None and prior.slopes is not None
        self._bounds = self.model.bounds(allow_reversed=allow_reversed or own_slopes)
        self._scale = information_scale(self.model, found.parameters, found.problem.n_students)
        self._known: dict[tuple[int, ...], _At] = {}
        nothing = np.zeros(len(self.model.drawn))
        first = found.problem.value(found.parameters, found.nodes)
        plain = in_full(information(found.problem, found.parameters, found.nodes))
        self._known[()] = _At(nothing, found.problem, found.parameters, first, found.loglik, plain)

    def best(self, terms: tuple[int, ...]) -> _At:
        """The best spreads of these terms, the others left out."""
        from scipy.optimize import minimize  # only here, and slow to load

        if terms in self._known:
            return self._known[terms]
        near = self._known[()]

        def fall(logs: Array) -> float:
            nonlocal near
            spreads = np.zeros(len(self.model.drawn))
            spreads[list(terms)] = np.exp(logs)
            near = self._at(spreads, near)
            best.append(near)
            return -near.loglik

        best: list[_At] = []
        bounds = np.log([(LEAST_SPREAD, LARGEST_SPREAD)] * len(terms))
        minimize(
            fall,
            np.full(len(terms), np.log(_FIRST)),
            method="L-BFGS-B",
            bounds=bounds,
            options={"eps": _STEP, "ftol": 1e-8, "gtol": 1e-2},
        )
        self._known[terms] = max(best, key=lambda one: one.loglik)
        return self._known[terms]

    def limits(self, at: _At, term: int) -> tuple[float, float]:
        """Spreads of a term between which the log-likelihood falls by no more than 95 % allow; the others' as found."""
        from scipy.optimize import brentq  # only here, and slow to load

        near = at

        def excess(log: float) -> float:
            nonlocal near
            spreads = at.spreads.copy()
            spreads[term] = np.exp(log)
            near = self._at(spreads, near)
            return near.loglik - at.loglik + _FALL_95

        here = np.log(max(at.spreads[term], LEAST_SPREAD))
        low, high = 0.0, LARGEST_SPREAD
        beyond = here + _REACH
        while beyond < np.log(LARGEST_SPREAD) and excess(beyond) > 0:
            beyond += _REACH
        if beyond < np.log(LARGEST_SPREAD):
            high = float(np.exp(brentq(excess, beyond - _REACH, beyond, xtol=_CLOSE)))
        near, least = at, np.log(LEAST_SPREAD)
        if here > least and excess(least) < 0:
            low = float(np.exp(brentq(excess, least, here, xtol=_CLOSE)))
        return low, high

    def held(self, spreads: Array) -> Mask:
        """What is not estimated: what was not before, but for the terms that have a spread."""
        held = self.found.held.copy()
        for term, spread in zip(self.model.drawn, spreads, strict=True):
            held[self.model.blocks[term.name]] = spread == 0
        return held

    def _at(self, spreads: Array, near: _At) -> _At:
        """By the information of a neighbour, under the prior of its own."""
        prior, held = InteractionPrior.of(self.model, spreads), self.held(spreads)
        problem, nodes = self.found.problem.interacting(prior), self.found.nodes
        start = np.where(held & ~self.found.held, 0.0, near.parameters)
        bounds = tuple(np.where(held, start, bound) for bound in self._bounds)
        fixed = held | self.model.at_limit(start)
        known = prior.added(near.information, start)
        inverse = covariance(known, redundancy(self.model, start, fixed), fixed).matrix
        scale = self._scale.copy()
        scale[prior.at] += 1 / prior.spread**2
        optimum = maximise(
            lambda x: problem.value(x, nodes),
            start,
            Space(scale, (bounds[0], bounds[1])),
            self._search,
            stage="interactions",
            tolerance=_NEAR,
            on_iteration=_told(sparse.csr_array(inverse)),
        )
        x = optimum.parameters
        information = in_full(self._information(self.found.problem, x, nodes))
        loglik = optimum.value.loglik + _integrated(prior, in_full(prior.added(information, x)), x)
        return _At(spreads, problem, x, optimum.value, loglik, information)


def with_marginal(found: FacetsEstimate, information: Information) -> FacetsEstimate:
    """The estimate with the log-likelihood marginal over its interactions, wherever it has gone since."""
    prior = found.problem.interactions
    if prior is None:  # the ratings show none
        return found
    value = found.problem.value(found.parameters, found.nodes)
    whole = in_full(information(found.problem, found.parameters, found.nodes))
    loglik = value.loglik + _integrated(prior, whole, found.parameters)
    return replace(found, value=replace(value, loglik=loglik))


def _integrated(prior: InteractionPrior, information: Array, parameters: Array) -> float:
    """What the prior adds to the log-likelihood, and integrating over interactions takes off."""
    own = information[np.ix_(prior.at, prior.at)]
    return prior.value(parameters)[0] - float(np.linalg.slogdet(own)[1]) / 2


def _told(inverse: sparse.csr_array) -> Callable[[Array, float], News]:
    """The curvature, after the first step."""
    left = [inverse]

    def news(parameters: Array, gradient: float) -> News:
        return News(inverse_curvature=left.pop()) if left else News()

    return news


def item_variance(model: FacetsModel, known: Covariance) -> Array | None:
    """(raters, items): Var(b_r + h_ri) - Var(b_r), where raters interact with items; None where that is not known."""
    terms = [term for term in model.interactions if term.facet == ITEM]
    if not terms or model.severity.size != model.n_raters:
        return None
    (term,) = terms
    own, severity = (model.blocks[name].start for name in (term.name, "severity"))
    cells = np.arange(term.size) + own
    matrix = in_full(known.matrix)
    return term.table(np.diag(matrix)[cells] + 2 * matrix[cells, term.rater + severity])


def spread_table(terms: tuple[InteractionTerm, ...]) -> pl.DataFrame:
    """term, spread, low, high, statistic, p"""
    rows = [
        (t.name.replace("interaction ", "rater:"), t.spread, t.low, t.high, t.statistic, t.p) for t in terms
    ]
    names = ["term", "spread", "low", "high", "statistic", "p"]
    return pl.DataFrame(rows, schema=names, orient="row")
