"""A panel of raters summed up: who should be looked at, and the answer in one line."""

from typing import NamedTuple

import polars as pl

from raterlens.diagnostics.capability_scale import Scale
from raterlens.diagnostics.verdicts import verdicts

CAVEATS = {
    "tfm": "model tfm assumes that all raters discriminate equally, so only severity can lower their capability; "
    "fit gmf to see who tells students apart"
}
"""What a model cannot see, whatever the data."""


def judged(raters: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """The raters with their verdicts, the most capable first."""
    table = raters.hstack(verdicts(raters, scale))
    return table.sort("kappa", descending=True, nulls_last=True, maintain_order=True)


def attention(judged: pl.DataFrame) -> pl.DataFrame:
    """Those who are not fine, the clearest cases first and the least capable of them at the top."""
    order = {"attention": 0, "borderline": 1, "unclear": 2}
    wanting = judged.filter(pl.col("standing") != "fine")
    return wanting.sort(
        pl.col("standing").replace_strict(order, return_dtype=pl.Int8), "kappa", maintain_order=True
    )


def caveats(model: str) -> tuple[str, ...]:
    """What to keep in mind with every fit of a model."""
    return (CAVEATS[model],) if model in CAVEATS else ()


class Headline(NamedTuple):
    """The answer in one line, and what belongs beside it."""

    text: str
    aside: str


def headline(judged: pl.DataFrame) -> Headline:
    """Sum up a panel, without calling chance a fault."""
    found = dict(judged["standing"].value_counts().iter_rows())
    wanting, borderline, unclear = (found.get(name, 0) for name in ("attention", "borderline", "unclear"))
    asides = []
    if borderline:
        asides.append(f"{borderline:,} {'is' if borderline == 1 else 'are'} borderline")
    if unclear:
        asides.append(f"{unclear:,} {'has' if unclear == 1 else 'have'} too few ratings to say")
    biased = int(judged["label"].str.starts_with("capable but").sum())
    if biased:
        asides.append(
            f"{biased:,} {'other is' if biased == 1 else 'others are'} reliable but strict or lenient"
        )
    return Headline(_answer(wanting, borderline + unclear, judged.height), "; ".join(asides))


def _answer(wanting: int, open_cases: int, of: int) -> str:
    raters = "rater" if of == 1 else "raters"
    if wanting == of:
        return f"All {of:,} raters need attention" if of > 1 else "The rater needs attention"
    if wanting:
        return f"{wanting:,} of {of:,} {raters} need{'s' * (wanting == 1)} attention"
    if open_cases:
        return "No rater clearly needs attention"
    return f"All {of:,} raters are capable" if of > 1 else "The rater is capable"
