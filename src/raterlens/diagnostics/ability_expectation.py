"""Expectations of facets models: a rating judges the student's ability."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.threads import in_background
from raterlens.diagnostics.expectation import Expectation
from raterlens.diagnostics.grouping import Groups, grouped
from raterlens.estimation.scoring import Placed, place
from raterlens.likelihood.engines.contract import Moments
from raterlens.likelihood.grid import nodes_for
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.shared import SharedMarginal, SharedResponse
from raterlens.models.averaged_response import AveragedResponse
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Predictor, Response
from raterlens.models.terms.halo import HALO
from raterlens.models.terms.known import answered_items
from raterlens.models.terms.piece_effect import PIECE
from raterlens.ratings.coded import Ratings

# Of each student's averages, relative.
_ACCURACY = 1e-8
# A logistic curve of slope a is smooth only at steps well below its distance pi / a from a pole.
_WIDEST_STEP = 0.35
# Without the ratings of one rater a posterior may be as wide as the population. No further than this, and this many
# posterior standard deviations: one surprising rating far out outweighs everything there, however improbable it is.
_PRIOR_REACH, _REACH = 5.0, 6.0
# Sums over whole vectors of the processor take half as long: the grid goes on until its nodes fill them.
_VECTOR = 8


def of_abilities(calibration: Calibration, ratings: Ratings) -> Expectation:
    """Facets models: a student's ratings all judge one ability."""
    by_rater = ratings.student, ratings.n_students, ratings.rater, ratings.n_raters
    with in_background(lambda: grouped(*by_rater)) as pairs:
        return _expectation(place(calibration, ratings), calibration, pairs)


def _expectation(placed: Placed, calibration: Calibration, pairs: Callable[[], Groups]) -> Expectation:
    """`pairs`: what returns those of a student and a rater, which are being put together."""
    coded, model, response = placed.ratings, placed.problem.model, placed.problem.response
    known, predictor = model.known_slope, model.predictor(placed.parameters)
    if isinstance(placed.problem, SharedMarginal):
        nodes: Nodes = placed.problem.settled_nodes(placed.parameters)
        response = placed.problem.at_nodes(placed.parameters, nodes)
    else:
        widest = _WIDEST_STEP if known is None else min(_WIDEST_STEP, 1 / known)
        nodes = _nodes(placed.abilities(), widest)
    if HALO in model or PIECE in model:
        # Of single scores: what those of a reading share besides ability is left to the halo that is looked for.
        variance = model.piece_variance(placed.parameters) * predictor.slope**2
        if HALO in model:
            variance = variance + model.halo_variances(placed.parameters)[model.contexts.rater]
        response = AveragedResponse(response, np.sqrt(variance))
    prior = placed.problem.log_prior(placed.parameters, nodes)
    contexts = model.contexts
    if known is not None:
        prior = prior + _told(coded, model, placed.problem.response, predictor, nodes.points)
        predictor, contexts = predictor.first(model.n_rated), model.contexts.rated
        if isinstance(response, SharedResponse):
            response = replace(response, bias=response.bias[: model.n_rated])
    return Expectation(
        ratings=coded,
        contexts=contexts,
        response=response,
        predictor=predictor,
        nodes=nodes,
        judged=coded.student,
        n_judged=coded.n_students,
        pairs=pairs(),
        prior=prior,
        prior_apart=np.empty((0, len(nodes.points))),
        slopes=placed.parameters[model.blocks["slope"]],
        bound=placed,
        own_slopes=bool(np.ptp(calibration.effects["slope"]) > 0) and not calibration.covariates,
    )


def _told(ratings: Ratings, model: FacetsModel, response: Response, predictor: Predictor, t: Array) -> Array:
    """(students, nodes): what known answers say of abilities."""
    known, found = ratings.known, np.zeros((ratings.n_students, len(t)))
    assert known is not None
    answers = Predictor(predictor.slope[model.n_rated :], predictor.intercepts[model.n_rated :])
    item = np.searchsorted(answered_items(ratings), known.item)
    np.add.at(found, known.student, response.log_prob(answers, t)[item, known.answer])
    return found


def _nodes(moments: Moments, widest: float) -> Nodes:
    step, reach = nodes_for(moments, _ACCURACY * len(moments.sd)).step, _REACH * moments.sd
    whole = Nodes.equally_spaced(
        float(np.min(moments.mean - reach)), float(np.max(moments.mean + reach)), step
    )
    low, high = min(whole.low, -_PRIOR_REACH), max(whole.high, _PRIOR_REACH)
    step = min(step, widest)
    count = len(Nodes.equally_spaced(low, high, step).points)
    size = -(-count // _VECTOR) * _VECTOR
    # Half a step short of the last one but two: the grid takes the next node, and one more.
    return Nodes.equally_spaced(low, low + (size - 2.5) * step, step)
