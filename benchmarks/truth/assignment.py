"""Raters who mark their own schools or classes: how often intervals, verdicts and fair results are right.

`python -m benchmarks.truth.assignment [PANELS] [SEED] [FILE] [DESIGN ...]`. Designs: `schools`, 5 schools whose means
differ by a standard deviation of 0.7, two raters each, 4 items, 400 students, one of the school's raters per student,
and for 30 % of students another school's rater as well; `few crossed`, for 8 %; `random`, any rater at random and 30 %
twice; `moderation`, equal raters who mark their own class of 40, with 10 % marked by a colleague. Each is fitted as if
students were alike, with groups named, and with neither named nor ruled out, so that the data decide. Panels are added
to FILE as they come, and all that it has are summed up.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.capability.curves import curve_of
from raterlens.capability.index import Index, Usual
from raterlens.capability.links import get_link
from raterlens.diagnostics.findings import BLUNT, FAIR, OFF
from raterlens.models.requested import NEAR
from raterlens.simulation.simulate import Simulated

ITEMS, CUT, NORMAL_95, YARDSTICK = 4, 0.5, 1.959964, "R01"
DIFFERS = 0.05


class Design(NamedTuple):
    raters: int
    groups: int
    crossed: float
    spread: float
    alike: bool = False
    at_random: bool = False


DESIGNS = {
    "schools": Design(10, 5, 0.3, 0.7),
    "few crossed": Design(10, 5, 0.08, 0.7),
    "random": Design(10, 5, 0.3, 0.7, at_random=True),
    "moderation": Design(10, 10, 0.1, 0.7, alike=True),
}
PLAIN = {"model": "gmf", "halo": "none", "ability": "normal", "prior": "panel", "assumptions": "ignore"}
FITS: dict[str, dict[str, Any]] = {
    "students alike": PLAIN | {"group_means": "none"},
    "groups named": PLAIN,
    "nothing named": {"assumptions": "adapt"},
}


def panel(design: Design, seed: int) -> Simulated:
    random = np.random.default_rng([seed, 1])
    slope = np.full(design.raters, 1.5) * np.exp(
        0.0 if design.alike else 0.2 * random.standard_normal(design.raters)
    )
    severity = np.zeros(design.raters) if design.alike else 0.5 * random.standard_normal(design.raters)
    drawn = rl.simulate(
        students=400,
        raters=design.raters,
        items=ITEMS,
        groups=design.groups,
        crossed=design.crossed,
        group_spread=design.spread,
        slope=slope,
        severity=severity,
        difficulty=np.linspace(-0.8, 0.8, ITEMS),
        seed=seed,
    )
    if not design.at_random:
        return drawn
    # The same students and raters, each student by raters who have nothing to do with its school.
    table = drawn.ratings.table()
    mixed = table["rater"].unique().sort().to_list()
    whom: dict[tuple[str, str], str] = {}
    for student, raters in (
        table.group_by("student", maintain_order=True).agg(pl.col("rater").unique().sort()).iter_rows()
    ):
        others = random.choice(mixed, len(raters), replace=False)
        whom |= {(student, old): new for old, new in zip(raters, others, strict=True)}
    rater = [whom[pair] for pair in table.select("student", "rater").iter_rows()]
    again = rl.simulate(
        design=(table["student"], np.array(rater), table["item"]),
        slope=slope,
        severity=severity - severity.mean(),
        difficulty=np.linspace(-0.8, 0.8, ITEMS),
        ability=drawn.truth.ability,
        seed=seed,
    )
    named = again.ratings.table().join(table.select("student", "group").unique(), on="student", how="left")
    return Simulated(read(named, group="group"), drawn.truth)


def read(table: pl.DataFrame, group: str | None = None) -> rl.Ratings:
    return rl.read(table, student="student", rater="rater", item="item", score="score", group=group)


def measured(drawn: Simulated, options: dict[str, Any]) -> dict[str, Any]:
    """Shares of raters whose interval holds the truth, wrong verdicts, and shares of results that are right."""
    ratings, truth = drawn.ratings, drawn.truth
    if "group_means" in options or "assumptions" not in options or options["assumptions"] == "adapt":
        ratings = read(ratings.table().drop("group"))
        options = {name: value for name, value in options.items() if name != "group_means"}
    fit = rl.fit(ratings, reference=YARDSTICK, **options)
    table = fit.raters.sort("rater")
    curve = curve_of(get_link("logit"), None, graded=False)
    index = Index(curve, truth.population, usual=Usual(curve, float(truth.slope.mean())))
    true = {
        "severity": truth.severity,
        "sharpness": index.sharpness(truth.slope, truth.severity),
        "kappa": index.kappa(truth.slope, truth.severity, np.full(len(truth.slope), truth.slope[0])),
    }
    inside = {}
    for name, value in true.items():
        if name == "severity":
            reach = NORMAL_95 * table["eta_se"].to_numpy()
            low, high = table["eta"].to_numpy() - reach, table["eta"].to_numpy() + reach
        else:
            low, high = table[f"{name}_low"].to_numpy(), table[f"{name}_high"].to_numpy()
        others = slice(1 if name == "kappa" else 0, None)
        inside[name] = float(np.mean(((low <= value) & (value <= high))[others]))
    verdicts = fit.verdicts().sort("rater")
    severe = verdicts["standard"].is_in(["severe", "too severe", "lenient", "too lenient"])
    bad = severe | verdicts["sharpness"].is_in(BLUNT)
    standard = index.standard(truth.slope, truth.severity)
    good = (np.abs(standard - 0.5) < OFF) & (true["sharpness"] > FAIR)
    tested = None if fit.spread is None else fit.spread.severity_p
    tested_by_design = fit.assumptions.filter(assumption="assignment").drop_nulls("p")
    results = fit.decisions(cut=CUT).students.sort("student")
    order = np.argsort(drawn.ratings.students.cast(pl.String).to_numpy())
    passes = truth.ability[order] > 0
    return {
        "inside": inside,
        "good called bad": bool((bad.to_numpy() & good).any()),
        "severity differs": tested is not None and tested < DIFFERS,
        "raw right": float(np.mean((results["raw"].to_numpy() >= CUT) == passes)),
        "fair right": float(np.mean((results["fair"].to_numpy() >= CUT) == passes)),
        "fired": bool((tested_by_design["p"] < NEAR).any()),
    }


def rows(panels: int, seed: int, names: list[str]) -> Iterator[dict[str, Any]]:
    for number in range(1000 * seed, 1000 * seed + panels):
        for name in names:
            drawn = panel(DESIGNS[name], number)
            for fit, options in FITS.items():
                yield {"panel": number, "design": name, "fit": fit, **measured(drawn, options)}


def _mean(found: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([one[name] for one in found]))


def summary(found: list[dict[str, Any]]) -> Iterator[str]:
    for design in DESIGNS:
        for fit in FITS:
            own = [one for one in found if one["design"] == design and one["fit"] == fit]
            if not own:
                continue
            covers = ", ".join(
                f"{name} {np.mean([one['inside'][name] for one in own]):.1%}" for name in own[0]["inside"]
            )
            yield (
                f"{design}, {fit}: covers {covers}; a good rater called bad in {_mean(own, 'good called bad'):.0%}; "
                f"severities differ in {_mean(own, 'severity differs'):.0%}; right: raw {_mean(own, 'raw right'):.1%}, "
                f"fair {_mean(own, 'fair right'):.1%}; the test fires in {_mean(own, 'fired'):.1%} ({len(own)} panels)"
            )


def run(panels: int = 20, seed: int = 0, file: str | None = None, *names: str) -> None:
    kept = Path(file) if file else None
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    for row in rows(panels, seed, list(names) or list(DESIGNS)):
        found.append(row)
        if kept is not None:
            with kept.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    print("\n".join(summary(found)), flush=True)


if __name__ == "__main__":
    given = [*sys.argv[1:], *("20", "0")[len(sys.argv) - 1 :]]
    run(int(given[0]), int(given[1]), *given[2:])
