"""Rows of tables averaged over the posteriors of a block: what some models need besides the pass itself.

Large data go through compiled code (`kernels/residual_sweep.py`); a test holds it to the readable code here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raterlens.diagnostics.posterior import large
from raterlens.types import Array

Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Averages:
    """The same sums, readable or compiled."""

    averaged: Callable[[Array, Codes, Array, Codes], Array]
    agreeing: Callable[[Array, Codes, Array, Codes, Codes], Array]


def averaged(weights: Array, weight: Codes, table: Array, row: Codes) -> Array:
    """`sum_q weights[weight_i, q] table[row_i, q]` for every i."""
    return np.asarray(np.einsum("iq,iq->i", weights[weight], table[row]))


def agreeing(weights: Array, weight: Codes, prob: Array, one: Codes, two: Codes) -> Array:
    """`sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q]`: two scores are the same, for every i."""
    return np.asarray(np.einsum("iq,ikq,ikq->i", weights[weight], prob[one], prob[two]))


def averages_for(n_ratings: int) -> Averages:
    """Compiled code where it pays for being loaded."""
    if not large(n_ratings):
        return Averages(averaged, agreeing)
    from raterlens.kernels import residual_sweep  # loads the compiler

    return Averages(residual_sweep.averaged, residual_sweep.agreeing)
