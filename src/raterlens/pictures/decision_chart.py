"""Decisions about students, and two fits compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.layers import LIMIT, Axis, Layer, Line, Marks, Names, Stroke, rule
from raterlens.base.picture import Picture, plot
from raterlens.base.style import CAPABLE, mark
from raterlens.base.text import counted, distinct, number, printable
from raterlens.pictures.ranking import with_words

if TYPE_CHECKING:
    from raterlens.grading.decisions import Decisions

MOST_POINTS = 1_500
"""Students in one picture; of more, some drawn at random."""

SAFE, UNSAFE = "safe", "not safe"


def decision_points(found: Decisions, most: int = MOST_POINTS) -> pl.DataFrame:
    """One row per student, those that are not safe last: student, raw, theta, grade, sure, kind, words. `sure` is the
    probability of the grade."""
    rows = found.table.filter(pl.col("raw").is_not_null())
    if rows.height > most:
        drawn = np.random.default_rng(0).choice(rows.height, most, replace=False)
        rows = rows[np.sort(drawn)]
    sure = pl.max_horizontal(f"p_{grade}" for grade in found.cuts.grades)
    kind = pl.when("safe").then(pl.lit(SAFE)).otherwise(pl.lit(UNSAFE))
    rows = rows.select(
        pl.col("student").cast(pl.String), "raw", "theta", "grade", sure.alias("sure"), kind.alias("kind")
    )
    rows = with_words(
        rows,
        lambda row: (
            f"{printable(row['student'])}: raw {number(row['raw'])}, ability {number(row['theta'])}, "
            f"{printable(row['grade'])} with probability {number(row['sure'])}"
        ),
    )
    return rows.sort(pl.col("kind") == UNSAFE, maintain_order=True)


_DECISIONS = {
    SAFE: mark("circle", "accent", "safe decision"),
    UNSAFE: mark("triangle-up", "severe", "not safe: ability may lie on the other side of a cut"),
}


def decisions(found: Decisions) -> Picture:
    """Ability against the raw result of every student, with the cuts."""
    data = decision_points(found)
    x = _with_cuts(data["raw"], found.cuts.score, "Raw result (mean score)", (10, 5))
    y = _with_cuts(data["theta"], found.cuts.ability, "Ability θ", (8, 8))
    layers: list[Layer] = []
    for score, ability in zip(found.cuts.score, found.cuts.ability, strict=True):
        layers += [rule((x, y), LIMIT, x=float(score)), rule((x, y), LIMIT, y=float(ability))]
    layers.append(Marks(data, "raw", "theta", _DECISIONS, 0.61))
    description = (
        f"Ability against the raw result of {counted(found.table.height, 'student')}; "
        f"{counted(found.unsafe, 'decision is', 'decisions are')} not safe."
    )
    return plot(x, y, layers, description, 420)


def _with_cuts(values: pl.Series, cuts: Array, title: str, count: tuple[int, int]) -> Axis:
    """An axis that holds the students and the cuts, with some width even where all are the same."""
    every = np.concatenate([values.to_numpy(), cuts])
    low, high = float(every.min()), float(every.max())
    beyond = 0.04 * (high - low or 1.0)
    return Axis(low - beyond, high + beyond, title, count, grid=True)


# --------------------------------------------------------------------------------------------------------- two fits

_NAMED = 12
SAME, BETTER, WORSE = (
    "capable in both or in neither",
    "capable in the second only",
    "capable in the first only",
)
_KINDS = {
    SAME: mark("circle", "accent", SAME),
    BETTER: mark("triangle-up", "extreme", BETTER),
    WORSE: mark("triangle-down", "severe", WORSE),
}


def two_fits_data(raters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """One row per rater whose capability both fits know: rater, one, two, kind, words. `raters` is
    `Comparison.raters`."""
    one, two = (pl.col(f"kappa {name}") for name in names)
    rows = raters.select(pl.col("rater").cast(pl.String), one=one, two=two).filter(
        pl.col("one").is_finite() & pl.col("two").is_finite()
    )
    now, then = pl.col("one") >= CAPABLE, pl.col("two") >= CAPABLE
    kind = pl.when(now == then).then(pl.lit(SAME)).when(then).then(pl.lit(BETTER)).otherwise(pl.lit(WORSE))
    rows = rows.with_columns(pl.Series("rater", distinct(rows["rater"])), kind=kind)
    return with_words(rows, lambda row: f"{row['rater']}: {number(row['one'])} and {number(row['two'])}")


def two_fits(raters: pl.DataFrame, names: Sequence[str]) -> Picture:
    """Capability in one fit against another: on the diagonal it is the same.

    `raters` is `rl.compare(one, two, names=names).raters`.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings, names = rl.load_example(), ["gmf", "tfm"]
    >>> both = rl.compare(rl.fit(ratings, model="gmf"), rl.fit(ratings, model="tfm"), names=names)
    >>> two_fits(both.raters, names).description[:51]
    'Capability of 16 raters in gmf and in tfm: 6 raters'
    """
    data = two_fits_data(raters, names)
    known = data.select("one", "two").to_numpy()
    low = float(np.floor(5 * min(known.min(initial=CAPABLE), CAPABLE)) / 5)
    high = 1.03 * float(known.max(initial=1.0))
    x, y = (Axis(low, high, f"Capability κ̄ in {name}", (5, 5)) for name in names)
    diagonal = pl.DataFrame({"one": [low, high], "two": [low, high]})
    apart = (pl.col("one") - pl.col("two")).abs()
    named = data.sort(apart, descending=True, maintain_order=True).head(_NAMED)
    layers: list[Layer] = [
        Line(diagonal, "one", "two", Stroke("faint")),
        rule((x, y), LIMIT, x=CAPABLE),
        rule((x, y), LIMIT, y=CAPABLE),
        Marks(data, "one", "two", _KINDS, 0.95 if data.height <= 200 else 0.55),
        Names(named, "one", "two"),
    ]
    changed = data.filter(pl.col("kind") != SAME).height
    description = (
        f"Capability of {counted(data.height, 'rater')} in {names[0]} and in {names[1]}: "
        f"{counted(changed, 'rater is', 'raters are')} capable in one of them only."
    )
    return plot(x, y, layers, description, (400, 300))
