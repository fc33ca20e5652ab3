"""Which covariance: the choices of `rl.fit(covariance=...)` that are not the observed information itself."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.capability.links import Link
from raterlens.engine.protocol import Matrix
from raterlens.estimation.conditional import Conditional
from raterlens.estimation.facets_estimate import FacetsEstimate
from raterlens.inference.conditional_information import (
    LaplaceCurvature,
    information_given_abilities,
    laplace_curvature,
    stretch_of_abilities,
)
from raterlens.inference.covariance import Covariance
from raterlens.inference.resampling import redrawn
from raterlens.inference.sandwich import outer_products, sandwich
from raterlens.likelihood.forms import marginal
from raterlens.ratings.coded import Ratings

OBSERVED, EXPECTED, OPG, SANDWICH, CONDITIONAL = "observed", "expected", "opg", "sandwich", "conditional"
KINDS = {
    "mml": (OBSERVED, EXPECTED, OPG, SANDWICH),
    "laplace": (OBSERVED, OPG, SANDWICH),
    "hl": (OBSERVED, CONDITIONAL),
}
"""What each method offers, its default first."""

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
            option="covariance",
        )


def covariance_of(
    kind: str, method: str, ratings: Ratings, found: FacetsEstimate, link: Link, invert: Invert
) -> Covariance:
    """The covariance of that kind."""
    if method == "laplace":
        curvature = _laplace(ratings, found, link)
        if kind == OPG:
            return invert(_enough(outer_products(curvature.scores), ratings))
        bread = invert(curvature.information)
        return bread if kind == OBSERVED else sandwich(bread, curvature.scores)
    if kind == CONDITIONAL:
        return invert(_given_abilities(ratings, found, link))
    if kind == EXPECTED:
        return invert(_expected(ratings, found))
    scores = found.problem.student_scores(found.parameters, found.nodes)
    if kind == OPG:
        return invert(_enough(outer_products(scores), ratings))
    return sandwich(invert(found.problem.information(found.parameters, found.nodes)), scores)


def _laplace(ratings: Ratings, found: FacetsEstimate, link: Link) -> LaplaceCurvature:
    conditional = Conditional(ratings, found.model, link)
    theta = conditional.modes(found.model.predictor(found.parameters), found.moments.mean)
    return laplace_curvature(conditional, found.model, found.problem.pseudo, found.parameters, theta)


def _given_abilities(ratings: Ratings, found: FacetsEstimate, link: Link) -> sparse.csr_array:
    conditional, model = Conditional(ratings, found.model, link), found.model
    theta = found.moments.mean
    theta = theta / stretch_of_abilities(conditional, model, found.parameters, theta)
    return information_given_abilities(conditional, model, found.problem.pseudo, found.parameters, theta)


def _expected(ratings: Ratings, found: FacetsEstimate) -> sparse.csr_array:
    """Observed information averaged over data sets drawn from the fitted model on the same design."""
    problem, random = found.problem, np.random.default_rng(_SEED)
    total = sparse.csr_array((found.model.blocks.size,) * 2)
    for _ in range(_DATA_SETS):
        drawn = redrawn(ratings, problem.model, problem.response, found.parameters, random)
        again = marginal(drawn, problem.model, problem.response, problem.pseudo)
        total = total + again.information(found.parameters, found.nodes)
    return sparse.csr_array(total / _DATA_SETS)


def _enough(information: sparse.csr_array, ratings: Ratings) -> sparse.csr_array:
    size = information.shape[0]
    if ratings.n_students <= size:
        raise InputError(
            f"covariance 'opg' needs more students than parameters, and there are {ratings.n_students:,} students for "
            f"{size:,} parameters",
            Message("use ", Option("covariance", OBSERVED), " or ", Option("covariance", SANDWICH)),
            option="covariance",
        )
    return information
