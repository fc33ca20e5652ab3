"""How often verdicts are right, and how still they stand: `python -m benchmarks.verdicts [--panels 200]`.

Five questions, each on simulated panels with known truth:

- equal raters: how often does somebody "need attention", and how often is the panel said to differ?
- one bad rater (slope 0.3 among 1.5): how often is that rater named, and how often a good one?
- raters exactly on a line between two verdicts: how often are they called by the worse one?
- the panel without its best rater: how many verdicts of the others change, and did any change by more than its own
  uncertainty? Beside it, the rate of the rule of release 0.1, by kappa relative to the best rater.
- causes: is the stated cause the largest loss, and do verdict, advice, letter and card name the same?
"""

import argparse
import json
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng
from scipy.optimize import brentq

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.capability.pass_rates import pass_and_fail
from raterlens.diagnostics.panel_summary import judged
from raterlens.diagnostics.verdicts import FAIR, FAR_OFF, OFF
from raterlens.output.report.rater_rows import panel

BAD, GOOD = 0.3, 1.5


class Design(NamedTuple):
    raters: int
    students: int
    items: int

    def __str__(self) -> str:
        return f"{self.raters} x {self.students} x {self.items}"


DESIGNS = (Design(5, 100, 1), Design(10, 200, 3))
CHANGING = (Design(8, 200, 3), Design(16, 200, 3))
MIXED = CHANGING[0]


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
    """Share of panels of equal raters in which somebody needs attention, and in which raters are said to differ."""
    named, differ = 0, 0
    for k in range(panels):
        ratings = drawn(design, [GOOD] * design.raters, [0.0] * design.raters, [seed, 1, k])
        fit = rl.fit(ratings)
        named += bool(attention(fit))
        differ += not fit.differences(ratings).equal
    return {"somebody needs attention": named / panels, "raters are said to differ": differ / panels}


def one_bad_rater(design: Design, panels: int, seed: int) -> dict[str, float]:
    """How often the last rater is named, and how often somebody else is."""
    slope, named, others = [GOOD] * (design.raters - 1) + [BAD], 0, 0
    for k in range(panels):
        who = attention(rl.fit(drawn(design, slope, [0.0] * design.raters, [seed, 2, k])))
        named += f"R{design.raters}" in who
        others += bool(who - {f"R{design.raters}"})
    return {"named": named / panels, "somebody else is": others / panels}


def on_the_line(design: Design, panels: int, seed: int) -> dict[str, float]:
    """How often raters whose truth is exactly a line are called by the worse verdict. Two of them per panel, on either
    side for the standard, so that the average rater stays where they are counted from."""

    def share(
        slope: list[float], severity: list[float], column: str, worse: tuple[str, ...], k: int
    ) -> float:
        fit = rl.fit(drawn(design, slope, severity, [seed, 6, k]))
        rows = judged(fit).filter(pl.col("rater").is_in(["R1", "R2", "R01", "R02"]))
        return float(rows[column].is_in(worse).mean())  # type: ignore[arg-type]

    others = design.raters - 2
    found = {}
    slope = float(brentq(lambda a: float(rl.capability.sharpness(slope=a)) - FAIR, 0.01, 10.0))
    slopes, severities = [slope] * 2 + [GOOD] * others, [0.0] * design.raters
    rates = [share(slopes, severities, "sharpness_verdict", _BLUNT, k) for k in range(panels)]
    found[f"sharpness {FAIR}: blunt or worse"] = float(np.mean(rates))
    for off, worse in ((OFF, _OFF), (FAR_OFF, _OFF[2:])):

        def passes(eta: float, off: float = off) -> float:
            return float(pass_and_fail(np.array(GOOD), np.array(eta), get_link("logit"))[0]) - (0.5 - off)

        eta = float(brentq(passes, 0.0, 5.0))
        slopes, severities = [GOOD] * design.raters, [eta, -eta] + [0.0] * others
        rates = [share(slopes, severities, "standard", worse, k) for k in range(panels)]
        found[f"{100 * off:.0f} of 100 off: {worse[0]} or {worse[1]}"] = float(np.mean(rates))
    return found


