"""How often interactions of raters with items are found, and how often 95 % intervals hold them.

`python -m benchmarks.truth.interaction_rates [PANELS] [STUDENTS] [RATERS]`: panels of 40 students by default, 5 raters,
two per student, 3 items, with slopes and severities that differ, interactions of standard deviation 0, 0.4 and 0.8. A
term is found where its test has p < 0.05; a single interaction where its severity is more than 1.96 standard errors
from 0; an interval is the estimate and 1.96 standard errors to either side.
"""

import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray

import raterlens as rl

ITEMS, PER_STUDENT = 3, 2
SPREADS, LEVEL, NORMAL = (0.0, 0.4, 0.8), 0.05, 1.96


def panel(spread: float, students: int, raters: int, seed: int) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Ratings, and the interactions behind them, (raters, items)."""
    random = np.random.default_rng(seed)
    slope, severity = 1.5 * np.exp(0.3 * random.standard_normal(raters)), 0.6 * random.standard_normal(raters)
    added, difficulty = spread * random.standard_normal((raters, ITEMS)), 0.7 * random.standard_normal(ITEMS)
    ability = random.standard_normal(students)
    chosen = np.array([random.choice(raters, PER_STUDENT, replace=False) for _ in range(students)])
    student, rater, item = (
        np.repeat(np.arange(students), PER_STUDENT * ITEMS),
        np.repeat(chosen.ravel(), ITEMS),
        np.tile(np.arange(ITEMS), students * PER_STUDENT),
    )
    reach = slope[rater] * ability[student] - severity[rater] - difficulty[item] - added[rater, item]
    passed = random.random(len(reach)) < 1 / (1 + np.exp(-reach))
    table = pl.DataFrame({"student": student, "rater": rater, "item": item, "score": passed.astype(np.int8)})
    return table, added


def run(panels: int = 100, students: int = 40, raters: int = 5) -> None:
    for spread in SPREADS:
        terms, single, held, within, sizes = [], [], [], [], []
        for seed in range(panels):
            table, added = panel(spread, students, raters, seed)
            fit = rl.fit(
                table,
                model="gmf",
                interactions=[("rater", "item")],
                halo="none",
                ability="normal",
                assumptions="ignore",
            )
            found, size = fit.interactions, fit.table("spreads").row(0, named=True)
            terms.append(size["p"] < LEVEL)
            estimate, reach = found["severity"].to_numpy(), NORMAL * found["severity_se"].to_numpy()
            single.append(float(np.mean(np.abs(estimate) > reach)))
            true = added - added.mean(axis=1, keepdims=True)  # the mean is severity
            true = true[found["rater"].cast(pl.Int64), found["level"].cast(pl.Int64)]
            held.append(float(np.mean(np.abs(estimate - true) <= reach)))
            within.append(size["low"] <= spread and not spread > size["high"])  # NaN sets no limit
            sizes.append(size["spread"])
        error = np.sqrt(np.mean(terms) * (1 - np.mean(terms)) / panels)
        print(
            f"spread {spread}, {raters} raters: the term is found in {np.mean(terms):.1%} (Monte-Carlo error "
            f"{error:.1%}) of {panels} panels, {np.mean(single):.1%} of single interactions; median spread "
            f"{np.median(sizes):.2f}, whose interval holds the truth in {np.mean(within):.1%}; intervals of "
            f"interactions hold theirs in {np.mean(held):.1%}",
            flush=True,
        )


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
