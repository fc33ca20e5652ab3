"""The students' distribution: its shape, and where students are of another population, its mean and spread.

How skewed abilities are, and how heavy their tails, are two parameters on which no predictor depends. Where anchors
hold the scale, theta = mean + sd z: the mean and standard deviation of the new students can be estimated, and must be,
or those who are not anchored would be judged by students who are not there. With z standard normal, mean and sd are
predictors of each rating, so that everything downstream works with z as it does with theta.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse, special

from raterlens.base.arrays import Array
from raterlens.base.text import Option
from raterlens.capability.population import LARGEST_SHAPE, AbilityShape
from raterlens.config import FitConfig
from raterlens.models.requested import Candidate, Part, says, unsaid
from raterlens.models.term import Contexts, Designs, Estimated, People, Redrawn, Tables, Term, at_answers
from raterlens.models.terms.group_means import has_groups
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.models.calibration import Calibration
    from raterlens.models.facets import FacetsModel

SHAPE, POPULATION = "ability", "population"
# Of what the shape could be known by, were abilities known, so much is.
_INFORMATION = 0.2
# How firmly the shape is held at a normal one: as if this many students were known to come from it.
_NORMAL_STUDENTS = 5.0
SHAPE_RIDGE = _NORMAL_STUDENTS * np.array([6.0, 24.0])
"""(2,): times the variances of the two polynomials, the information of a student whose ability is known."""
# A distribution of two peaks makes posteriors of two: no width tells how fast they change.
_STEEPNESS = np.inf


def _may_have_a_shape(ratings: Ratings, config: FitConfig) -> bool:
    plain = unsaid(config, "ability", "anchors", "covariates", "trusted") and ratings.known is None
    return plain and not has_groups(ratings, config) and config.halo != "ability"


class Shape(Term):
    """c3 and c4 of `capability/population.py`, on which no predictor depends."""

    name = SHAPE
    bound = (-np.array(LARGEST_SHAPE), np.array(LARGEST_SHAPE))
    asks = (("smooth", True),)
    parts = (
        Part("smooth", "ability", says("ability", "smooth"), ("method", "log link", "scores' covariance")),
    )

    candidates = (
        Candidate(
            "ability shape",
            {"ability": "smooth"},
            _may_have_a_shape,
            name,
            "Abilities are not normally distributed ({p})",
            "Assuming normal abilities biases severity and capability here",
            Option("ability", "normal"),
            order=5,
            last=True,
        ),
    )
    size = 2
    n_groups = 1
    starts = ((0.15, -0.02), (-0.15, -0.02), (0.0, -0.15))

    def people(self, x: Array, points: Array) -> People:
        shape = AbilityShape.of(*x.tolist())
        return People(
            shape.log_ratio(points)[None],
            shape.scores(points)[None],
            np.arange(2)[None],
            lambda counts: shape.curvature(points) @ counts[0],
            SHAPE_RIDGE,
            _STEEPNESS,
        )

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.asarray(_INFORMATION * n_students * np.array([6.0, 24.0]))

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        return replace(at, ability=AbilityShape.of(*x.tolist()).at(special.ndtr(at.ability)))

    @classmethod
    def null(cls, known: "Calibration", ratings: Ratings) -> Array | None:
        return np.zeros(2)

    def tables(self, found: Estimated) -> Tables:
        (c3, c4), (c3_se, c4_se) = found.of(self.name)
        return {self.name: pl.DataFrame({"c3": c3, "c3_se": c3_se, "c4": c4, "c4_se": c4_se})}


class Population(Term):
    """The students' mean and the logarithm of their standard deviation."""

    name = POPULATION
    asks = (("population", True),)
    size = 2

    def designs(self, rows: Contexts) -> Designs:
        rated = (~at_answers(rows)).astype(float)[:, None] * np.eye(2)[:, None]
        return {"mean": sparse.csr_array(rated[0]), "log_sd": sparse.csr_array(rated[1])}

    def table(self, x: Array) -> Array:
        """Mean and standard deviation."""
        return np.array([x[0], np.exp(x[1])])

    def parameters(self, table: Array) -> Array:
        return np.array([table[0], np.log(table[1])])

    def tables(self, found: Estimated) -> Tables:
        (mean, log_sd), (mean_se, log_se) = found.of(self.name)
        sd = np.exp(log_sd)
        columns = {"mean": mean, "mean_se": mean_se, "sd": sd, "sd_se": sd * log_se}
        return {self.name: pl.DataFrame(columns)}
