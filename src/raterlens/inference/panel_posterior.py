"""Posterior of a small panel's raters, with uncertain spreads of the prior.

On a small panel the ratings say little about how much raters differ. For each of several spreads of slopes s the mode
is found; there the log-likelihood is nearly quadratic, so that over the spread of severities v everything is known in
closed form. Each pair (s, v) is weighted by the likelihood marginal over all parameters (Laplace) times a density
proportional to s v exp(-2 s - v / m), m the usual slope: neither spread collapses to 0, and neither runs away where
raters are few. That of s is highest at half a usual slope, which is also what two raters are taken to differ by. The
mean and covariance of this mixture are the estimates and their uncertainty.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special

from raterlens.base.arrays import NORMAL_95, Array, Mask
from raterlens.estimation.facets_estimate import Covariance, FacetsEstimate, information_scale
from raterlens.estimation.methods import on_scale, sharp_moments
from raterlens.estimation.optimiser import Search, Space, maximise
from raterlens.estimation.quadrature import LARGEST_SPREAD, LEAST_SPREAD
from raterlens.inference.covariance import Inverse, covariance, in_full
from raterlens.inference.slope_limits import LocalSearch, mode_near
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import PanelPrior
from raterlens.models.calibration import PanelSpread
from raterlens.models.facets import Redundancy, centre, redundancy
from raterlens.models.terms.students import GROUP_MEAN

# Steps of log s, in its own standard deviations and by themselves.
_STEP, _NARROWEST, _WIDEST = 0.75, 0.15, 0.5
# A spread whose weight is below exp(-4.5) of the best one's does not count.
_NO_MATTER = 4.5
# Spreads of severities that are looked at, from this many standard deviations of log v below to as many above.
_SEVERITY_SPREADS, _AROUND = 9, 3.0
# The likeliest spreads before anything is known, relative to a usual slope. Slopes of two raters are taken to have it.
_OF_SLOPES, _OF_SEVERITIES = 0.5, 1.0
# In standard errors, how near modes are found, and maxima that are only compared.
_NEAR, _ARRIVED = 1e-5, 1e-3
_LOOK = Search(40)
# So often the information is taken anew on the way to equal raters, who may be far from the estimates.
_TEST_ROUNDS = 2
_REFIT = 0.3
_NOTHING = 1e-8
# Half a log determinant where there is no maximum: it counts only where there is no other.
_NO_MAXIMUM = 5e3
# In logits: a step of a quadratic that is looked at; and by how much the posterior may be lower there.
_FAR, _LOWER = 1.0, 1.0
# Of a spread about which the ratings say nothing, the interval is from a fiftieth to fifty times.
_LEAST_KNOWN = 0.25
# In standard errors, other parameters known: the information hardly changes over such a distance.
_SAME = 0.5

Information = Callable[[FacetsMarginal, Array, Nodes], Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class _At:
    """The mode at one spread of slopes, and the mixture over spreads of severities around it."""

    prior: PanelPrior
    mode: Array
    inverse: Array
    log_weight: float
    mean: Array
    matrix: Array
    severity_weights: Array


def over_spreads(found: FacetsEstimate, information: Information) -> FacetsEstimate:
    """The estimate with what is not known about the spreads averaged out.

    Parameters
    ----------
    information
        Of the likelihood alone, at a problem's parameters and nodes.
    """
    prior = found.problem.prior
    assert prior is not None
    panel = _Panel(found, prior, information)
    components = list(panel.walk(prior))
    weights = _normalised(np.array([one.log_weight for one in components]))
    mean, matrix = _mixed(weights, [(one.mean, one.matrix) for one in components])
    spread = replace(_summary(components, weights, mean), **panel.tests(prior, mean))
    # Few ratings may leave slopes and difficulties that multiply each other so uncertain that an average of both is
    # unlike either: where it is far less likely than the best mode, that is the estimate.
    mode = components[int(np.argmax(weights))].mode
    at_mean, at_mode = (panel.plain.value(x, found.nodes).objective for x in (mean, mode))
    mean = centre(found.model, mean if at_mean >= at_mode - len(mean) / 2 else mode, found.held)
    if prior.slopes is not None:  # where nobody discriminates, rounding must rank nobody
        mean[prior.slopes][np.abs(mean[prior.slopes]) < _NOTHING] = 0.0
    usual = float(np.exp(weights @ np.log([one.prior.slope_spread for one in components])))
    settled = prior.at(usual, spread.severity)
    problem = replace(found.problem, prior=settled)
    moments = sharp_moments(problem, mean, problem.moments(mean, found.nodes))
    return replace(
        found,
        problem=problem,
        parameters=mean,
        value=problem.value(mean, found.nodes),
        moments=on_scale(found.model, mean, moments),
        covariance=Covariance(matrix, panel.first.undetermined),
        panel_spread=spread,
    )


class _Panel:
    """A fit, ready to be looked at under other spreads."""

    def __init__(self, found: FacetsEstimate, prior: PanelPrior, information: Information) -> None:
        self.found, self._information = found, information
        scale = information_scale(found.model, found.parameters, found.problem.n_students)
        self._local = LocalSearch("panel", scale, _NEAR)
        self.bounds = lower, upper = found.model.bounds(allow_reversed=True)
        at_bound = (found.parameters <= lower) | (found.parameters >= upper)
        self.held: Mask = found.held | found.at_limit | at_bound
        self.plain = replace(found.problem, prior=None)
        # Groups of students by their own alone, where they differ: a spread that raters who differ have left to them is
        # no fair judge.
        self._tested, self._untested = self.plain, self.held
        own = found.model.blocks[GROUP_MEAN] if GROUP_MEAN in found.model else slice(0)
        if found.model.of_drawn[own].any() and not found.held[own].all():
            others = None if found.problem.drawn is None else found.problem.drawn.without(own)
            self._tested = replace(self.plain, drawn=others)
            self._untested = self.held.copy()
            self._untested[own] = False
        self._known: list[tuple[Array, Array]] = []
        x = found.parameters
        self.first = covariance(
            self.information(x) + prior.information(x), redundancy(found.model, x, self.held), self.held
        )
        """The covariance at the estimate as it is."""

    def walk(self, prior: PanelPrior) -> Iterator[_At]:
        """From the spread that was learnt upwards and downwards, until spreads do not count."""
        start = self.found.parameters
        first = in_full(self.first.matrix)
        if prior.slopes is None or prior.n_raters == 2:
            if prior.slopes is not None:
                prior = prior.at(_OF_SLOPES, prior.severity_spread)
            yield self._at(prior, start, first)
            return
        here = self._at(prior, start, first)
        yield here
        # In log s.
        variance, own = np.diag(here.matrix)[prior.slopes], here.prior.slope_deviation(here.mode)
        step = float(np.clip(_STEP * _log_deviation(variance, own), _NARROWEST, _WIDEST))
        best = here.log_weight
        for direction in (1, -1):
            there = here
            while True:
                spread = float(there.prior.slope_spread * np.exp(direction * step))
                if not LEAST_SPREAD <= spread <= LARGEST_SPREAD:
                    break
                prior = there.prior.at(spread, there.prior.severity_spread)
                there = self._at(prior, there.mode, there.inverse)
                yield there
                best = max(best, there.log_weight)
                if there.log_weight < best - _NO_MATTER:
                    break

    def _at(self, prior: PanelPrior, start: Array, inverse: Array) -> _At:
        """Look at one spread of slopes; the spread of severities is followed until it is within reach."""
        for _ in range(3):
            problem, how = replace(self.found.problem, prior=prior), replace(self._local, inverse=inverse)
            mode = mode_near(problem, self.found.nodes, start, self.held, self.bounds, how).parameters
            value = self.plain.value(mode, self.found.nodes)
            data, uphill = self.information(mode).copy(), value.gradient.copy()
            if prior.slopes is not None:
                data[prior.slopes, prior.slopes] += prior.slope_curvature(mode)
                uphill[prior.slopes] += prior.value(mode)[1][prior.slopes]
            redundant, uphill = (
                redundancy(self.found.model, mode, self.held),
                np.where(self.held, 0.0, uphill),
            )
            quadratic = _Quadratic(prior, mode, uphill, data, redundant, self.held, self.bounds)
            spreads = prior.severity_spread * _around(prior.n_raters)
            around = [quadratic.under(float(spread)) for spread in spreads]
            logs = np.array([one[0] for one in around])
            logs -= [
                _NO_MAXIMUM * self._leads_down(prior.at(prior.slope_spread, float(spread)), mode, one[1])
                for spread, one in zip(spreads, around, strict=True)
            ]
            weights = _normalised(logs)
            usual = float(np.exp(weights @ np.log(spreads)))
            start, inverse = mode, around[len(around) // 2][2]
            if abs(np.log(usual / prior.severity_spread)) < _REFIT:
                break
            prior = prior.at(prior.slope_spread, usual)
        mean, matrix = _mixed(weights, [(one[1], one[2]) for one in around])
        top = float(logs.max())
        height = value.objective + top + float(np.log(np.exp(logs - top).sum()))
        if prior.slopes is not None:
            height += prior.slope_height(mode) + _of_spread(prior.slope_spread, _OF_SLOPES)
        return _At(prior, mode, inverse, height, mean, matrix, weights)

    def _leads_down(self, prior: PanelPrior, mode: Array, mean: Array) -> bool:
        """Whether a quadratic leads far from the mode to where the posterior is lower: it is all but flat some way,
        which the likelihood is not."""
        if np.abs(mean - mode).max() <= _FAR:
            return False
        problem = replace(self.found.problem, prior=prior)
        there, here = (problem.value(x, self.found.nodes).objective for x in (mean, mode))
        return bool(there < here - _LOWER)

    def tests(self, prior: PanelPrior, start: Array) -> dict[str, float]:
        """p values, without the prior, of equal slopes and of equal severities, by likelihood ratios. Beside groups of
        students with means by their own students, of equal severities by Rao's score: few students may then tell raters
        apart, and with some 40 the ratio is beyond its 5 % point in 12 % of panels of equal raters."""
        means = {"severity_p": (prior.severities, prior.severity_means)}
        if prior.slopes is not None:
            means["slope_p"] = (prior.slopes, prior.slope_means)
        (free, _), found = self._highest(start, np.eye(len(start))), {}
        for name, (block, explained) in means.items():
            equal = np.eye(len(start))
            equal[block, block] = explained @ np.linalg.pinv(explained)
            freedom = prior.n_raters - explained.shape[1]
            height, there = self._highest(equal @ start, equal)
            few = name == "severity_p" and GROUP_MEAN in self.found.model and self._tested is self.plain
            statistic = self._score(there) if few else 2 * max(free - height, 0.0)
            found[name] = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
        return found

    def _score(self, x: Array) -> float:
        """Rao's statistic of what is not free at `x`, a maximum among what is."""
        free, problem, nodes = ~self._untested, self._tested, self.found.nodes
        uphill = problem.value(x, nodes).gradient[free]
        values, vectors = np.linalg.eigh(in_full(self._information(problem, x, nodes))[np.ix_(free, free)])
        known = values > _NOTHING * values[-1]
        return float(np.sum((uphill @ vectors[:, known]) ** 2 / values[known]))

    def _highest(self, start: Array, among: Array) -> tuple[float, Array]:
        """The largest log-likelihood among what a projection leaves, without the prior, and where it is."""
        problem, nodes = self._tested, self.found.nodes
        along = linalg.orth(np.where(self._untested, 0.0, among))
        every, nowhere = np.full(along.shape[1], np.inf), np.zeros(along.shape[1])

        def moved(step: Array) -> Array:
            return np.asarray(np.clip(start + along @ step, *self.bounds))

        def value(step: Array) -> Value:
            x = moved(step)
            at, free = problem.value(x, nodes), x == start + along @ step  # what is at a bound stays there
            return Value(at.loglik, at.objective, along.T @ (at.gradient * free))

        for _ in range(_TEST_ROUNDS):
            information = along.T @ in_full(self._information(problem, start, nodes)) @ along
            space = Space(np.maximum(np.diag(information), _NOTHING), (-every, every))
            inverse = np.linalg.pinv(information, 1e-10, hermitian=True)
            top = maximise(
                value, nowhere, space, _LOOK, stage="panel", tolerance=_ARRIVED, inverse_curvature=inverse
            )
            start = moved(top.parameters)
        return problem.value(start, nodes).objective, start

    def information(self, x: Array) -> Array:
        """Information of the likelihood alone, at `x` or so near that it is the same."""
        for place, known in self._known:
            if float(np.abs((x - place) * np.sqrt(np.abs(np.diag(known)))).max()) < _SAME:
                return known
        found = in_full(self._information(self.plain, x, self.found.nodes))
        self._known.append((x, found))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Quadratic:
    """The log-likelihood and the prior of slopes around a mode; what severities' prior adds is known for any spread."""

    prior: PanelPrior
    mode: Array
    uphill: Array
    """Gradient without the prior of severities, 0 where parameters are held."""
    information: Array
    redundant: Redundancy
    held: Mask
    bounds: tuple[Array, Array]

    def under(self, spread: float) -> tuple[float, Array, Array]:
        """Log weight, mean and covariance at a spread of severities."""
        prior, own = self.prior, self.prior.severities
        between = prior.severity_curvature()
        off = between @ self.mode[own]
        information, uphill = self.information.copy(), self.uphill.copy()
        information[own, own] += between / spread**2
        uphill[own] -= np.where(self.held[own], 0.0, off) / spread**2
        inverse = Inverse.of(information, self.redundant, self.held)
        matrix = in_full(inverse.covariance.matrix)
        move = matrix @ uphill
        height = (
            float(uphill @ move) / 2
            - float(off @ off) / (2 * spread**2)
            - (prior.n_raters - prior.severity_means.shape[1]) * np.log(spread)
            - (_NO_MAXIMUM if inverse.factor is None else inverse.half_determinant)
            + _of_spread(spread / prior.usual_slope(self.mode), _OF_SEVERITIES)
        )
        return height, np.clip(self.mode + move, *self.bounds), matrix


