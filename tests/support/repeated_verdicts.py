"""Verdicts of judges who are asked several times."""

import numpy as np
import polars as pl


def verdicts(spread, draws, *, students=150, raters=5, seed=1) -> pl.DataFrame:
    """Verdicts of judges whose readings of an answer vary by `spread` besides its quality."""
    random = np.random.default_rng(seed)
    slope, severity = np.linspace(0.9, 2.0, raters), np.linspace(-0.6, 0.6, raters)
    spread = np.broadcast_to(np.asarray(spread, float), raters)
    stretch = np.sqrt(1 + 0.346 * spread**2)
    ability, reading = random.standard_normal((students, 1)), random.standard_normal((students, raters))
    logit = stretch * (slope * ability - severity) + spread * reading
    passed = random.random((students, raters, draws)) < 1 / (1 + np.exp(-logit))[..., None]
    student, rater, draw = np.indices(passed.shape)
    return pl.DataFrame(
        {
            "student": student.ravel(),
            "rater": [f"j{r}" for r in rater.ravel()],
            "score": passed.ravel().astype(int),
            "epoch": draw.ravel(),
        }
    )
