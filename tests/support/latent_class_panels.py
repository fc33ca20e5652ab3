"""Panels of a hierarchical rater model, with planted faults."""

from dataclasses import replace

import numpy as np

import raterlens as rl


def panel(seed: int, fault: str = "", **sizes: int) -> rl.Ratings:
    """Raters of a hierarchical rater model, the first of whom may have a fault."""
    size = {"students": 200, "raters": 8, "items": 4, "raters_per_student": 3} | sizes
    ratings = rl.simulate(**size, model="hrm", seed=seed).ratings
    mine, score = np.flatnonzero(ratings.rater == 0), ratings.score.copy()
    if fault == "reversed":
        score[mine] = 1 - score[mine]
    elif fault == "random":
        score[mine] = np.random.default_rng(seed).integers(2, size=len(mine))
    elif fault == "alternating":
        score[mine] = np.arange(len(mine)) % 2
    return replace(ratings, score=score)
