"""Does adaptive marking pay? `python -m benchmarks.truth.next_replays [--replays 100]`.

Exams of 300 students, 10 raters and 3 items start with two random readings per student. Further readings are then given
out at random (equal loads), or by `rl.next_marks` in batches with a fit after each; what a reading says was simulated
beforehand and is the same for both. Stated: how many extra readings the adaptive choice needs, as a share of the random
ones, for the same mean standard error of kappa; errors and coverage of the 95 % intervals of kappa for both.
"""

import argparse
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

import raterlens as rl
from raterlens.simulation.simulate import Simulated

STUDENTS, RATERS, ITEMS = 300, 10, 3
BATCH, BATCHES = 40, 6
Marked = NDArray[np.bool_]


class Course(NamedTuple):
    """By number of extra readings: mean standard error, root mean squared error and coverage of kappa."""

    errors: list[float]
    missed: list[float]
    covered: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=100)
    replays = parser.parse_args().replays
    courses: dict[str, list[Course]] = {"random": [], "adaptive": []}
    for replay in range(replays):
        drawn = rl.simulate(
            students=STUDENTS, raters=RATERS, items=ITEMS, slope=_slopes(replay), seed=[25, replay]
        )
        for kind, found in courses.items():
            found.append(_course(drawn, kind, default_rng([replay, 1])))
    means = {kind: np.mean(np.array(found), axis=0) for kind, found in courses.items()}
    extra = BATCH * np.arange(BATCHES + 1)
    print(f"{replays} replays; extra readings: standard error, RMSE and coverage of kappa")
    for kind, (errors, missed, covered) in means.items():
        print(
            f"{kind:9}"
            + "".join(
                f"  {x}: {e:.4f} {m:.4f} {c:.3f}"
                for x, e, m, c in zip(extra, errors, missed, covered, strict=True)
            )
        )
    random, adaptive = (means[kind][0] for kind in ("random", "adaptive"))
    for at in range(1, BATCHES + 1):
        needed = np.interp(-random[at], -adaptive, extra)
        print(
            f"as good as {extra[at]} random readings: {needed:.0f} adaptive ones, {needed / extra[at]:.2f} times"
        )
    each = [
        np.interp(-one.errors[-1], -np.array(two.errors), extra) / extra[-1]
        for one, two in zip(courses["random"], courses["adaptive"], strict=True)
    ]
    print(
        f"per replay at {extra[-1]}: median {np.median(each):.2f}, quartiles {np.quantile(each, [0.25, 0.75]).round(2)}"
    )


def _slopes(replay: int) -> NDArray[np.float64]:
    return default_rng([replay, 2]).uniform(0.8, 2.2, RATERS)


def _course(drawn: Simulated, kind: str, random: Generator) -> Course:
    ratings, truth = drawn.ratings, drawn.truth
    marked = np.zeros((STUDENTS, RATERS), bool)
    design = rl.plan(STUDENTS, RATERS, marks=2, seed=int(random.integers(1_000_000))).ratings()
    marked[design.student, design.rater] = True
    perfect = np.sqrt(2 * np.pi) * _covariances(truth.slope, truth.severity)
    course = Course([], [], [])
    fit = None
    for batch in range(BATCHES + 1):
        seen = _subset(ratings, marked)
        fit = rl.fit(seen, model="gmf", reference="perfect", halo="none", start=fit)
        table = fit.raters
        course.errors.append(float(table["kappa_se"].to_numpy().mean()))
        course.missed.append(float(np.sqrt(np.mean((table["kappa"].to_numpy() - perfect) ** 2))))
        inside = (table["kappa_low"].to_numpy() <= perfect) & (perfect <= table["kappa_high"].to_numpy())
        course.covered.append(float(inside.mean()))
        if batch == BATCHES:
            break
        if kind == "random":
            _at_random(marked, random)
        else:
            chosen = rl.next_marks(fit, seen, BATCH).table
            student = {label: k for k, label in enumerate(ratings.students)}
            rater = {label: k for k, label in enumerate(ratings.raters)}
            marked[[student[s] for s in chosen["student"]], [rater[r] for r in chosen["rater"]]] = True
    return course


def _covariances(slope: NDArray[np.float64], severity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cov(y, theta) on an item of average difficulty."""
    t = np.linspace(-8, 8, 801)
    weight = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    chance = 1 / (1 + np.exp(-(slope[:, None] * t - severity[:, None])))
    return np.asarray(chance @ (weight * t))


def _at_random(marked: Marked, random: Generator) -> None:
    """BATCH more readings, at most one per student, the same number per rater."""
    for rater in np.repeat(np.arange(RATERS), BATCH // RATERS):
        free = np.flatnonzero(~marked[:, rater] & (marked.sum(axis=1) < 3))
        free = free if len(free) else np.flatnonzero(~marked[:, rater])
        marked[random.choice(free), rater] = True


def _subset(ratings: rl.Ratings, marked: Marked) -> rl.Ratings:
    rows = marked[ratings.student, ratings.rater]
    kept = {name: getattr(ratings, name)[rows] for name in ("student", "rater", "item", "score")}
    return replace(ratings, **kept)


if __name__ == "__main__":
    main()
