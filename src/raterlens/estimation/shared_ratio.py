"""Does the shared dimension belong in the model? A likelihood ratio against ratings drawn from the model without it.

The score for a bias vanishes where all are 0, so that the ratio is no chi-squared variable: with as many degrees of
freedom as raters who may share, that would reject 21 % where nothing is shared. It still bounds the ratio's 5 % point
from below, so that a smaller one needs no drawing, nor does one that is several times as large.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

LEVEL = 0.05
REPLICATES = 39
"""The second ratio that is at least as large settles it: p = 3 / 40 and above."""
_SEVERAL = 4.0
_MOST_BEYOND = int(LEVEL * (REPLICATES + 1)) - 1
# Replicates after which a ratio far beyond all of them needs no more: by a gamma distribution like theirs.
_FEWEST, _CLEAR = 12, 1e-3
ROUGH = 0.02
"""How near their maximum, in standard errors, replicates are followed."""


@dataclass(frozen=True, slots=True)
class SharedTest:
    ratio: float
    p: float | None
    """None where nothing had to be drawn."""
    replicates: int
    found: bool

    def words(self) -> str:
        """Sentence on what an accepted dimension means."""
        return (
            "raters agree on something besides the truth (twice the rise in log-likelihood is "
            f"{self.ratio:.0f}): capability and sharpness are on the scale of the known answers and trusted raters, "
            "and `bias` says how much each rater follows what they share"
        )

    def table(self) -> pl.DataFrame:
        columns = {"ratio": self.ratio, "p": self.p, "replicates": self.replicates, "found": self.found}
        return pl.DataFrame(columns, schema_overrides={"p": pl.Float64})


def judged(ratio: float, n_free: int, drawn: Callable[[int], float]) -> SharedTest:
    """The verdict on a ratio; `drawn` gives that of the replicate of a number."""
    point = float(special.chdtri(n_free, LEVEL))
    if not point < ratio <= _SEVERAL * point:
        return SharedTest(ratio, None, 0, ratio > point)
    ratios: list[float] = []
    for number in range(REPLICATES):
        ratios.append(drawn(number))
        beyond = sum(each >= ratio for each in ratios)
        if beyond > _MOST_BEYOND:
            break
        if beyond == 0 and len(ratios) >= _FEWEST and (p := _tail(ratio, ratios)) < _CLEAR:
            return SharedTest(ratio, p, len(ratios), True)
    p = (beyond + 1) / (len(ratios) + 1)
    return SharedTest(ratio, p, len(ratios), beyond <= _MOST_BEYOND)


def _tail(ratio: float, ratios: list[float]) -> float:
    """Beyond a ratio, of a gamma distribution with the mean and variance of those drawn."""
    mean, variance = float(np.mean(ratios)), float(np.var(ratios, ddof=1))
    return float(special.gammaincc(mean**2 / variance, ratio * mean / variance))


def settled(ratio: float) -> SharedTest:
    """Where nobody asks whether it belongs there."""
    return SharedTest(ratio, None, 0, True)
