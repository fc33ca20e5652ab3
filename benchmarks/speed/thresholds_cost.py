"""Cost of thresholds per rater: `python -m benchmarks.speed.thresholds_cost [SEEDS]`, lines of JSON in CPU seconds.

800,000 scores 0-3, two raters per student and 10 items, by 100 and by 500 raters who use the scale in their own way:
whole fits with a rating scale, and with each rater's own thresholds and their spread. Fits take turns in one process;
the least of two counts, so that loading the compiled parts does not.
"""

import sys
from time import process_time
from typing import Any

import numpy as np

import raterlens as rl
from benchmarks.say import least, say

_REPEATS = 2
RATERS = (100, 500)
DESIGN: dict[str, Any] = {"students": 40_000, "items": 10, "raters_per_student": 2}
THRESHOLDS = np.array([-1.2, 0.0, 1.2])


def ratings(raters: int, seed: int) -> rl.Ratings:
    return rl.simulate(
        raters=raters, thresholds=THRESHOLDS, threshold_spread=0.5, seed=seed, **DESIGN
    ).ratings


def spent(on: rl.Ratings, scale: str) -> dict[str, Any]:
    begun = process_time()
    fit = rl.fit(on, model="gmf", scale=scale)
    found = {"cpu": process_time() - begun}
    return found if scale != "rater" else found | fit.table("spreads").row(0, named=True)


def main() -> None:
    for seed in range(1, int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 2):
        for raters in RATERS:
            on = ratings(raters, seed)
            runs: dict[str, list[dict[str, Any]]] = {"rating scale": [], "rater": []}
            for _ in range(_REPEATS):
                for scale, found in runs.items():
                    found.append(spent(on, scale))
            plain, own = least(runs["rating scale"]), least(runs["rater"])
            say(
                raters=raters,
                seed=seed,
                plain=plain["cpu"],
                own=own["cpu"],
                times=own["cpu"] / plain["cpu"],
                **{name: own[name] for name in ("spread", "low", "high", "statistic")},
            )


if __name__ == "__main__":
    main()
