"""Ratings of raters who are more severe on some items than on others, by a known amount."""

import numpy as np
import polars as pl

import raterlens as rl


def planted(
    spread: float, seed: int = 3, *, students: int = 150, raters: int = 6, items: int = 5, slope: float = 1.2
) -> tuple[rl.Ratings, np.ndarray]:
    """Each student is rated by three raters on all items; and (raters, items) what each adds to its severity."""
    random = np.random.default_rng(seed)
    severity, difficulty = random.normal(0, 0.6, raters), random.normal(0, 0.7, items)
    added, theta = spread * random.normal(size=(raters, items)), random.normal(size=students)
    student, chosen = (
        np.repeat(np.arange(students), 3),
        np.concatenate([random.choice(raters, 3, replace=False) for _ in range(students)]),
    )
    student, rater = np.repeat(student, items), np.repeat(chosen, items)
    item = np.tile(np.arange(items), 3 * students)
    s = slope * theta[student] - severity[rater] - difficulty[item] - added[rater, item]
    passed = random.random(len(s)) < 1 / (1 + np.exp(-s))
    frame = pl.DataFrame(
        {
            "student": [f"s{n}" for n in student],
            "rater": [f"r{r}" for r in rater],
            "item": [f"i{i}" for i in item],
            "score": passed.astype(int),
        }
    )
    return rl.read(frame, student="student", rater="rater", item="item", score="score"), added
