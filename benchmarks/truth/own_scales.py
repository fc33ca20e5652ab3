"""Raters with scales of their own: how often intervals hold the truth, with and without thresholds per rater.

`python -m benchmarks.truth.own_scales [PANELS] [SPREAD] [SEED]`: 400 students, 10 raters, two per student, 4 items,
scores 0-4, deviations of each rater's thresholds with standard deviation 0.5.
"""

import sys

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.index import Index, OwnCurves, Usual
from raterlens.capability.population import Normal

STUDENTS, RATERS, PER_STUDENT, ITEMS = 400, 10, 2, 4
THRESHOLDS = np.array([-1.5, -0.5, 0.5, 1.5])
NORMAL_95 = 1.959964


def panel(seed: int, spread: float) -> tuple[rl.Ratings, dict[str, Array]]:
    """Ratings, and what is true of the raters: severity, sharpness and standard."""
    random = np.random.default_rng(seed)
    slope, severity = 1.2 * np.exp(0.2 * random.standard_normal(RATERS)), 0.5 * random.standard_normal(RATERS)
    severity -= severity.mean()
    moved = spread * random.standard_normal((RATERS, len(THRESHOLDS)))
    moved -= moved.mean(axis=1, keepdims=True)
    difficulty, rows = np.linspace(-0.6, 0.6, ITEMS), []
    for student, ability in enumerate(random.standard_normal(STUDENTS)):
        for rater in random.choice(RATERS, PER_STUDENT, replace=False):
            for item in range(ITEMS):
                reach = slope[rater] * ability - severity[rater] - difficulty[item]
                steps = np.cumsum(reach - THRESHOLDS - moved[rater])
                chance = special.softmax(np.concatenate([[0.0], steps]))
                rows.append((student, f"r{rater}", f"i{item}", int(random.choice(5, p=chance))))
    curves = tuple(AdjacentCurve((THRESHOLDS + own)[None]) for own in moved)
    shared = AdjacentCurve(THRESHOLDS[None])
    index = Index(shared, Normal(), own=OwnCurves(curves), usual=Usual(shared, float(slope.mean())))
    truth = {
        "eta": severity,
        "sharpness": index.sharpness(slope, severity),
        "passes": index.standard(slope, severity),
    }
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(table), truth


def covered(ratings: rl.Ratings, scale: str, truth: dict[str, Array]) -> list[Array]:
    """(raters,) each: whether the intervals of severity, sharpness and standard hold the truth."""
    found = rl.fit(ratings, "gmf", scale=scale, halo="none", ability="normal").raters.sort("rater")
    eta, reach = found["eta"].to_numpy(), NORMAL_95 * found["eta_se"].to_numpy()
    ends = {name: found.select(f"{name}_low", f"{name}_high").to_numpy() for name in ("sharpness", "passes")}
    inside = [np.asarray(np.abs(eta - truth["eta"]) <= reach)]
    return inside + [
        np.asarray((at[:, 0] <= truth[name]) & (truth[name] <= at[:, 1])) for name, at in ends.items()
    ]


def run(panels: int = 10, spread: float = 0.5, seed: int = 0) -> None:
    found: dict[str, list[list[Array]]] = {"rating scale": [], "rater": []}
    for number in range(panels):
        ratings, truth = panel(1000 * seed + number, spread)
        for scale, rows in found.items():
            rows.append(covered(ratings, scale, truth))
    for scale, rows in found.items():
        shares = np.mean(rows, axis=(0, 2))
        words = ", ".join(
            f"{name} {share:.1%}"
            for name, share in zip(("severity", "sharpness", "standard"), shares, strict=True)
        )
        print(f"scale {scale!r} covers: {words} ({panels} panels of {RATERS} raters)", flush=True)


if __name__ == "__main__":
    run(*(kind(value) for kind, value in zip((int, float, int), sys.argv[1:], strict=False)))
