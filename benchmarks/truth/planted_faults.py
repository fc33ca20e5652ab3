"""Planted faults: is each found, and is a clean panel left alone? `python -m benchmarks.truth.planted_faults --seeds
100`.

A panel of 12 raters, 300 students with 4 raters each, 5 items: 500 ratings per rater. Slopes of the other raters are
drawn from 0.5 to 2, severities from N(0, 0.7²); the first rater has slope 1.5, average severity, and the fault.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

import raterlens as rl
from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.ratings.design import examine_links
from raterlens.simulation.simulate import Simulated, simulate

Array = NDArray[np.float64]

STUDENTS, RATERS, ITEMS, PER_STUDENT = 300, 12, 5, 4
THRESHOLDS = (-1.0, 0.0, 1.0)


class Bench:
    """The first rater's ratings, as a planted fault needs them."""

    def __init__(self, drawn: Simulated, random: Generator) -> None:
        ratings, truth = drawn.ratings, drawn.truth
        self.rows = np.flatnonzero(ratings.rater == 0)
        self.random = random
        self.student, self.item = ratings.student[self.rows], ratings.item[self.rows]
        ability = truth.ability
        self.reach = 1.5 * ability[self.student]
        self.base = truth.alpha - truth.difficulty[self.item]
        self.tau = truth.thresholds
        self.half = np.arange(len(self.rows)) >= len(self.rows) / 2
        self.colleague = np.full((STUDENTS, ITEMS), np.nan)
        """(students, items): scores by the second rater"""
        theirs = ratings.rater == 1
        self.colleague[ratings.student[theirs], ratings.item[theirs]] = ratings.score[theirs]

    def passes(self, s: Array) -> Array:
        return np.asarray(self.random.random(len(s)) < 1 / (1 + np.exp(-s)), np.float64)

    def copied(self, share: float) -> Array:
        """Scores by the colleague of this share of the students whom both have."""
        own, seen = self.ordered(self.base + self.reach, 0.0), self.colleague[self.student, self.item]
        copied = (self.random.random(STUDENTS) < share)[self.student] & np.isfinite(seen)
        return np.where(copied, seen, own)

    def ordered(self, s: Array, middle: float) -> Array:
        """Adjacent categories with `middle` logits added to the inner scores."""
        assert self.tau is not None
        steps = np.concatenate([[0.0], np.cumsum(self.tau[0])])
        k = np.arange(len(steps))
        logits = np.multiply.outer(s, k) - steps
        logits[:, 1:-1] += middle
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        below = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
        return np.asarray((self.random.random(len(s))[:, None] > below).sum(axis=1), float)


FAULTS: dict[str, tuple[str, str, Callable[[Bench], Array]]] = {
    "reversed": ("slope -1.5", "reversed", lambda b: b.passes(b.base - b.reach)),
    "random": ("passes half of all work", "random", lambda b: b.passes(0 * b.reach)),
    "alternating": (
        "pass, fail, pass, fail",
        "alternating",
        lambda b: np.asarray(np.arange(len(b.rows)) % 2, np.float64),
    ),
    "right, wrong": (
        "one right, one wrong, in turn",
        "alternating",
        lambda b: np.asarray((b.base + b.reach > 0) == (np.arange(len(b.rows)) % 2 == 0), np.float64),
    ),
    "central": (
        "1 logit towards middle scores, four scores",
        "central",
        lambda b: b.ordered(b.base + b.reach, 1.0),
    ),
    "halo": (
        "an impression with sd 2 logits shared by a student's items",
        "halo",
        lambda b: b.passes(b.base + b.reach + 2.0 * b.random.standard_normal(STUDENTS)[b.student]),
    ),
    "drift": (
        "1.5 logits more severe from the middle on",
        "drift",
        lambda b: b.passes(b.base + b.reach - 1.5 * b.half),
    ),
    "discrimination": (
        "slope 2, then 0 from the middle on",
        "drift in discrimination",
        lambda b: b.passes(b.base + b.reach * (2 / 1.5) * ~b.half),
    ),
    "item": (
        "2 logits more severe on one of five items",
        "severe on item",
        lambda b: b.passes(b.base + b.reach - 2.0 * (b.item == 0)),
    ),
    "copied": (
        "takes over 80 % of the second rater's scores, four scores, 27 students in common",
        "too alike",
        lambda b: b.copied(0.8),
    ),
}


