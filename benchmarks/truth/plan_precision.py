"""Do plans keep their word? `python -m benchmarks.truth.plan_precision [--replications 500]`.

For 22 designs, the standard errors that `rl.plan` expects beside the spread of estimates over simulated exams of the
very design (interquartile range / 1.349 per rater, averaged over raters), and the expected accuracy of decisions
beside the share of simulated students who came out on the right side of the cut. Seeded scripts are fitted with their
definitive mark as a rater of slope 6. At the end, whether the plan orders linking schemes of the same number of
readings as simulation does.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.random import default_rng

import raterlens as rl
from raterlens.planning.assumed_panel import DEFINITIVE_SLOPE, OUT_OF_100, AssumedPanel, Spreads, stated

LOADS = {f"R{k:02d}": 60 + 18 * k for k in range(12)}
DESIGNS: dict[str, dict[str, Any]] = {
    "random pairs": {"students": 600, "raters": 10, "items": 3},
    "random pairs, many raters": {"students": 900, "raters": 25, "items": 4},
    "random pairs, one item": {"students": 1500, "raters": 8, "items": 1},
    "random triples": {"students": 400, "raters": 10, "items": 2, "marks": 3},
    "random triples, one item": {"students": 900, "raters": 10, "items": 1, "marks": 3},
    "four marks, one item": {"students": 500, "raters": 9, "items": 1, "marks": 4},
    "one and a half marks": {"students": 800, "raters": 8, "items": 4, "marks": 1.5},
    "ring of pairs": {"students": 600, "raters": 10, "items": 3, "scheme": "ring"},
    "ring of triples, one item": {"students": 900, "raters": 9, "items": 1, "marks": 3, "scheme": "ring"},
    "blocks": {"students": 600, "raters": 12, "items": 3, "scheme": "blocks", "team": 4},
    "blocks, one item": {
        "students": 1500,
        "raters": 12,
        "items": 1,
        "marks": 3,
        "scheme": "blocks",
        "team": 4,
    },
    "common set": {"students": 600, "raters": 8, "items": 3, "marks": 1, "common": 60},
    "common set, one item": {"students": 600, "raters": 8, "items": 1, "marks": 1, "common": 200},
    "pairs and a common set": {"students": 500, "raters": 12, "items": 3, "common": 20},
    "seeded scripts": {"students": 600, "raters": 8, "items": 3, "marks": 1, "seeded": 60},
    "pairs and seeded scripts": {"students": 500, "raters": 8, "items": 1, "seeded": 100},
    "unequal loads": {"students": 700, "raters": LOADS, "items": 3},
    "unequal loads, ring": {"students": 700, "raters": LOADS, "items": 3, "scheme": "ring"},
    "scores 0 to 3": {"students": 500, "raters": 8, "items": 2, "categories": 4},
    "marks out of 100": {"students": 200, "raters": 10, "items": 1, "marks": 3, "scale": "continuous"},
    "marks out of 100, pairs on three items": {
        "students": 150,
        "raters": 8,
        "items": 3,
        "scale": "continuous",
        "noise": 6.0,
    },
    "all mark everything": {"students": 250, "raters": 8, "items": 2, "marks": 8},
}
ORDERED: dict[str, dict[str, Any]] = {
    "random pairs": {"marks": 2},
    "common set": {"marks": 1, "common": 60},
    "ring of pairs": {"marks": 2, "scheme": "ring"},
    "pairs in blocks": {"marks": 2, "scheme": "blocks", "team": 3},
}
NAMES = ("severity", "sharpness", "kappa", "ability", "accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"{options.replications} replications; expected / simulated (ratio)")
    off = []
    for place, (name, design) in enumerate(DESIGNS.items()):
        if options.only in name:
            off.append(_compared(name, design, options.replications, place))
    if options.only:
        return
    worst = np.abs(np.array(off)[:, :4] - 1)
    print(
        f"{(worst <= 0.1).all(axis=1).sum()} of {len(off)} designs within 10 % in all four; worst {worst.max():.1%}"
    )
    print("the same 1,200 readings by 12 raters, linked differently: standard error of kappa")
    for place, (name, design) in enumerate(ORDERED.items()):
        students = 1200 - 11 * 60 if "common" in design else 600
        _compared(
            name, {"students": students, "raters": 12, "items": 3} | design, options.replications, 100 + place
        )
    started = time.process_time()
    rl.plan(5000, 40, items=5, marks=2, common=20)
    print(f"5,000 students and 40 raters: {time.process_time() - started:.1f} CPU s")


def _compared(name: str, design: dict[str, Any], replications: int, place: int) -> list[float]:
    plan = rl.plan(**design)
    n = plan.raters.height
    marks = OUT_OF_100 if "scale" in design else None
    spreads = Spreads.of("scale" in design, {"noise": design.get("noise")})
    panel = stated(spreads, n, plan.n_items, design.get("categories", 2), 0, marks)
    runs = [_simulated(plan, panel, [place, run]) for run in range(replications)]
    expected = [plan.severity_se, plan.sharpness_se, plan.kappa_se, plan.ability_se, plan.accuracy]
    raters = np.array([run[0] for run in runs])  # (replications, 3, raters)
    spread = (np.subtract(*np.quantile(raters, [0.75, 0.25], axis=0)) / 1.349).mean(axis=1)
    ability, accuracy = np.sqrt(np.mean([run[1] for run in runs])), np.mean([run[2] for run in runs])
    ratios = [e / s for e, s in zip(expected, [*spread, ability, accuracy], strict=True)]
    parts = (
        f"{what} {e:.3f}/{s:.3f} ({e / s:.2f})"
        for what, e, s in zip(NAMES, expected, [*spread, ability, accuracy], strict=True)
    )
    print(f"{name:26} {plan.readings:5,} readings  {'  '.join(parts)}", flush=True)
    return ratios


def _simulated(plan: rl.MarkingPlan, panel: AssumedPanel, seed: list[int]) -> tuple[Any, float, float]:
    """Severity, sharpness and kappa of the raters, mean squared error of abilities, and accuracy."""
    frame, items = plan.assignment, plan.n_items
    student, rater = frame["student"].to_list(), frame["rater"].to_list()
    order = {label: code for code, label in enumerate(plan.raters["rater"])}
    seeded = sorted(set(frame.filter(kind="seeded")["student"]))
    student, rater = student + seeded, rater + ["definitive"] * len(seeded)
    labels = sorted(set(rater))
    whole, unit = panel.with_definitive(), 1.0 if panel.marks is None else panel.marks.unit
    at = [order.get(label, len(order)) for label in labels]
    of_scale: dict[str, Any] = {"thresholds": whole.thresholds}
    if whole.marks is not None:
        assert whole.own is not None
        of_scale = {"scale": "continuous", "noise": unit * np.exp(whole.own[at, 0])}
    design = (
        np.repeat(student, items),
        np.repeat(rater, items),
        np.tile([f"I{k}" for k in range(items)], len(student)),
    )
    ability = default_rng([*seed, 5]).standard_normal(len(set(student)))
    drawn = rl.simulate(
        design=design,
        slope=unit * whole.slope[at],
        severity=unit * whole.severity[at],
        difficulty=unit * whole.difficulty,
        ability=ability,
        seed=seed,
        **of_scale,
    )
    held = rl.Anchors(raters={"definitive": (DEFINITIVE_SLOPE, None)}) if seeded else None
    fit = rl.fit(
        drawn.ratings,
        model="gmf",
        reference="perfect" if panel.marks is None else "max",
        halo="none",
        standard_errors=False,
        anchors=held,
    )
    real = [k for k, label in enumerate(labels) if label in order]
    found = fit.raters.select("eta", "sharpness", "kappa").to_numpy().T[:, real]
    found[0] -= found[0].mean()
    own = np.array([label not in set(seeded) for label in drawn.ratings.students])
    theta = fit.students["theta"].to_numpy()[own]
    true = ability[own]
    return found, float(np.mean((theta - true) ** 2)), float(np.mean((theta > plan.cut) == (true > plan.cut)))


if __name__ == "__main__":
    main()
