"""Bands and cuts that suit the scores at hand: round numbers that part them evenly."""

import math
from collections.abc import Mapping

import numpy as np

BANDS = 5
# A range of scores below which powers of ten are no longer numbers.
_NARROWEST = 1e-300


def suggested_bands(counts: Mapping[float, int], bands: int = BANDS) -> list[float]:
    """Where bands begin: round numbers near the quantiles, each band with scores in it.

    Examples
    --------
    >>> suggested_bands({float(mark): 1 for mark in range(101)})
    [20.0, 40.0, 60.0, 80.0]
    """
    values = np.array(sorted(counts))
    times = np.array([counts[value] for value in values])
    shares = np.cumsum(times) / times.sum()
    wanted = [float(values[np.searchsorted(shares, part / bands)]) for part in range(1, bands)]
    step = _round_step(float(values[-1]) - float(values[0]))
    edges: list[float] = []
    for edge in (round(round(value / step) * step, 10) for value in wanted):
        below = edges[-1] if edges else -math.inf
        if edge > below and ((values >= below) & (values < edge)).any() and (values >= edge).any():
            edges.append(edge)
    return edges or [suggested_cut(counts)]


def suggested_cut(counts: Mapping[float, int]) -> float:
    """A round number near the median, with scores on both sides.

    Examples
    --------
    >>> suggested_cut({40.0: 3, 62.0: 5, 90.0: 2})
    60.0
    """
    values = np.array(sorted(counts))
    times = np.array([counts[value] for value in values])
    median = float(values[np.searchsorted(np.cumsum(times), times.sum() / 2)])
    step = _round_step(float(values[-1]) - float(values[0]))
    edge = round(round(median / step) * step, 10)
    if not values[0] < edge <= values[-1]:
        edge = float(values[1]) if len(values) > 1 else float(values[0])
    return edge


def _round_step(width: float) -> float:
    """1, 2 or 5 times a power of ten, about a twentieth of the width."""
    if not _NARROWEST < width < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width / 20))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width / 20)
