"""Expectations of a model at its estimates: all that diagnostics ask of a model.

Every rating judges something that is not known, whose values are nodes: in facets models the student's ability, in
latent class models the true category, 0 or 1, of the student's work on the item. Given that value, a rating depends on
its context (rater, item, further facets) alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.diagnostics.grouping import Groups
from raterlens.estimation.scoring import Placed
from raterlens.likelihood.nodes import Nodes
from raterlens.models.contexts import Contexts
from raterlens.models.responses import Predictor, Response
from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """A model with everything but what is judged fixed, on ratings."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    contexts: Contexts
    response: Response
    predictor: Predictor
    """Slope and intercepts of every context"""
    nodes: Nodes
    """Values that what is judged may have"""
    judged: NDArray[np.integer]
    """(ratings,) what each rating judges, 0 .. n_judged - 1: the student, or the student's work on an item"""
    n_judged: int
    pairs: Groups
    """Ratings of the same thing by one rater"""
    prior: Array
    """(n_judged or 1, nodes) log-probability of each value before the ratings of the thing itself"""
    prior_apart: Array
    """(pairs or 0, nodes) the same without what the rater of the pair says of the student elsewhere"""
    slopes: Array
    """(raters,)"""
    own_slopes: bool
    """Every rater has a slope of their own, which the fit has adapted to their ratings"""
    categories: bool = False
    """Latent classes: two error rates per rater, which fit any mean square exactly"""
    bound: Placed | None = None
    """The model on the ratings, where what is judged is an ability"""
