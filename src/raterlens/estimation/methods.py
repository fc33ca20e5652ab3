"""Three ways from a model and ratings to estimates, all to the same record.

Marginal likelihood by quadrature (`quadrature.py`; here only the log link, whose likelihood has a corner), its Laplace
approximation, and the paper's hierarchical likelihood.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import Link
from raterlens.estimation.checkpoint import Checkpoint, digest
from raterlens.estimation.facets_estimate import (
    FacetsEstimate,
    Known,
    Task,
    Where,
    information_scale,
    starting_values,
    starting_widths,
)
from raterlens.estimation.optimiser import USUAL, Optimiser, Optimum, Progress, Search, Space, maximise
from raterlens.estimation.quadrature import Quadrature, fit_mml
from raterlens.estimation.several_starts import (
    Method,
    best_of_several,
    may_have_several,
    off_the_level,
    shaped,
    upright,
)
from raterlens.likelihood.cells import rating_cells
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.marginal import FacetsMarginal, Value, marginal
from raterlens.likelihood.nodes import Moments, Nodes, nodes_for, reached, step_for
from raterlens.likelihood.priors import Pseudo, pseudo_ratings
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import CORNER, Capped, Linked, Predictor, Response
from raterlens.models.terms.main_effects import NO_SLOPE
from raterlens.ratings.coded import Ratings

# Of the students' posteriors together, where the log-likelihood makes do with less (`nodes.py`).
_SHARP, _WIDE, _SMOOTH = 1e-11, 8.0, 1.2
# Enough to see how likely ratings are without ability: iterations, and standard errors from the maximum.
_FEW_STEPS, _ROUGHLY = 60, 0.01


HERE, NOTHING = Where(), Known()


def estimate(
    ratings: Ratings,
    model: FacetsModel,
    response: Response,
    link: Link,
    method: str,
    known: Known = NOTHING,
    search: Search = USUAL,
    where: Where = HERE,
) -> FacetsEstimate:
    """Estimate `model` on `ratings` by one of METHODS."""
    prior = known.prior
    own_slopes = prior is not None and prior.slopes is not None
    lower, upper = model.bounds(allow_reversed=known.allow_reversed or own_slopes)
    held = np.zeros(model.blocks.size, dtype=bool)
    if known.held is not None:
        held = np.isfinite(known.held)
        lower, upper = np.where(held, known.held, lower), np.where(held, known.held, upper)
    start = starting_values(ratings, model, link)
    if known.begin is not None:
        start = np.where(np.isfinite(known.begin), known.begin, start)
    information = information_scale(model, start, ratings.n_students)
    if prior is not None:
        information = information + np.maximum(prior.information(start).diagonal(), 0.0)
    space = Space(information, (lower, upper))
    pseudo = pseudo_ratings(model, response.n_categories, raters=prior is None)
    if "item_slope" in model and not any(held[model.blocks[name]].any() for name in ("slope", "item_slope")):
        pseudo = replace(pseudo, scale_held=float(ratings.n_ratings * ratings.n_items))
    problem = replace(marginal(ratings, model, response, pseudo, where.client), prior=prior)
    task = Task(ratings, link, problem, start, space, held, search)
    if where.checkpoint is not None:
        _begin(where.checkpoint, task)
        task = replace(task, problem=replace(problem, checkpoint=where.checkpoint))
    look = best_of_several if may_have_several(task, method, known) else off_the_level
    found = upright(METHODS[method], task, shaped(METHODS[method], task, look))
    return replace(found, moments=on_scale(model, found.parameters, found.moments))


def on_scale(model: FacetsModel, parameters: Array, moments: Moments) -> Moments:
    """Abilities in units of their population, on the scale of the model: another one where anchors hold it."""
    mean, sd = model.population(parameters)
    return Moments(mean + sd * moments.mean, sd * moments.sd)


def _begin(checkpoint: Checkpoint, task: Task) -> None:
    """Keep values under the names of these ratings and of this model."""
    model, students = task.problem.model, task.ratings.tally("student")
    of_ratings = digest(model.contexts.codes, model.contexts.given, students.n, students.total)
    kinds = (type(task.problem.response).__name__, task.link.name, model.blocks.sizes)
    checkpoint.begin(
        of_ratings, digest(*kinds, task.start, task.space.information, *task.space.bounds, task.held)
    )


def _mml(task: Task) -> FacetsEstimate:
    if task.problem.response.cornered:
        found = fit_with_corner(task.problem, task.start, task.space, task.search)
    else:
        widths = starting_widths(task.ratings, task.problem.response)
        found = fit_mml(task.problem, task.start, task.space, widths, task.search)
    centred = FacetsEstimate.at(found.problem, found.optimum, found.nodes, found.moments, task.held)
    # Centring moves abilities where groups of students have means of their own.
    return replace(centred, moments=sharp_moments(found.problem, centred.parameters, found.moments))


def sharp_moments(problem: FacetsMarginal, parameters: Array, moments: Moments) -> Moments:
    """Abilities on a grid so fine, and so wide, that scoring the same ratings on another gives the same."""
    nodes = sharp_nodes(problem, parameters, moments)
    return problem.moments(parameters, nodes)


def sharp_nodes(problem: FacetsMarginal, parameters: Array, moments: Moments) -> Nodes:
    """A grid that any part of the students, one alone included, is integrated on as exactly as all of them."""
    # A student with passes only has a posterior as wide as the population on that side.
    low, high = reached(moments, _SHARP)
    if problem.response.cornered:
        step = corner_step(problem, parameters)
    else:
        # A wide posterior can still have a steep flank. The logistic curve of slope a is smooth only as far as
        # pi / a from the real line, less with more scores: the trapezoidal rule is then off by exp(-2 pi^2 / (a step)).
        steepest = float(np.abs(problem.model.predictor(parameters).slope).max())
        smooth = _SMOOTH / ((1 + problem.response.steepness) * max(steepest, 1.0))
        step = min(step_for(moments, _SHARP, (low, high)), smooth)
    nodes = Nodes.equally_spaced(min(-_WIDE, low), max(_WIDE, high), step)
    return problem.fine_enough(nodes, parameters)


def _laplace(task: Task) -> FacetsEstimate:
    model = task.problem.model
    approximation = Laplace(Conditional(task.ratings, model, task.link), model, task.problem.pseudo)
    optimum = maximise(
        approximation.value,
        task.start,
        task.space,
        task.search,
        stage="Laplace approximation",
    )
    moments = approximation.moments(optimum.parameters)
    return FacetsEstimate.at(task.problem, optimum, nodes_for(moments), moments, task.held)


def _hierarchical(task: Task) -> FacetsEstimate:
    found, moments = fit_hierarchical(task)
    nodes = nodes_for(moments)
    # The marginal log-likelihood at these estimates: the h-likelihood itself could not be compared with other fits.
    value = task.problem.value(found.parameters, nodes)
    if found.record.converged:
        _refuse_chance(task, found.parameters, value, nodes)
    return FacetsEstimate.at(task.problem, replace(found, value=value), nodes, moments, task.held)


def _refuse_chance(task: Task, parameters: Array, value: Value, nodes: Nodes) -> None:
    """Raise where the hierarchical likelihood, which knows no uncertainty of abilities, found some with which the
    ratings are less likely than with none at all."""
    model, slope = task.problem.model, task.problem.model.blocks["slope"]
    if model.slope.by_logarithm:
        return
    lower, upper = (bound.copy() for bound in task.space.bounds)
    lower[slope] = upper[slope] = 0.0
    space = Space(information_scale(model, parameters), (lower, upper))
    without = maximise(
        lambda x: task.problem.value(x, nodes),
        parameters,
        space,
        Search(_FEW_STEPS),
        stage="without ability",
        tolerance=_ROUGHLY,
    ).value.loglik
    if without > value.loglik + _ROUGHLY:
        raise OptionError(
            "method 'hl' takes chance for ability here: with the abilities that it finds, the ratings have a "
            f"log-likelihood of {value.loglik:.1f}, with none at all {without:.1f}",
            Message("use ", Option("method", "mml")),
            value="hl",
        )


METHODS: dict[str, Method] = {"mml": _mml, "laplace": _laplace, "hl": _hierarchical}


# ----------------------------------------------------------------------------------------------------
# Marginal maximum likelihood for the log link, whose likelihood has a corner: one fine grid of even steps.
#
# Elsewhere the grid may be as coarse as smooth posteriors allow (nodes.py); here it must resolve the rounded corner
# of every context, whatever the posteriors' widths.

# Nodes within the corner of the steepest context, roughly at first and finally.
_FEW_WITHIN, _MANY_WITHIN = 0.5, 4.0
# A corner left as it is needs a grid finer by this.
_FINER = 4
# In standard errors. The likelihood's curvature still jumps at the ends of a corner: the optimiser gets no further.
_CORNER_TOLERANCE = 1e-3
# Of the posteriors' mass, so much may lie beyond the grid.
_BEYOND = 1e-9


def fit_with_corner(
    problem: FacetsMarginal,
    start: Array,
    space: Space,
    search: Search,
) -> Quadrature:
    """Maximise on a rough grid, then on one that is fine for the slopes found."""
    evaluations = iterations = 0
    moments = Moments(np.zeros(1), np.ones(1))
    for within, tolerance in (
        (_FEW_WITHIN, 0.1),
        (_MANY_WITHIN, _CORNER_TOLERANCE),
        (_MANY_WITHIN, _CORNER_TOLERANCE),
    ):
        low, high = reached(moments, _BEYOND)
        nodes = Nodes.equally_spaced(low, high, corner_step(problem, start, within))
        optimum = maximise(
            partial(problem.value, nodes=nodes),
            start,
            space,
            search,
            stage=f"marginal likelihood, {len(nodes.points)} ability nodes",
            tolerance=tolerance,
        )
        evaluations += optimum.record.evaluations
        iterations += optimum.record.iterations
        start = optimum.parameters
        moments = problem.moments(start, nodes)
    value = replace(optimum.value, loglik=_sharp_loglik(problem, start, nodes))
    record = replace(
        optimum.record, evaluations=evaluations, iterations=iterations, n_nodes=len(nodes.points)
    )
    return Quadrature(replace(optimum, value=value, record=record), nodes, moments, problem)


def _sharp_loglik(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> float:
    """The log-likelihood with the corner as it is, on a grid that needs no rounding."""
    fine = Nodes.equally_spaced(nodes.low, nodes.high, nodes.step / _FINER)
    log_prob = Capped.sharp(problem.model.predictor(parameters), fine.points)
    return problem.engine.evaluate(Tables(log_prob.reshape(-1, len(fine.points))), fine).loglik


def corner_step(problem: FacetsMarginal, parameters: Array, within: float = _MANY_WITHIN) -> float:
    """The step that puts `within` nodes into the corner of the steepest context."""
    steepest = max(float(np.abs(problem.model.predictor(parameters).slope).max()), 0.5)
    return CORNER / (within * steepest)


# ----------------------------------------------------------------------------------------------------
# Ratings given abilities: each student's h(theta) = loglik - theta^2 / 2, its mode and its derivatives.
#
# Shared by the Laplace approximation and hierarchical likelihood, which need no grid. Work is per distinct
# (student, context, score).

_NEWTON_STEPS = 100
_LONGEST_STEP = 1.0
# Longest step that still counts as standing at the mode.
_AT_MODE = 1e-11


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Derivatives of log P(rating) in its predictor S, weighted by how often the rating occurs."""

    value: Array
    first: Array
    second: Array
    third: Array


