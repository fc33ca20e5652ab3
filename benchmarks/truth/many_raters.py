"""Very many raters with few ratings each: are standard errors there, right, and honest?

`python -m benchmarks.truth.many_raters [RATERS] [STUDENTS]` draws a panel (11,000 raters, 100,000 students, two
raters per student, three items: 55 ratings per rater), fits it with and without the panel prior against the perfect
rater, and says how often the 95 % intervals of capability and severity cover the truth, how many standard errors are
0, what slope the sharpest rater has, time and memory. `python -m benchmarks.truth.many_raters exact [RATERS]`
compares the standard errors of large panels with the exact ones, on a panel for which both can be computed. `python
-m benchmarks.truth.many_raters several [RATERS] [PANELS]` has the coverage with the panel prior on several panels,
and the spread of slopes it learns.
"""

import resource
import sys
import time

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.config import FitConfig, Prior
from raterlens.fitting.checks import Run
from raterlens.fitting.line import carry_out

PER_STUDENT, ITEMS = 2, 3
PRIORS: tuple[Prior, ...] = ("none", "panel")
NORMAL = 1.959964


def panel(raters: int, students: int, seed: int = 0) -> tuple[rl.Ratings, pl.DataFrame]:
    """Ratings, and the raters' true slopes, most within a third of 1.5, and severities of standard deviation 0.7."""
    random = np.random.default_rng(seed)
    slope = 1.5 * np.exp(0.3 * random.standard_normal(raters))
    severity = 0.7 * random.standard_normal(raters)
    difficulty = np.linspace(-1, 1, ITEMS)
    ability = random.standard_normal(students)
    rater = random.integers(raters, size=(students, PER_STUDENT))
    rater[:, 1] = (rater[:, 0] + 1 + rater[:, 1] % (raters - 1)) % raters
    reach = (slope[rater] * ability[:, None] - severity[rater])[..., None] - difficulty
    passed = random.random(reach.shape) < 1 / (1 + np.exp(-reach))
    each = PER_STUDENT * ITEMS
    table = pl.DataFrame(
        {
            "student": np.repeat(np.arange(students), each),
            "rater": np.repeat(rater.ravel(), ITEMS),
            "item": np.tile(np.arange(ITEMS), students * PER_STUDENT),
            "score": passed.ravel().astype(np.int8),
        }
    )
    ratings = rl.read(table, student="student", rater="rater", item="item", score="score")
    truth = pl.DataFrame({"rater": np.arange(raters), "slope": slope, "severity": severity})
    return ratings, truth.filter(pl.col("rater").is_in(np.unique(rater)))


def _covered(fit: rl.Fit, truth: pl.DataFrame) -> dict[str, float]:
    """How many raters, in percent, have intervals that hold the truth."""
    rows = fit.table("raters").with_columns(pl.col("rater").cast(pl.Int64))
    rows = rows.join(truth.rename({"slope": "true_slope"}), on="rater", maintain_order="left")
    severity = (rows["severity"] - rows["severity"].mean()).to_numpy()
    kappa = _perfect(rows["true_slope"].to_numpy(), severity)
    shares = {
        "kappa": (rows["kappa_low"].to_numpy() <= kappa) & (kappa <= rows["kappa_high"].to_numpy()),
        "severity": np.abs(rows["eta"].to_numpy() - severity) <= NORMAL * rows["eta_se"].to_numpy(),
    }
    return {name: 100 * float(held.mean()) for name, held in shares.items()}


def _perfect(slope: np.ndarray, severity: np.ndarray) -> np.ndarray:
    """Capability against a rater without noise, by the definition: sqrt(2 pi) times the mean rise of the pass rate."""
    t = np.linspace(-8, 8, 1601)
    weight = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    p = 1 / (1 + np.exp(-(slope[:, None] * t - severity[:, None])))
    return np.asarray(np.sqrt(2 * np.pi) * slope * ((p * (1 - p)) @ weight))


def large(raters: int = 11_000, students: int = 100_000) -> None:
    ratings, truth = panel(raters, students)
    print(f"{ratings!r}, true slopes up to {truth['slope'].to_numpy().max():.2f}")
    for prior in PRIORS:
        began = time.perf_counter(), time.process_time()
        fit = rl.fit(ratings, model="gmf", prior=prior, reference="perfect", halo="none", ability="normal")
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        found = fit.table("raters")
        zeros = ", ".join(f"{(found[name] == 0).sum()} of {name}" for name in ("eta_se", "kappa_se"))
        assert fit.calibration is not None
        by_largest = fit.capability(reference="max")["rho"].to_numpy()
        sigma = np.median(np.abs(fit.calibration.effects["slope"])) / np.median(by_largest)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        covers = ", ".join(f"{name} covers {share:.1f} %" for name, share in _covered(fit, truth).items())
        print(f"prior {prior}: {covers}; sigma {sigma:.2f}; zeros: {zeros}", end="; ")
        print(f"{wall:.0f} s, CPU {cpu:.0f} s, peak {memory:.2f} GiB")


def exact(raters: int = 1_000) -> None:
    ratings, _ = panel(raters, 9 * raters)
    for prior in PRIORS:
        config = FitConfig(prior=prior, reference="perfect", halo="none", ability="normal")
        full, sparse = (
            carry_out(config, ratings, Run(dense_parameters=most)).table("raters") for most in (10**6, 0)
        )
        for name in ("eta_se", "kappa_se"):
            ratio = sparse[name].to_numpy() / full[name].to_numpy()
            ratio = ratio[np.isfinite(ratio)]
            within = np.mean(np.abs(ratio - 1) < 0.02)
            print(
                f"prior {prior}, {name}: within 2 % of the exact one for {100 * within:.1f} % of {len(ratio):,}; "
                f"ratios from {ratio.min():.3f} to {ratio.max():.3f}"
            )


def several(raters: int = 1_500, panels: int = 8) -> None:
    rows = []
    for seed in range(panels):
        ratings, truth = panel(raters, raters * 100 // 11, seed)
        fit = rl.fit(ratings, model="gmf", prior="panel", reference="perfect", halo="none", ability="normal")
        assert fit.calibration is not None
        learnt, slope = fit.calibration.spread, truth["slope"].to_numpy()
        assert learnt is not None
        assert learnt.slope is not None
        rows.append(
            {
                **_covered(fit, truth),
                "learnt": learnt.slope / learnt.mean_slope,
                "true": float(slope.std() / slope.mean()),
            }
        )
        print("  " + ", ".join(f"{name} {value:.3g}" for name, value in rows[-1].items()), flush=True)
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        print(f"{name}: {values.mean():.3g}, standard error {values.std(ddof=1) / np.sqrt(panels):.2g}")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["exact"]:
        exact(*map(int, words[1:]))
    elif words[:1] == ["several"]:
        several(*map(int, words[1:]))
    else:
        large(*map(int, words))
