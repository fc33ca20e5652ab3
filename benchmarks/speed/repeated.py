"""A million verdicts, five draws each of ten judges, beside fits of their means and of one verdict each.

`python -m benchmarks.speed.repeated [ANSWERS]` prints seconds of the processor and their ratios, the least of three
fits each; reading is not counted. Means of five draws are six ordered scores. With one verdict each of ten judges there
are 1,024 different answers at most, and a fit goes over each of these once.
"""

import sys
import time

import numpy as np
import polars as pl

import raterlens as rl

JUDGES, DRAWS, TIMES = 10, 5, 3


def verdicts(answers: int) -> pl.DataFrame:
    random = np.random.default_rng(1)
    slope, spread = np.linspace(0.8, 2.0, JUDGES), np.linspace(0.0, 4.0, JUDGES)
    stretch = np.sqrt(1 + 0.346 * spread**2)
    quality, reading = random.standard_normal((answers, 1)), random.standard_normal((answers, JUDGES))
    chance = 1 / (1 + np.exp(-(stretch * slope * quality + spread * reading)))
    passed = random.random((answers, JUDGES, DRAWS)) < chance[..., None]
    student, rater, draw = (each.ravel() for each in np.indices(passed.shape))
    return pl.DataFrame(
        {"student": student, "rater": rater, "epoch": draw, "score": passed.ravel().astype(int)}
    )


def seconds(ratings: rl.Ratings) -> float:
    begin = time.process_time()
    rl.fit(ratings, model="gmf", reference="perfect", assumptions="ignore")
    return time.process_time() - begin


def main(answers: int = 20_000) -> None:
    table = verdicts(answers)
    ratings = {
        "one verdict each": rl.read(table.filter(pl.col("epoch") == 0).drop("epoch")),
        "means": rl.read(table.group_by("student", "rater", maintain_order=True).agg(pl.col("score").sum())),
        "draws": rl.read(table, draw="epoch"),
    }
    taken = {name: min(seconds(each) for _ in range(TIMES)) for name, each in ratings.items()}
    for name, least in taken.items():
        print(f"{name}: {least:.3f} CPU s, draws take {taken['draws'] / least:.1f} times as long")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
