"""Cost of a reading effect: `python -m benchmarks.speed.halo_cost`, lines of JSON in CPU seconds, all threads together.

800,000 ratings, pass or fail (40,000 students, 200 raters, 2 of them per student, 10 items), fitted without halo and
with a common one, without standard errors and with them; and an exam of 8,500 students with two readings each by 57
raters, 5 criteria scored 0-3, with standard errors. Fits take turns in one process; the least of two counts, so that
loading the compiled parts does not.
"""

from time import perf_counter, process_time
from typing import Any

import numpy as np

import raterlens as rl
from benchmarks.say import least, say

_REPEATS = 2
LARGE: dict[str, Any] = {"students": 40_000, "raters": 200, "items": 10, "raters_per_student": 2}
EXAM: dict[str, Any] = {"students": 8_500, "raters": 57, "items": 5, "raters_per_student": 2}


def spent(ratings: rl.Ratings, **options: Any) -> dict[str, float]:
    cpu, wall = process_time(), perf_counter()
    fit = rl.fit(ratings, ability="normal", **{"model": "gmf"} | options)
    found = {"cpu": process_time() - cpu, "wall": perf_counter() - wall}
    return found | {"evaluations": fit.optimiser.evaluations}


def compared(name: str, ratings: rl.Ratings, *, standard_errors: bool) -> None:
    """Without halo and with it, in turn."""
    runs: dict[str, list[dict[str, float]]] = {"none": [], "common": []}
    for _ in range(_REPEATS):
        for halo, found in runs.items():
            found.append(spent(ratings, halo=halo, standard_errors=standard_errors))
    plain, common = (least(runs[halo]) for halo in ("none", "common"))
    say(
        panel=name,
        ratings=ratings.n_ratings,
        standard_errors=standard_errors,
        plain=plain["cpu"],
        halo=common["cpu"],
        times=common["cpu"] / plain["cpu"],
        halo_wall=common["wall"],
        evaluations=[plain["evaluations"], common["evaluations"]],
    )


def main() -> None:
    large = rl.simulate(**LARGE, halo=1.0, seed=1).ratings
    exam = rl.simulate(**EXAM, thresholds=np.linspace(-1.5, 1.5, 3), halo=1.0, seed=2).ratings
    for standard_errors in (False, True):
        compared("large", large, standard_errors=standard_errors)
    compared("exam", exam, standard_errors=True)


if __name__ == "__main__":
    main()
