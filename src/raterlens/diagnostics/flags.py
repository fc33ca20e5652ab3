"""From measured effects to flags: who does what, how clearly, how much, and what to do next.

A flag needs two things: that chance is ruled out (Benjamini-Hochberg among all raters, 5 % of flags false) and that
the effect is large enough to matter. What follows from a graver fault is not flagged again. What many raters share is
reported once, about the panel or the model.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.arrays import NORMAL_95, Array
from raterlens.base.text import listed, shortened
from raterlens.diagnostics.agreement import Closeness
from raterlens.diagnostics.drift import GRADUAL, SUDDEN
from raterlens.diagnostics.rater_effects import LEVEL, adjusted, two_sided
from raterlens.ratings.groupings import moment_words

MATTERS = {
    "random": 0.67,
    "alternating": 0.2,
    "central": 0.4,
    "halo": 0.05,
    "inconsistent": 0.15,
    "bias": 0.5,
    "drift": 0.4,
    "drift in discrimination": 0.4,
    "too alike": 0.1,
    "agreement": 0.05,
}
"""From which size on an effect is worth a word: at most two thirds of the typical responsiveness; a correlation of
-0.2 of successive ratings; odds of middle scores that are exp(0.4) = 1.5 times those of others; a residual correlation
of 0.05 between items; an infit of 1.15; 0.5 of severity, in the units of the link, on one level (12 points of pass rate
for the logit); 0.4 over time, or 40 % of the typical rater's discrimination; 10 points of agreement of two raters
beyond what is expected, as if a fifth of the scores were copied where half agree anyway; 5 points of the whole
panel."""

_CLEARLY_POSITIVE = 2.33
"""A rater whose responsiveness is above 0 at 1 % is no random rater."""


DRIFT, TOO_ALIKE = "drift", "too alike"


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


_SAID = {
    "reversed": (
        "scores fall where the other raters see better work: {percent:.0f} % of the typical response",
        "check that the scores were recorded the right way round; if so, leave these ratings out for now",
    ),
    "random": (
        "scores have no clear relation to what other raters see in the work: {positive:.0f} % of the typical response, "
        "at most {top:.0f} %",
        "check that scores belong to the right students; then train on benchmark work before going on",
    ),
    "alternating": (
        "successive ratings tend to be opposite, whatever the work (correlation {size:.2f})",
        "ask how these ratings were made: scores that alternate, or follow the order shown, are not judgements",
    ),
    "inconsistent": (
        "ratings are {off:.0f} % noisier than the model expects (infit {size:.2f})",
        "review this rater's unexpected ratings together, and agree on the criteria",
    ),
    "central": (
        "favours the middle of the scale: the odds of these scores are {odds} those of the other raters",
        "show work that clearly deserves the ends of the scale, and ask for the full scale to be used",
    ),
    "extreme": (
        "favours the ends of the scale: the odds of these scores are {odds} those of the other raters",
        "show work that clearly deserves the middle of the scale, and ask for the full scale to be used",
    ),
    "halo": (
        "scores of the same student correlate more than ability explains: residual correlation {size:.2f}",
        "have each item marked across all students before the next, so that one impression does not carry over; "
        "intervals {allow} for it",
    ),
    "noisy": (
        "scores are {off:.0f} % noisier than the model expects (infit {size:.2f})",
        "check that its description asks for the same thing as the others'",
    ),
    "predictable": (
        "scores are {off:.0f} % more predictable than the model expects (infit {size:.2f})",
        "check that it is not scored by the impression of the whole",
    ),
    "flat": (
        "tells students apart less clearly than the other items: a slope of {size:.2f} where theirs is 1",
        "rewrite its description, or leave it out of the total",
    ),
    "steep": (
        "tells students apart more clearly than the other items: a slope of {size:.2f} where theirs is 1",
        "it carries the result: check its weight",
    ),
}
"""Evidence and next step of each effect that is measured by one number."""


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
    labels = raters["rater"].cast(pl.String)
    found: dict[str, Flag] = {}
    for flag in _grave(labels, measured):
        found.setdefault(flag.rater, flag)
    others = [
        *_usual(labels, measured, allowed_for),
        *_using(labels, use),
        *(flag for name, table in interactions.items() for flag in _biased(name, table, unit, marks)),
        *(() if changes is None else _drifting(changes, unit, marks)),
    ]
    return _table([*found.values(), *(flag for flag in others if flag.rater not in found)])


def _table(rows: Sequence[Flag]) -> pl.DataFrame:
    return pl.DataFrame([flag._asdict() for flag in rows], schema=_SCHEMA)


def _measured(
    effect: str,
    labels: pl.Series,
    numbers: tuple[Array, Array, Array],
    chosen: NDArray[np.bool_],
    halo: str = "",
) -> Iterator[Flag]:
    """Flags of those chosen, as `_SAID` words them, by the size of an effect, its standard error and p. `halo`: whether
    intervals allow for it."""
    evidence, step = _SAID[effect]
    for one in np.flatnonzero(chosen).tolist():
        size, se, p = (float(values[one]) for values in numbers)
        low, high = size - NORMAL_95 * se, size + NORMAL_95 * se
        times = "more than 1,000" if abs(size) > np.log(1_000) else f"{np.exp(abs(size)):.1f}"
        said = evidence.format(
            size=size,
            percent=100 * size,
            positive=100 * max(size, 0.0),
            top=100 * high,
            off=100 * abs(size - 1),
            odds=f"{times} times",
        )
        yield Flag(effect, said, step.format(allow=halo), labels[one], size, low, high, p)


def _grave(labels: pl.Series, measured: pl.DataFrame) -> Iterator[Flag]:
    """Patterns that void a rater's scores, the one that says most first."""
    size, z = _columns(measured, "alternation", "alternation_z")
    p, no_error = adjusted(special.ndtr(z)), np.full_like(size, np.nan)
    chosen = (p <= LEVEL) & (size <= -MATTERS["alternating"])
    yield from _measured("alternating", labels, (size, no_error, p), chosen)
    size, se = _columns(measured, "responsiveness", "responsiveness_se")
    p = adjusted(special.ndtr(size / se))
    yield from _measured("reversed", labels, (size, se, p), (p <= LEVEL) & (size < 0))
    # Against two thirds of the typical response, from which an average rater is far: no need to adjust.
    p = special.ndtr((size - MATTERS["random"]) / se)
    chosen = (p <= LEVEL / 2) & (size / se < _CLEARLY_POSITIVE)
    yield from _measured("random", labels, (size, se, p), chosen)


