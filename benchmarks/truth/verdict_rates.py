"""How often verdicts are true: `python -m benchmarks.truth.verdict_rates [--panels 50] [--only ...]`.

Each question is put to simulated panels with known truth:

- right on 98 %: how many of four annotators who are right on 98 % of 300 answers are called sharp?
- not sharp: how often is a rater of sharpness 0.66 called sharp?
- good raters: in how many panels of good raters is at least one called bad, and raters said to differ?
- one bad rater (slope 0.3 among 1.5): how often is that rater named, and how often a good one?
- on the line: how often are raters exactly on a line called by the worse verdict?
- would change: how many students' results are said to change with equal raters, and beside the truth with unequal?
- causes: do verdict, advice, letter and what-if name the same cause?
"""

import argparse
import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng
from scipy.optimize import brentq

import raterlens as rl
from raterlens.capability.integrals import pass_and_fail
from raterlens.capability.links import get_link
from raterlens.diagnostics.findings import BLUNT, FAIR, FAR_OFF, OFF, RaterFindings, rater_findings
from raterlens.diagnostics.wording import advice, next_step
from raterlens.simulation.simulate import Simulated

BAD, GOOD = 0.3, 1.5


class Design(NamedTuple):
    raters: int
    students: int
    items: int

    def __str__(self) -> str:
        return f"{self.raters} x {self.students} x {self.items}"


SMALL, LARGE, MIXED = Design(5, 60, 1), Design(10, 200, 3), Design(8, 200, 3)


def drawn(design: Design, slope: float | list[float], severity: list[float], seed: list[int]) -> rl.Ratings:
    """Every rater rates every student on every item."""
    return rl.simulate(
        students=design.students,
        raters=design.raters,
        items=design.items,
        slope=slope,
        severity=severity,
        seed=seed,
    ).ratings


