"""Raters who mark their own schools: how often intervals hold the truth, with and without groups in the model.

`python -m benchmarks.truth.assignment [PANELS] [SHARE] [SEED]`: 5 schools whose means differ by a standard deviation of
0.7, two raters each, 4 items, 400 students; each student is marked by one of the school's raters, and a share of
students (0.3) by any other rater as well. Beside it, the same with students assigned to raters at random.
"""

import sys

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl

SCHOOLS, RATERS, ITEMS, STUDENTS, SD = 5, 10, 4, 400, 0.7
NORMAL_95 = 1.959964


def panel(seed: int, share: float, *, own: bool) -> tuple[pl.DataFrame, np.ndarray]:
    """Ratings, and the raters' severities relative to the average."""
    random = np.random.default_rng(seed)
    means = SD * random.standard_normal(SCHOOLS)
    slope, severity = 1.5 * np.exp(0.2 * random.standard_normal(RATERS)), 0.5 * random.standard_normal(RATERS)
    difficulty, rows = np.linspace(-0.8, 0.8, ITEMS), []
    for student in range(STUDENTS):
        school = student % SCHOOLS
        ability = means[school] + random.standard_normal()
        first = 2 * school + int(random.integers(2)) if own else int(random.integers(RATERS))
        chosen = {first} | ({int(random.integers(RATERS))} if random.random() < share else set())
        for rater in sorted(chosen):
            reach = slope[rater] * ability - severity[rater] - difficulty
            passed = random.random(ITEMS) < special.expit(reach)
            rows += [
                (student, f"r{rater}", f"i{item}", f"s{school}", int(passed[item])) for item in range(ITEMS)
            ]
    names = ["student", "rater", "item", "school", "score"]
    # Severities are at the mean of all students, which is 0 in the fit.
    average = severity - slope * means.mean()
    return pl.DataFrame(rows, schema=names, orient="row"), average - average.mean()


def covered(table: pl.DataFrame, severity: np.ndarray, group: str | None = None) -> np.ndarray:
    """(raters,): whether the interval of each severity holds the true one."""
    ratings = rl.read(table, student="student", rater="rater", item="item", score="score", group=group)
    found = rl.fit(ratings, "gmf", halo="none", ability="normal").raters.sort("rater")
    off = found["eta"].to_numpy() - severity
    return np.asarray(np.abs(off) <= NORMAL_95 * found["eta_se"].to_numpy())


def run(panels: int = 20, share: float = 0.3, seed: int = 0) -> None:
    for own, words in ((True, "own school and some others"), (False, "any rater, at random")):
        plain, grouped = [], []
        for number in range(panels):
            table, severity = panel(1000 * seed + number, share, own=own)
            plain.append(covered(table.drop("school"), severity))
            grouped.append(covered(table, severity, "school"))
        error = np.sqrt(0.95 * 0.05 / (panels * RATERS))
        print(
            f"{words}: severity covers {np.mean(plain):.1%} without groups, {np.mean(grouped):.1%} with them "
            f"({panels} panels, Monte-Carlo error about {error:.1%})",
            flush=True,
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    run(*(kind(value) for kind, value in zip((int, float, int), given, strict=False)))