def _usual(labels: pl.Series, measured: pl.DataFrame, allowed_for: bool) -> Iterator[Flag]:
    size, z = _columns(measured, "infit", "infit_z")
    numbers = size, _ratio(size - 1, z), adjusted(special.ndtr(-z))
    chosen = (numbers[2] <= LEVEL) & (size >= 1 + MATTERS["inconsistent"])
    yield from _measured("inconsistent", labels, numbers, chosen)
    size, se = _columns(measured, "centrality", "centrality_se")
    numbers = size, se, adjusted(two_sided(_ratio(size, se)))
    for effect, sign in (("central", 1), ("extreme", -1)):
        chosen = (numbers[2] <= LEVEL) & (sign * size >= MATTERS["central"])
        yield from _measured(effect, labels, numbers, chosen)
    size, se = _columns(measured, "halo", "halo_se")
    numbers = size, se, adjusted(special.ndtr(-_ratio(size, se)))
    chosen = (numbers[2] <= LEVEL) & (size >= MATTERS["halo"])
    yield from _measured("halo", labels, numbers, chosen, _ALLOW[allowed_for])


_ALLOW = {True: "allow", False: "do not allow"}
_USES = {
    "keeps to the middle": ("central", "middle scores more often", _SAID["central"][1]),
    "uses the ends": ("extreme", "the highest and the lowest scores more often", _SAID["extreme"][1]),
}


def _using(labels: pl.Series, use: Sequence[str]) -> Iterator[Flag]:
    """Uses of the scale that the model has: no test, since their intervals decided."""
    for rater, own in zip(labels, use, strict=False):
        if own:
            score = own.removeprefix("avoids ")
            less = (own, f"{score} less often", f"agree on what deserves a {score}")
            effect, often, step = _USES.get(own, less)
            yield Flag(effect, f"gives {often} than the panel does for the same work", step, rater)


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
            *_estimate(row, "severity"),
            row["p_adjusted"],
        )


