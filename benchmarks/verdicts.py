"""How often verdicts are right, and how still they stand: `python -m benchmarks.verdicts [--panels 200] [--seed 0]`.

Four questions, each on simulated panels with known truth:

- equal raters: how often does somebody "need attention"?
- one bad rater (slope 0.3 among 1.5): how often is that rater named, and how often a good one?
- the panel without its best rater: how many verdicts of the others change? Beside it, the rate of the rule of release
  0.1, which compared kappa, relative to the best rater, with 0.7.
- causes: is the stated cause the largest loss, and do letter, advice and table name the same?
"""

import argparse
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng

import raterlens as rl
from raterlens.diagnostics.panel_summary import judged

BAD, GOOD = 0.3, 1.5


class Design(NamedTuple):
    raters: int
    students: int
    items: int

    def __str__(self) -> str:
        return f"{self.raters} x {self.students} x {self.items}"


DESIGNS = (Design(5, 100, 1), Design(10, 200, 3))
CHANGING = Design(8, 200, 3)


def drawn(design: Design, slope: list[float], severity: list[float], seed: list[int]) -> rl.Ratings:
    """Every rater rates every student on every item."""
    return rl.simulate(
        students=design.students,
        raters=design.raters,
        items=design.items,
        slope=slope,
        severity=severity,
        seed=seed,
    ).ratings


def attention(fit: rl.Fit) -> set[str]:
    return set(judged(fit).filter(standing="attention")["rater"].cast(pl.String))


def equal_raters(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Share of panels of equal raters in which somebody needs attention."""
    found = [
        bool(attention(rl.fit(drawn(design, [GOOD] * design.raters, [0.0] * design.raters, [seed, 1, k]))))
        for k in range(panels)
    ]
    return {"somebody needs attention": float(np.mean(found))}


def one_bad_rater(design: Design, panels: int, seed: int) -> dict[str, float]:
    """How often the last rater is named, and how often somebody else is."""
    slope, named, others = [GOOD] * (design.raters - 1) + [BAD], 0, 0
    for k in range(panels):
        who = attention(rl.fit(drawn(design, slope, [0.0] * design.raters, [seed, 2, k])))
        named += f"R{design.raters}" in who
        others += bool(who - {f"R{design.raters}"})
    return {"named": named / panels, "somebody else is": others / panels}


def mixed_panel(k: int, seed: int) -> rl.Ratings:
    """Slopes from 0.2 to 2.5, severities from N(0, 0.8²)."""
    random = default_rng([seed, 3, k])
    n = CHANGING.raters
    slope, severity = random.uniform(0.2, 2.5, n).tolist(), random.normal(0, 0.8, n).tolist()
    return drawn(CHANGING, slope, severity, [seed, 4, k])


def words_of(fit: rl.Fit) -> dict[str, tuple[str, str]]:
    """Each rater's two verdicts."""
    rows = fit.verdicts().select("rater", "standard", "sharpness").iter_rows()
    return {str(rater): (standard, sharpness) for rater, standard, sharpness in rows}


def earlier(fit: rl.Fit) -> dict[str, str]:
    """The rule of release 0.1, by kappa relative to the best rater."""
    found = {}
    for row in fit.table("raters").iter_rows(named=True):
        capable, possible = row["kappa"] >= 0.7, row["kappa_high"] >= 0.7
        found[str(row["rater"])] = "capable" if capable else "borderline" if possible else "not capable"
    return found


def _without(ratings: rl.Ratings, rater: str) -> rl.Ratings:
    kept = ratings.table().filter(pl.col("rater") != rater)
    return rl.read(kept, student="student", rater="rater", item="item", score="score")


def _changed(before: dict[str, object], after: dict[str, object]) -> Iterator[bool]:
    return (before[rater] != after[rater] for rater in after)


def without_the_best(panels: int, seed: int) -> dict[str, float]:
    """Shares of the others' verdicts that change when the most discriminating rater leaves."""
    now: list[bool] = []
    standing: list[bool] = []
    then: list[bool] = []
    for k in range(panels):
        ratings = mixed_panel(k, seed)
        whole = rl.fit(ratings)
        best = whole.table("raters").sort("rho", descending=True)["rater"][0]
        part = rl.fit(_without(ratings, str(best)))
        now += _changed(dict(words_of(whole)), dict(words_of(part)))
        looked_at = (attention(whole) - {str(best)}) ^ attention(part)
        standing += [str(rater) in looked_at for rater in part.raters["rater"]]
        then += _changed(dict(earlier(whole)), dict(earlier(part)))
    return {
        "a verdict changes": float(np.mean(now)),
        "needs attention or not": float(np.mean(standing)),
        "release 0.1": float(np.mean(then)),
    }


def causes(panels: int, seed: int) -> dict[str, float]:
    """Shares of raters whose stated cause is the largest loss, and whose letter and advice name it too."""
    largest, same = [], []
    for k in range(panels):
        fit = rl.fit(mixed_panel(k, seed + 1))
        advice = {row["rater"]: row for row in fit.advice().iter_rows(named=True)}
        for row in judged(fit).iter_rows(named=True):
            losses = {"severity": row["lost_to_severity"], "discrimination": row["lost_to_discrimination"]}
            top = max(losses, key=lambda name: losses[name])
            largest.append(row["costs_most"] == (top if losses[top] > 0 else "nothing"))
            own = advice[row["rater"]]
            letter = own["feedback"]
            told = "severity" if "standard that you apply" in letter else "nothing"
            told = "discrimination" if "only loosely" in letter else told
            same.append(own["costs_most"] == row["costs_most"] == told)
    return {
        "the cause is the largest loss": float(np.mean(largest)),
        "letter and advice agree": float(np.mean(same)),
    }


def everything(panels: int, seed: int) -> dict[str, dict[str, float]]:
    found = {}
    for design in DESIGNS:
        found[f"equal raters, {design}"] = equal_raters(design, panels, seed)
        found[f"one bad rater, {design}"] = one_bad_rater(design, panels, seed)
    found[f"without the best rater, {CHANGING}"] = without_the_best(panels, seed)
    found[f"causes, {CHANGING}"] = causes(panels, seed)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(json.dumps(everything(asked.panels, asked.seed), indent=2))
