"""How often interactions of raters with items are found: where there are none, and where some are planted.

`python -m benchmarks.truth.interaction_rates [PANELS] [STUDENTS]`: panels of 40 students by default, 5 raters, two per
student, 3 items, with slopes and severities that differ, interactions of standard deviation 0, 0.4 and 0.8. A term is
found where its test has p < 0.05; a single interaction where its severity is more than 1.96 standard errors from 0.
"""

import sys

import numpy as np
import polars as pl

import raterlens as rl

RATERS, ITEMS, PER_STUDENT = 5, 3, 2
SPREADS, LEVEL, NORMAL = (0.0, 0.4, 0.8), 0.05, 1.96


def panel(spread: float, students: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    slope, severity = 1.5 * np.exp(0.3 * random.standard_normal(RATERS)), 0.6 * random.standard_normal(RATERS)
    added, difficulty = spread * random.standard_normal((RATERS, ITEMS)), 0.7 * random.standard_normal(ITEMS)
    ability = random.standard_normal(students)
    rater = np.array([random.choice(RATERS, PER_STUDENT, replace=False) for _ in range(students)])
    student, rater, item = (
        np.repeat(np.arange(students), PER_STUDENT * ITEMS),
        np.repeat(rater.ravel(), ITEMS),
        np.tile(np.arange(ITEMS), students * PER_STUDENT),
    )
    reach = slope[rater] * ability[student] - severity[rater] - difficulty[item] - added[rater, item]
    passed = random.random(len(reach)) < 1 / (1 + np.exp(-reach))
    return pl.DataFrame({"student": student, "rater": rater, "item": item, "score": passed.astype(np.int8)})


def run(panels: int = 100, students: int = 40) -> None:
    for spread in SPREADS:
        terms, single = [], []
        for seed in range(panels):
            fit = rl.fit(
                panel(spread, students, seed),
                model="gmf",
                interactions=[("rater", "item")],
                halo="none",
                ability="normal",
            )
            found = fit.interactions
            terms.append(float(fit.table("spreads")["p"][0]) < LEVEL)
            away = found["severity"].abs() > NORMAL * found["severity_se"]
            single.append(float(away.to_numpy().mean()))
        error = np.sqrt(np.mean(terms) * (1 - np.mean(terms)) / panels)
        print(
            f"spread {spread}: the term is found in {np.mean(terms):.1%} (Monte-Carlo error {error:.1%}) of {panels} "
            f"panels, {np.mean(single):.1%} of single interactions",
            flush=True,
        )


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
