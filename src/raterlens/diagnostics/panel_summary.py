"""A panel of raters summed up: who should be looked at, and the answer in one line."""

from typing import NamedTuple

import numpy as np
import polars as pl

from raterlens.diagnostics.verdicts import verdicts_of
from raterlens.inference.result import Result

CAVEATS = {
    "tfm": "model tfm assumes that all raters discriminate equally, so only severity can lower their capability; "
    "fit gmf to see who tells students apart"
}
"""What a model cannot see, whatever the data."""

MOST = 0.5
"""Where more than half of at least four raters share a fault, it is the panel's."""
FEWEST_OF_A_PANEL = 4


def judged(fit: Result) -> pl.DataFrame:
    """The raters with their verdicts, the most capable first."""
    raters = fit.table("raters")
    table = raters.hstack(verdicts_of(fit))
    return table.sort("kappa", descending=True, nulls_last=True, maintain_order=True)


def with_verdicts(fit: Result) -> pl.DataFrame:
    """The raters as they came, with `standard`, `sharpness_verdict` and `costs_most` (and `halo_verdict` where each
    rater's halo was estimated): what raters.csv holds."""
    found = verdicts_of(fit)
    halo = [] if (found["halo_verdict"] == "").all() else ["halo_verdict"]
    return fit.table("raters").hstack(found.select("standard", "sharpness_verdict", *halo, "costs_most"))


def attention(judged: pl.DataFrame) -> pl.DataFrame:
    """Those who are not fine, the clearest cases first, and of them those whose fault costs most."""
    order = {"attention": 0, "borderline": 1, "unclear": 2}
    wanting = judged.filter(pl.col("standing") != "fine")
    return wanting.sort(
        pl.col("standing").replace_strict(order, return_dtype=pl.Int8),
        pl.max_horizontal("lost_to_severity", "lost_to_discrimination", "lost_to_halo"),
        descending=[False, True],
        maintain_order=True,
    )


def caveats(model: str) -> tuple[str, ...]:
    """What to keep in mind with every fit of a model."""
    return (CAVEATS[model],) if model in CAVEATS else ()


def shared_fault(judged: pl.DataFrame) -> str:
    """What most raters have in common, said once; empty where nothing is."""
    blunt, halo = (judged.filter(costs_most=cause).height for cause in ("discrimination", "halo"))
    if judged.height < FEWEST_OF_A_PANEL or max(blunt, halo) <= MOST * judged.height:
        return ""
    if halo > blunt:
        return (
            f"halo costs {halo:,} of {judged.height:,} raters most: have them all mark each item across all students "
            "before the next"
        )
    typical = float(np.median(judged["sharpness"].to_numpy()))
    return (
        f"{blunt:,} of {judged.height:,} raters are blunt (median sharpness {typical:.2f}): look at the criteria, the "
        "training and the model before you look at single raters, and let more raters mark each student"
    )


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
    biased = judged.filter(standing="fine", costs_most="severity").height
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
    return "No rater needs attention"
