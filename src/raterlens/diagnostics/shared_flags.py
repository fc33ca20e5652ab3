"""Flags that most raters share: reported once, about the panel or the model, with what to fit instead.

Where half of all raters are noisier than the model expects, it is the model that misfits.
"""

import polars as pl

from raterlens.diagnostics.flags import halo_step

MOST = 0.4
"""A fault that more than this share of at least `FEWEST` raters have is none of theirs."""
FEWEST = 5
_OWN = ("reversed", "random", "alternating")
"""Faults of single raters, however many have them."""
_STEPS = {
    "inconsistent": "the model misfits, not the raters: fit with item slopes, another scale ('partial credit', "
    "'graded') or pieces of work as a facet",
    "central": "the scale's middle is wider than the model says: fit the scale 'partial credit' or 'graded'",
    "extreme": "the scale's ends are wider than the model says: fit the scale 'partial credit' or 'graded'",
    "drift": "check whether the work changed over time, rather than its raters: add the period as a facet",
    "drift in discrimination": "check whether the work changed over time, rather than its raters",
}
_SCHEMA = {"effect": pl.String, "n": pl.Int64, "evidence": pl.String, "next_step": pl.String}


def shared(
    flags: pl.DataFrame, n_raters: int, *, allowed_for: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flags of single raters; and those that many share, a row each: effect, n, evidence, next_step.

    `allowed_for`: intervals allow for halo.
    """
    kinds = flags.with_columns(kind=_kind(flags["effect"]))
    counts = kinds.group_by("kind", maintain_order=True).agg(pl.col("rater").n_unique().alias("n"))
    common = counts.filter((pl.col("n") > MOST * n_raters) & ~pl.col("kind").is_in(_OWN))
    if n_raters < FEWEST or not common.height:
        return flags, pl.DataFrame(schema=_SCHEMA)
    rows = [
        (
            kind,
            n,
            f"{n:,} of {n_raters:,} raters show it, so single raters are not the cause",
            _step(kind, allowed_for),
        )
        for kind, n in common.iter_rows()
    ]
    left = kinds.filter(~pl.col("kind").is_in(common["kind"].implode())).drop("kind")
    return left, pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _kind(effects: pl.Series) -> pl.Series:
    """Severe or lenient on a level: one kind of each grouping."""
    return effects.str.replace("^(severe|lenient) on ", "bias on ")


def _step(kind: str, allowed_for: bool) -> str:
    if kind in _STEPS:
        return _STEPS[kind]
    if kind == "halo":
        return halo_step(allowed_for)
    name = kind.removeprefix("bias on ")
    return f"agree with all raters on what each {name} asks for, and train on it together"