def panel(seed: int, fault: str | None = None, ordered: bool = False) -> rl.Ratings:
    """Ratings of a panel whose first rater has a fault, or of a clean one."""
    ordered = ordered or fault in ("central", "copied")
    draws = default_rng([seed, 1])
    slope, severity = draws.uniform(0.5, 2.0, RATERS), draws.normal(0.0, 0.7, RATERS)
    slope[0], severity[0] = 1.5, severity[1:].mean()
    drawn = simulate(
        students=STUDENTS,
        raters=RATERS,
        items=ITEMS,
        raters_per_student=PER_STUDENT,
        slope=slope,
        severity=severity,
        thresholds=THRESHOLDS if ordered else None,
        seed=seed,
    )
    if fault is None:
        return drawn.ratings
    bench = Bench(drawn, default_rng([seed, 2]))
    score = drawn.ratings.score.copy()
    score[bench.rows] = FAULTS[fault][2](bench)
    return replace(drawn.ratings, score=score)


def diagnosed(ratings: rl.Ratings, model: str = "gmf") -> Diagnosis:
    """Fit and diagnose, with the order of the rows for a time."""
    fit = rl.fit(ratings, model=model, standard_errors=False)
    return fit.diagnose(ratings, time=np.arange(ratings.n_ratings))


class Outcome(NamedTuple):
    """Outcome of one planted fault."""

    flagged: bool
    others: int
    """Raters without fault that are flagged"""
    dated: bool
    """Drift only: the 95 % interval of when it began has the true moment"""


def found(fault: str, seed: int, model: str = "gmf") -> Outcome:
    """Is the planted fault flagged; and how many of the other raters are?"""
    ratings = panel(seed, fault)
    diagnosis = diagnosed(ratings, model)
    flags, first = diagnosis.flags, str(ratings.raters[0])
    mine = flags.filter(flags["rater"] == first)["effect"].to_list()
    row, of = diagnosis.table("change").row(0, named=True), "slope_" * (fault == "discrimination")
    rows = np.flatnonzero(ratings.rater == 0)
    dated = row[f"{of}since_low"] <= rows[len(rows) // 2] <= row[f"{of}since_high"]
    at_fault = ratings.raters.cast(pl.String)[: 2 if fault == "copied" else 1]
    others = flags.filter(~flags["rater"].is_in(at_fault.implode()))["rater"].n_unique()
    return Outcome(FAULTS[fault][1] in mine, others, dated)


def false_alarms(seed: int, ordered: bool = False, model: str = "gmf") -> tuple[int, int, int]:
    """Raters of a clean panel: flagged; with a change of severity, of discrimination that has p <= 5 %."""
    diagnosis = diagnosed(panel(seed, ordered=ordered), model)
    change = diagnosis.table("change")
    severity, slope = (int((change[name] <= 0.05).sum()) for name in ("p", "slope_p"))
    return diagnosis.flags["rater"].n_unique(), severity, slope


def disconnected(seed: int) -> bool:
    """A panel in two halves without a common student: are they found, the whole one left alone, and does one further
    rating, as the repair names it, connect them?"""
    whole = panel(seed)
    table = whole.table()
    halves = table.filter((whole.rater < RATERS // 2) == (whole.student < STUDENTS // 2))
    found = examine_links(rl.read(halves))
    if examine_links(whole).n_groups > 1 or found.n_groups != 2 or found.repairs.height != 1:
        return False
    rater, student, _ = found.repairs.row(0)
    mended = pl.concat([halves, halves[:1].with_columns(rater=pl.lit(rater), student=pl.lit(student))])
    return examine_links(rl.read(mended)).n_groups == 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.planted_faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--model", default="gmf")
    parser.add_argument("--faults", nargs="*", choices=FAULTS, default=list(FAULTS))
    chosen = parser.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    print(f"{'fault':16}{'found':>8}{'others flagged':>16}   size")
    for fault in chosen.faults:
        runs = [found(fault, seed, chosen.model) for seed in seeds]
        hits, others = sum(run.flagged for run in runs), sum(run.others for run in runs)
        dated = f"; when: {sum(run.dated for run in runs)}/{len(runs)} intervals contain it"
        print(
            f"{fault:16}{hits:>4}/{len(runs):<3}{others / len(runs) / (RATERS - 1):>15.1%}   {FAULTS[fault][0]}"
            f"{dated * FAULTS[fault][1].startswith('drift')}",
            flush=True,
        )
    hits = sum(disconnected(seed) for seed in seeds)
    print(
        f"{'disconnected':16}{hits:>4}/{len(seeds):<3}{'':>15}   two halves without a common student",
        flush=True,
    )
    for ordered in (False, True):
        wrong = np.array([false_alarms(seed, ordered, chosen.model) for seed in seeds]).mean(axis=0) / RATERS
        kind = "four scores" if ordered else "pass or fail"
        print(
            f"clean panel, {kind}: {wrong[0]:.2%} of raters flagged; changed with p <= 5 %: severity {wrong[1]:.1%}, "
            f"discrimination {wrong[2]:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
