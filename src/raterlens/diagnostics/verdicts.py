"""A plain-words verdict for every rater: what the numbers say, and one thing to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.diagnostics.capability_scale import Scale

CAPABLE = 0.7
"""A rater keeping 70 % of the sensitivity of the best possible one is called capable. It is the customary
line for "acceptable" in reliability, and the paper's trained panel lies on both sides of it."""

BLIND = 0.2
"""Below a fifth of the best possible sensitivity a pass says next to nothing about ability."""

WIDE = 0.4
"""An interval wider than this, with the line for capable inside it, fits a good rater as well as a poor one."""

FEWEST = 10
"""With fewer ratings the pass rate alone is uncertain by 16 points or more (sqrt(0.25 / 10)), whatever the fit
says, and a rater who passes everyone may just have met good work."""

NOTABLE = 0.2
"""A severity that moves the pass rate of middling work by 20 points is worth a word even to a capable rater."""

CLEAR = 1.96
"""Severity is spoken of only where its 95 % interval excludes 0."""


Standing = Literal["fine", "borderline", "attention", "unclear"]
"""Whether somebody should look at a rater: no; perhaps, it may be chance; yes; nobody can tell yet."""


class Verdict(NamedTuple):
    """What to call a rater, why, and what to do next."""

    label: str
    sentence: str
    advice: str
    standing: Standing


