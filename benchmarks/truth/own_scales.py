"""Raters with scales of their own: how often 95 % intervals hold the truth, and what the term costs if they are alike.

`python -m benchmarks.truth.own_scales [PANELS] [SPREAD] [SEED] [FILE]`: 400 students, 10 raters, two per student,
4 items, scores 0-4, deviations of each rater's thresholds with standard deviation SPREAD (0.5). Panels are added to
FILE as they come, and all that it has are summed up. With SPREAD 0 raters use the scale alike: errors of the fit with
the term, and of the one that lets the data decide, as multiples of the plain fit's.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.capability.curves import AdjacentCurve
from raterlens.capability.index import Index, OwnCurves, Usual
from raterlens.capability.population import Normal

STUDENTS, RATERS, PER_STUDENT, ITEMS = 400, 10, 2, 4
THRESHOLDS = np.array([-1.5, -0.5, 0.5, 1.5])
NORMAL_95 = 1.959964
YARDSTICK = "r0"
"""The rater whose slope kappa is measured by besides the largest, which noise picks out."""
PLAIN = {"scale": "rating scale", "halo": "none", "ability": "normal", "assumptions": "ignore"}
FITS: dict[str, dict[str, Any]] = {
    "rating scale": PLAIN,
    "rater": {**PLAIN, "scale": "rater"},
    "adapt": {"assumptions": "adapt"},
}


def panel(seed: int, spread: float) -> tuple[rl.Ratings, dict[str, Array]]:
    """Ratings, and what is true of the raters: severity, sharpness, standard, and kappa by two yardsticks."""
    random = np.random.default_rng(seed)
    slope, severity = 1.2 * np.exp(0.2 * random.standard_normal(RATERS)), 0.5 * random.standard_normal(RATERS)
    severity -= severity.mean()
    moved = spread * random.standard_normal((RATERS, len(THRESHOLDS)))
    moved -= moved.mean(axis=1, keepdims=True)
    difficulty, rows = np.linspace(-0.6, 0.6, ITEMS), []
    for student, ability in enumerate(random.standard_normal(STUDENTS)):
        for rater in random.choice(RATERS, PER_STUDENT, replace=False):
            for item in range(ITEMS):
                reach = slope[rater] * ability - severity[rater] - difficulty[item]
                steps = np.cumsum(reach - THRESHOLDS - moved[rater])
                chance = special.softmax(np.concatenate([[0.0], steps]))
                rows.append((student, f"r{rater}", f"i{item}", int(random.choice(5, p=chance))))
    shared = AdjacentCurve(THRESHOLDS[None])
    index = Index(
        shared,
        Normal(),
        own=OwnCurves(AdjacentCurve((THRESHOLDS + moved)[:, None])),
        usual=Usual(shared, float(slope.mean())),
    )
    truth = {
        "eta": severity,
        "sharpness": index.sharpness(slope, severity),
        "passes": index.standard(slope, severity),
        "kappa": index.kappa(slope, severity, np.full(RATERS, slope[0])),
        "kappa of max": index.kappa(slope, severity, np.full(RATERS, slope.max())),
    }
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(table), truth


def measured(ratings: rl.Ratings, options: dict[str, Any], truth: dict[str, Array]) -> dict[str, Any]:
    """Share of raters whose interval holds the truth, mean squared errors, and the p-value of the spread."""
    fit = rl.fit(ratings, "gmf", reference=YARDSTICK, **options)
    raters, largest = fit.raters.sort("rater"), rl.fit(ratings, "gmf", **options).raters.sort("rater")
    inside, square = {}, {}
    for name, true in truth.items():
        table, column = (largest, "kappa") if name == "kappa of max" else (raters, name)
        found = table[column].to_numpy()
        if name == "eta":
            reach = NORMAL_95 * table["eta_se"].to_numpy()
            low, high = found - reach, found + reach
        else:
            low, high = table[f"{column}_low"].to_numpy(), table[f"{column}_high"].to_numpy()
        others = np.arange(RATERS) > 0 if name == "kappa" else np.ones(RATERS, dtype=bool)
        inside[name] = float(np.mean(((low <= true) & (true <= high))[others]))
        square[name] = float(np.mean(((found - true) ** 2)[others]))
    tested = dict(fit.table("spreads").select("term", "p").iter_rows()) if "spreads" in fit.tables else {}
    return {"inside": inside, "square": square, "p": tested.get("rater threshold")}


def rows(panels: int, spread: float, seed: int) -> Iterator[dict[str, Any]]:
    for number in range(1000 * seed, 1000 * seed + panels):
        ratings, truth = panel(number, spread)
        for name, options in FITS.items():
            yield {"panel": number, "spread": spread, "fit": name, **measured(ratings, options, truth)}


def summary(found: list[dict[str, Any]], spread: float) -> Iterator[str]:
    plain = [row["square"] for row in found if row["fit"] == "rating scale"]
    for name in FITS:
        own = [row for row in found if row["fit"] == name]
        covers = {of: np.mean([row["inside"][of] for row in own]) for of in own[0]["inside"]}
        yield f"{name}: covers " + ", ".join(f"{of} {share:.1%}" for of, share in covers.items())
        if name == "rating scale":
            continue
        ratio = {
            of: np.sqrt(np.mean([row["square"][of] for row in own]) / np.mean([one[of] for one in plain]))
            for of in covers
        }
        yield "  errors, as multiples of the plain fit's: " + ", ".join(
            f"{k} {v:.3f}" for k, v in ratio.items()
        )
        fires = np.mean([row["p"] is not None and row["p"] < 0.05 for row in own])
        yield f"  the spread is significant (p < 0.05) in {fires:.1%}"
    yield f"{len(plain)} panels of {RATERS} raters, thresholds with standard deviation {spread:g}"


def run(panels: int = 10, spread: float = 0.5, seed: int = 0, file: str | None = None) -> None:
    kept = Path(file) if file else None
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    found = [row for row in found if row["spread"] == spread]
    for row in rows(panels, spread, seed):
        found.append(row)
        if kept is not None:
            with kept.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    print("\n".join(summary(found, spread)), flush=True)


if __name__ == "__main__":
    run(*(kind(value) for kind, value in zip((int, float, int, str), sys.argv[1:], strict=False)))
