"""Verdicts: what every rater's numbers say, what costs most, and one thing to do about that.

Each thing is judged by its own 95 % interval, on a scale that does not depend on who else is on the panel: the
*standard*, by how many of 100 borderline students (of whom the average rater passes 50) a rater passes; *sharpness*,
how closely scores follow ability; and, where each rater's was estimated, *halo*, what all scores of a reading share
besides ability. Capability against the perfect rater is s exp(-z²/2), with s the sharpness and z = Φ⁻¹(passes). So what
a fault costs, on that scale, is

    the standard      s (1 - exp(-z²/2))     what the rater would gain with the average standard
    discrimination    FAIR - s               what is missing to a rater who is just sharp enough
    halo              s₀ - s                 what the rater would gain without it

With halo of standard deviation τ a slope a has about s = a / sqrt(c² + τ² + a²), where c is the noise of the link in
probits (1.7 for the logit); s₀ is the same without τ.

Only a fault costs anything: what chance could have done is no cause. Table, card, letter, advice and command line all
read this one record, so they cannot disagree.

How often raters without the fault are called so was measured by `benchmarks/verdicts.py`; docs/diagnostics.md has the
rates.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from raterlens.base.memo import kept_with

if TYPE_CHECKING:
    from raterlens.inference.result import Result

FAIR = 0.5
"""Sharpness below which a rater is blunt. At 0.5 a rating shares a quarter of its variance with ability (for the probit
link, where sharpness is a correlation): a slope of 0.58 probits or 0.95 logits."""

SHARP = 0.7
"""From here on a rater is called sharp: half of the variance is ability. The customary line for an acceptable
correlation; 1.65 logits."""

BLIND = 0.2
"""Below it, 4 % of the variance, a score says next to nothing."""

OFF, FAR_OFF = 0.15, 0.2
"""Of 100 borderline students, 15 more or fewer than the average rater is severe or lenient; 20 is too severe or too
lenient, and costs a rater 13 % of the capability that their sharpness would give them."""

CAPABLE = 0.7
"""The line in charts of kappa. No verdict rests on it: kappa is relative to whoever discriminates best on a panel."""

HALO, STRONG_HALO = 0.5, 1.0
"""Standard deviation of the impression that all scores of a reading share, in the units of the link; from 1 on it costs
a rater with slope 1.5 a tenth of their sharpness (0.66 becomes 0.60)."""
_NOISE = {"probit": 1.0}
_LOGIT_NOISE = 1.702

WIDE = 0.5
"""An interval of sharpness wider than this, with the line for blunt inside, fits a good rater as well as a poor one."""

FEWEST = 10
"""With fewer ratings the pass rate alone is uncertain by 16 points or more (sqrt(0.25 / 10)), whatever the fit says."""

Standing = Literal["fine", "borderline", "attention", "unclear"]
"""Whether somebody should look at a rater: no; perhaps, it may be chance; yes; nobody can tell yet."""

UNCLEAR = "unclear"
_TOO_FEW = "too few ratings to say"
_EXTREME = {
    "all pass": ("a pass", "weaker"),
    "all fail": ("a fail", "stronger"),
    "all highest": ("the highest score", "weaker"),
    "all lowest": ("the lowest score", "stronger"),
}


class Verdict(NamedTuple):
    """What is said about a rater."""

    standard: str
    """too severe, severe, typical, lenient, too lenient, or unclear"""
    sharpness_verdict: str
    """sharp, fair, blunt, cannot tell students apart, reversed, or unclear"""
    halo_verdict: str
    """none, some, strong; empty where halo was not estimated for each rater"""
    costs_most: str
    """severity, discrimination, halo, or nothing"""
    lost_to_severity: float
    lost_to_discrimination: float
    lost_to_halo: float
    label: str
    """The whole in a word or two."""
    sentence: str
    next_step: str
    standing: Standing


_SCHEMA = {name: pl.Float64 if name.startswith("lost_to") else pl.String for name in Verdict._fields}


def verdicts(raters: pl.DataFrame, *, ordered: bool = False, link: str = "logit") -> pl.DataFrame:
    """Verdicts for a table of raters: one row each, in the same order, with the fields of `Verdict`.

    `ordered`: there are more scores than pass and fail. `link`: in whose units halo is.

    Examples
    --------
    >>> strict = {"sharpness": 0.8, "sharpness_low": 0.7, "sharpness_high": 0.87, "n": 300, "flag": ""}
    >>> strict |= {"passes": 0.2, "passes_low": 0.15, "passes_high": 0.26}
    >>> verdicts(pl.DataFrame([strict])).select("standard", "sharpness_verdict", "costs_most").row(0)
    ('too severe', 'sharp', 'severity')
    """
    names = _NEEDED if not _own_halo(raters) else (*_NEEDED, "halo", "halo_low", "halo_high")
    numbers = {name: _numbers(raters, name) for name in names}
    rows = raters.select("n", "flag").with_columns(pl.Series(name, found) for name, found in numbers.items())
    judged = [_judge(row, ordered, _NOISE.get(link, _LOGIT_NOISE)) for row in rows.iter_rows(named=True)]
    return pl.DataFrame(judged, schema=_SCHEMA, orient="row")


def verdicts_of(fit: "Result") -> pl.DataFrame:
    """The verdicts of a fit's raters, in the order of its table: found once, for all who ask."""
    ordered = "thresholds" in fit.tables
    return kept_with(fit, "verdicts", lambda: verdicts(fit.table("raters"), ordered=ordered, link=fit.link))