class Conditional:
    """Pass/fail ratings given students' abilities."""

    def __init__(self, ratings: Ratings, model: FacetsModel, link: Link) -> None:
        cells = rating_cells(ratings, model.contexts, 2)
        self.link = link
        self.response = Linked(link)
        self.n_contexts = len(model.contexts)
        self.student = np.repeat(np.arange(ratings.n_students), np.diff(cells.indptr))
        self.context, score = np.divmod(cells.indices, 2)
        self.passed = score == 1
        self.weight = cells.data
        self._first = cells.indptr[:-1]

    def derivatives(self, predictor: Predictor, theta: Array) -> Derivatives:
        s = predictor.slope[self.context] * theta[self.student] + predictor.intercepts[self.context, 0]
        log_prob = np.where(self.passed, self.link.log_pass(s), self.link.log_fail(s))
        first, second, third = self.link.slopes(s, self.passed)
        w = self.weight
        return Derivatives(w * log_prob, w * first, w * second, w * third)

    def per_student(self, values: Array) -> Array:
        return np.add.reduceat(values, self._first)

    def per_context(self, values: Array) -> Array:
        return np.bincount(self.context, values, minlength=self.n_contexts).astype(float)

    def modes(self, predictor: Predictor, start: Array) -> Array:
        """Each student's most probable ability, by Newton steps that are halved where they overshoot."""
        theta = start.copy()
        slope = predictor.slope[self.context]

        def height_and_step(theta: Array) -> tuple[Array, Array]:
            d = self.derivatives(predictor, theta)
            gradient = self.per_student(slope * d.first) - theta
            # Links whose log-probability is not concave (cauchit) still ascend with the prior's curvature.
            curvature = np.minimum(self.per_student(slope**2 * d.second) - 1, -1.0)
            return self.per_student(d.value) - theta**2 / 2, np.clip(
                -gradient / curvature, -_LONGEST_STEP, _LONGEST_STEP
            )

        height, step = height_and_step(theta)
        for _ in range(_NEWTON_STEPS):
            if np.abs(step).max() < _AT_MODE:
                break
            tried = theta + step
            new_height, new_step = height_and_step(tried)
            better = new_height >= height - 1e-12 * np.abs(height)
            theta = np.where(better, tried, theta)
            height = np.where(better, new_height, height)
            step = np.where(better, new_step, step / 2)
        return theta


