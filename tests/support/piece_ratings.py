"""Ratings of students with several pieces of work, drawn with known spreads."""

import numpy as np
import polars as pl

import raterlens as rl

SLOPE, SEVERITY = np.linspace(1.0, 2.0, 6), np.array([0.7, -0.5, 0.2, -0.8, 0.6, -0.2])


def table_of(
    students: int = 60,
    pieces: int = 3,
    omega: float = 0.6,
    tau: float = 0.8,
    twice: float = 0.3,
    seed: int = 1,
) -> pl.DataFrame:
    """Pieces of students on four items; a share of the pieces is read by two raters, the others by one."""
    random = np.random.default_rng(seed)
    difficulty, n_raters = np.linspace(-1, 1, 4), len(SLOPE)
    rows = []
    for student in range(students):
        ability = random.standard_normal()
        for piece in range(pieces):
            quality = ability + omega * random.standard_normal()
            for rater in random.choice(n_raters, 2 if random.random() < twice else 1, replace=False):
                shared = SLOPE[rater] * quality - SEVERITY[rater] + tau * random.standard_normal()
                passed = random.random(4) < 1 / (1 + np.exp(difficulty - shared))
                rows += [
                    (f"s{student}", f"p{piece}", f"r{rater}", f"i{i}", int(y)) for i, y in enumerate(passed)
                ]
    return pl.DataFrame(rows, schema=["student", "essay", "rater", "item", "score"], orient="row")


def ratings_of(**options: float) -> rl.Ratings:
    return rl.read(
        table_of(**options), student="student", rater="rater", item="item", score="score", piece="essay"
    )  # type: ignore[arg-type]
