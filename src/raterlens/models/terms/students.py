"""Students of another population than the one that a scale was made for: theta = mean + sd z.

Where anchors hold the scale, the mean and standard deviation of the new students can be estimated, and must be, or
those who are not anchored would be judged by students who are not there. With z standard normal, mean and sd are
predictors of each rating, so that everything downstream works with z as it does with theta.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.models.term import Contexts, Designs, Term, at_answers

POPULATION = "population"


@dataclass(frozen=True, slots=True, eq=False)
class Population(Term):
    """The students' mean and the logarithm of their standard deviation."""

    name = POPULATION
    asks = (("population", True),)

    @property
    def size(self) -> int:
        return 2

    def designs(self, rows: Contexts) -> Designs:
        rated = (~at_answers(rows)).astype(float)[:, None] * np.eye(2)[:, None]
        return {"mean": sparse.csr_array(rated[0]), "log_sd": sparse.csr_array(rated[1])}

    def table(self, x: Array) -> Array:
        """Mean and standard deviation."""
        return np.array([x[0], np.exp(x[1])])

    def parameters(self, table: Array) -> Array:
        return np.array([table[0], np.log(table[1])])