# ----------------------------------------------------------------------------------------------------
# The Laplace approximation of the marginal likelihood, as a proper profile.
#
#     loglik = sum_n h(theta*_n) - log(-h''(theta*_n)) / 2,      theta*_n = argmax h
#
# theta* follows the parameters: with d theta* = -h'_p / h'', the gradient is
# `h_p - (h''_p - h''' h'_p / h'') / (2 h'')`. This is adaptive quadrature with a single node.


class Laplace:
    """The approximate log-likelihood and its exact gradient; remembers the modes to start the next search from."""

    def __init__(self, conditional: Conditional, model: FacetsModel, pseudo: Pseudo) -> None:
        self._conditional, self._model, self._pseudo = conditional, model, pseudo
        self._modes = np.zeros(int(conditional.student[-1]) + 1)

    def value(self, parameters: Array) -> Value:
        data, predictor = self._conditional, self._model.predictor(parameters)
        theta = self._modes = data.modes(predictor, self._modes)
        d = data.derivatives(predictor, theta)
        a, t = predictor.slope[data.context], theta[data.student]
        second = data.per_student(a**2 * d.second) - 1
        third = data.per_student(a**3 * d.third)
        height = data.per_student(d.value) - theta**2 / 2
        loglik = float(np.sum(height - np.log(-second) / 2))

        half = (0.5 / second)[data.student]
        pull = (third / second)[data.student]
        d_intercept = d.first - half * (a**2 * d.third - pull * a * d.second)
        d_slope = t * d.first - half * (
            2 * a * d.second + a**2 * t * d.third - pull * (d.first + a * t * d.second)
        )
        gradient = self._model.pullback(
            parameters, data.per_context(d_slope), data.per_context(d_intercept)[:, None]
        )
        extra, extra_gradient = self._pseudo.value(self._model, data.response, parameters)
        return Value(loglik, loglik + extra, gradient + extra_gradient)

    def moments(self, parameters: Array) -> Moments:
        """Each student's most probable ability with the width of its peak."""
        data, predictor = self._conditional, self._model.predictor(parameters)
        theta = data.modes(predictor, self._modes)
        a = predictor.slope[data.context]
        second = data.per_student(a**2 * data.derivatives(predictor, theta).second) - 1
        return Moments(theta, 1 / np.sqrt(-second))


