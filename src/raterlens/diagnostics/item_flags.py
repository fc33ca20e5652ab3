"""Items judged: those whose scores follow ability less, or more, than the model says, and what to do about it.

As with raters, a flag needs two things: that chance is ruled out (Benjamini-Hochberg among all items, 5 % of flags
false), and a size that matters: a mean square of 1.1 and more, or 0.9 and less (items have many ratings, and pull every
student's result), or an item slope of two thirds or one and a half times the others'.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.diagnostics.score_tests import LEVEL, adjusted, two_sided

MISFIT = 0.1
FLAT, STEEP = 2 / 3, 3 / 2
_SCHEMA = {
    **dict.fromkeys(("item", "effect"), pl.String),
    **dict.fromkeys(("size", "p_adjusted"), pl.Float64),
    **dict.fromkeys(("evidence", "next_step"), pl.String),
}

Row = tuple[str, str, float, float, str, str]


def item_flags(statistics: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """A row per flag: item, effect (noisy, predictable, flat, steep), size, p_adjusted, evidence, next_step.

    Parameters
    ----------
    statistics
        Of the items: item, infit, infit_z.
    items
        As estimated; with `slope` and `slope_se` where items have slopes of their own.
    """
    rows = [*_misfits(statistics), *(_slopes(items) if "slope_se" in items.columns else ())]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _misfits(statistics: pl.DataFrame) -> Iterator[Row]:
    infit, z = (_column(statistics, name) for name in ("infit", "infit_z"))
    p = adjusted(two_sided(z))
    for i in np.flatnonzero((p <= LEVEL) & (np.abs(infit - 1) >= MISFIT)):
        noisy = infit[i] > 1
        yield (
            str(statistics["item"][int(i)]),
            "noisy" if noisy else "predictable",
            float(infit[i]),
            float(p[i]),
            f"scores are {100 * abs(infit[i] - 1):.0f} % {'noisier' if noisy else 'more predictable'} than the model "
            f"expects (infit {infit[i]:.2f})",
            "check that its description asks for the same thing as the others', and fit with item slopes"
            if noisy
            else "check that it is not scored by the impression of the whole, and fit with item slopes",
        )


def _slopes(items: pl.DataFrame) -> Iterator[Row]:
    """On the log scale, against the others' geometric mean of 1."""
    slope, se = (_column(items, name) for name in ("slope", "slope_se"))
    z = np.divide(np.log(slope) * slope, se, out=np.zeros_like(slope), where=se > 0)
    p = adjusted(two_sided(z))
    for i in np.flatnonzero((p <= LEVEL) & ((slope <= FLAT) | (slope >= STEEP))):
        flat = slope[i] < 1
        yield (
            str(items["item"][int(i)]),
            "flat" if flat else "steep",
            float(slope[i]),
            float(p[i]),
            f"tells students apart {'less' if flat else 'more'} clearly than the other items: a slope of "
            f"{slope[i]:.2f} where theirs is 1",
            "rewrite its description, or leave it out of the total"
            if flat
            else "it carries the result: check its weight",
        )


def _column(table: pl.DataFrame, name: str) -> Array:
    return table[name].cast(pl.Float64).to_numpy()
