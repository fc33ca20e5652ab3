r"""Terms of the objective besides the likelihood: half ratings for extreme raters and items, and priors.

Raters and items that only ever pass, or only fail, have no finite maximum likelihood estimate. Each gets half a rating
of the other kind, spread over its contexts and over the ability population, as in the familiar half-count correction of
a proportion. Nobody is dropped, everybody is flagged.

A panel prior takes raters as a sample: slopes from a t distribution, severities from a normal one.

    a_r ~ t_ν(x_r γ, (s m)²),      b_r ~ N(z_r β, v²),      m = mean of a_r

x_r is 1, or the rater's covariates; z_r too, or which group of linked raters and items the rater belongs to, as
severities of groups that share no item cannot be compared. The t distribution is on the slope itself: 0 ("cannot tell
students apart") and negative slopes are ordinary values, and one rater unlike the others is hardly drawn to them.

The spread of slopes s is relative to m, the usual slope. Few students leave the unit of ability, and with it all slopes
together, uncertain; a spread in units of the slopes themselves would then draw all of them towards 0, the more the more
raters there are. Relative to m, the prior says how raters differ, and nothing about the usual one.

γ and β follow from the slopes and severities (they maximise the density), so that the prior is a function of the
model's own parameters, and the spreads s and v are all that is to be learnt besides. They are never maximised together
with the slopes: the density of slopes that are all alike has no bound as s goes to 0.

Where groups of students have means, b_r is a rater's severity at the mean of all that raters link: where abilities are
counted from is a convention, and no prior may depend on it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse, special

from raterlens.base.arrays import Array, Indices
from raterlens.likelihood.derivatives import context_curvature
from raterlens.likelihood.nodes import Nodes
from raterlens.models.facets import FacetsModel, centre
from raterlens.models.responses import Predictor, Response
from raterlens.models.term import Effect
from raterlens.models.terms.noise import restricted
from raterlens.models.terms.shared_bias import BIAS
from raterlens.models.terms.students import GROUP_MEAN, GroupMeans


class Prior(Protocol):
    """A log density of the parameters besides the likelihood, as part of what is maximised."""

    def value(self, parameters: Array) -> tuple[float, Array]:
        """Log density, but for constants, and its gradient."""

    def information(self, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): minus the second derivative."""


HALF_A_RATING = 0.5
PSEUDO_NODES = Nodes.equally_spaced(-6.0, 6.0, 0.4)


