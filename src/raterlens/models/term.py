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

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.text import Option
from raterlens.base.threads import in_blocks
from raterlens.capability.links import Link
from raterlens.capability.yardstick import LARGEST_EFFECT
from raterlens.ratings.coded import Codes, Ratings

if TYPE_CHECKING:
    from raterlens.config import FitConfig
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel
    from raterlens.models.requested import Candidate, Part, Setting
    from raterlens.models.responses import Predictor, Response


PredictorName = Literal[
    "slope", "log_slope", "intercept", "difficulty", "mean", "log_sd", "steps", "loading", "halo", "draw"
]
Designs = Mapping[PredictorName, sparse.csr_array]
Offsets = Mapping[PredictorName, Array]
Beside = tuple[Array, Array | None, sparse.csr_array]
Tables = Mapping[str, pl.DataFrame]

START_SLOPE = 1.0
ANCHORED, SLOPE_AT_LIMIT = "anchored", "slope at limit"
"""Flags in tables of raters and items."""
# Information of one rating about its predictor: p (1 - p) of a logistic model, averaged over a typical panel.
RATING_INFORMATION = 0.15


@dataclass(frozen=True, slots=True)
class Contexts:
    """The distinct (rater, item, further facets) of the data: with ability, all that a rating depends on."""

    rater: Indices
    item: Indices
    facets: tuple[Indices, ...]
    given: NDArray[np.int64]
    """(contexts, categories): how often each score was given."""
    codes: Indices
    """Sorted: each context's levels in one number."""
    n_raters: int
    n_items: int
    facet_sizes: dict[str, int]
    n_answers: int = 0
    """How many of them, the last ones, are known answers, whose levels are beyond all others."""

    def __len__(self) -> int:
        return len(self.rater)

    @property
    def n_rated(self) -> int:
        """How many of them, the first ones, are of ratings."""
        return len(self) - self.n_answers

    @staticmethod
    def of(ratings: Ratings, answered: Ratings | None = None) -> "Contexts":
        """Contexts of ratings; and of their known answers, which are ratings in `answered`."""
        every = answered or ratings
        k = every.n_categories
        cells, times = every.cell_counts()
        codes, place = np.unique(cells // k, return_inverse=True)
        given = np.zeros((len(codes), k), dtype=np.int64)
        given[place, cells % k] = times
        rater, item, *facets = np.unravel_index(codes, every.sizes)
        sizes = {facet.name: len(facet.labels) for facet in ratings.facets}
        n_answers = every.n_items - ratings.n_items
        return Contexts(
            rater, item, tuple(facets), given, codes, ratings.n_raters, ratings.n_items, sizes, n_answers
        )

    @staticmethod
    def reference(
        rater: Indices,
        item: Indices,
        facets: tuple[Indices, ...],
        sizes: tuple[int, int],
        facet_sizes: dict[str, int],
    ) -> "Contexts":
        """Rows that nobody need have rated. A level beyond all others is the average one: what it adds is 0."""
        none = np.zeros((len(rater), 1), dtype=np.int64)
        return Contexts(rater, item, facets, none, np.arange(len(rater)), *sizes, facet_sizes)

    @property
    def rated(self) -> "Contexts":
        """Those of ratings alone."""
        if not self.n_answers:
            return self
        n, sizes = self.n_rated, (self.n_raters, self.n_items, *self.facet_sizes.values())
        levels = self.rater[:n], self.item[:n], *(codes[:n] for codes in self.facets)
        rater, item, *facets = levels
        codes = np.ravel_multi_index(levels, sizes)
        return replace(
            self, rater=rater, item=item, facets=tuple(facets), given=self.given[:n], codes=codes, n_answers=0
        )

    def of_level(self, facet: str) -> Indices:
        """(rows,): the levels of `rater`, `item` or `facet NAME`."""
        if facet in ("rater", "item"):
            return self.rater if facet == "rater" else self.item
        return self.facets[list(self.facet_sizes).index(facet.removeprefix("facet "))]

    def places(self, ratings: Ratings) -> Codes:
        """(ratings,): the context of each of these ratings, all or a part of those that the contexts are of."""
        found, size = np.empty(ratings.n_ratings, dtype=np.int32), math.prod(ratings.sizes)
        table = np.zeros(size if size <= 4 * ratings.n_ratings else 0, dtype=np.int32)
        if len(table):
            table[self.codes] = np.arange(len(self))

        def block(rows: slice) -> None:
            code = ratings.context_codes(rows)
            found[rows] = table[code] if len(table) else np.searchsorted(self.codes, code)

        in_blocks(block, ratings.n_ratings)
        return found

    def counts(self, n_categories: int) -> Array:
        """(contexts, categories): `given`, where the model may have more categories than were seen."""
        counts = np.zeros((len(self), n_categories))
        counts[:, : self.given.shape[1]] = self.given
        return counts


class Blocks(dict[str, slice]):
    """Named stretches of a flat parameter vector, in order."""

    def __init__(self, sizes: dict[str, int]) -> None:
        ends = list(accumulate(sizes.values(), initial=0))
        super().__init__(zip(sizes, map(slice, ends, ends[1:]), strict=False))
        self.sizes, self.size = sizes, ends[-1]


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

    def rates(self, facet: Literal["rater", "item"]) -> Array:
        """Mean scores of raters or items as shares of the highest, kept off 0 and 1."""
        tally = self.ratings.tally(facet)
        return np.asarray((tally.total / (self.ratings.n_categories - 1) + 0.5) / (tally.n + 1))

    def predictor(self, rate: Array | float) -> Array:
        """The predictor at which this is the probability of a pass: the link inverted on a table, which is precise
        enough for a start."""
        s = np.linspace(-12, 12, 4801)
        return np.asarray(np.interp(rate, np.exp(self.link.log_pass(s)), s))


@dataclass(frozen=True, slots=True, eq=False)
class Redrawn:
    """Ratings that are being drawn anew: what their scores depend on."""

    ratings: Ratings
    context: Codes
    """(ratings,)"""
    rater_of_context: Indices
    ability: Array
    """(students,)"""
    predictor: "Predictor"
    """That of each context."""
    off: Array
    """(ratings,): how far what is rated is from ability."""
    besides: Array
    """(ratings,): what is in the predictor besides."""
    random: np.random.Generator


class Estimated(Protocol):
    """A fit, as terms make columns and tables of it."""

    @property
    def ratings(self) -> Ratings: ...
    @property
    def model(self) -> "FacetsModel":
        """That of single answers."""

    @property
    def response(self) -> "Response": ...
    @property
    def parameters(self) -> Array: ...
    @property
    def ability(self) -> Array:
        """(students,): posterior means."""

    @property
    def values(self) -> Array:
        """The scores as the file has them."""

    @property
    def unit(self) -> float:
        """By how much a score changes per unit of severity: marks; else 1."""

    def of(self, term: str) -> tuple[Array, Array]:
        """The effects of a term, and their standard errors: NaN where not known, or a parameter ran to its limit."""

    def at_limit(self, term: str) -> Mask:
        """Which of a term's parameters ran as far as they may."""

    def errors(self, through: sparse.csr_array) -> Array:
        """(rows,): standard errors of linear functions of the parameters."""

    def spreads(self, term: str) -> tuple[Array, Array, Array, Array]:
        """Roots of a term's variances, their standard errors and 95 % limits."""

    def pieces(self) -> "Posteriors":
        """Quality of each piece of work, on the scale of ability."""

    def second(self) -> "Posteriors":
        """Second ability of each student."""


class Posteriors(Protocol):
    @property
    def mean(self) -> Array: ...
    @property
    def sd(self) -> Array: ...


class Term:
    """One effect of a model, with everything that the project knows of it."""

    __slots__ = ()

    name: str
    """Name of its block of parameters."""
    drawn: bool = False
    """Its parameters are a sample from a normal distribution around 0 whose spread is estimated."""
    variance: bool = False
    """Its parameters are variances."""
    covarying: bool = False
    """Covariances of its effects are kept with a fit."""
    around_ability: bool = False
    """Its parameter is the variance, around ability, of what a piece of work is worth or of an impression of it."""
    uses_scale: bool = False
    """It says how each rater uses the scale: curves of single raters follow from it."""
    told: float = RATING_INFORMATION
    """About what a rating tells of its predictor."""
    begin: float = 0.0
    """Value at which estimation begins."""
    bound: tuple[float | Array, float | Array] = (-LARGEST_EFFECT, LARGEST_EFFECT)
    """Least and largest estimates: beyond, data cannot tell parameters apart, and an optimiser would go on for ever."""

    # -- who asks for it ------------------------------------------------------------------------------------

    asks: ClassVar[tuple[tuple[str, Any], ...]] = ()
    """Options of a model that ask for it, as far as they follow from its name."""
    parts: ClassVar["tuple[Part, ...]"] = ()
    """Parts of a request that ask for it, with what they do not go with."""
    candidates: ClassVar["tuple[Candidate, ...]"] = ()
    """Descriptions of ratings that need it."""

    @classmethod
    def asked_by(cls, at: "Setting") -> "Iterator[Term]":
        """Where the options of a model ask for it: once, or for each of the facets that it is about."""
        if cls.asks and all(getattr(at.options, name) == value for name, value in cls.asks):
            yield cls()

    @classmethod
    def check(cls, ratings: Ratings, config: "FitConfig") -> None:
        """Raise where it is asked for, and these ratings cannot show it."""

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

    def across_groups(self) -> "Term":
        """The term without what the group of a student says."""
        return self

    def between(self, x: Array) -> float:
        """Variance of the means of groups, over all students."""
        return 0.0

    def beside(self, x: Array, rows: Contexts, slope: Array) -> Beside | None:
        """Variance of what moves scores on these rows besides ability, and its derivatives in the rows' slopes, if it
        depends on them, and in the term's parameters; None where it moves nothing."""
        return None

    def as_modelled(self, ratings: Ratings) -> Ratings:
        """The ratings as an engine takes them."""
        return ratings

    def redraw(self, x: Array, at: "Redrawn") -> "Redrawn":
        """Draw anew what the ratings depend on by this term."""
        return at

    # -- estimation -----------------------------------------------------------------------------------------

    starts: ClassVar[tuple[tuple[float, ...], ...]] = ()
    """Other values to begin from, where the likelihood may have several maxima."""

    def start(self, given: Beginning) -> Array:
        return np.full(self.size, self.begin)

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array | None:
        """(parameters,): about what ratings tell of each; None where it follows from the predictors."""
        return None

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        """Where estimates may be."""
        least, most = self.bound
        return np.full(self.size, least, np.float64), np.full(self.size, most, np.float64)

    def at_limit(self, x: Array) -> Mask:
        """Parameters that ran as far as they may; a variance of 0 is an answer."""
        lower, upper = self.bounds(allow_reversed=True)
        return np.asarray((x >= upper) | (False if self.variance else x <= lower))

    def redundancies(self, model: "FacetsModel", parameters: Array) -> Iterator[tuple[Array, Array]]:
        """Directions in which all parameters can move without changing any probability, each with the constraint that
        centring holds at zero: (constraint, direction), (parameters of the model,) both."""
        return iter(())

    def centred(self, model: "FacetsModel", parameters: Array, held: Mask) -> Array:
        """Parameters of the model with what redundancies, which are tangents, do not centre exactly."""
        return parameters

    # -- in reports ------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Name in the table of spreads."""
        return self.name

    at_limit_flag: ClassVar[str] = ""
    """Word in the table of items for one whose parameter ran to its limit."""
    certain: bool = False
    """The spread of a drawn term is above 0, whatever the ratings show: nobody is taken for like all others."""
    unitless: bool = False
    """Its effects are logarithms or abilities, which are the same in any unit of scores."""

    def tables(self, found: "Estimated") -> Tables:
        """Columns that it adds to the tables of raters, items or students, and tables of its own; those of one name are
        put below each other."""
        return {}

    simpler: "ClassVar[tuple[Option, str] | None]" = None
    """The choice that does without it where ratings are too few, and why they may be."""

    def warnings(self, found: "Estimated") -> Iterator[str]:
        """Cautions about its estimates."""
        return iter(())

    @classmethod
    def cautions(cls, ratings: Ratings, config: "FitConfig") -> Iterator[str]:
        """Cautions where ratings name what it is about, and the model cannot have it."""
        return iter(())

    def effect_of(self, x: Array) -> Array:
        """(effects,): one number per rater where parameters stand for these, else the parameters themselves."""
        return x

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        """(effects, parameters)"""
        return sparse.eye_array(self.size, format="csr")

    @property
    def in_severity(self) -> sparse.csr_array | None:
        """(raters, parameters): what it adds to a rater's severity on average over all levels, and its effects leave
        out."""
        return None

    # -- as kept: values by the labels of their levels -------------------------------------------------------------

    levels: tuple[str, ...] = ()
    """The facets whose levels the first dimensions of `table` are: `rater`, `item`, `facet NAME`."""

    def table(self, x: Array) -> Array:
        """Estimates in the shape of the levels."""
        return x

    def parameters(self, table: Array) -> Array:
        """The block of parameters that such a table stands for."""
        return table

    @classmethod
    def check_new(cls, ratings: Ratings) -> None:
        """Raise where new ratings lack what a fit with the term goes by."""

    @classmethod
    def null(cls, known: "Calibration", ratings: Ratings) -> Array | None:
        """The table with which it changes nothing in a fit of the ratings that is without it; None where it cannot be
        told from what the fit has."""
        return None

    def check_known(self, table: Array, items: pl.Series, scores: tuple[int, ...]) -> None:
        """Raise where ratings of these items need what an earlier fit, whose table this is, does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """One number per level, linear in a block of parameters, or with a logarithm that is."""

    design: sparse.csr_array
    """(levels, parameters): of the effect, or of its logarithm. The identity gives every level its own, a column of
    ones a common one."""
    by_logarithm: bool = False

    @staticmethod
    def each(n: int) -> "Effect":
        return Effect(sparse.eye_array(n, format="csr"))

    @staticmethod
    def common(n: int) -> "Effect":
        return Effect(sparse.csr_array(np.ones((n, 1))))

    @staticmethod
    def of_some(some: Mask) -> "Effect":
        """One for each of these levels; 0 for the others."""
        return Effect(sparse.csr_array(sparse.eye_array(len(some), format="csr")[:, np.flatnonzero(some)]))

    @property
    def size(self) -> int:
        """Parameters in the block."""
        return int(self.design.shape[1])

    @property
    def own(self) -> bool:
        """Whether each level has one to itself."""
        return not self.by_logarithm and self.size == self.design.shape[0]

    def __call__(self, x: Array) -> Array:
        found = np.asarray(self.design @ x)
        return np.exp(found) if self.by_logarithm else found

    def jacobian(self, x: Array) -> sparse.csr_array:
        """(levels, parameters)"""
        if not self.by_logarithm:
            return self.design
        return sparse.csr_array(sparse.diags_array(self(x)) @ self.design)

    def invert(self, effect: Array) -> Array:
        """Parameters whose effects are nearest to these: starting values, and redundant directions."""
        if self.own:
            return effect
        values = np.log(effect) if self.by_logarithm else effect
        return np.asarray(np.linalg.lstsq(self.design.toarray(), values)[0])

    def scaling(self, x: Array) -> Array:
        """The direction that scales all effects alike."""
        return self.invert(np.full(self.design.shape[0], np.e)) if self.by_logarithm else x


@dataclass(frozen=True, slots=True, eq=False)
class LevelTerm(Term):
    """A term whose parameters stand for one number per level of a facet, of raters unless it says of what."""

    effect: Effect
    levels = ("rater",)
    predictor: ClassVar[PredictorName] = "intercept"
    """Predictor that these numbers enter."""

    @property
    def size(self) -> int:
        return self.effect.size

    def designs(self, rows: Contexts) -> Designs:
        return {self.predictor: rows_of(self.effect.design, rows.of_level(self.levels[0]))}

    def effect_of(self, x: Array) -> Array:
        return self.effect(x)

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        return self.effect.jacobian(x)

    def table(self, x: Array) -> Array:
        return self.effect(x)

    def parameters(self, table: Array) -> Array:
        return self.effect.invert(table)


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
