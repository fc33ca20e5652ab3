"""Marks out of 100 on a continuous scale: how often 95 % intervals hold the truth.

`python -m benchmarks.truth.marks [PANELS] [PER_STUDENT] [SEED]`: 10 raters, 200 students, one item, three marks per
student.
"""

import sys

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl
from raterlens.base.arrays import Array

STUDENTS, RATERS = 200, 10
NORMAL_95 = 1.959964


def panel(seed: int, per_student: int) -> tuple[rl.Ratings, dict[str, Array]]:
    """Ratings, and what is true of the raters: severity and noise in marks, sharpness, kappa and standard."""
    random = np.random.default_rng(seed)
    slope, noise = (mean * np.exp(0.2 * random.standard_normal(RATERS)) for mean in (12.0, 6.0))
    severity = 4 * random.standard_normal(RATERS)
    severity -= severity.mean()
    student = np.repeat(np.arange(STUDENTS), per_student)
    rater = np.concatenate([random.choice(RATERS, per_student, replace=False) for _ in range(STUDENTS)])
    ability, luck = random.standard_normal(STUDENTS)[student], random.standard_normal(len(student))
    mark = np.clip(np.round(52 + slope[rater] * ability - severity[rater] + noise[rater] * luck), 0, 100)
    table = pl.DataFrame({"student": student, "rater": [f"r{r}" for r in rater], "score": mark.astype(int)})
    spread = np.hypot(slope, noise)
    truth = {
        "eta": severity,
        "noise": noise,
        "sharpness": slope / spread,
        "kappa": slope / slope.max(),
        "passes": special.ndtr(-severity / spread),
    }
    return rl.read(table), truth


def covered(ratings: rl.Ratings, prior: str, truth: dict[str, Array]) -> list[Array]:
    """(raters,) each: whether an interval holds the truth."""
    raters = rl.fit(ratings, "gmf", prior=prior, assumptions="ignore").raters.sort("rater")
    inside = []
    for name, value in truth.items():
        if f"{name}_low" in raters.columns:
            low, high = raters[f"{name}_low"].to_numpy(), raters[f"{name}_high"].to_numpy()
        else:
            reach = NORMAL_95 * raters[f"{name}_se"].to_numpy()
            low, high = raters[name].to_numpy() - reach, raters[name].to_numpy() + reach
        inside.append(np.asarray((low <= value) & (value <= high)))
    return inside


def run(panels: int = 20, per_student: int = 3, seed: int = 0) -> None:
    found: dict[str, list[list[Array]]] = {"none": [], "panel": []}
    for number in range(panels):
        ratings, truth = panel(1000 * seed + number, per_student)
        for prior, rows in found.items():
            rows.append(covered(ratings, prior, truth))
    for prior, rows in found.items():
        shares = zip(
            ("severity", "noise", "sharpness", "kappa", "standard"), np.mean(rows, axis=(0, 2)), strict=True
        )
        words = ", ".join(f"{name} {share:.1%}" for name, share in shares)
        print(f"prior {prior!r} covers: {words} ({panels} panels of {RATERS} raters)", flush=True)


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
