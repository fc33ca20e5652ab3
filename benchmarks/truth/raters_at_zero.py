"""Who is estimated at 0, and who is truly the best, without a prior: `python -m benchmarks.truth.raters_at_zero 60
5000`.

So many CPU seconds for each design of the study of priors (but for the writing design, where nobody is estimated
at 0; or for those whose places, from 0, are added), and the first seed. Of raters estimated at 0 though they can tell
students apart: how many the interval of sharpness covers, and how many its upper limit calls blunt (below 0.5). Of the
truly best rater of each panel: how often the interval of kappa covers.
"""

import sys
from time import process_time

import numpy as np

import raterlens as rl
from benchmarks.studies.priors import CONDITIONS
from raterlens.base.arrays import Array
from raterlens.simulation.simulate import Simulated

_DESIGNS = [number for number, one in enumerate(CONDITIONS) if one.name != "writing"]
_BLUNT = 0.5


def panel(made: Simulated) -> tuple[Array, bool]:
    """(raters at 0, 3): truth, covered, called blunt; and whether the best rater is covered."""
    truth, raters = made.truth, rl.fit(made.ratings, model="gmf").table("raters")
    best = float(truth.slope.max())
    kappa = rl.capability.gmf(rho=truth.slope / best, eta=truth.severity, sigma=best)
    sharp = rl.capability.sharpness(slope=truth.slope, severity=truth.severity)
    low, high = (raters[f"sharpness_{end}"].to_numpy() for end in ("low", "high"))
    rows = np.stack([truth.slope, (low <= sharp + 1e-9) & (sharp <= high + 1e-9), high < _BLUNT], axis=1)
    who = int(np.argmax(kappa))
    covered = raters["kappa_low"][who] <= kappa[who] + 1e-9 and kappa[who] <= raters["kappa_high"][who] + 1e-9
    return rows[raters["rho"].to_numpy() == 0], bool(covered)


def share(held: Array) -> str:
    if not len(held):
        return "-"
    p = float(np.mean(held))
    return (
        f"{100 * p:.1f} ± {100 * np.sqrt(max(p * (1 - p), 0.25 / len(held)) / len(held)):.1f} of {len(held)}"
    )


def report(which: int, seconds: float, first: int) -> None:
    begun = process_time()
    panels: list[tuple[Array, bool]] = []
    while process_time() - begun < seconds:
        panels.append(panel(CONDITIONS[which].draw([20251117, first + len(panels), which])))
    zeros = np.concatenate([rows for rows, _ in panels])
    able, blind = zeros[zeros[:, 0] > 0], zeros[zeros[:, 0] == 0]
    print(
        f"{CONDITIONS[which].name}: {len(panels)} panels; at 0 covered {share(able[:, 1])}, called blunt "
        f"{share(able[:, 2])}; blind and at 0, called blunt {share(blind[:, 2])}; best covered "
        f"{share(np.array([covered for _, covered in panels]))}",
        flush=True,
    )


if __name__ == "__main__":
    budget, seed, *some = (int(word) for word in (*sys.argv[1:], *("60", "5000")[len(sys.argv) - 1 :]))
    for number in some or _DESIGNS:
        report(number, float(budget), seed)
