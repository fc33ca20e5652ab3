"""Intervals from replicates of a bootstrap. They are studied here, not offered: they cover too little on small panels.

The largest of several noisy slopes is the yardstick. Replicates are noisier than the estimate by as much as the
estimate is noisier than the truth, so that their largest slope is too large once more, and everybody else's capability
too small.
"""

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.types import Array
from raterlens.inference.bootstrap import Bootstrap

_TAILS = np.array([0.025, 0.975])


def kappas(again: Bootstrap) -> list[Array]:
    """Of each rater, in the fit's order: kappa in the replicates that had the rater."""
    labels = again.fit.table("raters")["rater"]
    each = (again.replicates.filter(pl.col("rater") == label) for label in labels)
    return [one["kappa"].drop_nulls().to_numpy() for one in each]


def percentile(drawn: Array) -> tuple[float, float]:
    """Quantiles of the replicates."""
    low, high = np.quantile(drawn, _TAILS)
    return float(low), float(high)


def bias_corrected(drawn: Array, estimate: float) -> tuple[float, float]:
    """Quantiles of the replicates, shifted by how many lie below the estimate."""
    below = np.mean(drawn < estimate) + np.mean(drawn == estimate) / 2
    shift = 2 * stats.norm.ppf(np.clip(below, 1 / len(drawn), 1 - 1 / len(drawn)))
    low, high = np.quantile(drawn, stats.norm.cdf(shift + stats.norm.ppf(_TAILS)))
    return float(low), float(high)
