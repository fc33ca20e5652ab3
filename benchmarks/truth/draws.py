"""Judges who were asked several times: how often intervals hold the truth, with draws and with separate ratings.

`python -m benchmarks.truth.draws [PANELS] [DRAWS]`: 8 judges, 200 answers, each asked DRAWS times (3); readings of an
answer vary by 0, 1, 3, or from judge to judge by 0 to 3. Shares of 95 % intervals of kappa (against a rater without
noise) and of ability that hold the truth, with the spread of the share over panels.
"""

import sys

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.capability.repeats import majority_capability
from raterlens.models.terms.draws import FLATTENING

JUDGES, ANSWERS = 8, 200
SPREADS: dict[str, list[float]] = {"0": [0.0], "1": [1.0], "3": [3.0], "mixed": [0.0, 1.0, 2.0, 3.0] * 2}
NORMAL_95 = 1.959964


def panel(seed: int, spreads: list[float], draws: int) -> tuple[rl.Ratings, Array, Array]:
    """Ratings, true kappas and abilities."""
    random = np.random.default_rng(seed)
    slope, severity = 1.5 * np.exp(0.3 * random.standard_normal(JUDGES)), 0.7 * random.standard_normal(JUDGES)
    severity -= severity.mean()
    spread = np.broadcast_to(np.array(spreads), JUDGES)
    stretch = np.sqrt(1 + FLATTENING["logit"] * spread**2)
    ability, reading = random.standard_normal((ANSWERS, 1)), random.standard_normal((ANSWERS, JUDGES))
    logit = stretch * (slope * ability - severity) + spread * reading
    passed = random.random((ANSWERS, JUDGES, draws)) < 1 / (1 + np.exp(-logit))[..., None]
    student, rater, draw = (each.ravel() for each in np.indices(passed.shape))
    columns = {"student": student, "rater": rater, "score": passed.ravel().astype(int), "epoch": draw}
    kappa = majority_capability(slope, severity, spread, 1)
    return rl.read(pl.DataFrame(columns), draw="epoch"), kappa, ability[:, 0]


def covered(ratings: rl.Ratings, repeats: str, kappa: Array, ability: Array) -> tuple[float, float]:
    fit = rl.fit(ratings, model="gmf", reference="perfect", assumptions="ignore", repeats=repeats)
    low, high = fit.raters.sort("rater").select("kappa_low", "kappa_high").to_numpy().T
    mean, error = fit.students.sort("student").select("theta", "theta_se").to_numpy().T
    within = np.abs(mean - ability) <= NORMAL_95 * error
    return float(np.mean((low <= kappa) & (kappa <= high))), float(np.mean(within))


def main(panels: int = 100, draws: int = 3) -> None:
    for name, spreads in SPREADS.items():
        for repeats in ("draws", "separate"):
            found = np.array(
                [
                    covered(ratings, repeats, *truth)
                    for ratings, *truth in (panel(s, spreads, draws) for s in range(panels))
                ]
            )
            (kappa, theta), error = found.mean(axis=0), found.std(axis=0) / np.sqrt(panels)
            print(
                f"{draws} draws, spread {name:6s}{repeats:9s} kappa {kappa:.3f} ({error[0]:.3f})  "
                f"theta {theta:.3f} ({error[1]:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
