"""From measured effects to flags, of raters, of items and of the whole panel."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.text import shortened
from raterlens.diagnostics.drift import GRADUAL, SUDDEN
from raterlens.diagnostics.rater_effects import LEVEL, adjusted, two_sided
from raterlens.ratings.groupings import moment_words

# --------------------------------------------------------------------------------------------------------- flags


# From measured effects to flags: who does what, how clearly, how much, and what to do next.
#
# A flag needs two things: that chance is ruled out (Benjamini-Hochberg among all raters, 5 % of flags false) and that
# the effect is large enough to matter. What follows from a graver fault is not flagged again.

MATTERS = {
    "random": 0.67,
    "alternating": 0.2,
    "central": 0.4,
    "halo": 0.05,
    "inconsistent": 0.15,
    "bias": 0.5,
    "drift": 0.4,
    "drift in discrimination": 0.4,
}
"""From which size on an effect is worth a word: at most two thirds of the typical responsiveness; a correlation of
-0.2 of successive ratings; odds of middle scores that are exp(0.4) = 1.5 times those of others; a residual correlation
of 0.05 between items; an infit of 1.15; 0.5 of severity, in the units of the link, on one level (12 points of pass rate
for the logit); 0.4 over time, or 40 % of the typical rater's discrimination."""

_CLEARLY_POSITIVE = 2.33
"""A rater whose responsiveness is above 0 at 1 % is no random rater."""


DRIFT = "drift"


class Flag(NamedTuple):
    """A pattern in a rater's ratings that the model does not predict."""

    effect: str
    evidence: str
    next_step: str
    rater: str = ""
    """Or item"""
    size: float = np.nan
    low: float = np.nan
    high: float = np.nan
    """95 % interval of the size"""
    p_adjusted: float = np.nan
    """Allowing for all raters (Benjamini-Hochberg)"""