@dataclass(frozen=True, slots=True)
class Pseudo:
    """(contexts, categories): pseudo-ratings, given to students of the whole population alike."""

    counts: Array
    scale_held: float = 0.0
    """How strongly the mean of the log item slopes is held at 0. Raters' slopes can make up for any other mean, so that
    this costs nothing; without it bounds would be on a scale that drifts."""

    def value(self, model: FacetsModel, response: Response, parameters: Array) -> tuple[float, Array]:
        """Their expected log-probability and its gradient."""
        value, gradient = self._ratings(model, response, parameters)
        if self.scale_held:
            items = model.blocks["item_slope"]
            mean = float(parameters[items].mean())
            value -= self.scale_held * mean**2 / 2
            gradient[items] -= self.scale_held * mean / model.contexts.n_items
        return value, gradient

    def _ratings(self, model: FacetsModel, response: Response, parameters: Array) -> tuple[float, Array]:
        t = PSEUDO_NODES.points
        # Nearly always there are none: one look at all numbers, and none at every row.
        if not self.counts.any():
            return 0.0, np.zeros(model.blocks.size)
        rows = np.flatnonzero(self.counts.any(axis=1))
        whole = model.predictor(parameters)
        predictor = Predictor(whole.slope[rows], whole.intercepts[rows])
        counts = np.multiply.outer(self.counts[rows], np.exp(PSEUDO_NODES.log_weights))
        value = float(np.sum(counts * response.log_prob(predictor, t)))
        at_nodes = response.counted_scores(predictor, t, counts)
        d_slope, d_intercepts = np.zeros_like(whole.slope), np.zeros_like(whole.intercepts)
        d_slope[rows], d_intercepts[rows] = at_nodes @ response.lever @ t, at_nodes.sum(axis=1)
        return value, model.pullback(parameters, d_slope, d_intercepts)

    def curvature(self, model: FacetsModel, response: Response, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): second derivatives of their expected log-probability."""
        if not self.counts.any():
            return sparse.csr_array((model.blocks.size, model.blocks.size))
        counts, predictor, jacobian = self.spread(), model.predictor(parameters), model.jacobian(parameters)
        at_nodes = response.counted_scores(predictor, PSEUDO_NODES.points, counts)
        d_slope, d_intercepts = at_nodes @ response.lever @ PSEUDO_NODES.points, at_nodes.sum(axis=1)
        second = jacobian.T @ context_curvature(response, predictor, PSEUDO_NODES, counts) @ jacobian
        return sparse.csr_array(second + model.second(parameters, d_slope, d_intercepts))

    def spread(self) -> Array:
        """(contexts, categories, nodes)"""
        return np.multiply.outer(self.counts, np.exp(PSEUDO_NODES.log_weights))


def pseudo_ratings(model: FacetsModel, n_categories: int, *, raters: bool = True) -> Pseudo:
    """Half a rating of the other kind for every extreme level, and of each score up to its highest that an item with
    thresholds of its own never got.

    Without `raters` for items and facets only: a prior keeps the raters' estimates finite.
    """
    contexts, every = model.contexts, np.arange(len(model.contexts))
    top = np.full(len(contexts), n_categories - 1)
    per_item = model.thresholds is not None and model.thresholds.n_scales > 1
    if model.thresholds is not None and per_item:
        top[: model.n_rated] = model.thresholds.highest[contexts.item[: model.n_rated]]
    seen = contexts.counts(n_categories)
    given, total = seen.sum(axis=1), seen @ np.arange(n_categories)
    counts = np.zeros_like(seen)
    for level in (*((contexts.rater,) if raters else ()), contexts.item, *contexts.facets):
        n, score, most = (np.bincount(level, each)[level] for each in (given, total, given * top))
        share = HALF_A_RATING * given / n
        counts[every, top] += np.where(score == 0, share, 0.0)
        counts[:, 0] += np.where(score == most, share, 0.0)
    if per_item:
        share = HALF_A_RATING * given / np.bincount(contexts.item, given)[contexts.item]
        for k in range(n_categories):
            never = (np.bincount(contexts.item, seen[:, k])[contexts.item] == 0) & (k <= top)
            counts[:, k] += np.where(never, share, 0.0)
    return Pseudo(counts)


FREEDOM = 3.0
"""ν where nothing else is learnt: tails so heavy that one rater unlike the others is hardly drawn to them."""
_MOST_ROUNDS = 200
# Up to this many raters the uncertainty of γ and β is carried; beyond, it is next to none, and matrices stay sparse.
MOST_COUPLED = 500
# Before anything is learnt: raters differ by half of a usual slope, and by a logit in severity.
_FIRST_SLOPE_SPREAD, _FIRST_SEVERITY_SPREAD = 0.5, 1.0
# Below a usual slope of about this, spreads are relative to it instead.
_LEAST_USUAL = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """Slopes seen from what is usual."""

    usual: float
    lifts: float
    """Derivative of log m in any slope."""
    spread: float
    """s m."""
    gamma: Array
    z: Array
    """(raters,): distance in spreads."""
    freedom: float

    @property
    def pull(self) -> Array:
        """(raters,): minus the derivative of the log density in z."""
        return np.asarray((self.freedom + 1) * self.z / (self.freedom + self.z**2))

    @property
    def bend(self) -> Array:
        """(raters,): minus the second derivative."""
        return np.asarray((self.freedom + 1) * (self.freedom - self.z**2) / (self.freedom + self.z**2) ** 2)

    @property
    def effort(self) -> float:
        """How much the log density rises with the logarithm of the spread, but for the density's normalisation."""
        return float(self.pull @ self.z)