def _drifting(changes: pl.DataFrame, unit: str, marks: float) -> Iterator[Flag]:
    """Changes of severity and of discrimination that chance does not explain and that matter."""
    for row in changes.iter_rows(named=True):
        if row["p_adjusted"] <= LEVEL and abs(row["shift"]) >= marks * MATTERS["drift"]:
            size = f"{abs(row['shift']):.1f} {unit} more {'severe' if row['shift'] > 0 else 'lenient'}"
            yield Flag(
                DRIFT,
                f"gradually about {size} than at first"
                if row["course"] == GRADUAL
                else f"{'suddenly ' * (row['course'] == SUDDEN)}{size} since {_moment(row, '')}",
                "have this rater re-mark some earlier work, and review the benchmarks before going on",
                *_estimate(row, "shift"),
                row["p_adjusted"],
            )
        if row["slope_p_adjusted"] <= LEVEL and abs(row["slope_shift"]) >= MATTERS["drift in discrimination"]:
            before, after = (f"{100 * max(row[f'slope_{name}'], 0.0):.0f} %" for name in ("before", "after"))
            fell = row["slope_shift"] < 0
            yield Flag(
                "drift in discrimination",
                f"has told students apart {'less' if fell else 'more'} clearly since {_moment(row, 'slope_')}: "
                f"{before} of the typical rater's discrimination before, {after} after",
                "ask what changed then (workload, haste, fatigue), and have a second rater check what was marked since"
                if fell
                else "ask what helped, and have a second rater check what was marked before",
                *_estimate(row, "slope_shift"),
                row["slope_p_adjusted"],
            )


def _moment(row: Mapping[str, Any], prefix: str) -> str:
    since, low, high = (moment_words(row[f"{prefix}since{end}"]) for end in ("", "_low", "_high"))
    return f"about {since}" if low == high else f"about {since} (95 % sure: between {low} and {high})"


def _estimate(row: Mapping[str, Any], name: str) -> tuple[str, float, float, float]:
    """The rater, the size, and its 95 % interval."""
    size, reach = row[name], NORMAL_95 * row[f"{name}_se"]
    return str(row["rater"]), size, size - reach, size + reach


def _columns(table: pl.DataFrame, *names: str) -> list[Array]:
    return [table[name].cast(pl.Float64).to_numpy() for name in names]


def _ratio(one: Array, other: Array) -> Array:
    """NaN, which is never flagged, where a few identical ratings leave no error."""
    return np.divide(one, other, out=np.full_like(one, np.nan), where=other != 0)


# ---------------------------------------------------------------------------------------------------- agreement


_INDEPENDENT = (
    "check that raters marked on their own (copying, conferring, one shared sheet); capability and reliability take "
    "their scores for independent. If they did, work has something in common for all raters besides ability"
)


_SHARED = (
    "find out whether these scores are independent (one may have seen the other's; two judges may be one model); if "
    "not, count those of one only"
)
_NAMED = 4
"""Others named besides the closest."""


