"""From which p-value on a smooth shape of abilities pays: `python -m benchmarks.truth.ability_line normal 600 75`.

Panels of the study `abilities` with one item, `normal` or `skewed`, how many and from which seed; fitted as normal and
with a smooth shape. For several lines: how often a panel is below, and root mean square errors of severity and kappa
if those panels alone have the smooth fit, relative to normal fits of all. As `raterlens fit` does, a second fit is made
only where the score test has p <= 0.2.
"""

import sys

import numpy as np

from benchmarks.say import say
from benchmarks.studies import abilities as study
from raterlens.config import FitConfig
from raterlens.diagnostics.ability_test import diagnosed
from raterlens.fitting.fit import Fit, fitted
from raterlens.simulation.simulate import simulate

LINES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_UNLIKELY = 0.2


def main(kind: str, panels: int, seed: int) -> None:
    df = {"normal": None, "skewed": 3}[kind]
    severity, kappa = study.truth(df)

    def errors(fit: Fit) -> tuple[float, float]:
        eta, own = fit.table("raters").select("eta", "kappa").to_numpy().T
        return float(np.mean((eta - severity) ** 2)), float(np.mean((own - kappa) ** 2))

    rows = []
    for index in range(panels):
        own = [seed, index, 1]
        ratings = simulate(
            students=study.STUDENTS,
            raters=len(study.SLOPE),
            items=1,
            slope=study.SLOPE,
            severity=study.SEVERITY,
            ability=study.draw_abilities(df, own),
            seed=own,
        ).ratings
        asked = FitConfig(ability="normal", halo="none", standard_errors=False, starts=1)
        normal = fitted(ratings, asked)
        test = diagnosed(normal, ratings)
        assert test is not None
        other = fitted(ratings, asked.changed(ability="smooth")) if test.p <= _UNLIKELY else normal
        rows.append((test.p, *errors(normal), *errors(other)))
    p, *squared = np.array(rows).T
    for line in LINES:
        mixed = [np.where(p <= line, squared[2 + j], squared[j]) for j in (0, 1)]
        ratio = [float(np.sqrt(mixed[j].mean() / squared[j].mean())) for j in (0, 1)]
        say(line=line, below=float(np.mean(p <= line)), severity=ratio[0], kappa=ratio[1])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
