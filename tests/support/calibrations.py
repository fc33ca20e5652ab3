"""Calibrations with numbers of our own, as a fit would have found them."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from raterlens.models.calibration import Calibration, Rows

SLOPES, SEVERITIES, DIFFICULTIES = (1.2, 0.8, 1.6), (0.3, -0.5, 0.1), (-0.4, 0.2, 0.6)


def calibration(
    slopes: Sequence[float] = SLOPES,
    severities: Sequence[float] = SEVERITIES,
    difficulties: Sequence[float] = DIFFICULTIES,
    *,
    thresholds: Sequence[float] | None = None,
    scores: tuple[int, ...] = (0, 1),
    halo: Sequence[float] | None = None,
    link: str = "logit",
) -> Calibration:
    """A panel R0, R1, ... on items I0, I1, ..."""
    effects = {
        "slope": np.array(slopes, float),
        "severity": np.array(severities, float),
        "difficulty": np.array(difficulties, float),
    }
    if thresholds is not None:
        effects["threshold"] = np.array([thresholds], float)
    if halo is not None:
        effects["halo"] = np.array(halo, float) ** 2
    labels = {
        "rater": pl.Series("rater", [f"R{r}" for r in range(len(slopes))]),
        "item": pl.Series("item", [f"I{i}" for i in range(len(difficulties))]),
    }
    return Calibration("gmf", link, "rating scale", scores, labels, effects, None, np.zeros(len(slopes)))


def rows_on(known: Calibration, items: Iterable[int]) -> list[Rows]:
    """All raters on each of some items."""
    every = np.arange(len(known.effects["slope"]))
    return [known.rows(every, item) for item in items]
