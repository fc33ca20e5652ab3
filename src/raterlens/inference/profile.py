"""Profile-likelihood intervals of a fit's raters."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse, stats

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.yardstick import (
    MAX,
    PERFECT,
    Measure,
    severity_of_origin,
    slope_of_yardstick,
    students_of,
)
from raterlens.config.limits import PROFILED_PARAMETERS
from raterlens.estimation.facets_estimate import Known
from raterlens.estimation.methods import estimate
from raterlens.estimation.scoring import with_scores
from raterlens.inference.covariance import covariance, in_full
from raterlens.inference.resampling import check_same
from raterlens.inference.slope_limits import deviance_end
from raterlens.likelihood.engines.contract import Matrix
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Nodes
from raterlens.models.anchors import anchors_from, hold
from raterlens.models.build import build
from raterlens.models.calibration import Calibration
from raterlens.models.facets import redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.terms.draws import DRAW
from raterlens.models.terms.rater_interactions import interacting_facets
from raterlens.ratings.coded import Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.inference.result import Result

# ----------------------------------------------------------------------------------------------------
# Profile likelihood of a rater's capability: how far kappa can be moved before the ratings object.
#
#     deviance(k) = 2 (max loglik - max {loglik : kappa_r = k})
#
# A 95 % interval holds the k with a deviance below 3.84. It needs no standard errors and no normal approximation.
#
# If the yardstick is the most discriminating rater, kappa = T(a_r, eta_r) / Delta(max a) has a corner wherever two
# raters change places. So the maximum is sought with one rater c as the yardstick and everybody else held at or below
# it, for each c that could be, and the best of them counts. Coordinates are whitened by the information, in which the
# likelihood is nearly a sphere: SLSQP then needs a handful of steps.

# Of the log-likelihood: a hundredth of what decides an interval's third digit.
_TOLERANCE = 1e-6
_MOST_STEPS = 60
# Raters this many standard errors below the top cannot come to be the yardstick.
_REACH = 4.0
# Of the root of the deviance at the ends of an interval: how close it is, and after how many looks.
_CLOSE, _MOST_LOOKS = 0.001, 40


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """A fitted model in coordinates z in which its log-likelihood is about -z'z / 2."""

    problem: FacetsMarginal
    nodes: Nodes
    estimate: Array
    free: NDArray[np.int64]
    """Parameters that may move."""
    unwhiten: Array
    """(free parameters, z)"""
    top: float

    @staticmethod
    def of(
        problem: FacetsMarginal,
        nodes: Nodes,
        estimate: Array,
        information: Matrix,
        held: NDArray[np.bool_],
    ) -> "Likelihood":
        free = np.flatnonzero(~held)
        # Centred parameters only: along redundant directions the likelihood is flat, and severities would run away.
        centred = linalg.null_space(redundancy(problem.model, estimate, held).constraints[:, free])
        values, vectors = linalg.eigh(centred.T @ in_full(information)[np.ix_(free, free)] @ centred)
        scale = 1 / np.sqrt(np.maximum(values, 1e-8 * values.max()))
        top = problem.value(estimate, nodes).objective
        return Likelihood(problem, nodes, estimate, free, centred @ vectors * scale, top)

    def parameters(self, z: Array) -> Array:
        x = self.estimate.copy()
        x[self.free] += self.unwhiten @ z
        return x

    def effects(self, z: Array) -> tuple[Array, Array]:
        """Slopes and severities."""
        model, x = self.problem.model, self.parameters(z)
        return model.effect("slope", x), model.effect("severity", x)

    def through(self, z: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Their derivatives in z."""
        model, x = self.problem.model, self.parameters(z)
        slopes, severities = (
            model.effect_jacobian(x, name)[:, self.free] @ self.unwhiten for name in ("slope", "severity")
        )
        return slopes, severities

    def falls(self, z: Array) -> tuple[float, Array]:
        """How far below its maximum the log-likelihood is, and the gradient."""
        value = self.problem.value(self.parameters(z), self.nodes)
        return self.top - value.objective, -self.unwhiten.T @ value.gradient[self.free]


@dataclass(frozen=True, slots=True, eq=False)
class Profiler:
    """A fitted likelihood, ready to profile the kappa of any rater."""

    likelihood: Likelihood
    index: Index
    origin: Measure
    yardstick: Measure | None
    """None if it is the most discriminating rater."""
    se: Array
    """Standard errors of all slopes."""
    reversible: bool = False
    rater: int = 0

    @staticmethod
    def of(fit: "Result", ratings: Ratings) -> "Profiler":
        """Find the maximum again, with everything at hand that a fit does not keep."""
        known, where = _check(fit, ratings), fit.yardstick
        options = Options(MODELS[fit.model], get_link(fit.link), known.scale, known.item_slopes)
        coded = with_scores(ratings, known.scores)
        model, response = build(coded, options, len(known.scores))
        anchors = hold(anchors_from(known), coded, model, pass_over=True)
        begin = Known(begin=anchors, allow_reversed=fit.config.allow_reversed)
        found = estimate(coded, model, response, options.link, "mml", begin)
        held, nodes, x = found.at_limit, found.nodes, found.parameters
        information = found.problem.information(x, nodes)
        spread = covariance(information, redundancy(model, x, held), held).matrix
        through = model.effect_jacobian(x, "slope")
        variance = np.asarray((through @ spread * through.toarray()).sum(axis=1))
        students = students_of(where.population, found.moments.mean, found.moments.sd)
        panel, raters = known.panel(), known.labels["rater"]
        one = where.reference == MAX and panel.candidates.all()
        return Profiler(
            Likelihood.of(found.problem, nodes, x, information, held),
            Index(known.curve(), students, where.reference == PERFECT),
            severity_of_origin(where.origin, len(raters), panel.aside),
            None if one else slope_of_yardstick(where.reference, raters, panel.slope, panel.candidates),
            np.sqrt(np.maximum(variance, 0.0)),
            fit.config.allow_reversed,
        )

    def profile(self, rater: int) -> "Profiler":
        """That of the rater in this place."""
        return replace(self, rater=rater)

    def kappa(self) -> float:
        """At the maximum."""
        slope = np.abs(self.likelihood.effects(self._top)[0])
        sigma = float(slope.max()) if self.yardstick is None else self.yardstick.of(slope)
        return float(self._kappa(self._top, lambda slopes: (sigma, np.zeros_like(slopes)))[0])

    def deviance(self, kappa: float) -> tuple[float, Array]:
        """Twice the fall of the log-likelihood where this rater has this kappa, and the z where it is."""
        found = [self._constrained(kappa, best) for best in self._yardsticks()]
        fall, z = min(found, key=lambda pair: pair[0])
        return 2 * max(fall, 0.0), z

    def interval(
        self, threshold: float, guess: tuple[float, float], bounds: tuple[float, float]
    ) -> tuple[float, float, list[tuple[float, float]]]:
        """Where the deviance reaches `threshold`, between bounds, and every kappa that was tried with its deviance;
        `guess` saves steps."""
        centre = self.kappa()
        tried = {centre: 0.0}

        def look(kappa: float, _: None) -> tuple[float, None]:
            tried[kappa] = self.deviance(kappa)[0]
            return float(np.sqrt(tried[kappa])), None

        fall = float(np.sqrt(threshold))
        low, high = (
            deviance_end(look, centre, None, first, limit, fall, close=_CLOSE, looks=_MOST_LOOKS)[0]
            for first, limit in zip(guess, bounds, strict=True)
        )
        return low, high, sorted(tried.items())

    # -- the constrained maximum ------------------------------------------------------------------------------

    @property
    def _top(self) -> Array:
        return np.zeros(self.likelihood.unwhiten.shape[1])

    def _yardsticks(self) -> Iterator[int | None]:
        """Raters who could be the yardstick; None where that is settled."""
        if self.yardstick is not None:
            yield None
            return
        slope = np.abs(self.likelihood.effects(self._top)[0])
        if np.ptp(slope) == 0:
            yield self.rater  # one slope for all
            return
        others = np.where(np.arange(len(slope)) == self.rater, -np.inf, slope)
        best, farthest = int(np.argmax(others)), int(np.argmax(others + 2 * self.se))
        yield from dict.fromkeys((best, farthest))
        if slope[self.rater] + _REACH * self.se[self.rater] > others[best] - _REACH * self.se[best]:
            yield self.rater

    def _kappa(self, z: Array, sigma_of: Callable[[Array], tuple[float, Array]]) -> tuple[float, Array]:
        """kappa and its gradient in z."""
        slopes, severities = self.likelihood.effects(z)
        by_slopes, by_severities = self.likelihood.through(z)
        r = self.rater
        sigma, of_slopes = sigma_of(slopes)
        a, eta = slopes[[r]], severities[[r]] - self.origin.of(severities)
        s = np.array([max(sigma, 1e-6)])
        gradient = self.index.gradient(a, eta, s)
        by = float(gradient.slope[0]) * by_slopes[r] + float(gradient.severity[0]) * (
            by_severities[r] - self.origin.weights @ by_severities
        )
        return float(self.index.kappa(a, eta, s)[0]), by + float(gradient.sigma[0]) * (of_slopes @ by_slopes)

    def _constrained(self, kappa: float, best: int | None) -> tuple[float, Array]:
        start = self._top
        slope = self.likelihood.effects(start)[0]
        sign = np.sign(slope)

        def sigma_of(slopes: Array) -> tuple[float, Array]:
            if best is None:
                assert self.yardstick is not None
                weights = self.yardstick.weights * sign
                return self.yardstick.constant + float(weights @ slopes), weights
            weights = np.eye(1, len(slopes), best)[0] * sign[best]
            return float(weights @ slopes), weights

        rows, limits = self._limits(slope, best)
        constraints = [
            {
                "type": "eq",
                "fun": lambda z: self._kappa(z, sigma_of)[0] - kappa,
                "jac": lambda z: self._kappa(z, sigma_of)[1],
            }
        ]
        if len(rows):
            constraints.append({"type": "ineq", "fun": lambda z: rows @ z - limits, "jac": lambda z: rows})
        found = optimize.minimize(
            self.likelihood.falls,
            start,
            jac=True,
            method="SLSQP",
            constraints=constraints,
            options={"ftol": _TOLERANCE, "maxiter": _MOST_STEPS},
        )
        missed = abs(self._kappa(found.x, sigma_of)[0] - kappa)
        if missed > 1e-4 or not np.isfinite(found.fun):
            return np.inf, start
        return float(found.fun), found.x

    def _limits(self, slope: Array, best: int | None) -> tuple[Array, Array]:
        """Rows of rows @ z >= limits: slopes near 0 stay above it, slopes near the yardstick's below that."""
        by_slopes, _ = self.likelihood.through(self._top)
        rows, limits = [], []
        if not self.reversible:
            for r in np.flatnonzero((slope < _REACH * self.se) | (np.arange(len(slope)) == self.rater)):
                rows.append(by_slopes[r])
                limits.append(-slope[r])
        if best is not None and np.ptp(slope) > 0:
            near = slope + 2 * _REACH * (self.se + self.se[best]) > slope[best]
            for r in np.flatnonzero(near):
                if r != best:
                    rows.append(by_slopes[best] - by_slopes[r])
                    limits.append(slope[r] - slope[best])
        return np.array(rows).reshape(-1, len(self._top)), np.array(limits)


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Profile-likelihood intervals."""

    raters: Any
    """rater, kappa, low, high: a dataframe of the kind that came in."""
    points: Any
    """rater, kappa, deviance: the profile where it was evaluated."""
    level: float


def profile(
    fit: "Result", ratings: Ratings, raters: str | Sequence[str] | None = None, *, level: float = 0.95
) -> Profiles:
    """Intervals of kappa by profile likelihood: `Fit.profile`."""
    if not 0 < level < 1:
        raise OptionError(
            Message(Option("level", level)),
            "give a share between 0 and 1, for example 0.95",
        )
    _check(fit, ratings)
    table = fit.table("raters")
    labels = table["rater"].cast(pl.String).to_list()
    wanted = labels if raters is None else [raters] if isinstance(raters, str) else list(raters)
    places = [labels.index(choose("rater", str(label), labels)) for label in wanted]
    profiler = Profiler.of(fit, ratings)
    rows, points = [], []
    highest = 1.0 if fit.yardstick.reference in (MAX, PERFECT) else 10.0
    lowest = -highest if fit.config.allow_reversed else 0.0
    for place in places:
        own = profiler.profile(place)
        kappa = own.kappa()
        guess = table.select("kappa_low", "kappa_high").row(place)
        guess = guess if np.isfinite(guess).all() else (kappa - 0.2, kappa + 0.2)
        one_sided = kappa <= 1e-6 and lowest == 0
        threshold = float(stats.chi2.ppf(2 * level - 1 if one_sided else level, 1))
        low, high, profiled = own.interval(threshold, guess, (lowest, highest))
        rows.append((table["rater"][place], kappa, low, high))
        points += [(table["rater"][place], *point) for point in profiled]
    kinds = {"rater": table["rater"].dtype}
    intervals = pl.DataFrame(
        rows, schema=["rater", "kappa", "low", "high"], orient="row", schema_overrides=kinds
    )
    tried = pl.DataFrame(points, schema=["rater", "kappa", "deviance"], orient="row", schema_overrides=kinds)
    return Profiles(to_backend(intervals, fit.backend), to_backend(tried, fit.backend), level)


def _check(fit: "Result", ratings: Ratings) -> Calibration:
    known, yardstick = fit.calibration, fit.yardstick
    if known is None or known.covariates or known.anchored or fit.method != "mml" or fit.link == "log":
        raise OptionError(
            "profile takes a fit of 'gmf', 'tfm' or 'probit' by method 'mml', with any link but 'log' and without "
            "covariates or anchors",
            "use the intervals in fit.raters for others",
            option="model",
        )
    interacting = {"interactions"} if interacting_facets(known.effects) else set()
    drawing = {"repeats"} if DRAW in known.effects else set()
    for option in ("halo", "ability", "piece", "interactions", "repeats"):
        if option in {*known.effects, *interacting, *drawing}:
            raise OptionError(
                Message("profile does not know ", Option(option, getattr(fit.config, option, None) or ...)),
                "use the intervals in fit.raters",
            )
    mixed = yardstick.reference != MAX and str(yardstick.reference).split()[0] in ("quantile", "max")
    if known.spread is not None:
        raise OptionError(
            "profile likelihood is that of the ratings alone, and this fit has a panel prior",
            Message("use the intervals in fit.raters, or fit with ", Option("prior", "none")),
        )
    if mixed:
        raise OptionError(
            f"profile needs a yardstick that is one rater or a fixed slope, not {yardstick.reference!r}",
            "use fit.capability(...) for it",
            value=yardstick.reference,
            option="reference",
        )
    if fit.n_parameters > PROFILED_PARAMETERS:
        raise OptionError(
            f"profile of {fit.n_parameters:,} parameters would take hours; up to {PROFILED_PARAMETERS:,} are offered",
            "use the intervals in fit.raters",
            value=fit.n_parameters,
        )
    check_same(fit, ratings)
    return known