# ----------------------------------------------------------------------------------------------------
# The paper's hierarchical likelihood: abilities and parameters in turn, without integration.
#
# 1. theta_n maximises loglik(a_r theta - eta_r - delta_i + alpha) - theta^2 / 2; then s = sd(theta) and
#    theta* = (theta - mean) / s;
# 2. slopes, severities and difficulties maximise the likelihood with theta* held fixed;
# 3. repeat until nothing moves. sigma = s max(a).
#
# The printed estimates of the paper come from this procedure; its text also mentions a log-determinant term, with
# which they cannot be reproduced. With few ratings per student it is biased (see docs/paper.md): `mml` is the default.

ALTERNATION = "alternation with projected L-BFGS"
"""How it is maximised, in the record."""
# Largest change of a parameter in a round, in units of its standard error.
_SETTLED = 1e-4


def ratings_given_abilities(
    conditional: Conditional, model: FacetsModel, pseudo: Pseudo, theta: Array, parameters: Array
) -> Value:
    """Log-likelihood of the ratings with abilities held fixed, and its gradient (step 2's objective)."""
    predictor = model.predictor(parameters)
    d = conditional.derivatives(predictor, theta)
    loglik = float(d.value.sum())
    gradient = model.pullback(
        parameters,
        conditional.per_context(theta[conditional.student] * d.first),
        conditional.per_context(d.first)[:, None],
    )
    extra, extra_gradient = pseudo.value(model, conditional.response, parameters)
    return Value(loglik, loglik + extra, gradient + extra_gradient)


