"""How often does the score test see halo? `python -m benchmarks.truth.halo_alarms [draws]`, 1000 by default; lines of
JSON.

Panels of 12,000 ratings: pass/fail (1,500 students, 2 of 12 raters
each, 4 items) and scored 0-3 (1,200 students, 2 of 12 raters each, 5 criteria), drawn without a reading effect and with
one of 0.3 or 0.5. Share of the draws with p <= 0.001, by which `raterlens fit` decides, and with p <= 0.05.
"""

import sys

import numpy as np
from scipy import special

from benchmarks.say import say
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.inference.projected_scores import ScoredFit
from raterlens.models.terms.halo import HALO
from raterlens.simulation.simulate import simulate

PANELS = {"pass/fail": (1500, 4, None), "scored 0-3": (1200, 5, (-1.2, 0.0, 1.2))}
SPREADS = (0.0, 0.3, 0.5)


def score(
    students: int, items: int, thresholds: tuple[float, ...] | None, halo: float, seed: list[int]
) -> float:
    random = np.random.default_rng([*seed, 1])
    ratings = simulate(
        students=students,
        raters=12,
        items=items,
        raters_per_student=2,
        slope=random.uniform(0.8, 2.0, 12),
        thresholds=thresholds,
        halo=halo,
        seed=seed,
    ).ratings
    fit = fitted(ratings, FitConfig(halo="none", ability="normal", standard_errors=False, starts=1))
    assert fit.calibration is not None
    found = ScoredFit.of(fit.calibration, ratings, [HALO]).test(HALO)
    assert found is not None
    return found.statistic


def main(draws: int = 1000) -> None:
    for which, (name, panel) in enumerate(PANELS.items()):
        for halo in SPREADS:
            found = np.array([score(*panel, halo, [19, which, draw]) for draw in range(draws)])
            p = special.ndtr(-found)
            clear, usual = (float(np.mean(p <= line)) for line in (0.001, 0.05))
            say(panel=name, halo=halo, draws=draws, clear=clear, usual=usual)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