@dataclass(frozen=True, slots=True, eq=False)
class _Zero:
    """Where abilities are counted from: severities are taken at the mean of the groups that raters link."""

    means: slice
    weights: Array
    """(raters, parameters of the means)"""
    slopes: slice
    slope: Effect

    @staticmethod
    def of(model: FacetsModel) -> "_Zero | None":
        """None where that is fixed: without groups, or where these are a sample around it."""
        if GROUP_MEAN not in model or (term := model.term(GROUP_MEAN, GroupMeans)).drawn:
            return None
        return _Zero(
            model.blocks[GROUP_MEAN], term.weights @ term.effect.design, model.blocks["slope"], model.slope
        )

    def shift(self, parameters: Array) -> Array:
        """(raters,): what it adds to each severity."""
        return np.asarray(-self.slope(parameters[self.slopes]) * (self.weights @ parameters[self.means]))

    def pull_back(self, parameters: Array, pull: Array, gradient: Array) -> None:
        """Add derivatives in slopes and means to a gradient, from those in severities."""
        own = parameters[self.slopes]
        gradient[self.slopes] -= self.slope.jacobian(own).T @ (pull * (self.weights @ parameters[self.means]))
        gradient[self.means] -= self.weights.T @ (pull * self.slope(own))


@dataclass(frozen=True, eq=False)
class PanelPrior:
    """The prior of one panel at its spreads, as a function of the model's parameters."""

    slopes: slice | None
    """Where the slopes stand; None where raters have none of their own."""
    severities: slice
    slope_means: Array
    """(raters, k): what explains slopes."""
    severity_means: Array
    """(raters, g)"""
    slope_spread: float = _FIRST_SLOPE_SPREAD
    """Relative to the usual slope."""
    severity_spread: float = _FIRST_SEVERITY_SPREAD
    freedom: float = FREEDOM
    """ν of the slopes; learnt on large panels (`quadrature.py`)."""
    zero: _Zero | None = None
    """None where it is fixed where abilities are counted from."""

    @staticmethod
    def of(
        model: FacetsModel, covariates: Array | None = None, *, anchored: bool = False
    ) -> "PanelPrior | None":
        """The prior for a model; None where a single rater is no sample. `anchored`: anchors say where abilities are
        counted from."""
        n = model.n_raters
        if n < 2 or model.severity.size != n:
            return None
        own_slopes = model.slope.own
        groups = np.eye(int(model.rater_group.max()) + 1)[model.rater_group]
        return PanelPrior(
            slopes=model.blocks["slope"] if own_slopes else None,
            severities=model.blocks["severity"],
            slope_means=np.ones((n, 1)) if covariates is None else covariates,
            severity_means=groups[:, groups.any(axis=0)] if covariates is None else covariates,
            zero=None if anchored else _Zero.of(model),
        )

    @property
    def n_raters(self) -> int:
        return len(self.slope_means)

    def at(self, slope_spread: float, severity_spread: float, freedom: float | None = None) -> "PanelPrior":
        """The same prior at other spreads, and with other tails where these are given."""
        freedom = self.freedom if freedom is None else freedom
        return replace(self, slope_spread=slope_spread, severity_spread=severity_spread, freedom=freedom)

    def counted_from_zero(self, model: FacetsModel, parameters: Array) -> Array:
        """The same model with abilities counted from the mean that severities are taken at."""
        return parameters if self.zero is None else centre(model, parameters)

    def value(self, parameters: Array) -> tuple[float, Array]:
        """Log density, but for constants, and its gradient."""
        gradient = np.zeros_like(parameters)
        value = 0.0
        if self.slopes is not None:
            at = self._seen(parameters)
            value += self._t_density(at.z)
            gradient[self.slopes] = -at.pull / at.spread + at.effort * at.lifts
        off = self._severities_off(parameters)
        value -= float(off @ off) / (2 * self.severity_spread**2) + self.n_raters * np.log(
            self.severity_spread
        )
        gradient[self.severities] = -off / self.severity_spread**2
        if self.zero is not None:
            self.zero.pull_back(parameters, gradient[self.severities], gradient)
        return value, gradient

    def slope_height(self, parameters: Array) -> float:
        """Part of slopes in the log density over γ and slopes, γ integrated; 0 if there are none."""
        if self.slopes is None:
            return 0.0
        at = self._seen(parameters)
        within = self.slope_means.T @ (np.maximum(at.bend, 0.0)[:, None] * self.slope_means) / at.spread**2
        _, of_gamma = np.linalg.slogdet(within)
        in_units_of_slopes = (self.n_raters + 1) * np.log(at.usual)
        return float(self._t_density(at.z) - in_units_of_slopes - max(of_gamma, -50.0) / 2)

    def information(self, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): minus the second derivative, among what centring allows."""
        size = len(parameters)
        total = sparse.csr_array((size, size))
        parts = [(self.severities, self.severity_curvature() / self.severity_spread**2)]
        if self.slopes is not None:
            parts.append((self.slopes, self.slope_curvature(parameters)))
        for block, part in parts:
            own = sparse.coo_array(sparse.diags_array(part) if part.ndim == 1 else part)
            places = (own.row + block.start, own.col + block.start)
            total = total + sparse.csr_array((own.data, places), shape=(size, size))
        return total

    def usual_slope(self, parameters: Array) -> float:
        """The size of a usual rater's slope, by which spreads are measured; never quite 0."""
        if self.slopes is None:
            return max(abs(self.mean_slope(parameters)), _LEAST_USUAL)
        return self._seen(parameters).usual

    def coefficients(self, parameters: Array) -> tuple[Array | None, Array]:
        """γ and β."""
        slopes = None if self.slopes is None else self._seen(parameters).gamma
        return slopes, self._severity_fit @ parameters[self.severities]

    def mean_slope(self, parameters: Array) -> float:
        """The slope of a usual rater, with its sign."""
        if self.slopes is None:
            return float(np.mean(parameters[: self.severities.start]))
        return float(np.mean(self.slope_means @ self._seen(parameters).gamma))

    def slope_deviation(self, parameters: Array) -> float:
        """The spread of slopes in their own unit."""
        return self.slope_spread * self.usual_slope(parameters)

    # -- parts ----------------------------------------------------------------------------------------------

    def _t_density(self, z: Array) -> float:
        tails = (self.freedom + 1) / 2 * float(np.log1p(z**2 / self.freedom).sum())
        return float(-tails - self.n_raters * np.log(self.slope_spread))

    def slope_curvature(self, parameters: Array) -> Array:
        """(raters, raters), or its diagonal on very large panels: γ and m follow the slopes."""
        at, x = self._seen(parameters), self.slope_means
        own = at.bend / at.spread**2
        if self.n_raters > MOST_COUPLED:
            return own
        turn = (at.bend * at.z + at.pull) / at.spread
        both = at.lifts**2 * (at.effort + at.spread * float(turn @ at.z))
        both -= at.effort * (_LEAST_USUAL / self.n_raters / at.usual**2) ** 2
        total = np.diag(own) - at.lifts * np.add.outer(turn, turn) + both
        within = x.T @ (own[:, None] * x)
        if np.linalg.eigvalsh(within)[0] <= 0:  # two camps of slopes: the usual rater is neither
            return total
        between = own[:, None] * x - at.lifts * (turn @ x)
        return np.asarray(total - between @ np.linalg.solve(within, between.T))

    def severity_curvature(self) -> Array:
        """(raters, raters), or its diagonal: times 1 / v², minus the second derivative."""
        if self.n_raters > MOST_COUPLED:
            return np.ones(self.n_raters)
        return np.asarray(np.eye(self.n_raters) - self.severity_means @ self._severity_fit)

    def severities_learned(self, parameters: Array, variances: Callable[[Indices], Array]) -> float:
        """The spread of severities that an M-step leads to, from their variances; with R - 1 directions besides their
        mean, one less for the prior proportional to the spread. As it is where raters are few."""
        spare = self.n_raters - self.severity_means.shape[1] - 1
        if spare < 2:
            return self.severity_spread
        off = self._severities_off(parameters)
        unsure = variances(np.arange(self.severities.start, self.severities.stop)).sum()
        return float(np.sqrt((off @ off + unsure) / spare))

    def _severities_off(self, parameters: Array) -> Array:
        severities = parameters[self.severities]
        if self.zero is not None:
            severities = severities + self.zero.shift(parameters)
        return np.asarray(severities - self.severity_means @ (self._severity_fit @ severities))

    def _seen(self, parameters: Array) -> _Slopes:
        """γ by iterated weighted least squares: the maximum of the t density."""
        slopes, x = parameters[self.slopes], self.slope_means
        middle = float(np.mean(slopes))
        usual = float(np.hypot(middle, _LEAST_USUAL))
        spread = self.slope_spread * usual
        gamma: Array = self._slope_fit @ slopes
        for _ in range(_MOST_ROUNDS):
            weighted = x / (self.freedom + ((slopes - x @ gamma) / spread) ** 2)[:, None]
            within, towards = weighted.T @ x, weighted.T @ slopes
            found = towards / within[0] if len(within) == 1 else np.linalg.solve(within, towards)
            settled = np.abs(found - gamma).max() <= 1e-11 * (1 + np.abs(found).max())
            gamma = np.asarray(found)
            if settled:
                break
        z = (slopes - x @ gamma) / spread
        return _Slopes(usual, middle / usual**2 / self.n_raters, spread, gamma, z, self.freedom)

    @cached_property
    def _slope_fit(self) -> Array:
        return np.asarray(np.linalg.pinv(self.slope_means), np.float64)

    @cached_property
    def _severity_fit(self) -> Array:
        return np.asarray(np.linalg.pinv(self.severity_means), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPrior:
    """The prior of all drawn terms that have a spread; parameters of the others are 0."""

    at: Indices
    """(drawn parameters,): where they stand among all."""
    spread: Array
    """(drawn parameters,): of the distribution that each is from."""
    restricted: Array | None = None
    """(parameters,): what the likelihood of raters' noise rises by (REML); None without such noise."""

    @staticmethod
    def of(model: FacetsModel, spreads: Array) -> "DrawnPrior":
        """`spreads`: (terms,), 0 where a term has none."""
        places = [np.arange(model.blocks.size)[model.blocks[term.name]] for term in model.drawn]
        some = [(at, spread) for at, spread in zip(places, spreads, strict=True) if spread > 0]
        return DrawnPrior(
            np.concatenate([np.empty(0, dtype=np.int64), *(at for at, _ in some)]),
            np.concatenate([np.empty(0), *(np.full(len(at), spread) for at, spread in some)]),
            restricted(model),
        )

    def without(self, block: slice) -> "DrawnPrior":
        """The prior of all but a block of parameters."""
        kept = (self.at < block.start) | (self.at >= block.stop)
        return replace(self, at=self.at[kept], spread=self.spread[kept])

    def value(self, parameters: Array) -> tuple[float, Array]:
        """Log density, with what noise is restricted by, and its gradient."""
        density, gradient = self.density(parameters)
        if self.restricted is None:
            return density, gradient
        return density + float(self.restricted @ parameters), gradient + self.restricted

    def density(self, parameters: Array) -> tuple[float, Array]:
        """Log density and its gradient. The constant is left out that Laplace's approximation would add again."""
        own = parameters[self.at]
        gradient = np.zeros_like(parameters)
        gradient[self.at] = -own / self.spread**2
        return float(own @ gradient[self.at]) / 2 - float(np.log(self.spread).sum()), gradient

    def information(self, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): minus the second derivative."""
        own = np.zeros(len(parameters))
        own[self.at] = 1 / self.spread**2
        return sparse.csr_array(sparse.diags_array(own))


@dataclass(frozen=True, eq=False)
class Ridge:
    """Raters are drawn to each other in the plane of slope and bias, by a normal penalty of a standard deviation.

    Alike in all directions: which of them is the truth, known answers and trusted raters alone shall tell. If slopes
    alone were drawn to each other, what all raters follow to the same degree would be taken for the truth. Where
    slopes are not the raters' own, biases are drawn to 0.
    """

    model: FacetsModel
    spread: float
    own_slopes: bool

    def value(self, parameters: Array) -> tuple[float, Array]:
        gradient = -(self._information @ parameters)
        return float(gradient @ parameters) / 2, gradient

    def information(self, parameters: Array) -> sparse.csr_array:
        """(parameters, parameters): minus the second derivative."""
        return self._information

    @cached_property
    def _information(self) -> sparse.csr_array:
        blocks = self.model.blocks
        found = np.zeros((blocks.size,) * 2)
        for name in ("slope", BIAS) if self.own_slopes else (BIAS,):
            at, n = blocks[name], blocks.sizes[name]
            found[at, at] = (np.eye(n) - self.own_slopes / n) / self.spread**2
        return sparse.csr_array(found)


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the parameters of a drawn term vary."""

    name: str
    """Name of the term."""
    value: float
    """0 where the ratings show none."""
    low: float
    high: float
    """NaN where the ratings set no upper limit."""
    statistic: float
    """Twice the rise of the log-likelihood over that of the fit without the term."""

    @property
    def p(self) -> float:
        return 1.0 if self.statistic <= 0 else float(special.chdtrc(1, self.statistic)) / 2
