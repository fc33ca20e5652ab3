"""What the panel prior costs on large data, and what it changes: `python -m benchmarks.prior_cost`.

800,000 ratings by 200 raters. CPU seconds of both fits, alternately, and the largest difference of any kappa: against
the perfect rater, and relative to the best rater of the panel, whose slope is the largest estimate without the prior
and the expected largest slope with it. How far either is from the truth is shown as well.
"""

from time import process_time

import numpy as np

import raterlens as rl
from raterlens.types import Array

STUDENTS, RATERS, ITEMS, PER_STUDENT, TIMES = 40_000, 200, 5, 4, 5


def slopes(kind: str, random: np.random.Generator) -> Array:
    """Of raters: with a hard edge at the top, or without."""
    if kind == "uniform":
        return np.asarray(random.uniform(0.7, 2.0, RATERS))
    return np.asarray(1.5 * np.exp(0.3 * random.standard_normal(RATERS)))


def report(kind: str) -> None:
    truth = slopes(kind, np.random.default_rng(1))
    ratings = rl.simulate(
        students=STUDENTS, raters=RATERS, items=ITEMS, raters_per_student=PER_STUDENT, slope=truth, seed=1
    ).ratings
    spent: dict[str | None, list[float]] = {None: [], "panel": []}
    fits = {}
    for turn in range(TIMES + 1):
        for prior in (None, "panel"):
            begun = process_time()
            fits[prior] = rl.fit(ratings, prior=prior)
            if turn:  # the first compiles
                spent[prior].append(process_time() - begun)
    ratio = float(np.median(spent["panel"]) / np.median(spent[None]))
    print(f"{kind} slopes: with the prior {ratio:.2f} times {np.median(spent[None]):.2f} CPU s")
    for reference in ("perfect", "max"):
        with_, without = (
            fits[p].capability(reference=reference)["kappa"].to_numpy() for p in ("panel", None)
        )
        print(f"  largest change of kappa, reference {reference!r}: {np.abs(with_ - without).max():.4f}")
    print(
        f"  sigma {fits['panel'].sigma:.3f} with, {fits[None].sigma:.3f} without, {truth.max():.3f} in truth"
    )


if __name__ == "__main__":
    for each in ("uniform", "log-normal"):
        report(each)