def _of_spread(relative: float, usual: float) -> float:
    """Log density of a spread, relative to the usual slope, per unit of its logarithm; it is highest at `usual`."""
    return float(2 * np.log(relative) - relative / usual)


def spread_of(found: FacetsEstimate, spread: Covariance | None) -> PanelSpread | None:
    """How much raters differ; on large panels with the interval of a spread that is known well."""
    prior = found.problem.prior
    if prior is None or found.panel_spread is not None:
        return found.panel_spread
    s: tuple[float | None, float | None, float | None] = (None, None, None)
    if prior.slopes is not None:
        s = _known_well(prior.slope_deviation(found.parameters), spread, prior.slopes)
    v = _known_well(prior.severity_spread, spread, prior.severities)
    return PanelSpread(prior.mean_slope(found.parameters), *s, *v)


def _known_well(
    spread: float, of_raters: Covariance | None, block: slice
) -> tuple[float, float | None, float | None]:
    if of_raters is None:
        return spread, None, None
    away = np.exp(NORMAL_95 * _log_deviation(of_raters.matrix.diagonal()[block], spread))
    return spread, float(spread / away), float(spread * away)


def _log_deviation(variance: Array, spread: float) -> float:
    """Standard deviation of the logarithm of a spread, where each rater is known to this variance."""
    known = np.clip(1 - variance / spread**2, 0.0, 1.0)
    return float(1 / np.sqrt(max(2 * float(np.sum(known**2)), _LEAST_KNOWN)))


