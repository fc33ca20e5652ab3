"""Common students between raters, from none to all, with the same workload for every rater.

Every rater rates 48 students, some of them shared: with all raters (a common set) or with the next rater only (a
chain). The rest are the rater's own, either drawn at random or sorted so that some raters have abler students; then
only the common students tell severity from ability.
"""

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices
from raterlens.base.layers import Axis
from raterlens.base.picture import Picture
from raterlens.base.text import number
from raterlens.config import FitConfig
from raterlens.fitting.fit import fitted
from raterlens.simulation.simulate import simulate
from raterlens.studies.figures import HEIGHT, curves, from_zero
from raterlens.studies.study import (
    Results,
    Study,
    Task,
    accuracy,
    compare,
    opening,
    page,
    replications,
    statistic,
    table,
)

RATERS, ITEMS, WORK = 8, 4, 48
COMMON = (0, 2, 4, 8, 16, 24, 48)
CHAIN, SET = "chain", "common set"
RANDOM, SORTED = "random", "sorted by ability"
_TILT = 0.7
"""How far the mean ability of the first and the last rater's own students is from 0, in standard deviations."""

CONFIG = FitConfig(standard_errors=False)


def design(kind: str, common: int) -> tuple[Indices, Indices]:
    """Student and rater of every essay: each rater has WORK students, `common` of them shared.

    In the chain a rater shares half of them with the rater before and half with the one after, in a ring.
    """
    raters = range(RATERS)
    own = WORK - common
    if kind == SET:
        shared = [(student, rater) for student in range(common) for rater in raters]
        n_shared = common
    else:
        half = common // 2
        shared = [
            (rater * half + k, who)
            for rater in raters
            for k in range(half)
            for who in (rater, (rater + 1) % RATERS)
        ]
        n_shared = RATERS * half
    alone = [(n_shared + rater * own + k, rater) for rater in raters for k in range(own)]
    pairs = np.array(sorted(shared + alone))
    return pairs[:, 0], pairs[:, 1]


def abilities(student: Indices, rater: Indices, who: str, random: np.random.Generator) -> Array:
    """Standard normal; where sorted, students with a single rater are shifted by that rater's position."""
    n_raters = np.bincount(student)
    first = np.zeros(len(n_raters), np.int64)
    first[student[::-1]] = rater[::-1]
    shift = np.where(n_raters == 1, np.linspace(-_TILT, _TILT, RATERS)[first], 0.0) if who == SORTED else 0.0
    ability = random.normal(size=len(n_raters)) + shift
    return np.asarray((ability - ability.mean()) / ability.std())


def replicate(task: Task) -> pl.DataFrame:
    frames = []
    for kind in (SET, CHAIN):
        for who in (RANDOM, SORTED):
            for common in COMMON:
                student, rater = design(kind, common)
                drawn = simulate(
                    design=(
                        np.repeat(student, ITEMS),
                        np.repeat(rater, ITEMS),
                        np.tile(np.arange(ITEMS), len(student)),
                    ),
                    slope=np.tile([1.2, 1.8], RATERS // 2),
                    # Severities unrelated to the order of the raters.
                    severity=[0.6, -0.9, 0.2, 0.9, -0.3, -0.6, 0.3, -0.2],
                    difficulty=[-0.6, -0.2, 0.2, 0.6],
                    ability=abilities(student, rater, who, np.random.default_rng([*task.entropy, 1])),
                    seed=task.entropy,
                )
                found = fitted(drawn.ratings, CONFIG)
                frames.append(
                    compare(found, drawn.truth, ("eta", "kappa"), design=kind, students=who, common=common)
                )
    return pl.concat(frames)


def summarise(rows: pl.DataFrame) -> Results:
    found = accuracy(rows, ["parameter", "design", "students", "common"])
    have = found.rows_by_key(["parameter", "design", "students", "common"], named=True, unique=True)
    columns = [(p, kind, who) for p in ("eta", "kappa") for kind in (SET, CHAIN) for who in (RANDOM, SORTED)]
    names = {"eta": "η", "kappa": "κ̄"}
    cells = [
        [str(common), *(statistic(have[(*key, common)], "rmse") for key in columns)] for common in COMMON
    ]

    def error(kind: str, who: str, common: int) -> str:
        return number(have["eta", kind, who, common]["rmse"])

    text = page(
        "# Linkage: common students between raters",
        opening("linkage", replications(found)),
        f"GMF by `mml`; 8 raters, each with {WORK} students and 4 items, however many of the students are shared: with "
        "all raters (common set) or half with each neighbour in a ring (chain). The others are drawn at random, or "
        "sorted so that some raters have abler students than others (means from "
        f"-{_TILT} to {_TILT} standard deviations).",
        "![Error of severity and capability against the number of common students](linkage.png)",
        "RMSE over raters, with Monte-Carlo standard error:",
        table(["Common students", *(f"{names[p]}, {kind}, {who}" for p, kind, who in columns)], cells),
        "If a rater's own students are a random draw, their mean ability is known well enough, and common students "
        f"matter little: the RMSE of η is {error(SET, RANDOM, 0)} without any and {error(SET, RANDOM, WORK)} with all. "
        "If students are sorted, severity cannot be told apart from the ability of the students rated: "
        f"{error(SET, SORTED, 0)} without common students, {error(SET, SORTED, 8)} with 8 of {WORK}, "
        f"{error(SET, SORTED, 24)} with 24. A set common to all raters does more than a chain of the same size "
        f"({error(CHAIN, SORTED, 24)} with 24).",
    )
    return Results(text, {"accuracy": found})


def draw(results: Results) -> Picture:
    data = results.tables["accuracy"].with_columns(
        curve=pl.col("design") + ", students " + pl.col("students")
    )
    labels = tuple((float(common), str(common)) for common in COMMON if common % 8 == 0)
    x = Axis(-1, WORK + 1, f"Common students of a rater's {WORK}", labels=labels, grid=True)
    own = {parameter: data.filter(parameter=parameter) for parameter in ("eta", "kappa")}
    titles = {"eta": "RMSE of severity η", "kappa": "RMSE of mean capability κ̄"}
    panels = tuple(
        curves(part, ("common", "rmse", "curve"), x, from_zero(part["rmse"], titles[name]), points=True)
        for name, part in own.items()
    )
    return Picture(
        panels, "Error of severity and capability by the number of common students.", HEIGHT, (2, 1)
    )


STUDY = Study("linkage", "Common students between raters, from none to all", 100, replicate, summarise, draw)
