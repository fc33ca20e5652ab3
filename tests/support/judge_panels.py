"""People and judges, some of whom share a liking."""

import numpy as np
import polars as pl

import raterlens as rl

PEOPLE = ["Ana", "Ben", "Cho"]


def panel(n: int = 400, seed: int = 1) -> rl.Ratings:
    """Three people, two per answer, a judge as good as they are, a strict one with the same eye, and three who share a
    liking."""
    rng = np.random.default_rng(seed)
    quality, length = rng.normal(size=(2, n))
    frames = []
    for rater, (slope, severity, liking) in {
        "Ana": (2.0, 0.2, 0.0),
        "Ben": (1.7, -0.2, 0.0),
        "Cho": (1.8, 0.0, 0.0),
        "peer": (2.0, 0.1, 0.0),
        "strict": (1.9, 2.2, 0.0),
        "long 1": (0.6, 0.0, 1.8),
        "long 2": (0.6, 0.1, 1.8),
        "long 3": (0.6, -0.1, 1.8),
    }.items():
        absent = PEOPLE.index(rater) if rater in PEOPLE else 3
        for item, difficulty in (("a", -0.5), ("b", 0.5)):
            logit = slope * quality + liking * length - severity - difficulty
            score = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
            frame = pl.DataFrame({"student": np.arange(n), "rater": rater, "item": item, "score": score})
            frames.append(frame.filter(np.arange(n) % 3 != absent))
    return rl.read(pl.concat(frames))
