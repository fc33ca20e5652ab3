"""Do intervals by bootstrap cover? `python -m benchmarks.truth.bootstrap_coverage 20 100`: panels per design,
replicates.

On the designs of the study of priors (or those whose places, from 0, are added), without a prior, kappa relative to
the best rater: percentiles of the replicates, percentiles shifted for bias, and 1.96 standard errors either side of
the estimate, from replicates of students and from replicates of the model, next to the default interval.
"""

import sys
from time import process_time

import numpy as np

import raterlens as rl
from benchmarks.studies.calibration import bias_corrected, kappas, percentile
from benchmarks.studies.priors import CONDITIONS
from raterlens.base.arrays import Array
from raterlens.simulation.simulate import Simulated


def intervals(drawn: Array, estimate: float) -> dict[str, tuple[float, float]]:
    """Intervals of one rater, from the replicates' kappas."""
    reach = 1.96 * float(drawn.std(ddof=1))
    return {
        "percentile": percentile(drawn),
        "bias-corrected": bias_corrected(drawn, estimate),
        "1.96 errors": (estimate - reach, estimate + reach),
    }


def covered(made: Simulated, replicates: int, seed: int) -> dict[str, float]:
    """Share of a panel's raters whose kappa is in each interval."""
    truth = made.truth
    best = float(truth.slope.max())
    true = rl.capability.gmf(rho=truth.slope / best, eta=truth.severity, sigma=best)
    fit = rl.fit(made.ratings, model="gmf")
    raters = fit.table("raters")
    low, high = (raters[name].to_numpy() for name in ("kappa_low", "kappa_high"))
    found = {"default": [a - 1e-9 <= k <= b + 1e-9 for a, k, b in zip(low, true, high, strict=True)]}
    for kind in ("students", "parametric"):
        again = fit.bootstrap(made.ratings, replicates=replicates, kind=kind, seed=seed, workers=1)
        for drawn, estimate, kappa in zip(kappas(again), raters["kappa"], true, strict=True):
            if len(drawn) < 2:
                continue
            for name, (least, most) in intervals(drawn, estimate).items():
                found.setdefault(f"{kind}, {name}", []).append(least - 1e-9 <= kappa <= most + 1e-9)
    return {name: float(np.mean(held)) for name, held in found.items()}


def report(which: int, panels: int, replicates: int) -> None:
    condition, begun = CONDITIONS[which], process_time()
    rows = [covered(condition.draw([20251117, which, n]), replicates, n) for n in range(panels)]
    shares = {name: 100 * np.array([row[name] for row in rows]) for name in rows[0]}
    text = ", ".join(
        f"{name} {share.mean():.1f} ± {share.std() / np.sqrt(panels):.1f}" for name, share in shares.items()
    )
    print(f"{condition.name}: {text}; {(process_time() - begun) / panels:.1f} CPU s per panel", flush=True)


if __name__ == "__main__":
    count, times, *some = (int(word) for word in (*sys.argv[1:], *("20", "100")[len(sys.argv) - 1 :]))
    for number in some or range(len(CONDITIONS)):
        report(number, count, times)
