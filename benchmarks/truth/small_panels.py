"""Small panels with the panel prior and without, on fresh draws: `python -m benchmarks.truth.small_panels 200 310000`.

One item, pass or fail. Panels of 3 to 20 raters and 50 to 500 students with at most 5 ratings each, and slopes that are
log-normal around 1.5 (sd of the logarithm 0.4); 5 raters of 100 students, of whom one has slope 0 and the others 1.5;
and 60 students with 3 ratings each by 5 raters. RMSE and rank correlation of kappa, coverage of 95 % intervals, and
how often the upper limit of the planted rater's sharpness is below 0.5. For comparison, what somebody finds who knows
the distribution that raters were drawn from (`known_prior.py`), or all raters but the planted one.
"""

import sys
from time import process_time
from typing import Any

import numpy as np
from scipy import optimize, special, stats

import raterlens as rl
from benchmarks.truth.known_prior import SEVERITY, SPREAD, USUAL, Posterior
from raterlens.base.arrays import Array
from raterlens.simulation.simulate import Simulated

_DRAWS = 800


def panel(seed: int, kind: str) -> Simulated:
    random = np.random.default_rng(seed)
    raters, students, per_student = 5, {"planted": 100, "sparse": 60}.get(kind, 0), {"sparse": 3}.get(kind, 5)
    if not students:
        raters, students = int(random.choice([3, 5, 8, 12, 20])), int(random.choice([50, 100, 200, 500]))
    slope = USUAL * np.exp(SPREAD * random.standard_normal(raters))
    if kind == "planted":
        slope = np.append(0.0, np.full(raters - 1, USUAL))
    return rl.simulate(
        students=students,
        raters=raters,
        items=1,
        raters_per_student=min(per_student, raters),
        slope=slope,
        severity=SEVERITY * random.standard_normal(raters),
        difficulty=0.0,
        seed=seed,
    )


def relative(slope: Array, severity: Array) -> Array:
    """kappa, relative to the best rater of each panel."""
    best = slope.max(axis=-1, keepdims=True)
    own = severity - severity.mean(axis=-1, keepdims=True)
    return np.asarray(rl.capability.gmf(rho=slope / best, eta=own, sigma=best))


def measured(made: Simulated, prior: str | None) -> list[float]:
    fit, truth = rl.fit(made.ratings, model="gmf", prior=prior), made.truth
    raters, students = fit.table("raters"), fit.table("students")
    true = {
        "kappa": relative(truth.slope, truth.severity),
        "sharpness": rl.capability.sharpness(slope=truth.slope, severity=truth.severity),
    }
    kappa = raters["kappa"].to_numpy()
    held = {
        name: (raters[f"{name}_low"].to_numpy() <= value + 1e-9)
        & (value - 1e-9 <= raters[f"{name}_high"].to_numpy())
        for name, value in true.items()
    }

    def within(table: Any, name: str, value: Array) -> float:
        found, error = (np.asarray(table[column]) for column in (name, f"{name}_se"))
        return float(np.mean(np.abs(found - value) <= 1.96 * error))

    alike = np.ptp(kappa) < 1e-12 or np.ptp(true["kappa"]) < 1e-12
    return [
        float(np.mean((kappa - true["kappa"]) ** 2)),
        float("nan") if alike else float(stats.spearmanr(kappa, true["kappa"]).statistic),
        float(held["kappa"].mean()),
        float(held["sharpness"].mean()),
        within(raters, "eta", truth.severity),
        within(students, "theta", truth.ability),
        float(held["sharpness"][0]),
        float(raters["sharpness_high"][0] < 0.5),
    ]


