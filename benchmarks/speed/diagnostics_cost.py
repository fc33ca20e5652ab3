"""Cost of all diagnostics compared with the fit, in one run: `python -m benchmarks.speed.diagnostics_cost 4000000`.

CPU seconds of the process, all threads together. The compiled parts are loaded on a small panel first.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import raterlens as rl
from raterlens.pictures.rater_network import network_data
from raterlens.ratings.design import examine_links

T = TypeVar("T")

ITEMS, PER_STUDENT, PER_RATER = 10, 2, 4_000
LARGE = 500_000
"""Ratings enough for compiled code to be chosen."""


def timed(what: str, work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    found = work()
    spent = time.process_time() - start
    print(f"{what:<28}{spent:8.2f} CPU s", flush=True)
    return found, spent


def panel(n_ratings: int) -> rl.Ratings:
    return rl.simulate(
        students=n_ratings // (ITEMS * PER_STUDENT),
        raters=max(n_ratings // PER_RATER, 4),
        items=ITEMS,
        raters_per_student=PER_STUDENT,
    ).ratings


def _time(ratings: rl.Ratings) -> NDArray[np.int64]:
    """A hundred days, students in random order."""
    return default_rng(1).integers(100, size=ratings.n_students)[ratings.student]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.diagnostics_cost", description=__doc__)
    parser.add_argument("ratings", type=int, nargs="?", default=1_000_000)
    n_ratings = parser.parse_args().ratings
    if n_ratings >= LARGE:
        small = panel(LARGE)
        rl.fit(small, model="gmf").diagnose(small, time=_time(small))
    ratings = panel(n_ratings)
    print(f"{ratings.n_ratings:,} ratings, {ratings.n_students:,} students, {ratings.n_raters:,} raters")
    _, bare = timed("fit, no standard errors", lambda: rl.fit(ratings, model="gmf", standard_errors=False))
    fit, whole = timed("fit, as it is by default", lambda: rl.fit(ratings, model="gmf"))
    timed("diagnostics, without a time", lambda: fit.diagnose(ratings))
    _, diagnosing = timed("all diagnostics", lambda: fit.diagnose(ratings, time=_time(ratings)))
    timed("design", lambda: examine_links(ratings))
    timed("network", lambda: network_data(ratings))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(
        f"diagnostics / fit {diagnosing / whole:.2f}, without standard errors {diagnosing / bare:.2f}; peak memory "
        f"{peak / 1e9:.2f} GB"
    )


if __name__ == "__main__":
    main()
