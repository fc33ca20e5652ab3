"""Designs as exams have them: `python -m benchmarks.speed.uneven [STEEPNESS]`, also part of `make bench`.

10,000 students with 8 ratings each (2 of 43 raters, 4 criteria); the same with 40 more scripts that every rater marks;
and both scored 0-7. Fits with standard errors take turns in one process; the least time of each counts, on the clock
and of the processor, against the pass/fail fit of the same design and of that without the 40 scripts. Each
log-likelihood is checked on a grid five times as fine and wider.
"""

import sys
import time
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.estimation.methods import estimate
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options

STUDENTS, RATERS, ITEMS, PER_STUDENT, SEEDED = 10_000, 43, 4, 2, 40
SCALES = ("rating scale", "partial credit", "graded")
_REPEATS = 5


def drawn(seeded: int, categories: int, steepness: float, seed: int = 1) -> rl.Ratings:
    """Ratings of the GMF with adjacent categories; `seeded` students have ratings by everybody."""
    random = np.random.default_rng(seed)
    ability = random.standard_normal(STUDENTS + seeded)
    slope = steepness * np.exp(0.3 * random.standard_normal(RATERS))
    severity, difficulty = 0.7 * random.standard_normal(RATERS), 0.7 * random.standard_normal(ITEMS)
    rater = np.argsort(random.random((STUDENTS, RATERS)), axis=1)[:, :PER_STUDENT]
    student = np.append(
        np.repeat(np.arange(STUDENTS), PER_STUDENT), STUDENTS + np.repeat(np.arange(seeded), RATERS)
    )
    rater = np.append(rater.ravel(), np.tile(np.arange(RATERS), seeded))
    student, rater = np.repeat(student, ITEMS), np.repeat(rater, ITEMS)
    item = np.tile(np.arange(ITEMS), len(student) // ITEMS)
    steps = np.linspace(-3, 3, categories - 1) if categories > 2 else np.zeros(1)
    reach = (slope[rater] * ability[student] - severity[rater] - difficulty[item])[:, None] - steps
    logs = np.cumsum(np.column_stack([np.zeros(len(reach)), reach]), axis=1)
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    below = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    score = np.minimum((random.random((len(reach), 1)) > below).sum(axis=1), categories - 1)
    return rl.read(pl.DataFrame({"student": student, "rater": rater, "item": item, "score": score}))


def error(ratings: rl.Ratings, scale: str) -> float:
    """Relative error of the log-likelihood, against a grid five times as fine."""
    from raterlens.capability.links import get_link

    link = get_link("logit")
    model, response = build(ratings, Options(MODELS["gmf"], link, scale, False), ratings.n_categories)
    found = estimate(ratings, model, response, link, "mml")
    fine = Nodes.equally_spaced(found.nodes.low - 1, found.nodes.high + 1, found.nodes.finest_step / 5)
    exact = found.problem.value(found.parameters, fine).loglik
    return abs(found.value.loglik / exact - 1)


def main() -> None:
    steepness = float(sys.argv[1]) if len(sys.argv) > 1 else 1.5
    cases: dict[str, tuple[rl.Ratings, str]] = {}
    for seeded in (0, SEEDED):
        cases[f"pass/fail, {seeded} scripts by all"] = drawn(seeded, 2, steepness), "rating scale"
        ordered = drawn(seeded, 8, steepness)
        cases |= {f"0-7 {scale}, {seeded} scripts by all": (ordered, scale) for scale in SCALES}
    least = {name: np.full(2, np.inf) for name in cases}
    fits: dict[str, Any] = {}
    for _ in range(_REPEATS):
        for name, (ratings, scale) in cases.items():
            start = np.array([time.perf_counter(), time.process_time()])
            fits[name] = fit = rl.fit(ratings, model="gmf", scale=scale)
            assert fit.raters is not None
            spent = np.array([time.perf_counter(), time.process_time()]) - start
            least[name] = np.minimum(least[name], spent)
    for name, (ratings, scale) in cases.items():
        record, (wall, cpu) = fits[name].optimiser, least[name]
        alike, base = (least[f"pass/fail, {n} scripts by all"] for n in (name.split()[-4], 0))
        print(
            f"{name:>38}: {wall:5.2f} s, {wall / alike[0]:4.1f} times pass/fail, {wall / base[0]:4.1f} without "
            f"scripts; CPU {cpu:5.2f} s, {cpu / alike[1]:4.1f} and {cpu / base[1]:4.1f} times; "
            f"{record.evaluations:>3} evaluations, {record.n_nodes:>4} nodes, "
            f"log-likelihood off by {error(ratings, scale):.0e} relative",
            flush=True,
        )


if __name__ == "__main__":
    main()