def report(kind: str, panels: int, first: int) -> None:
    made = [panel(first + number, kind) for number in range(panels)]
    weights = np.array([one.ratings.n_raters for one in made], float)
    for prior in (None, "panel"):
        begun = process_time()
        rows = np.array([measured(one, prior) for one in made])
        square, rank, held, named = rows[:, 0], rows[:, 1], rows[:, 6], rows[:, 7]
        covered = np.average(rows[:, 2:6], axis=0, weights=weights)
        error = rows[:, 2:6].std(axis=0) / np.sqrt(panels)
        names = ("kappa", "sharpness", "severity", "ability")
        text = ", ".join(
            f"{name} {100 * share:.1f} ± {100 * se:.1f}"
            for name, share, se in zip(names, covered, error, strict=True)
        )
        print(
            f"{kind}, {panels} panels, prior {prior}: RMSE {np.sqrt(square.mean()):.3f} "
            f"(mean of panels {np.sqrt(square).mean():.3f}), rank correlation {np.nanmean(rank):.3f}; covers {text}; "
            f"{(process_time() - begun) / panels:.2f} CPU s",
            flush=True,
        )
        if kind == "planted":
            print(
                f"  planted rater covered {100 * held.mean():.1f}, named {100 * named.mean():.1f}",
                flush=True,
            )


def known_prior(panels: int, first: int) -> None:
    """Whoever knows what raters are like in general: on average nobody can be nearer, or rank better."""
    square, rank = [], []
    for number in range(panels):
        made = panel(first + number, "usual")
        true = relative(made.truth.slope, made.truth.severity)
        kappa = relative(*Posterior(made.ratings).draws(_DRAWS, number))
        square.append(np.mean((kappa.mean(axis=0) - true) ** 2))
        rank.append(stats.spearmanr(stats.rankdata(kappa, axis=1).mean(axis=0), true).statistic)
    print(
        f"usual, {panels} panels, true prior known: RMSE {np.sqrt(np.mean(square)):.3f} "
        f"(mean of panels {np.mean(np.sqrt(square)):.3f}), rank correlation {np.mean(rank):.3f} "
        f"± {np.std(rank) / np.sqrt(panels):.3f}",
        flush=True,
    )


def known_others(panels: int, first: int) -> None:
    """The planted rater's profile likelihood where all other raters are known: nobody can do better."""
    t = np.linspace(-5, 5, 41)
    named = []
    for number in range(panels):
        made = panel(first + number, "planted")
        slope, severity = made.truth.slope, made.truth.severity
        passed = np.zeros((made.ratings.n_students, len(slope)))
        passed[made.ratings.student, made.ratings.rater] = made.ratings.score
        s = np.outer(slope[1:], t) - severity[1:, None]
        rest = passed[:, 1:] @ special.log_expit(s) + (1 - passed[:, 1:]) @ special.log_expit(-s) - t**2 / 2

        def fall(x: Array, rest: Array = rest, mine: Array = passed[:, :1]) -> float:
            own = special.log_expit(np.where(mine > 0, 1, -1) * (x[0] * t - x[1]))
            return float(-special.logsumexp(rest + own, axis=1).sum())

        def at(blunt: float, fall: Any = fall) -> float:
            return float(
                optimize.minimize_scalar(lambda b: fall([blunt, b]), bounds=(-9, 9), method="bounded").fun
            )

        best = optimize.minimize(fall, [0.3, 0.0], method="L-BFGS-B", bounds=[(-3, 6), (-9, 9)])
        half = optimize.brentq(
            lambda a, b=severity[0]: float(rl.capability.sharpness(slope=a, severity=b)) - 0.5, 0.1, 5.0
        )
        named.append(best.x[0] < half and 2 * (at(half) - best.fun) > stats.chi2.ppf(0.95, 1))
    print(f"planted, {panels} panels, all others known: named {100 * np.mean(named):.1f}", flush=True)


if __name__ == "__main__":
    count, seed = (int(word) for word in (*sys.argv[1:], *("200", "310000")[len(sys.argv) - 1 :]))
    for each in ("usual", "planted", "sparse"):
        report(each, count if each != "sparse" else count // 2, seed)
    known_prior(count, seed)
    known_others(3 * count, seed)