def _summary(components: list[_At], weights: Array, mean: Array) -> PanelSpread:
    prior = components[0].prior
    around = _around(prior.n_raters)
    v = _quantiles(
        [
            (weight, one.prior.severity_spread * around, one.severity_weights)
            for weight, one in zip(weights, components, strict=True)
        ]
    )
    s: tuple[float | None, float | None, float | None] = (None, None, None)
    if prior.slopes is not None:
        slopes = np.array([one.prior.slope_deviation(one.mode) for one in components])
        order = np.argsort(slopes)
        s = _quantiles([(1.0, slopes[order], weights[order])])
        if len(components) == 1:  # of two raters, taken for granted
            s = (s[0], None, None)
    return PanelSpread(prior.mean_slope(mean), *s, *v)


def _around(n_raters: int) -> Array:
    """Factors of a spread, as far apart as this many raters leave it uncertain."""
    reach = min(_AROUND / np.sqrt(2 * (n_raters - 1)), 1.8)
    return np.exp(np.linspace(-reach, reach, _SEVERITY_SPREADS))


def _quantiles(parts: list[tuple[float, Array, Array]]) -> tuple[float, float, float]:
    """Median and 95 % limits of a mixture of distributions: of each its weight, and values on a logarithmic grid of its
    own with theirs, each value standing for its surroundings."""
    places = np.unique(np.log(np.concatenate([values for _, values, _ in parts])))
    below = np.zeros(len(places))
    for weight, values, shares in parts:
        below += weight * np.interp(places, np.log(values), np.cumsum(shares) - shares / 2)
    middle, low, high = np.interp([0.5, 0.025, 0.975], below, places)
    return float(np.exp(middle)), float(np.exp(low)), float(np.exp(high))


def _mixed(weights: Array, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and covariance of a mixture of parts, each with its own."""
    means = np.array([mean for mean, _ in parts])
    mean = weights @ means
    off = means - mean
    within = np.einsum("k,kpq->pq", weights, np.array([matrix for _, matrix in parts]))
    return mean, within + np.einsum("k,kp,kq->pq", weights, off, off)


def _normalised(logs: Array) -> Array:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