def right_on_98(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Share of annotators of true and false answers, each wrong on 2 % of them, who are called sharp."""
    sharp = []
    for k in range(panels):
        random = default_rng([seed, 5, k])
        truth = random.random(design.students) < 0.5
        wrong = random.random((design.raters, design.students)) < 0.02
        place = np.indices(wrong.shape)
        columns = {"rater": place[0].ravel(), "student": place[1].ravel(), "score": (truth ^ wrong).ravel()}
        fit = rl.fit(rl.read(pl.DataFrame(columns).with_columns(pl.col("score").cast(int))), model="gmf")
        sharp += [it.sharpness_verdict == "sharp" for it in rater_findings(fit)]
    return {"called sharp": float(np.mean(sharp)), "raters": len(sharp)}


def not_sharp(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Slope 1.5 has sharpness 0.66 on the logit scale."""
    found: list[RaterFindings] = []
    for k in range(panels):
        found += rater_findings(rl.fit(drawn(design, GOOD, [0.0] * design.raters, [seed, 7, k]), model="gmf"))
    verdicts = [it.sharpness_verdict for it in found]
    return {"called sharp": verdicts.count("sharp") / len(verdicts), "raters": len(verdicts)}


def good_raters(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Share of panels of equal raters in which somebody needs attention, and in which raters are said to differ."""
    named, differ = 0, 0
    for k in range(panels):
        ratings = drawn(design, GOOD, [0.0] * design.raters, [seed, 1, k])
        fit = rl.fit(ratings, model="gmf")
        named += any(it.status == "attention" for it in rater_findings(fit))
        differ += not fit.differences(ratings).equal
    return {"somebody needs attention": named / panels, "raters are said to differ": differ / panels}


def one_bad_rater(design: Design, panels: int, seed: int) -> dict[str, float]:
    """How often the last rater is named, and how often somebody else is."""
    slope, named, others = [GOOD] * (design.raters - 1) + [BAD], 0, 0
    for k in range(panels):
        found = rater_findings(rl.fit(drawn(design, slope, [0.0] * design.raters, [seed, 2, k]), model="gmf"))
        *rest, bad = (it.status == "attention" for it in found)
        named += bad
        others += any(rest)
    return {"named": named / panels, "somebody else is": others / panels}


def on_the_line(design: Design, panels: int, seed: int) -> dict[str, float]:
    """How often raters whose truth is exactly a line are called by the worse verdict. Two of them per panel, on either
    side for the standard, so that the average rater stays where they are counted from."""

    def share(slope: list[float], severity: list[float], is_worse: Callable[[RaterFindings], bool]) -> float:
        called = []
        for k in range(panels):
            found = rater_findings(rl.fit(drawn(design, slope, severity, [seed, 6, k]), model="gmf"))
            called += [is_worse(it) for it in found[:2]]
        return float(np.mean(called))

    others = design.raters - 2
    slope = float(brentq(lambda a: float(rl.capability.sharpness(slope=a)) - FAIR, 0.01, 10.0))
    found = {
        f"sharpness {FAIR}: blunt or worse": share(
            [slope] * 2 + [GOOD] * others, [0.0] * design.raters, lambda it: it.sharpness_verdict in BLUNT
        )
    }
    for off, worse in ((OFF, _OFF), (FAR_OFF, _OFF[2:])):

        def passes(eta: float, off: float = off) -> float:
            return float(pass_and_fail(np.array(GOOD), np.array(eta), get_link("logit"))[0]) - (0.5 - off)

        def called(it: RaterFindings, worse: tuple[str, ...] = worse) -> bool:
            return it.standard in worse

        eta = float(brentq(passes, 0.0, 5.0))
        rate = share([GOOD] * design.raters, [eta, -eta] + [0.0] * others, called)
        found[f"{100 * off:.0f} of 100 off: {worse[0]} or {worse[1]}"] = rate
    return found


_OFF = ("severe", "lenient", "too severe", "too lenient")


def would_change(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Mean share of students whose result would change with equal raters, and with severities of sd 0.7 beside the
    share whose raw result is on the other side of the pass mark than by the true severities; with the panel prior,
    which is the default where no model is named, and without."""
    found: dict[str, list[float]] = {}
    per_student = 3 if design.items == 1 else 2
    for k in range(panels):
        for sd in (0.0, 0.7):
            random = default_rng([seed, 8, k])
            severity = sd * random.standard_normal(design.raters)
            severity -= severity.mean()
            simulated = rl.simulate(
                students=design.students,
                raters=design.raters,
                items=design.items,
                raters_per_student=per_student,
                slope=GOOD,
                severity=severity.tolist(),
                seed=[seed, 9, k],
            )
            for prior in ("panel", "none"):
                fit = rl.fit(simulated.ratings, model="gmf", prior=prior)
                changed = fit.consequences(simulated.ratings).changed
                assert changed is not None
                found.setdefault(f"severity sd {sd}, prior {prior}", []).append(changed / design.students)
            true = _truly_changed(simulated, severity) / design.students
            found.setdefault(f"severity sd {sd}, by the true severities", []).append(true)
    return {name: float(np.mean(shares)) for name, shares in found.items()}


def _truly_changed(simulated: Simulated, severity: np.ndarray) -> int:
    """Students whose mean score, less what their own raters' true severities expect beyond the average rater's and
    rounded to whole scores, is on the other side of one half."""
    ratings, theta = simulated.ratings, simulated.truth.ability
    items = simulated.truth.difficulty

    def expected(eta: np.ndarray | float) -> np.ndarray:
        at = GOOD * theta[ratings.student] - eta - items[ratings.item]
        return np.asarray(1 / (1 + np.exp(-at)))

    own = severity[ratings.rater]
    n = np.bincount(ratings.student, minlength=ratings.n_students)
    raw = np.bincount(ratings.student, ratings.score, ratings.n_students)
    moved = np.bincount(ratings.student, expected(own) - expected(0.0), ratings.n_students)
    fair = np.round(raw - moved)
    return int(np.sum((raw / n >= 0.5) != (fair / n >= 0.5)))


def mixed_panel(design: Design, k: int, seed: int) -> rl.Ratings:
    """Slopes from 0.2 to 2.5, severities from N(0, 0.8²)."""
    random = default_rng([seed, 3, k])
    n = design.raters
    slope, severity = random.uniform(0.2, 2.5, n).tolist(), random.normal(0, 0.8, n).tolist()
    return drawn(design, slope, severity, [seed, 4, k])


def causes(design: Design, panels: int, seed: int) -> dict[str, float]:
    """Shares of raters whose verdict, advice and letter name the same cause, which costs what the what-if gains."""
    same, gains = [], []
    for k in range(panels):
        fit = rl.fit(mixed_panel(design, k, seed + 1), model="gmf")
        for it, row in zip(rater_findings(fit), advice(fit).iter_rows(named=True), strict=True):
            told = "severity" if "Your standard differs most" in row["feedback"] else "nothing"
            told = "discrimination" if "only loosely" in row["feedback"] else told
            stepped = it.cause == "nothing" or next_step(it) in row["feedback"]
            same.append(row["costs_most"] == it.cause == told and stepped)
            if it.losses["severity"] > 0:
                gains.append(abs(fit.what_if(it.rater).gain - it.losses["severity"]) < 1e-9)
    return {"verdict, advice and letter agree": float(np.mean(same)), "and what-if": float(np.mean(gains))}


QUESTIONS: dict[str, tuple[Callable[[Design, int, int], dict[str, float]], tuple[Design, ...]]] = {
    "right on 98 %": (right_on_98, (Design(4, 300, 1),)),
    "not sharp": (not_sharp, (SMALL, Design(5, 300, 1), LARGE)),
    "good raters": (good_raters, (Design(5, 100, 1), LARGE)),
    "one bad rater": (one_bad_rater, (Design(5, 100, 1), LARGE)),
    "on the line": (on_the_line, (LARGE,)),
    "would change": (would_change, (SMALL, LARGE)),
    "causes": (causes, (MIXED,)),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=QUESTIONS, nargs="*", default=list(QUESTIONS))
    asked = parser.parse_args()
    for name in asked.only:
        answer, designs = QUESTIONS[name]
        for design in designs:
            print(json.dumps({f"{name}, {design}": answer(design, asked.panels, asked.seed)}), flush=True)