_ALWAYS = {
    "all pass": ("passes everyone", "passes", "weaker"),
    "all fail": ("passes nobody", "fails", "stronger"),
    "all highest": ("always the highest score", "the highest score", "weaker"),
    "all lowest": ("always the lowest score", "the lowest score", "stronger"),
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of one rater, and what each remedy alone would bring."""

    kappa: float
    low: float
    high: float
    severity: float
    clearly_severe: bool
    """The interval of severity excludes 0 (on either side), or there is none to go by."""
    pass_rate: float
    """Of work that the average rater passes at `usual` rate."""
    usual: float
    ordered: bool
    """More scores than pass and fail."""
    if_even: float
    """Kappa with the same discrimination and average severity."""
    if_sharp: float
    """Kappa with the same severity and full discrimination."""
    n: int
    flag: str


def verdicts(raters: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Verdicts for a table of raters: one row each, in the same order, with the fields of `Verdict`.

    Examples
    --------
    >>> strict = {"kappa": 0.45, "kappa_low": 0.4, "kappa_high": 0.5, "rho": 0.95, "eta": 3.0, "eta_se": 0.2}
    >>> verdicts(pl.DataFrame([strict | {"n": 300, "flag": ""}]), Scale(sigma=2.0))["label"].item()
    'too severe'
    """
    rho, eta = _numbers(raters, "rho"), _numbers(raters, "eta")
    columns = {
        "pass_rate": scale.pass_rate(eta),
        "if_even": scale.capability(rho, np.zeros_like(eta)),
        "if_sharp": scale.if_sharp(rho, eta),
        "clear": ~(np.abs(eta) <= CLEAR * _numbers(raters, "eta_se")),
    }
    rows = raters.with_columns(pl.Series(name, values) for name, values in columns.items())
    usual = float(scale.pass_rate(0.0))
    judged = [_judge(_facts(row, usual, scale.ordered)) for row in rows.iter_rows(named=True)]
    return pl.DataFrame(judged, schema=dict.fromkeys(Verdict._fields, pl.String), orient="row")


def _numbers(raters: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return raters[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _facts(row: Mapping[str, Any], usual: float, ordered: bool) -> _Facts:
    missing = float("nan")
    return _Facts(
        kappa=row["kappa"],
        low=missing if row["kappa_low"] is None else row["kappa_low"],
        high=missing if row["kappa_high"] is None else row["kappa_high"],
        severity=row["eta"],
        clearly_severe=row["clear"],
        pass_rate=row["pass_rate"],
        usual=usual,
        ordered=ordered,
        if_even=row["if_even"],
        if_sharp=row["if_sharp"],
        n=row["n"],
        flag=row["flag"] or "",
    )


def _judge(facts: _Facts) -> Verdict:
    """The rules, in the order in which one silences the next."""
    if facts.n < FEWEST or facts.flag == "slope at limit":
        return _too_few(facts)
    if facts.flag in _ALWAYS:
        label, seen, other = _ALWAYS[facts.flag]
        return Verdict(
            label,
            f"All {facts.n:,} ratings are {seen}, so they do not tell students apart.",
            f"Ask which standard was applied, and assign some {other} work.",
            "attention",
        )
    if facts.kappa < 0 and not facts.high >= 0:
        return Verdict(
            "scores against ability",
            "Abler students get lower scores from this rater.",
            "First check that the scores were recorded the right way round.",
            "attention",
        )
    if facts.high - facts.low > WIDE and facts.low < CAPABLE <= facts.high:
        return _too_few(facts)
    if facts.kappa >= CAPABLE:
        return _capable(facts)
    if facts.high >= CAPABLE:
        return _borderline(facts)
    # Whichever single remedy would bring more names the cause.
    return _severity(facts) if facts.if_even > facts.if_sharp else _discrimination(facts)


def _too_few(facts: _Facts) -> Verdict:
    ratings = "1 rating is" if facts.n == 1 else f"{facts.n:,} ratings are"
    known = np.isfinite(facts.low) and np.isfinite(facts.high)
    span = f": capability could be anywhere from {facts.low:.2f} to {facts.high:.2f}" if known else ""
    return Verdict(
        "too few ratings to say",
        f"{ratings} not enough to tell{span}.",
        "Assign more double-marked work.",
        "unclear",
    )


def _capable(facts: _Facts) -> Verdict:
    unsure = (
        f", but a capability below {CAPABLE:.2f} is within the margin of error" if facts.low < CAPABLE else ""
    )
    if not _notable(facts):
        return Verdict("capable", f"Tells students apart well{unsure}.", "Nothing to do.", "fine")
    return Verdict(
        f"capable but {_side(facts)}",
        f"Tells students apart well{unsure}. {_compared(facts)}.",
        "Discuss the standard at the next briefing; students' results already allow for it.",
        "fine",
    )


def _borderline(facts: _Facts) -> Verdict:
    chance = f"Capability seems low, but {CAPABLE:.2f} is within the margin of error."
    advice = "Assign more double-marked work to settle it."
    if facts.if_even > facts.if_sharp:
        return Verdict(
            f"borderline and {_side(facts)}", f"{chance} {_compared(facts)}.", advice, "borderline"
        )
    also = f" {_compared(facts)}." if _notable(facts) else ""
    return Verdict(
        "borderline discrimination",
        f"{chance} Ratings follow ability somewhat loosely.{also}",
        advice,
        "borderline",
    )


def _severity(facts: _Facts) -> Verdict:
    severe = facts.severity > 0
    lost = "middling work from poor" if severe else "good work from middling"
    also = " Discrimination is weak as well." if facts.if_even < CAPABLE else ""
    return Verdict(
        "too severe" if severe else "too lenient",
        f"{_compared(facts)}, and so cannot tell {lost}.{also}",
        f"Review borderline work with a {'less' if severe else 'more'} strict colleague, and agree on the standard.",
        "attention",
    )


def _discrimination(facts: _Facts) -> Verdict:
    also = f" {_compared(facts)}." if _notable(facts) else ""
    if facts.kappa < BLIND:
        return Verdict(
            "cannot tell students apart",
            f"Ratings have next to nothing to do with ability.{also}",
            "First check that the scores were recorded the right way round; then train on benchmark work.",
            "attention",
        )
    return Verdict(
        "weak discrimination",
        f"Ratings follow ability only loosely.{also}",
        "Review the criteria with benchmark work, and agree on why each piece gets its score.",
        "attention",
    )


def _notable(facts: _Facts) -> bool:
    return facts.clearly_severe and abs(facts.pass_rate - facts.usual) >= NOTABLE


def _compared(facts: _Facts) -> str:
    if facts.ordered:
        return f"Scores {'lower' if facts.severity > 0 else 'higher'} than the average rater"
    return f"Passes about {100 * facts.pass_rate:.0f} in 100 where the average rater passes {100 * facts.usual:.0f}"


def _side(facts: _Facts) -> str:
    return "severe" if facts.severity > 0 else "lenient"
