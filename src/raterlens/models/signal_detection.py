"""The hierarchical rater model with latent classes (signal detection), and Dawid-Skene as its special case.

Every student-item has a true category xi, 0 or 1, that all its ratings share:

    level 2:  P(xi_ni = 1)   = logistic(sigma theta_n - d_i),    theta ~ N(0, 1),    d_i = delta_i - alpha
    level 1:  P(y = 1 | xi)  = 1 - F(c_r - a_r xi),              a_r >= 0

in DeCarlo's convention, so that a positive slope a_r is a good rater and a high criterion c_r a severe one. The
ratings of a student-item are dependent given ability; they are independent given xi:

    P(ratings of a student-item | theta) = sum_xi P(xi | theta) prod_r P(y_r | xi)

Without ability (sigma = 0) it is the model of Dawid and Skene (1979): a prevalence for each item, and a
sensitivity and a specificity for each rater. Exchanging the two categories turns every a_r into -a_r, and theta
into -theta turns sigma into -sigma; a_r >= 0 and sigma >= 0 leave one of these four.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.capability.links import Link
from raterlens.models.term import Blocks

# The slope of a rater who never errs has no finite estimate. At these the error rates of such a rater are below
# 0.04 %, and data cannot tell slopes apart.
LARGEST_SLOPE = {"logit": 16.0, "probit": 8.0}
_INVERSE: dict[str, Callable[[Array], Array]] = {"logit": special.logit, "probit": special.ndtri}
LARGEST_SIGMA = 20.0
# An item on which a student has one of the categories with probability 1e-6.
_LARGEST_DIFFICULTY = 14.0
# Students this many standard deviations from the average are hardly ever met.
_RARE = 4.0


@dataclass(frozen=True, slots=True)
class Responses:
    """Level 1 at some parameters; each (raters, scores, categories), scores and categories being 0 and 1."""

    log_prob: Array
    first: Array
    """d log P(y | xi) / d(c_r - a_r xi)"""
    second: Array


@dataclass(frozen=True, slots=True)
class LatentClassModel:
    """Meaning of the parameters. `rasch=False`: no ability, a prevalence for each item (Dawid-Skene).

    A rater's first parameter is the bias b_r = c_r - a_r / 2, the criterion seen from halfway between the two
    categories: it is nearly independent of the slope, and an optimiser needs half as many steps as with c_r.
    """

    n_raters: int
    n_items: int
    link: Link
    rasch: bool
    reversible: bool = False
    """Whether raters may pass failing work more often than passing work: slopes below 0."""

    @property
    def blocks(self) -> Blocks:
        return Blocks(
            {
                "bias": self.n_raters,
                "slope": self.n_raters,
                "difficulty": self.n_items,
                "sigma": int(self.rasch),
            }
        )

    @property
    def largest_slope(self) -> float:
        return LARGEST_SLOPE[self.link.name]

    def largest_difficulty(self, sigma: float) -> float:
        """Difficulty of an item on which even rare students have the same category: the wider abilities, the larger."""
        return _LARGEST_DIFFICULTY + _RARE * sigma

    def bounds(self) -> tuple[Array, Array]:
        blocks = self.blocks
        upper = np.full(blocks.size, np.inf)
        upper[blocks["slope"]] = self.largest_slope
        upper[blocks["difficulty"]] = self.largest_difficulty(LARGEST_SIGMA if self.rasch else 0.0)
        upper[blocks["sigma"]] = LARGEST_SIGMA
        lower = -upper
        lower[blocks["sigma"]] = 0.0
        if not self.reversible:
            lower[blocks["slope"]] = 0.0
        return lower, upper

    def lines(self, parameters: Array) -> Array:
        """(raters, categories): c_r - a_r xi, beyond which the rater passes."""
        bias, slope = parameters[self.blocks["bias"]], parameters[self.blocks["slope"]]
        return np.stack([bias + slope / 2, bias - slope / 2], axis=1)

    def from_rates(self, rates: Array) -> tuple[Array, Array]:
        """Biases and slopes, within their bounds, of raters whose pass rates (raters, categories) are known."""
        line = -_INVERSE[self.link.name](rates)  # F is symmetric
        return line.mean(axis=1), self.within(line[:, 0] - line[:, 1])

    def within(self, slope: Array) -> Array:
        """Slopes, or 0 where the model has none below it."""
        return slope if self.reversible else np.maximum(slope, 0.0)

    def turned(self, parameters: Array) -> Array:
        """The same likelihood with the categories, and abilities, the other way round."""
        found = parameters.copy()
        for name in ("slope", "difficulty"):
            found[self.blocks[name]] *= -1
        return found

    def responses(self, parameters: Array) -> Responses:
        fails = np.broadcast_to(np.array([True, False])[:, None], (self.n_raters, 2, 2))
        line = np.broadcast_to(self.lines(parameters)[:, None, :], fails.shape)
        # P(y = 0 | xi) = F(line): a fail is what the link calls a pass.
        log_prob = np.where(fails, self.link.log_pass(line), self.link.log_fail(line))
        first, second, _ = self.link.slopes(line, fails)
        return Responses(log_prob, first, second)

    def prevalence(self, parameters: Array, ability: Array) -> Array:
        """(categories, items, nodes): P(xi = 0) and P(xi = 1), each without cancellation."""
        sigma = parameters[self.blocks["sigma"]].sum()  # 0 where there is none
        predictor = sigma * ability - parameters[self.blocks["difficulty"]][:, None]
        both: Array = special.expit(np.stack([-predictor, predictor]))
        return both

    def pullback(self, d_line: Array, d_predictor: Array, ability: Array) -> Array:
        """Derivatives in the lines (raters, categories) and predictors (items, nodes) -> in the parameters."""
        gradient = np.empty(self.blocks.size)
        gradient[self.blocks["bias"]] = d_line.sum(axis=1)
        gradient[self.blocks["slope"]] = (d_line[:, 0] - d_line[:, 1]) / 2
        gradient[self.blocks["difficulty"]] = -d_predictor.sum(axis=1)
        gradient[self.blocks["sigma"]] = d_predictor.sum(axis=0) @ ability
        return gradient