_BLUNT = ("blunt", "cannot tell students apart", "reversed")
_OFF = ("severe", "lenient", "too severe", "too lenient")


def mixed_panel(design: Design, k: int, seed: int) -> rl.Ratings:
    """Slopes from 0.2 to 2.5, severities from N(0, 0.8²)."""
    random = default_rng([seed, 3, k])
    n = design.raters
    slope, severity = random.uniform(0.2, 2.5, n).tolist(), random.normal(0, 0.8, n).tolist()
    return drawn(design, slope, severity, [seed, 4, k])


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


COLUMNS = {"standard": "passes", "sharpness_verdict": "sharpness"}
"""Each verdict, and the number that it rests on."""


def without_the_best(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Shares of the others' verdicts that change when the most discriminating rater leaves."""
    changed: dict[str, list[bool]] = {name: [] for name in (*COLUMNS, "standing", "release 0.1")}
    beyond = 0
    for k in range(panels):
        ratings = mixed_panel(design, k, seed)
        whole = rl.fit(ratings)
        best = str(whole.table("raters").sort("rho", descending=True)["rater"][0])
        part = rl.fit(_without(ratings, best))
        before, after = (
            {row["rater"]: row for row in judged(fit).iter_rows(named=True)} for fit in (whole, part)
        )
        then, now = earlier(whole), earlier(part)
        for rater, new in after.items():
            old = before[rater]
            for name, number in COLUMNS.items():
                moved = old[name] != new[name]
                changed[name].append(moved)
                # Across an interval's edge, and no further: each estimate is inside the other's interval.
                beyond += moved and not (
                    old[f"{number}_low"] <= new[number] <= old[f"{number}_high"]
                    and new[f"{number}_low"] <= old[number] <= new[f"{number}_high"]
                )
            changed["standing"].append((old["standing"] == "attention") != (new["standing"] == "attention"))
            changed["release 0.1"].append(then[rater] != now[rater])
    rates = {name: float(np.mean(found)) for name, found in changed.items()}
    return {
        "standard changes": rates["standard"],
        "sharpness changes": rates["sharpness_verdict"],
        "needs attention or not changes": rates["standing"],
        "changes by more than the interval": float(beyond),
        "release 0.1": rates["release 0.1"],
    }


def causes(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Shares of raters whose stated cause is the largest loss, and whose verdict, advice, letter and card agree."""
    largest, same = [], []
    for k in range(panels):
        fit = rl.fit(mixed_panel(design, k, seed + 1))
        advice = {row["rater"]: row for row in fit.advice().iter_rows(named=True)}
        cards = {row["rater"]: row for row in panel(fit, None).iter_rows(named=True)}
        for row in judged(fit).iter_rows(named=True):
            losses = {"severity": row["lost_to_severity"], "discrimination": row["lost_to_discrimination"]}
            top = max(losses, key=lambda name: losses[name])
            largest.append(row["costs_most"] == (top if losses[top] > 0 else "nothing"))
            own, card = advice[row["rater"]], cards[row["rater"]]
            told = "severity" if "standard that you apply" in own["feedback"] else "nothing"
            told = "discrimination" if "only loosely" in own["feedback"] else told
            told_step = row["costs_most"] == "nothing" or row["next_step"] in own["feedback"]
            same.append(own["costs_most"] == row["costs_most"] == told == card["costs_most"] and told_step)
            same[-1] &= card["advice"] == row["next_step"]
    return {
        "the cause is the largest loss": float(np.mean(largest)),
        "verdict, advice, letter and card agree": float(np.mean(same)),
    }


QUESTIONS = {
    "equal raters": (equal_raters, DESIGNS),
    "one bad rater": (one_bad_rater, DESIGNS),
    "on the line": (on_the_line, DESIGNS),
    "without the best rater": (without_the_best, CHANGING),
    "causes": (causes, (MIXED,)),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=QUESTIONS, nargs="*", default=list(QUESTIONS))
    asked = parser.parse_args()
    for name in asked.only:
        answer, designs = QUESTIONS[name]
        for design in designs:
            print(json.dumps({f"{name}, {design}": answer(design, asked.panels, asked.seed)}), flush=True)
