"""Plot data of decisions: ability against the raw result, those that are not safe marked."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.text import counted, number, printable

if TYPE_CHECKING:
    from raterlens.grading.decisions import Decisions

MOST_POINTS = 1_500
"""Students in one picture; of more, some drawn at random."""

SAFE, UNSAFE = "safe", "not safe"


def decision_points(found: "Decisions", most: int = MOST_POINTS) -> pl.DataFrame:
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
    words = [
        f"{printable(student)}: raw {number(raw)}, ability {number(theta)}, {printable(grade)} with probability "
        f"{number(p)}"
        for student, raw, theta, grade, p, _ in rows.iter_rows()
    ]
    rows = rows.with_columns(pl.Series("words", words, dtype=pl.String))
    return rows.sort(pl.col("kind") == UNSAFE, maintain_order=True)


def description(found: "Decisions") -> str:
    """For those who cannot see the picture."""
    return (
        f"Ability against the raw result of {counted(found.table.height, 'student')}; "
        f"{counted(found.unsafe, 'decision is', 'decisions are')} not safe."
    )