_NEEDED = ("sharpness", "sharpness_low", "sharpness_high", "passes", "passes_low", "passes_high")


def _own_halo(raters: pl.DataFrame) -> bool:
    """Whether each rater has a halo of their own; one that is common to all is the panel's."""
    return "halo" in raters.columns and raters["halo"].n_unique() > 1


def _numbers(raters: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """A column, with the estimate itself where there is no interval: the estimate then decides."""
    if column not in raters.columns:
        return _numbers(raters, column.rpartition("_")[0])
    found = raters[column].cast(pl.Float64).to_numpy()
    if not column.endswith(("_low", "_high")):
        return found
    return np.where(np.isfinite(found), found, _numbers(raters, column.rpartition("_")[0]))


def _judge(row: Mapping[str, Any], ordered: bool, noise: float) -> Verdict:
    standard, sharp, halo = _standard(row), _sharpness(row), _halo(row)
    losses = _losses(row, standard, sharp) | {"halo": _lost_to_halo(row, noise) if halo != "none" else 0.0}
    cause = max(losses, key=lambda name: losses[name])
    cause = cause if losses[cause] > 0 else "nothing"
    standing = _standing(row, standard, sharp, halo)
    label = {"severity": standard, "discrimination": sharp, "halo": "halo"}.get(cause) or _overall(
        standing, sharp
    )
    sentence, next_step = _words(row, Words(standard, sharp, cause, standing), ordered)
    return Verdict(
        standard=standard,
        sharpness_verdict=sharp,
        halo_verdict=halo if "halo" in row else "",
        costs_most=cause,
        lost_to_severity=losses["severity"],
        lost_to_discrimination=losses["discrimination"],
        lost_to_halo=losses["halo"],
        label=label,
        sentence=sentence,
        next_step=next_step,
        standing=standing,
    )


def _standard(row: Mapping[str, Any]) -> str:
    """By the interval: a rater is off where all of it is."""
    low, high = row["passes_low"] - 0.5, row["passes_high"] - 0.5
    if row["n"] < FEWEST or not np.isfinite(row["passes"]):
        return UNCLEAR
    if high < -OFF:
        return "too severe" if high < -FAR_OFF else "severe"
    if low > OFF:
        return "too lenient" if low > FAR_OFF else "lenient"
    return UNCLEAR if high - low > 2 * FAR_OFF else "typical"


def _sharpness(row: Mapping[str, Any]) -> str:
    value, low, high = (row[f"sharpness{end}"] for end in ("", "_low", "_high"))
    if row["n"] < FEWEST or row["flag"] in (*_EXTREME, "slope at limit") or not np.isfinite(value):
        return UNCLEAR
    if high < 0:
        return "reversed"
    if high < FAIR:
        return "cannot tell students apart" if value < BLIND and (low <= 0 or high < BLIND) else "blunt"
    if high - low > WIDE and low < FAIR:
        return UNCLEAR
    return "sharp" if value >= SHARP else "fair"


def _halo(row: Mapping[str, Any]) -> str:
    low = row.get("halo_low", 0.0)
    if row["n"] < FEWEST or not low > HALO:
        return "none"
    return "strong" if low > STRONG_HALO else "some"


def _lost_to_halo(row: Mapping[str, Any], noise: float) -> float:
    """What sharpness would gain without halo; never nothing, where there is some."""
    s, tau = min(float(row["sharpness"]), 0.999), float(row["halo"])
    if not s > 0:
        return 1e-6
    slope = s * np.sqrt((noise**2 + tau**2) / (1 - s * s))
    return max(float(slope / np.hypot(noise, slope)) - s, 1e-6)


def _losses(row: Mapping[str, Any], standard: str, sharp: str) -> dict[str, float]:
    """What the two faults cost, 0 where there is none."""
    kept = max(float(row["sharpness"]), 0.0) if np.isfinite(row["sharpness"]) else 0.0
    if row["flag"] in _EXTREME:
        kept = SHARP  # one score for everyone: nothing is known of sharpness, and all is lost to the standard
    severity = 0.0
    if standard not in (UNCLEAR, "typical"):
        z = float(special.ndtri(np.clip(row["passes"], 1e-9, 1 - 1e-9)))
        severity = max(kept * -float(np.expm1(-z * z / 2)), 1e-6)
    blunt = sharp in ("blunt", "cannot tell students apart", "reversed")
    return {"severity": severity, "discrimination": FAIR - float(row["sharpness"]) if blunt else 0.0}


def _standing(row: Mapping[str, Any], standard: str, sharp: str, halo: str) -> Standing:
    blunt = sharp in ("blunt", "cannot tell students apart", "reversed")
    if standard.startswith("too ") or blunt or halo == "strong":
        return "attention"
    if UNCLEAR in (standard, sharp):
        return "unclear"
    off = abs(row["passes"] - 0.5) > FAR_OFF
    return "borderline" if off or row["sharpness"] < FAIR else "fine"


def _overall(standing: Standing, sharp: str) -> str:
    """The label of a rater without a fault."""
    return {"unclear": _TOO_FEW, "borderline": "borderline"}.get(standing, sharp)


# --------------------------------------------------------------------------------------------------- in words


class Words(NamedTuple):
    """What the sentences are about."""

    standard: str
    sharp: str
    cause: str
    standing: Standing


def _words(row: Mapping[str, Any], found: Words, ordered: bool) -> tuple[str, str]:
    """What is seen, and what to do about what costs most."""
    if found.cause == "severity":
        return _on_severity(row, found, ordered)
    if found.cause == "discrimination":
        return _on_discrimination(row, found, ordered)
    if found.cause == "halo":
        return (
            f"One impression colours all scores of a student: it varies by {row['halo']:.1f} besides ability.",
            "Mark each item across all students before the next, so that one impression does not carry over.",
        )
    if found.standing == "unclear":
        return _too_few(row), "Assign more double-marked work."
    if found.standing == "borderline":
        return _borderline(row, ordered), "Assign more double-marked work to settle it."
    well = "well" if found.sharp == "sharp" else "fairly well"
    return f"Tells students apart {well}, with the usual standard.", "Nothing to do."


def _on_severity(row: Mapping[str, Any], found: Words, ordered: bool) -> tuple[str, str]:
    severe = found.standard.endswith("severe")
    seen = _compared(row, ordered)
    if row["flag"] in _EXTREME:
        given, other = _EXTREME[row["flag"]]
        seen = f"Each of the {row['n']:,} ratings is {given}, so they do not tell students apart"
        return f"{seen}.", f"Ask which standard was applied, and assign some {other} work."
    also = {"sharp": " Tells students apart well.", "fair": " Tells students apart fairly well."}
    other = "more lenient" if severe else "stricter"
    step = f"Review borderline work with a {other} colleague, and agree on the standard."
    if not found.standard.startswith("too "):
        step = "Discuss the standard at the next briefing; students' results already allow for it."
    return f"{seen}.{also.get(found.sharp, '')}", step


def _on_discrimination(row: Mapping[str, Any], found: Words, ordered: bool) -> tuple[str, str]:
    also = f" {_compared(row, ordered)}." if found.standard not in ("typical", UNCLEAR) else ""
    if found.sharp == "reversed":
        return (
            f"Abler students get lower scores from this rater.{also}",
            "Check that the scores were recorded the right way round.",
        )
    if found.sharp == "blunt":
        return (
            f"Scores follow ability only loosely: sharpness {row['sharpness']:.2f}.{also}",
            "Review the criteria with benchmark work, and agree on why each piece gets its score.",
        )
    return (
        f"Scores have next to nothing to do with ability: sharpness {row['sharpness']:.2f}.{also}",
        "Check that the scores belong to the right students; then train on benchmark work.",
    )


def _borderline(row: Mapping[str, Any], ordered: bool) -> str:
    if row["sharpness"] < FAIR:
        return f"Seems blunt (sharpness {row['sharpness']:.2f}), but that may be chance."
    return f"{_compared(row, ordered)}, but that may be chance."


def _too_few(row: Mapping[str, Any]) -> str:
    ratings = "1 rating is" if row["n"] == 1 else f"{row['n']:,} ratings are"
    known = row["flag"] not in _EXTREME and row["sharpness_low"] < row["sharpness_high"]
    span = (
        f": sharpness could be anywhere from {row['sharpness_low']:.2f} to {row['sharpness_high']:.2f}"
        if known
        else ""
    )
    return f"{ratings} not enough to tell{span}."


def _compared(row: Mapping[str, Any], ordered: bool) -> str:
    of_100 = f"{100 * row['passes']:.0f}"
    if ordered:
        return f"Gives about {of_100} % of the marks where the average rater gives 50 %"
    return f"Passes about {of_100} of 100 students where the average rater passes 50"
