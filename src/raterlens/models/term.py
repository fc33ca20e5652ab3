"""Terms: blocks of parameters that enter the predictors of a rating, each linearly.

Ratings of one context (a rater, an item, levels of further facets) have a few predictors, each a sum of what the terms
of a model add to it. With them a rating depends on ability through

    a          = slope exp(log_slope)
    slope'     = exp(log_sd) a
    base       = mean a - intercept - slope difficulty
    intercepts = lever base - steps

Whatever is not linear is in these four lines; a term says which predictor its parameters enter, by which constant
sparse design. `loading`, `halo` and `draw` are predictors of what a likelihood integrates over besides ability: how
much a context follows what raters share, the variance of the impression that the scores of a reading share, and how
much all answers to a question share.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.capability.links import Link
from raterlens.capability.yardstick import LARGEST_EFFECT
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

PredictorName = Literal[
    "slope", "log_slope", "intercept", "difficulty", "mean", "log_sd", "steps", "loading", "halo", "draw"
]
Designs = Mapping[PredictorName, sparse.csr_array]
Offsets = Mapping[PredictorName, Array]

START_SLOPE = 1.0
# Information of one rating about its predictor: p (1 - p) of a logistic model, averaged over a typical panel.
RATING_INFORMATION = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """How the students of each group are distributed, relative to a standard normal distribution, on nodes."""

    log_ratio: Array
    """(groups, nodes)"""
    scores: Array
    """(groups, own parameters, nodes): its derivatives."""
    parameter: Indices
    """(groups, own parameters): which of the term's parameters these are."""
    curvature: Callable[[Array], Array]
    """Second derivatives of the log-likelihood in the term's parameters, from (groups, nodes) students."""
    ridge: Array
    """(parameters,): precision with which each is held at 0."""
    steepness: float
    """How fast scores change with ability, as the slope of a rater whose scores change as fast; infinite where no width
    of a posterior tells."""


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """Ingredients of starting values."""

    ratings: Ratings
    contexts: Contexts
    link: Link
    stretch: float
    """Averaging over ability flattens a curve by about this."""


class Term:
    """One effect of a model, with everything that the project knows of it."""

    __slots__ = ()

    name: str
    """Name of its block of parameters."""
    drawn: bool = False
    """Its parameters are a sample from a normal distribution around 0 whose spread is estimated."""
    variance: bool = False
    """Its parameters are variances."""

    @property
    def size(self) -> int:
        """Parameters in the block."""
        raise NotImplementedError

    def designs(self, rows: Contexts) -> Designs:
        """(rows, parameters) for each predictor that it enters; (rows x steps, parameters) for `steps`."""
        return {}

    def offsets(self, rows: Contexts) -> Offsets:
        """(rows,): what it adds to predictors whatever its parameters."""
        return {}

    @property
    def n_groups(self) -> int:
        """Groups of students that have distributions of their own by this term; 0 where it says nothing of them."""
        return 0

    def people(self, x: Array, points: Array) -> People | None:
        """How students are distributed, where that is what the term is about."""
        return None

    # -- estimation -----------------------------------------------------------------------------------------

    def start(self, given: Beginning) -> Array:
        """Where estimation begins."""
        return np.zeros(self.size)

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array | None:
        """(parameters,): about what ratings tell of each; None where it follows from the predictors."""
        return None

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        """Where estimates may be: beyond, data cannot tell parameters apart, and an optimiser would go on for ever."""
        upper = np.full(self.size, LARGEST_EFFECT)
        return -upper, upper

    def at_limit(self, x: Array) -> Mask:
        """Parameters that ran as far as they may."""
        lower, upper = self.bounds(allow_reversed=True)
        return np.asarray((x <= lower) | (x >= upper))

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Directions in which all parameters can move without changing any probability, each with the constraint that
        centring holds at zero: (constraint, direction), (parameters of the model,) both."""
        return iter(())

    # -- in reports ------------------------------------------------------------------------------------------------

    def effect_of(self, x: Array) -> Array:
        """(effects,): one number per rater where parameters stand for these, else the parameters themselves."""
        return x

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        """(effects, parameters)"""
        return sparse.eye_array(self.size, format="csr")

    # -- as kept: values by the labels of their levels -------------------------------------------------------------

    @property
    def levels(self) -> tuple[str, ...]:
        """The facets whose levels the first dimensions of `table` are: `rater`, `item`, `facet NAME`."""
        return ()

    def table(self, x: Array) -> Array:
        """Estimates in the shape of the levels."""
        return x

    def parameters(self, table: Array) -> Array:
        """The block of parameters that such a table stands for."""
        return table


def one_per_row(codes: Indices, size: int) -> sparse.csr_array:
    """(rows, size): a one at each row's code; nothing in rows whose code is beyond."""
    inside = codes < size
    begin = np.concatenate([[0], np.cumsum(inside)])
    return sparse.csr_array((np.ones(begin[-1]), codes[inside], begin), shape=(len(codes), size))


def rows_of(matrix: sparse.csr_array, codes: Indices) -> sparse.csr_array:
    """The matrix's row of each code; an empty one where a code is beyond."""
    if codes.max(initial=-1) < matrix.shape[0]:
        return sparse.csr_array(matrix[codes])
    return sparse.csr_array(one_per_row(codes, matrix.shape[0]) @ matrix)


def at_answers(rows: Contexts) -> Mask:
    """(rows,): which are known answers; nobody rated there."""
    return np.asarray(np.arange(len(rows)) >= rows.n_rated)
