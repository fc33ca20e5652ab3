"""Cost of the panel prior on large data, and its effect: `python -m benchmarks.speed.prior_cost`.

800,000 ratings by 200 raters, and by 500. CPU seconds of both fits, alternately, and the largest difference of any
kappa: against the perfect rater, and relative to the best rater of the panel, whose slope is the largest estimate
without the prior and the expected largest slope with it.

Next to it, what any normal prior must change: by empirical Bayes in closed form, a slope with standard error e among
slopes that differ by s moves by e² / (e² + s²) of its distance from the mean.
"""

from time import process_time

import numpy as np

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.fitting.fit import Fit

DESIGNS = ((40_000, 200, 5, 4), (20_000, 500, 10, 4))
TIMES = 5
_DRAWS = 4_000


def slopes(kind: str, raters: int) -> Array:
    """Slopes of raters: with a hard edge at the top, or without."""
    random = np.random.default_rng(1)
    if kind == "uniform":
        return np.asarray(random.uniform(0.7, 2.0, raters))
    return np.asarray(1.5 * np.exp(0.3 * random.standard_normal(raters)))


def closed_form(plain: Fit) -> tuple[Array, float]:
    """Slopes by empirical Bayes, and the largest of them on average."""
    assert plain.calibration is not None
    panel = plain.calibration.panel()
    assert panel.covariance is not None
    slope, error = panel.slope, np.asarray(panel.covariance.diagonal())[: len(panel.slope)]
    between = max(float(slope.var(ddof=1) - error.mean()), 1e-9)
    kept = between / (between + error)
    found = slope.mean() + kept * (slope - slope.mean())
    random = np.random.default_rng(0)
    drawn = found + np.sqrt(kept * error) * random.standard_normal((_DRAWS, len(slope)))
    return found, float(np.abs(drawn).max(axis=1).mean())


def kappa(slope: Array, severity: Array, best: float | None = None) -> Array:
    """Relative to the best slope; against the perfect rater where none is given."""
    if best is not None:
        rho = np.minimum(slope / best, 1.0)
        return np.asarray(rl.capability.gmf(rho=rho, eta=severity, sigma=best))
    own = rl.capability.gmf(rho=1.0, eta=severity, sigma=slope)
    return np.asarray(own * rl.capability.sharpness(slope=slope, severity=0.0))


def report(kind: str, students: int, raters: int, items: int, per_student: int) -> None:
    truth = slopes(kind, raters)
    ratings = rl.simulate(
        students=students, raters=raters, items=items, raters_per_student=per_student, slope=truth, seed=1
    ).ratings
    spent: dict[str | None, list[float]] = {None: [], "panel": []}
    fits = {}
    for turn in range(TIMES + 1):
        for prior in (None, "panel"):
            begun = process_time()
            fits[prior] = rl.fit(ratings, model="gmf", prior=prior)
            if turn:  # the first compiles
                spent[prior].append(process_time() - begun)
    ratio = float(np.median(spent["panel"]) / np.median(spent[None]))
    least = min(spent["panel"]) / min(spent[None])
    print(
        f"{raters} raters, {kind} slopes: with the prior {ratio:.2f} times {np.median(spent[None]):.2f} CPU s "
        f"(the quickest of {TIMES}: {least:.2f})"
    )
    plain, sampled = fits[None], fits["panel"]
    shrunk, best = closed_form(plain)
    slope, severity = plain.table("raters")["rho"].to_numpy() * plain.sigma, plain.table("raters")["eta"]
    for reference, own, largest in (("perfect", None, None), ("max", plain.sigma, best)):
        with_, without = (fit.capability(reference=reference)["kappa"].to_numpy() for fit in (sampled, plain))
        eta = severity.to_numpy()
        by_formula = np.abs(kappa(shrunk, eta, largest) - kappa(slope, eta, own)).max()
        print(
            f"  largest change of kappa, reference {reference!r}: {np.abs(with_ - without).max():.4f}; "
            f"by the closed form {by_formula:.4f}"
        )
    print(
        f"  sigma {sampled.sigma:.3f} with, {plain.sigma:.3f} without, {best:.3f} by the closed form, "
        f"{truth.max():.3f} in truth",
        flush=True,
    )


if __name__ == "__main__":
    for design in DESIGNS:
        for each in ("uniform", "log-normal"):
            report(each, *design)
