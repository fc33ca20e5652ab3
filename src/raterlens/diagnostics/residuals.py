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

from raterlens.calibration import Calibration
from raterlens.diagnostics.averages import averages_for
from raterlens.diagnostics.couples import Couples, couples_of
from raterlens.diagnostics.grouping import Groups, grouped
from raterlens.diagnostics.posterior import Block, Pass, Tables, sweep_for, tables_of
from raterlens.engine.seam import Moments, Nodes
from raterlens.estimation.grid import nodes_for
from raterlens.models.parameters import Contexts
from raterlens.ratings import Ratings
from raterlens.scoring import place

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of each student's averages, relative.
_ACCURACY = 1e-8
# A logistic curve of slope a is smooth only at steps well below its distance pi / a from a pole.
_WIDEST_STEP = 0.35
# Without the ratings of one rater a posterior may be as wide as the population.
_PRIOR_REACH = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The ratings of a student by one rater ("essays"), sorted by student, then rater."""

    student: Indices
    rater: Indices
    of_rating: Indices
    """(ratings,) the pair of each rating, in the order of the ratings"""

    def __len__(self) -> int:
        return len(self.student)

    def sums(self, values: Array) -> Array:
        """Sum over the ratings of each pair."""
        return np.bincount(self.of_rating, values, len(self)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Posterior averages, one entry a rating (in the order of the ratings), a pair or a student."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    n_categories: int
    own_slopes: bool
    """Every rater has a slope of their own, which the fit has adapted to their ratings"""
    slopes: Array
    """(raters,)"""
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
    """(pairs,) mean ability of the student according to the other raters"""
    rest_sd: Array
    """(pairs,) its uncertainty; 1 where there are no other raters"""
    students: Moments
    contexts: Contexts
    context: Indices
    """(ratings,) the context of each rating: its rater, item and further facets"""
    units: Groups
    """Ratings of the same student and item"""
    couples: Couples | None
    """Every two ratings of the same work, with the probability that they are the same; None where they are too many"""

    @property
    def raw(self) -> Array:
        """(ratings,) score less expected score"""
        return self.ratings.score - self.expected


def residuals(calibration: Calibration, ratings: Ratings) -> Residuals:
    """Average residuals of every rating over the posterior of its student."""
    placed = place(calibration, ratings)
    coded, model, response = placed.ratings, placed.problem.model, placed.problem.response
    nodes = _nodes(placed.abilities())
    tables = tables_of(response, model.predictor(placed.parameters), nodes)
    groups = grouped(coded.student, coded.n_students, coded.rater, coded.n_raters)
    known = groups.example
    pairs = Pairs(coded.student[known].astype(np.int64), coded.rater[known].astype(np.int64), groups.of_row)
    work = Pass(tables, nodes, groups, pairs.student, coded.n_students)
    units = grouped(coded.student, coded.n_students, coded.item, coded.n_items)
    further = _Further(coded, units, tables, nodes, model.contexts.places(coded))
    sweep = sweep_for(coded.n_ratings)
    for block in work.blocks():
        context, given = further.context[block.ratings], coded.score[block.ratings].astype(np.int64)
        further.fill(block, sweep(work, block, context, given), given)
    found = work.found() | further.found
    return Residuals(
        ratings=coded,
        n_categories=response.n_categories,
        slopes=placed.parameters[model.blocks["slope"]],
        own_slopes=bool(np.ptp(calibration.effects["slope"]) > 0) and not calibration.covariates,
        pairs=pairs,
        students=Moments(*work.of_student),
        contexts=model.contexts,
        context=further.context,
        units=units,
        couples=further.couples and replace(further.couples, expected=further.agreeing),
        score_of_pair=pairs.sums(found["score"]),
        tilt_of_pair=pairs.sums(found["tilt"]),
        centrality=found.pop("centrality", None),
        spread=found.pop("spread", None),
        **found,
    )


class _Further:
    """What only some models have, and what two ratings have together, filled in block by block."""

    def __init__(
        self, ratings: Ratings, units: Groups, tables: Tables, nodes: Nodes, context: Indices
    ) -> None:
        self.tables, self.nodes, self.context, self.student = tables, nodes, context, ratings.student
        self.couples = couples_of(ratings, units)
        self.agreeing = np.empty(len(self.couples or ()))
        names = ("score", "tilt", "information") * (tables.score is not None)
        names += ("centrality", "spread") * (tables.middle is not None)
        self.found = {name: np.empty(ratings.n_ratings) for name in names}
        self._sums = averages_for(ratings.n_ratings)

    def fill(self, block: Block, posterior: Array, given: Indices) -> None:
        tables, found, average, at = self.tables, self.found, self._sums.averaged, block.ratings
        context, student = self.context[at], self.student[at] - block.students.start
        if tables.score is not None and tables.information is not None:
            cell = context * tables.n_categories + given
            found["score"][at] = average(posterior, student, tables.score, cell)
            found["tilt"][at] = average(posterior * self.nodes.points, student, tables.score, cell)
            found["information"][at] = average(posterior, student, tables.information, context)
        if tables.middle is not None and tables.middle_variance is not None:
            middle = average(posterior, student, tables.middle, context)
            found["centrality"][at] = given * (tables.n_categories - 1 - given) - middle
            found["spread"][at] = average(posterior, student, tables.middle_variance, context)
        if self.couples is not None:
            edges = [block.students.start, block.students.stop]
            here = slice(*np.searchsorted(self.couples.student, edges))
            whose = self.couples.student[here] - block.students.start
            one, two = self.context[self.couples.first[here]], self.context[self.couples.second[here]]
            self.agreeing[here] = self._sums.agreeing(posterior, whose, tables.prob, one, two)


def _nodes(moments: Moments) -> Nodes:
    fine = nodes_for(moments, _ACCURACY * len(moments.sd))
    low, high = min(fine.low, -_PRIOR_REACH), max(fine.high, _PRIOR_REACH)
    return Nodes.equally_spaced(low, high, min(fine.step, _WIDEST_STEP))
