"""One pass over the ratings: what each of them says once the model has had its say.

A student's ability is not known, only its posterior. Residuals and their squares are therefore averaged over the
posterior, so that each has exactly its model expectation (mean squares of 1, residuals of 0) however few ratings a
student has. What a rating is compared with, its probability, comes from the ratings of the *other* raters alone
(the cavity posterior): nobody is their own witness.

Students go through in blocks; time and memory are linear in the ratings.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.threads import in_background, in_threads
from raterlens.diagnostics.ability_expectation import of_abilities
from raterlens.diagnostics.category_expectation import of_categories
from raterlens.diagnostics.expectation import Expectation
from raterlens.diagnostics.grouping import Groups, grouped
from raterlens.diagnostics.posterior import Block, Pass, Tables, averages_for, sweep_for, tables_of
from raterlens.diagnostics.rating_pairs import PairedRatings, paired_ratings
from raterlens.estimation.scoring import Placed
from raterlens.inference.result import Result
from raterlens.likelihood.engines.contract import Moments
from raterlens.models.contexts import Contexts
from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The ratings of one student (or piece of work: see `Expectation`) by one rater, sorted by student, then rater."""

    judged: Indices
    rater: Indices
    ratings: Groups
    """The ratings of each pair"""

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def of_rating(self) -> Indices:
        """(ratings,) the pair of each rating, in the order of the ratings"""
        return self.ratings.of_row

    @property
    def size(self) -> Indices:
        """(pairs,) ratings of each"""
        return self.ratings.size

    def sums(self, values: NDArray[np.generic]) -> Array:
        """Sum over the ratings of each pair."""
        return np.bincount(self.of_rating, values, len(self)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Posterior averages, one entry per rating (in the order of the ratings), pair or student."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    n_categories: int
    own_slopes: bool
    """Every rater has a slope of their own, which the fit has adapted to their ratings"""
    slopes: Array
    """(raters,)"""
    categories: bool
    """Whether a true category is judged rather than an ability"""
    judged: NDArray[np.integer]
    """(ratings,) what each rating judges: the student, or the student's work on the item"""
    pairs: Pairs
    expected: Array
    """(ratings,) expected score"""
    variance: Array
    """(ratings,) of the score, given ability"""
    squared: Array
    """(ratings,) squared residual"""
    standardised: Array
    """(ratings,) squared residual over variance, averaged together"""
    fourth: Array
    """(ratings,) what the squared, standardised residual varies by, given ability: E z^4 - 1"""
    score: Array
    """(ratings,) derivative of the log-likelihood in (minus) severity; the residual itself with the logit link"""
    tilt: Array
    """(ratings,) the same times ability: the derivative in the slope"""
    information: Array
    """(ratings,) expected square of `score`, given ability"""
    probability: Array
    """(ratings,) of the score that was given, according to the other raters of the student"""
    foreseen: Array
    """(ratings,) expected score according to the other raters"""
    foreseen_variance: Array
    """(ratings,) of the score, according to the other raters"""
    centrality: Array | None
    """(ratings,) y (K - 1 - y) less its expectation, for ordered scores: above 0 where middle scores abound"""
    spread: Array | None
    """(ratings,) variance of y (K - 1 - y), given ability"""
    score_of_pair: Array
    """(pairs,) sum of `score`"""
    tilt_of_pair: Array
    together: Array
    """(pairs,) products of different residuals of a pair, summed: 0 unless something besides ability is shared"""
    alone: Array
    """(pairs,) what `together` would be if all residuals of a pair were the same"""
    rest: Array
    """(pairs,) mean ability (category) according to the other raters"""
    rest_sd: Array
    """(pairs,) its uncertainty; 1 where there are no other raters"""
    ability: Moments
    """(judged) of the student; of work, the probability that it deserves to pass"""
    contexts: Contexts
    context: NDArray[np.integer]
    """(ratings,) the context of each rating: its rater, item and further facets"""
    units: Groups | None
    """Ratings of the same student and item, where they were to be compared"""
    paired: PairedRatings | None
    """Every two of these, with the probability that they are the same; None also where there are too many"""
    bound: Placed | None
    """The model on the ratings, where what is judged is an ability"""

    @property
    def raw(self) -> Array:
        """(ratings,) score less expected score"""
        return self.ratings.score - self.expected


def residuals(fit: Result, ratings: Ratings, *, compared: bool = False) -> Residuals:
    """Average residuals of every rating over the posterior of what it judges.

    `compared`: ratings of the same work with each other, too.
    """
    known = fit.calibration
    with in_background(lambda: _of_the_same_work(ratings) if compared else (None, None)) as same_work:
        model = of_categories(fit, ratings) if known is None else of_abilities(known, ratings)
        coded, groups, nodes = model.ratings, model.pairs, model.nodes
        tables = tables_of(model.response, model.predictor, nodes)
        context = model.contexts.places(coded)
        work = Pass(model, tables, context)
        pairs = Pairs(work.judged, work.rater, groups)
        units, paired = same_work()
    further = _Further(model, context, paired, tables)
    sweep = sweep_for(coded.n_ratings)

    def go_over(block: Block) -> None:
        further.fill(block, sweep(work, block))

    in_threads(go_over, list(work.blocks()))
    found = work.found() | further.found
    return Residuals(
        ratings=coded,
        n_categories=model.response.n_categories,
        slopes=model.slopes,
        own_slopes=model.own_slopes,
        categories=model.categories,
        judged=model.judged,
        bound=model.bound,
        pairs=pairs,
        ability=Moments(*work.of_judged),
        contexts=model.contexts,
        context=context,
        units=units,
        paired=further.paired and replace(further.paired, expected=further.agreeing),
        score_of_pair=pairs.sums(found["score"]),
        tilt_of_pair=pairs.sums(found["tilt"]),
        centrality=found.pop("centrality", None),
        spread=found.pop("spread", None),
        **found,
    )


def _of_the_same_work(ratings: Ratings) -> tuple[Groups, PairedRatings | None]:
    """The ratings of the same piece of a student's work on an item, and every two of these."""
    work, n = ratings.item, ratings.n_items
    if ratings.piece is not None:
        work, n = work * len(ratings.piece.labels) + ratings.piece.codes, n * len(ratings.piece.labels)
    units = grouped(ratings.student, ratings.n_students, work, n)
    return units, paired_ratings(ratings, units)


class _Further:
    """Parts that only some models have, and pairs of ratings, filled in block by block."""

    def __init__(
        self, model: Expectation, context: NDArray[np.integer], paired: PairedRatings | None, tables: Tables
    ) -> None:
        ratings = model.ratings
        self.tables, self.nodes, self.judged = tables, model.nodes, model.judged
        self.context, self.given = context, ratings.score
        self.paired = paired
        # As wide as what is looked up in it: NumPy would copy it to that width at every search.
        of_two = model.judged[:0] if self.paired is None else model.judged[self.paired.first]
        self.of_two = of_two.astype(np.int64)
        self.agreeing = np.empty(len(self.paired or ()))
        names = ("score", "tilt", "information") * (tables.score is not None)
        names += ("centrality", "spread") * (tables.middle is not None)
        self.found = {name: np.empty(ratings.n_ratings) for name in names}
        self._sums = averages_for(ratings.n_ratings)

    def fill(self, block: Block, posterior: Array) -> None:
        tables, found, average = self.tables, self.found, self._sums.averaged
        if found:
            at = block.ratings
            context, given = self.context[at], self.given[at].astype(np.int64)
            judged = self.judged[at] - block.judged.start
        if tables.score is not None and tables.information is not None:
            cell = context * tables.n_categories + given
            found["score"][at] = average(posterior, judged, tables.score, cell)
            found["tilt"][at] = average(posterior * self.nodes.points, judged, tables.score, cell)
            found["information"][at] = average(posterior, judged, tables.information, context)
        if tables.middle is not None and tables.middle_variance is not None:
            middle = average(posterior, judged, tables.middle, context)
            found["centrality"][at] = given * (tables.n_categories - 1 - given) - middle
            found["spread"][at] = average(posterior, judged, tables.middle_variance, context)
        if self.paired is not None:
            here = slice(*np.searchsorted(self.of_two, [block.judged.start, block.judged.stop]))
            whose = self.of_two[here] - block.judged.start
            one, two = self.context[self.paired.first[here]], self.context[self.paired.second[here]]
            self.agreeing[here] = self._sums.agreeing(posterior, whose, tables.prob, one, two)