def fit_hierarchical(task: Task) -> tuple[Optimum, Moments]:
    """Parameters on the scale of N(0, 1) abilities, with the last round's value, and the standardised abilities."""
    model, search, parameters = task.problem.model, task.search, task.start
    conditional, pseudo = Conditional(task.ratings, model, task.link), task.problem.pseudo
    theta = np.zeros(task.ratings.n_students)
    evaluations, change, rounds, spread = 0, np.inf, 0, 1.0
    while rounds < search.max_iterations and change > _SETTLED:
        rounds += 1
        theta = conditional.modes(model.predictor(parameters), theta)
        spread = float(theta.std(ddof=1))
        # Without a difference between students no rater can be seen to tell them apart.
        standard = (theta - theta.mean()) / spread if spread > NO_SLOPE else np.zeros_like(theta)
        optimum = maximise(
            partial(ratings_given_abilities, conditional, model, pseudo, standard),
            parameters,
            task.space,
            stage="ratings given abilities",
            # No need to place parameters better than the last round moved them.
            tolerance=max(_SETTLED / 10, min(change / 100, 0.1)),
        )
        evaluations += optimum.record.evaluations
        change = float(np.abs((optimum.parameters - parameters) * np.sqrt(task.space.information)).max())
        parameters = optimum.parameters
        if search.on_progress is not None:
            search.on_progress(Progress("hierarchical likelihood", rounds, optimum.value.loglik, change))
    converged = change <= _SETTLED
    stopped = (
        "nothing moved any more" if converged else f"it reached the limit of {search.max_iterations} rounds"
    )
    record = Optimiser(
        ALTERNATION, _SETTLED, search.max_iterations, rounds, evaluations, change, converged, stopped
    )
    # theta* = (theta - mean) / s has coefficient a; abilities of N(0, 1) have s a.
    scaled = parameters.copy()
    scaled[model.blocks["slope"]] *= spread
    a = model.predictor(parameters).slope[conditional.context]
    second = conditional.per_student(
        a**2 * conditional.derivatives(model.predictor(parameters), standard).second
    )
    return Optimum(scaled, optimum.value, record), Moments(standard, 1 / np.sqrt(1 - second))
