"""A million verdicts, five draws each of ten judges, beside a fit of one verdict per judge and answer.

`python -m benchmarks.speed.repeated [ANSWERS]` prints seconds and their ratio; reading is not counted.
"""

import sys
import time

import numpy as np
import polars as pl

import raterlens as rl

JUDGES, DRAWS = 10, 5


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
    begin = time.perf_counter()
    rl.fit(ratings, model="gmf", reference="perfect", assumptions="ignore")
    return time.perf_counter() - begin


def main(answers: int = 20_000) -> None:
    table = verdicts(answers)
    once = rl.read(table.filter(pl.col("epoch") == 0).drop("epoch"))
    often = rl.read(table, draw="epoch")
    seconds(once)  # whatever is loaded once
    one, several = seconds(once), seconds(often)
    print(f"one verdict each {one:.1f} s, {DRAWS} draws each {several:.1f} s: {several / one:.1f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