def too_alike(close: Closeness | None, grave: Collection[str] = ()) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Flags of raters who agree with another far more than the model and the rest of the panel let expect; and what is
    to be said where the whole panel does, as a row of shared flags, if so. `grave`: raters with graver faults."""
    panel = pl.DataFrame(schema=_SHARED_SCHEMA)
    if close is None:
        return _table([]), panel
    if close.agreement - close.expected >= MATTERS["agreement"] and close.p <= LEVEL / 5:
        said = f"{100 * close.agreement:.0f} % of the work that both marked"
        evidence = f"two raters agree on {said}, where the model expects {100 * close.expected:.0f} %"
        row = ("agreement", close.n_raters, evidence, _INDEPENDENT)
        panel = pl.DataFrame([row], schema=_SHARED_SCHEMA, orient="row")
    if not close.pairs.height:
        return _table([]), panel
    # Of the pairs that were not looked at, 1 is the most that p can be.
    p = np.append(close.pairs["p"].to_numpy(), np.ones(close.n_pairs - close.pairs.height))
    pairs = close.pairs.with_columns(p_adjusted=adjusted(p)[: close.pairs.height]).filter(
        pl.col("p_adjusted") <= LEVEL,
        *(~pl.col(name).is_in(list(grave)) for name in ("rater", "other")),
    )
    both = pl.concat([pairs, pairs.rename({"rater": "other", "other": "rater"}).select(pairs.columns)])
    found = []
    for (rater,), rows in both.sort("p_adjusted").group_by("rater", maintain_order=True):
        first, others = rows.row(0, named=True), listed(rows["other"][1:], _NAMED)
        agreement, excess, reach = first["agreement"], first["excess"], NORMAL_95 * first["se"]
        evidence = (
            f"gives the same score as {shortened(first['other'])} to {100 * agreement:.0f} % of the work that both "
            f"marked ({first['n']} scores), where {100 * (agreement - excess):.0f} % was expected"
            f"{others and f' (also {others})'}"
        )
        size = excess, excess - reach, excess + reach, first["p_adjusted"]
        found.append(Flag(TOO_ALIKE, evidence, _SHARED, str(rater), *size))
    return _table(found), panel


# ---------------------------------------------------------------------------------------------------- item flags


# Items: those whose scores follow ability less, or more, than the model says, and what to do about it.
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
    found: list[Flag] = []
    if statistics.height > 1:
        infit, z = _columns(statistics, "infit", "infit_z")
        labels, p = statistics["item"].cast(pl.String), adjusted(two_sided(z))
        numbers = infit, np.full_like(infit, np.nan), p
        found += _measured("noisy", labels, numbers, (p <= LEVEL) & (infit >= 1 + MISFIT))
        found += _measured("predictable", labels, numbers, (p <= LEVEL) & (infit <= 1 - MISFIT))
    if "slope_se" in items.columns:
        slope, se = _columns(items, "slope", "slope_se")
        # On the log scale, against the others' geometric mean of 1.
        p = adjusted(two_sided(_ratio(np.log(slope) * slope, se)))
        labels, numbers = items["item"].cast(pl.String), (slope, se, p)
        found += _measured("flat", labels, numbers, (p <= LEVEL) & (slope <= FLAT))
        found += _measured("steep", labels, numbers, (p <= LEVEL) & (slope >= STEEP))
    return _table(found).rename({"rater": "item"}).drop("low", "high")


# -------------------------------------------------------------------------------------------------- shared flags


# Where half of all raters are noisier than the model expects, it is the model that misfits.

MOST = 0.4
"""A fault that more than this share of at least `FEWEST` raters have is none of theirs."""
FEWEST = 5
SINGLE_FAULTS = ("reversed", "random", "alternating")
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
    if n_raters < FEWEST or not flags.height:
        return flags, pl.DataFrame(schema=_SHARED_SCHEMA)
    # Severe or lenient on a level: one kind of each grouping.
    kinds = flags.with_columns(kind=flags["effect"].str.replace("^(severe|lenient) on ", "bias on "))
    # Who drifts makes those who share students with them seem to drift the other way: that is nothing they share.
    way = pl.when(pl.col("kind").str.starts_with(DRIFT)).then(pl.col("size").sign())
    counts = kinds.group_by("kind", way.alias("way"), maintain_order=True).agg(n=pl.col("rater").n_unique())
    common = (
        counts.group_by("kind", maintain_order=True)
        .agg(pl.max("n"))
        .filter(pl.col("n") > MOST * n_raters, ~pl.col("kind").is_in(SINGLE_FAULTS))
    )
    halo = _SAID["halo"][1].format(allow=_ALLOW[allowed_for])
    steps = {**_STEPS, "halo": halo if allowed_for else f"{halo}: fit with a common halo"}
    bias = "agree with all raters on what each {} asks for, and train on it together"
    rows = [
        (
            kind,
            n,
            f"{n:,} of {n_raters:,} raters show it, so single raters are not the cause",
            steps.get(kind) or bias.format(kind.removeprefix("bias on ")),
        )
        for kind, n in common.iter_rows()
    ]
    left = kinds.join(common, on="kind", how="anti", maintain_order="left").drop("kind")
    return left, pl.DataFrame(rows, schema=_SHARED_SCHEMA, orient="row")
