"""The paper's hierarchical likelihood: abilities and parameters in turn, without integration.

1. theta_n maximises loglik(a_r theta - eta_r - delta_i + alpha) - theta^2 / 2; then s = sd(theta) and
   theta* = (theta - mean) / s;
2. slopes, severities and difficulties maximise the likelihood with theta* held fixed;
3. repeat until nothing moves. sigma = s max(a).

The printed estimates of the paper come from this procedure; its text also mentions a log-determinant term, with
which they cannot be reproduced. With few ratings per student it is biased (see docs/paper.md): `mml` is the default.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from raterlens.base.arrays import Array
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.optimiser import Optimiser, Progress, Search, Space, maximise
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.models.facets import FacetsModel
from raterlens.models.terms.slopes import NO_SLOPE

ALTERNATION = "alternation with projected L-BFGS"
"""How it is maximised, in the record."""
# Largest change of a parameter in a round, in units of its standard error.
_SETTLED = 1e-4


@dataclass(frozen=True, slots=True)
class Hierarchical:
    """Parameters on the scale of N(0, 1) abilities, and the standardised abilities."""

    parameters: Array
    moments: Moments
    record: Optimiser


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


def fit_hierarchical(
    conditional: Conditional,
    model: FacetsModel,
    pseudo: Pseudo,
    start: Array,
    space: Space,
    search: Search,
) -> Hierarchical:
    parameters = start
    theta = np.zeros(int(conditional.student[-1]) + 1)
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
            space,
            stage="ratings given abilities",
            # No need to place parameters better than the last round moved them.
            tolerance=max(_SETTLED / 10, min(change / 100, 0.1)),
        )
        evaluations += optimum.record.evaluations
        change = float(np.abs((optimum.parameters - parameters) * np.sqrt(space.information)).max())
        parameters = optimum.parameters
        if search.on_progress is not None:
            search.on_progress(Progress("hierarchical likelihood", rounds, optimum.value.loglik, change))
    converged = change <= _SETTLED
    record = Optimiser(
        ALTERNATION,
        _SETTLED,
        search.max_iterations,
        rounds,
        evaluations,
        change,
        converged,
        "nothing moved any more" if converged else f"it reached the limit of {search.max_iterations} rounds",
    )
    # theta* = (theta - mean) / s has coefficient a; abilities of N(0, 1) have s a.
    scaled = parameters.copy()
    scaled[model.blocks["slope"]] *= spread
    a = model.predictor(parameters).slope[conditional.context]
    second = conditional.per_student(
        a**2 * conditional.derivatives(model.predictor(parameters), standard).second
    )
    return Hierarchical(scaled, Moments(standard, 1 / np.sqrt(1 - second)), record)
