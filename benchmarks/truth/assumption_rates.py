"""Tests of assumptions where one thing is wrong, and where nothing is: what is said and added, and what intervals hold.

`python -m benchmarks.truth.assumption_rates KIND [PANELS] [FIRST] [FILE]`: 300 students, two of 8 raters each, 4
items, pass/fail (scores 0-3 for `thresholds`). KIND is `plain`, or what is wrong with the plain model: `item slopes`,
`thresholds`, `guessing`, `skewed` abilities, `halo`, `testlet` (two items on one text). For each panel the named
model, which warns, and the fit that lets the data decide. FIRST is the number of the first panel; panels are added to
FILE as they come, and all are summed up.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

import raterlens as rl
from raterlens.base.arrays import Array
from raterlens.capability.curves import curve_of
from raterlens.capability.index import Index
from raterlens.capability.links import get_link
from raterlens.capability.population import Normal

STUDENTS, RATERS, PER_STUDENT, ITEMS = 300, 8, 2, 4
CLEAR, NORMAL_95 = 0.001, 1.959964
FLOOR, READING, TEXT = 0.2, 0.6, 0.8
"""The probability of passing by guessing, and the spreads of the impressions of readings, and of what two items on one
text share, on the scale of ability."""
KINDS = ("plain", "item slopes", "thresholds", "guessing", "skewed", "halo", "testlet")
TESTED = {"halo", "item slopes", "ability shape"}


def panel(kind: str, number: int) -> tuple[rl.Ratings, dict[str, Array]]:
    """Ratings, and the truth about raters and students."""
    random = np.random.default_rng([number, KINDS.index(kind)])
    slope, severity = (
        1.3 * np.exp(0.25 * random.standard_normal(RATERS)),
        0.5 * random.standard_normal(RATERS),
    )
    ability = random.standard_normal(STUDENTS)
    if kind == "skewed":
        ability = (random.chisquare(3, STUDENTS) - 3) / np.sqrt(6)
    raters = np.array([random.choice(RATERS, PER_STUDENT, replace=False) for _ in range(STUDENTS)])
    shape = STUDENTS, PER_STUDENT, ITEMS
    student, rater = np.indices(shape)[0], np.broadcast_to(raters[:, :, None], shape)
    seen = ability[student] + (
        READING * random.standard_normal(shape[:2])[:, :, None] if kind == "halo" else 0
    )
    if kind == "testlet":
        seen = seen + TEXT * random.standard_normal(STUDENTS)[student] * (np.indices(shape)[2] < 2)
    item_slope = np.exp([0.6, -0.6, 0.3, -0.3]) if kind == "item slopes" else np.ones(ITEMS)
    reach = slope[rater] * item_slope * seen - severity[rater] - np.linspace(-0.6, 0.6, ITEMS)
    steps = np.zeros((ITEMS, 1))
    if kind == "thresholds":
        steps = np.outer([0.2, 2.0, 0.6, 1.5], [-1.0, 0.0, 1.0])
    logs = np.cumsum(reach[..., None] - steps, axis=-1)
    chance = special.softmax(np.concatenate([np.zeros((*shape, 1)), logs], axis=-1), axis=-1)
    if kind == "guessing":
        chance = np.stack([(1 - FLOOR) * chance[..., 0], FLOOR + (1 - FLOOR) * chance[..., 1]], axis=-1)
    score = (random.random(shape)[..., None] > np.cumsum(chance, axis=-1)[..., :-1]).sum(axis=-1)
    table = pl.DataFrame(
        {
            "student": student.ravel(),
            "rater": rater.ravel(),
            "item": np.indices(shape)[2].ravel(),
            "score": score.ravel(),
        }
    )
    truth = {"severity": severity - severity.mean(), "theta": ability}
    if kind == "skewed":  # abilities are shown with median 0 and a middle two thirds from -1 to 1
        low, middle, high = (stats.chi2.ppf(special.ndtr([-1, 0, 1]), 3) - 3) / np.sqrt(6)
        truth = {"severity": severity - slope * middle, "theta": 2 * (ability - middle) / (high - low)}
        truth["severity"] -= truth["severity"].mean()
    elif kind not in ("thresholds", "guessing", "testlet"):
        index = Index(curve_of(get_link("logit"), None, graded=False), Normal(), perfect=True)
        impression = (READING * slope) ** 2 if kind == "halo" else 0.0
        truth["kappa"] = index.kappa(slope, truth["severity"], slope, impression)
    return rl.read(table), truth


def held(fit: rl.Fit, truth: dict[str, Array]) -> dict[str, float]:
    """Shares of raters and students whose 95 % interval holds the truth."""
    raters, students = fit.raters.sort("rater"), fit.students.sort("student")
    found = {}
    for name, table, column in (("severity", raters, "eta"), ("theta", students, "theta")):
        off = np.abs(table[column].to_numpy() - truth[name])
        found[name] = float(np.mean(off <= NORMAL_95 * table[f"{column}_se"].to_numpy()))
    if "kappa" in truth:
        low, high = (raters[name].to_numpy() for name in ("kappa_low", "kappa_high"))
        found["kappa"] = float(np.mean((low <= truth["kappa"]) & (truth["kappa"] <= high)))
    return found


def rows(kind: str, panels: int, first: int) -> Iterator[dict[str, Any]]:
    for number in range(first, first + panels):
        ratings, truth = panel(kind, number)
        named = rl.fit(ratings, "gmf", standard_errors=False).assumptions
        adapted = rl.fit(ratings, reference="perfect")
        added = [name for name in adapted.assumptions.filter("taken")["assumption"] if name in TESTED]
        # Abilities are on the scale of the truth where the model has their shape.
        known = kind != "guessing" and (kind != "skewed" or "ability shape" in added)
        yield {
            "kind": kind,
            "panel": number,
            "said": named.filter(pl.col("p") < CLEAR)["assumption"].to_list(),
            "added": added,
            "held": held(adapted, truth) if known else {},
        }


def summary(found: list[dict[str, Any]]) -> Iterator[str]:
    n = len(found)
    yield f"{found[0]['kind']}: {n} panels"
    for what in ("said", "added"):
        counts = {name: sum(name in row[what] for row in found) for row in found for name in row[what]}
        some = sum(bool(row[what]) for row in found)
        each = ", ".join(f"{name} {count / n:.1%}" for name, count in sorted(counts.items()))
        yield f"  {what} anything in {some / n:.1%} of panels" + (f": {each}" if each else "")
    for name in ("severity", "theta", "kappa"):
        shares = np.array([row["held"][name] for row in found if name in row["held"]])
        if len(shares) < 2:
            continue
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        yield f"  intervals hold {name} in {shares.mean():.1%} ({error:.1%})"


def run(kind: str, panels: int = 10, first: int = 0, file: str | None = None) -> None:
    kept = Path(file) if file else None
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    found = [row for row in found if row["kind"] == kind]
    for row in rows(kind, panels, first):
        found.append(row)
        if kept is not None:
            with kept.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    print("\n".join(summary(found)), flush=True)


if __name__ == "__main__":
    run(*(cast(value) for cast, value in zip((str, int, int, str), sys.argv[1:], strict=False)))
