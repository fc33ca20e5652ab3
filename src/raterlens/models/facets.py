"""Facets models: the slope and intercept of a rater-item pair are linear in the parameters.

    S = a_r theta - b_r - delta_i,     theta ~ N(0, 1)

A model is a sparse design matrix: `[slopes; intercepts] = design @ parameters`. The three-facets model has one
slope for all raters, the generalized multi-facets model one each. Severity eta_r = b_r - mean(b) and the
intercept alpha = -mean(b) follow afterwards; only the mean of b and of delta can be exchanged, so delta is
centred within every group of items that raters connect.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from raterlens.models.parameters import Blocks, Pairs
from raterlens.models.responses import Predictor

Array = NDArray[np.float64]

# A slope of 10 takes a rater from 1 % to 99 % passes within a standard deviation of ability. Beyond it data
# cannot tell slopes apart, and an estimate that runs there (a rater with few, perfectly ordered ratings) is flagged.
LARGEST_SLOPE = 10.0


@dataclass(frozen=True, slots=True)
class FacetsModel:
    """A pass/fail facets model on the pairs of one data set."""

    pairs: Pairs
    slope_of_pair: NDArray[np.int64]
    """Which slope parameter a pair has."""
    blocks: Blocks
    design: sparse.csr_array
    """(2 pairs, parameters): rows of slopes, then rows of intercepts."""
    item_group: NDArray[np.int64]
    """Group of each item; raters link the items of a group."""
    rater_group: NDArray[np.int64]

    @staticmethod
    def build(pairs: Pairs, *, slope_per_rater: bool) -> "FacetsModel":
        slope_of_pair = pairs.rater if slope_per_rater else np.zeros(len(pairs), dtype=np.int64)
        n_slopes = pairs.n_raters if slope_per_rater else 1
        blocks = Blocks({"slope": n_slopes, "severity": pairs.n_raters, "difficulty": pairs.n_items})
        slopes = _indicator(slope_of_pair, n_slopes)
        raters = _indicator(pairs.rater, pairs.n_raters)
        items = _indicator(pairs.item, pairs.n_items)
        design = sparse.block_array([[slopes, None, None], [None, -raters, -items]], format="csr")
        _, group = connected_components(sparse.block_array([[None, raters.T @ items], [items.T @ raters, None]]))
        return FacetsModel(
            pairs, slope_of_pair, blocks, design, group[pairs.n_raters :], group[: pairs.n_raters]
        )

    @property
    def n_redundant(self) -> int:
        """Directions that change no probability: one for each group of connected items."""
        return int(self.item_group.max()) + 1

    @property
    def n_parameters(self) -> int:
        return self.blocks.size - self.n_redundant

    def predictor(self, parameters: Array) -> Predictor:
        slope, intercept = np.split(self.design @ parameters, 2)
        return Predictor(slope, intercept[:, None])

    def pullback(self, d_slope: Array, d_intercepts: Array) -> Array:
        """Derivatives in the pairs' slopes and intercepts -> derivatives in the parameters."""
        return np.asarray(self.design.T @ np.concatenate([d_slope, d_intercepts[:, 0]]))

    def bounds(self, *, allow_reversed: bool) -> tuple[Array, Array]:
        lower = np.full(self.blocks.size, -np.inf)
        upper = np.full(self.blocks.size, np.inf)
        lower[self.blocks["slope"]] = -LARGEST_SLOPE if allow_reversed else 0.0
        upper[self.blocks["slope"]] = LARGEST_SLOPE
        return lower, upper

    def centre(self, parameters: Array) -> Array:
        """The same model with item difficulties that average zero in every group."""
        centred = parameters.copy()
        difficulty, severity = self.blocks["difficulty"], self.blocks["severity"]
        sizes = np.bincount(self.item_group)
        mean = np.bincount(self.item_group, parameters[difficulty]) / sizes
        centred[difficulty] -= mean[self.item_group]
        centred[severity] += mean[self.rater_group]
        return centred

    def redundant(self) -> tuple[Array, Array]:
        """(constraints, directions), each (groups, parameters): the redundant directions, and the sums of
        difficulties that centring holds at zero."""
        groups = np.arange(self.n_redundant)[:, None]
        constraints = np.zeros((self.n_redundant, self.blocks.size))
        constraints[:, self.blocks["difficulty"]] = self.item_group == groups
        directions = constraints.copy()
        directions[:, self.blocks["severity"]] = -1.0 * (self.rater_group == groups)
        return constraints, directions


def _indicator(codes: NDArray[np.int64], size: int) -> sparse.csr_array:
    n = len(codes)
    return sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, size))
