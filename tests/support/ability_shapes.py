"""Ratings of students whose abilities are normal, skewed or of two groups."""

import numpy as np
import polars as pl

import raterlens as rl


def ratings_of(kind: str, students: int = 400, raters: int = 8) -> rl.Ratings:
    random = np.random.default_rng(3)
    ability = {
        "skewed": lambda: (random.chisquare(3, students) - 3) / np.sqrt(6),
        "two groups": lambda: random.choice([-1.1, 1.1], students) + 0.4 * random.standard_normal(students),
        "normal": lambda: random.standard_normal(students),
    }[kind]()
    severity = np.linspace(-1.2, 1.2, raters)
    passed = random.random((students, raters)) < 1 / (1 + np.exp(severity - 2 * ability[:, None]))
    frame = pl.DataFrame(
        {
            "student": np.repeat(np.arange(students), raters),
            "rater": np.tile([f"r{r}" for r in range(raters)], students),
            "score": passed.ravel().astype(int),
        }
    )
    return rl.read(frame, student="student", rater="rater", score="score")