_NUMBERS = ("size", "low", "high", "p_adjusted")
_SCHEMA = {"rater": pl.String, "effect": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
_SCHEMA |= {"evidence": pl.String, "next_step": pl.String}


def flags(
    raters: pl.DataFrame,
    effects: pl.DataFrame,
    interactions: Mapping[str, pl.DataFrame],
    changes: pl.DataFrame | None,
    unit: str = "logits",
    *,
    marks: float = 1.0,
    allowed_for: bool = False,
    use: Sequence[str] = (),
) -> pl.DataFrame:
    """All flags, those of the gravest kind first. `unit`: what severities are measured in; `marks`: these per unit of
    the model, for marks on a fine scale; `allowed_for`: intervals allow for halo; `use`: how each rater uses the
    scale, in words, where the model says."""
    measured = pl.concat([raters.select("infit", "infit_z"), effects], how="horizontal")
    labels = raters["rater"].cast(pl.String).to_list()
    gravest = [*_alternating(labels, measured), *_reversed(labels, measured)]
    known = {flag.rater for flag in gravest}
    gravest += [flag for flag in _random(labels, measured) if flag.rater not in known]
    known |= {flag.rater for flag in gravest}
    others = [
        *_inconsistent(labels, measured),
        *_central(labels, measured),
        *_using(labels, use),
        *_halo(labels, measured, allowed_for),
        *(flag for name, table in interactions.items() for flag in _biased(name, table, unit, marks)),
        *(() if changes is None else (*_drifting(changes, unit, marks), *_changing(changes))),
    ]
    rows = [*gravest, *(flag for flag in others if flag.rater not in known)]
    return _table(rows)


def _table(rows: Sequence[Flag]) -> pl.DataFrame:
    return pl.DataFrame([flag._asdict() for flag in rows], schema=_SCHEMA)


Say = Callable[[float, float], tuple[str, str, str]]
"""Effect, evidence and next step of a size with its standard error."""


def _of_each(
    labels: Sequence[str] | pl.Series, chosen: NDArray[np.bool_], size: Array, se: Array, p: Array, say: Say
) -> Iterator[Flag]:
    for r in np.flatnonzero(chosen).tolist():
        yield Flag(*say(size[r], se[r]), labels[r], *_interval(size[r], se[r]), float(p[r]))


def _reversed(labels: list[str], measured: pl.DataFrame) -> Iterator[Flag]:
    size, se = _columns(measured, "responsiveness", "responsiveness_se")
    p = adjusted(special.ndtr(size / se))

    def say(size: float, _: float) -> tuple[str, str, str]:
        return (
            "reversed",
            f"scores fall where the other raters see better work: {100 * size:.0f} % of the typical response",
            "check that the scores were recorded the right way round; if so, leave these ratings out for now",
        )

    return _of_each(labels, (p <= LEVEL) & (size < 0), size, se, p, say)


def _random(labels: list[str], measured: pl.DataFrame) -> Iterator[Flag]:
    size, se = _columns(measured, "responsiveness", "responsiveness_se")
    # Against two thirds of the typical response, from which an average rater is far: no need to adjust.
    p = special.ndtr((size - MATTERS["random"]) / se)

    def say(size: float, se: float) -> tuple[str, str, str]:
        return (
            "random",
            f"scores have no clear relation to what other raters see in the work: {100 * max(size, 0):.0f} % of the "
            f"typical response, at most {100 * (size + NORMAL_95 * se):.0f} %",
            "check that scores belong to the right students; then train on benchmark work before going on",
        )

    return _of_each(labels, (p <= LEVEL / 2) & (size / se < _CLEARLY_POSITIVE), size, se, p, say)


def _alternating(labels: list[str], measured: pl.DataFrame) -> Iterator[Flag]:
    size, z = _columns(measured, "alternation", "alternation_z")
    p = adjusted(special.ndtr(z))

    def say(size: float, _: float) -> tuple[str, str, str]:
        return (
            "alternating",
            f"successive ratings tend to be opposite, whatever the work (correlation {size:.2f})",
            "ask how these ratings were made: scores that alternate, or follow the order shown, are not judgements",
        )

    chosen = (p <= LEVEL) & (size <= -MATTERS["alternating"])
    return _of_each(labels, chosen, size, np.full_like(size, np.nan), p, say)


def _inconsistent(labels: list[str], measured: pl.DataFrame) -> Iterator[Flag]:
    size, z = _columns(measured, "infit", "infit_z")
    p = adjusted(special.ndtr(-z))

    def say(size: float, _: float) -> tuple[str, str, str]:
        return (
            "inconsistent",
            f"ratings are {100 * (size - 1):.0f} % noisier than the model expects (infit {size:.2f})",
            "review this rater's unexpected ratings together, and agree on the criteria",
        )

    chosen = (p <= LEVEL) & (size >= 1 + MATTERS["inconsistent"])
    return _of_each(labels, chosen, size, _ratio(size - 1, z), p, say)


def _central(labels: list[str], measured: pl.DataFrame) -> Iterator[Flag]:
    size, se = _columns(measured, "centrality", "centrality_se")
    p = adjusted(two_sided(_ratio(size, se)))

    def say(size: float, _: float) -> tuple[str, str, str]:
        middle = size > 0
        return (
            "central" if middle else "extreme",
            f"favours {'the middle' if middle else 'the ends'} of the scale: the odds of these scores are "
            f"{_times(float(np.exp(abs(size))))} those of the other raters",
            _full_scale("the ends" if middle else "the middle"),
        )

    return _of_each(labels, (p <= LEVEL) & (np.abs(size) >= MATTERS["central"]), size, se, p, say)


def _using(labels: list[str], use: Sequence[str]) -> Iterator[Flag]:
    """Uses of the scale that the model has: no test, since their intervals decided."""
    for rater, own in zip(labels, use, strict=False):
        if not own:
            continue
        score = own.removeprefix("avoids ")
        effect, often, step = _USES.get(
            own, (own, f"{score} less often", f"agree on what deserves a {score}")
        )
        yield Flag(effect, f"gives {often} than the panel does for the same work", step, rater)


def _full_scale(deserved: str) -> str:
    return f"show work that clearly deserves {deserved} of the scale, and ask for the full scale to be used"


_USES = {
    "keeps to the middle": ("central", "middle scores more often", _full_scale("the ends")),
    "uses the ends": ("extreme", "the highest and the lowest scores more often", _full_scale("the middle")),
}


def _times(odds: float) -> str:
    """
    >>> _times(1.52), _times(70_000.0)
    ('1.5 times', 'more than 1,000 times')
    """
    return "more than 1,000 times" if odds > 1_000 else f"{odds:.1f} times"


def _halo_step(allowed_for: bool, *, shared: bool = False) -> str:
    """The next step about halo, and whether intervals allow for it; what many share is for the model to have."""
    fit = ": fit with a common halo" if shared else ""
    intervals = "intervals allow for it" if allowed_for else f"intervals do not allow for it{fit}"
    return (
        "have each item marked across all students before the next, so that one impression does not carry over; "
        + intervals
    )


def _halo(labels: list[str], measured: pl.DataFrame, allowed_for: bool) -> Iterator[Flag]:
    size, se = _columns(measured, "halo", "halo_se")
    p = adjusted(special.ndtr(-_ratio(size, se)))

    def say(size: float, _: float) -> tuple[str, str, str]:
        more = "scores of the same student correlate more than ability explains"
        return "halo", f"{more}: residual correlation {size:.2f}", _halo_step(allowed_for)

    return _of_each(labels, (p <= LEVEL) & (size >= MATTERS["halo"]), size, se, p, say)


def _biased(name: str, table: pl.DataFrame, unit: str, marks: float) -> Iterator[Flag]:
    """For every rater the level with the clearest bias; the table has them all."""
    clear = table.filter(pl.col("p_adjusted") <= LEVEL, pl.col("severity").abs() >= marks * MATTERS["bias"])
    clear = clear.sort(pl.col("z").abs(), descending=True, maintain_order=True)
    for row in clear.unique("rater", keep="first", maintain_order=True).iter_rows(named=True):
        side, level = "severe" if row["severity"] > 0 else "lenient", f"{name} {shortened(row[name])}"
        yield Flag(
            f"{side} on {name}",
            f"{abs(row['severity']):.1f} {unit} more {side} on {level} than elsewhere: a mean "
            f"score of {row['mean_score']:.2f} where {row['expected']:.2f} was expected ({row['n']} ratings)",
            f"compare this rater's view of {level} with a colleague's on the same work",
            str(row["rater"]),
            *_interval(row["severity"], row["severity_se"]),
            row["p_adjusted"],
        )


def _drifting(changes: pl.DataFrame, unit: str, marks: float) -> Iterator[Flag]:
    for row in _clear(changes, "", marks * MATTERS["drift"]):
        size = f"{abs(row['shift']):.1f} {unit} more {'severe' if row['shift'] > 0 else 'lenient'}"
        yield Flag(
            DRIFT,
            f"gradually about {size} than at first"
            if row["course"] == GRADUAL
            else f"{'suddenly ' * (row['course'] == SUDDEN)}{size} since {_moment(row, '')}",
            "have this rater re-mark some earlier work, and review the benchmarks before going on",
            str(row["rater"]),
            *_interval(row["shift"], row["shift_se"]),
            row["p_adjusted"],
        )


def _changing(changes: pl.DataFrame) -> Iterator[Flag]:
    for row in _clear(changes, "slope_", MATTERS["drift in discrimination"]):
        before, after = (f"{100 * max(row[f'slope_{name}'], 0.0):.0f} %" for name in ("before", "after"))
        fell = row["slope_shift"] < 0
        yield Flag(
            "drift in discrimination",
            f"has told students apart {'less' if fell else 'more'} clearly since {_moment(row, 'slope_')}: {before} of "
            f"the typical rater's discrimination before, {after} after",
            "ask what changed then (workload, haste, fatigue), and have a second rater check what was marked since"
            if fell
            else "ask what helped, and have a second rater check what was marked before",
            str(row["rater"]),
            *_interval(row["slope_shift"], row["slope_shift_se"]),
            row["slope_p_adjusted"],
        )


def _clear(changes: pl.DataFrame, prefix: str, least: float) -> Iterator[dict[str, Any]]:
    """Changes that chance does not explain and that matter."""
    sure, large = pl.col(f"{prefix}p_adjusted") <= LEVEL, pl.col(f"{prefix}shift").abs() >= least
    return changes.filter(sure, large).iter_rows(named=True)


def _moment(row: Mapping[str, Any], prefix: str) -> str:
    since, low, high = (moment_words(row[f"{prefix}since{end}"]) for end in ("", "_low", "_high"))
    return f"about {since}" if low == high else f"about {since} (95 % sure: between {low} and {high})"


# ------------------------------------------------------------------------------------------------- helpers


def _columns(table: pl.DataFrame, *names: str) -> list[Array]:
    return [table[name].cast(pl.Float64).to_numpy() for name in names]


def _ratio(one: Array, other: Array) -> Array:
    """NaN, which is never flagged, where a few identical ratings leave no error."""
    return np.divide(one, other, out=np.full_like(one, np.nan), where=other != 0)


def _interval(size: Any, se: Any) -> tuple[float, float, float]:
    return float(size), float(size - NORMAL_95 * se), float(size + NORMAL_95 * se)


# ---------------------------------------------------------------------------------------------------- item flags


# Items judged: those whose scores follow ability less, or more, than the model says, and what to do about it.
#
# As with raters, a flag needs two things: that chance is ruled out (Benjamini-Hochberg among all items, 5 % of flags
# false), and a size that matters: a mean square of 1.1 and more, or 0.9 and less (items have many ratings, and pull
# every student's result), or an item slope of two thirds or one and a half times the others'.

MISFIT = 0.1
FLAT, STEEP = 2 / 3, 3 / 2


def item_flags(statistics: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """A row per flag: item, effect (noisy, predictable, flat, steep), size, p_adjusted, evidence, next_step; none of a
    single item, which there is no other to compare with.

    Parameters
    ----------
    statistics
        Of the items: item, infit, infit_z.
    items
        As estimated; with `slope` and `slope_se` where items have slopes of their own.
    """
    found = [
        *(_misfits(statistics) if statistics.height > 1 else ()),
        *(_slopes(items) if "slope_se" in items.columns else ()),
    ]
    return _table(found).rename({"rater": "item"}).drop("low", "high")


def _misfits(statistics: pl.DataFrame) -> Iterator[Flag]:
    infit, z = _columns(statistics, "infit", "infit_z")
    p = adjusted(two_sided(z))

    def say(infit: float, _: float) -> tuple[str, str, str]:
        noisy = infit > 1
        return (
            "noisy" if noisy else "predictable",
            f"scores are {100 * abs(infit - 1):.0f} % {'noisier' if noisy else 'more predictable'} than the model "
            f"expects (infit {infit:.2f})",
            "check that its description asks for the same thing as the others'"
            if noisy
            else "check that it is not scored by the impression of the whole",
        )

    chosen = (p <= LEVEL) & (np.abs(infit - 1) >= MISFIT)
    return _of_each(statistics["item"].cast(pl.String), chosen, infit, _ratio(infit - 1, z), p, say)


def _slopes(items: pl.DataFrame) -> Iterator[Flag]:
    """On the log scale, against the others' geometric mean of 1."""
    slope, se = _columns(items, "slope", "slope_se")
    p = adjusted(two_sided(_ratio(np.log(slope) * slope, se)))

    def say(slope: float, _: float) -> tuple[str, str, str]:
        flat = slope < 1
        return (
            "flat" if flat else "steep",
            f"tells students apart {'less' if flat else 'more'} clearly than the other items: a slope of {slope:.2f} "
            "where theirs is 1",
            "rewrite its description, or leave it out of the total"
            if flat
            else "it carries the result: check its weight",
        )

    chosen = (p <= LEVEL) & ((slope <= FLAT) | (slope >= STEEP))
    return _of_each(items["item"].cast(pl.String), chosen, slope, se, p, say)


# -------------------------------------------------------------------------------------------------- shared flags


# Flags that most raters share: reported once, about the panel or the model, with what to fit instead.
#
# Where half of all raters are noisier than the model expects, it is the model that misfits.

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
_SHARED_SCHEMA = {"effect": pl.String, "n": pl.Int64, "evidence": pl.String, "next_step": pl.String}


def shared(
    flags: pl.DataFrame, n_raters: int, *, allowed_for: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flags of single raters; and those that many share, a row each: effect, n, evidence, next_step.

    `allowed_for`: intervals allow for halo.
    """
    kinds = flags.with_columns(kind=_kind(flags["effect"]))
    # Who drifts makes those who share students with them seem to drift the other way: that is nothing they share.
    way = pl.when(pl.col("kind").is_in(["drift", "drift in discrimination"])).then(pl.col("size").sign())
    counts = (
        kinds.group_by("kind", way.alias("way"), maintain_order=True)
        .agg(pl.col("rater").n_unique().alias("n"))
        .group_by("kind", maintain_order=True)
        .agg(pl.max("n"))
    )
    common = counts.filter((pl.col("n") > MOST * n_raters) & ~pl.col("kind").is_in(_OWN))
    if n_raters < FEWEST or not common.height:
        return flags, pl.DataFrame(schema=_SHARED_SCHEMA)
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
    return left, pl.DataFrame(rows, schema=_SHARED_SCHEMA, orient="row")


def _kind(effects: pl.Series) -> pl.Series:
    """Severe or lenient on a level: one kind of each grouping."""
    return effects.str.replace("^(severe|lenient) on ", "bias on ")


def _step(kind: str, allowed_for: bool) -> str:
    if kind in _STEPS:
        return _STEPS[kind]
    if kind == "halo":
        return _halo_step(allowed_for, shared=True)
    name = kind.removeprefix("bias on ")
    return f"agree with all raters on what each {name} asks for, and train on it together"
