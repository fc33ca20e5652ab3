"""A plain-words verdict for every rater: what the numbers say, and one thing to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.capability import gmf
from raterlens.links import get_link

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


CAVEATS = {
    "tfm": "the model tfm takes all raters to be equally sharp, so only severity can lower their capability; "
    "fit gmf to see who tells students apart"
}
"""What a model cannot see, whatever the data."""

Standing = Literal["fine", "borderline", "attention", "unclear"]
"""Whether somebody should look at a rater: no; perhaps, it may be chance; yes; nobody can tell yet."""


class Verdict(NamedTuple):
    """What to call a rater, why, and what to do next."""

    label: str
    sentence: str
    advice: str
    standing: Standing


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
    if_even: float
    """Kappa with the same discrimination and average severity."""
    if_sharp: float
    """Kappa with the same severity and full discrimination."""
    n: int
    flag: str


def verdict(
    *,
    kappa: float,
    kappa_low: float,
    kappa_high: float,
    rho: float,
    eta: float,
    eta_se: float,
    n: int,
    flag: str = "",
    sigma: float = 1.0,
    link: str = "logit",
) -> Verdict:
    """The verdict on one rater.

    Examples
    --------
    >>> strict = verdict(kappa=0.45, kappa_low=0.4, kappa_high=0.5, rho=0.95, eta=3.0, eta_se=0.2, n=300, sigma=2.0)
    >>> strict.label
    'too severe'
    """
    one = {"kappa": kappa, "kappa_low": kappa_low, "kappa_high": kappa_high, "rho": rho}
    row = pl.DataFrame([one | {"eta": eta, "eta_se": eta_se, "n": n, "flag": flag}])
    return Verdict(**verdicts(row, sigma=sigma, link=link).row(0, named=True))


def verdicts(raters: pl.DataFrame, *, sigma: float, link: str) -> pl.DataFrame:
    """Verdicts for a table of raters: one row each, in the same order, with the fields of `Verdict`."""
    rho, eta = _numbers(raters, "rho"), _numbers(raters, "eta")
    passes = np.exp(get_link(link).log_pass(np.append(-eta, 0.0)))
    columns = {
        "pass_rate": passes[:-1],
        "if_even": np.broadcast_to(gmf(rho=rho, eta=0.0, sigma=sigma, link=link), eta.shape),
        "if_sharp": np.broadcast_to(gmf(rho=1.0, eta=eta, sigma=sigma, link=link), eta.shape),
        "clear": ~(np.abs(eta) <= CLEAR * _numbers(raters, "eta_se")),
    }
    rows = raters.with_columns(pl.Series(name, values) for name, values in columns.items())
    judged = [_judge(_facts(row, usual=float(passes[-1]))) for row in rows.iter_rows(named=True)]
    return pl.DataFrame(judged, schema=dict.fromkeys(Verdict._fields, pl.String), orient="row")


def judged(raters: pl.DataFrame, *, sigma: float, link: str) -> pl.DataFrame:
    """The raters with their verdicts, the most capable first."""
    table = raters.hstack(verdicts(raters, sigma=sigma, link=link))
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
    leaning = int(judged["label"].str.starts_with("capable, rather").sum())
    if leaning:
        asides.append(
            f"{leaning:,} capable {'one is' if leaning == 1 else 'ones are'} rather severe or lenient"
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


def _numbers(raters: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return raters[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _facts(row: Mapping[str, Any], usual: float) -> _Facts:
    missing = float("nan")
    return _Facts(
        kappa=row["kappa"],
        low=missing if row["kappa_low"] is None else row["kappa_low"],
        high=missing if row["kappa_high"] is None else row["kappa_high"],
        severity=row["eta"],
        clearly_severe=row["clear"],
        pass_rate=row["pass_rate"],
        usual=usual,
        if_even=row["if_even"],
        if_sharp=row["if_sharp"],
        n=row["n"],
        flag=row["flag"] or "",
    )


def _judge(facts: _Facts) -> Verdict:
    """The rules, in the order in which one silences the next."""
    if facts.n < FEWEST or facts.flag == "slope at limit":
        return _too_few(facts)
    if facts.flag == "all pass":
        return Verdict(
            "passes everyone",
            f"All {facts.n} ratings are passes, so they separate nobody from anybody.",
            "Ask which pass line was used, and let this rater see some weaker work.",
            "attention",
        )
    if facts.flag == "all fail":
        return Verdict(
            "passes nobody",
            f"All {facts.n} ratings are fails, so they separate nobody from anybody.",
            "Ask which pass line was used, and let this rater see some stronger work.",
            "attention",
        )
    if facts.kappa < 0 and not facts.high >= 0:
        return Verdict(
            "scores against ability",
            "Abler students pass less often with this rater.",
            "Check first that the scores were recorded the right way round.",
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
        "Collect more ratings of work that other raters see as well.",
        "unclear",
    )


def _capable(facts: _Facts) -> Verdict:
    unsure = f", though less than {CAPABLE:.2f} is within the margin of error" if facts.low < CAPABLE else ""
    if not _notable(facts):
        return Verdict("capable", f"Tells students apart well{unsure}.", "Nothing to do.", "fine")
    return Verdict(
        f"capable, rather {_side(facts)}",
        f"Tells students apart well{unsure}. {_compared(facts)}.",
        "Mention the pass line at the next briefing; students' results already allow for it.",
        "fine",
    )


def _borderline(facts: _Facts) -> Verdict:
    chance = f"Capability seems low, but {CAPABLE:.2f} is within the margin of error."
    advice = "Keep an eye on it; more ratings of work that others see as well would settle it."
    if facts.if_even > facts.if_sharp:
        return Verdict(
            f"borderline, rather {_side(facts)}", f"{chance} {_compared(facts)}.", advice, "borderline"
        )
    also = f" {_compared(facts)}." if _notable(facts) else ""
    return Verdict(
        "borderline discrimination",
        f"{chance} Passes and fails follow ability a little loosely.{also}",
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
        f"Go through borderline work with a colleague who is {'less' if severe else 'more'} strict, and agree "
        "on the pass line.",
        "attention",
    )


def _discrimination(facts: _Facts) -> Verdict:
    also = f" {_compared(facts)}." if _notable(facts) else ""
    if facts.kappa < BLIND:
        return Verdict(
            "cannot tell students apart",
            f"Passes and fails have next to nothing to do with ability.{also}",
            "Check first that the scores were recorded the right way round; then train on benchmark work.",
            "attention",
        )
    return Verdict(
        "weak discrimination",
        f"Passes and fails follow ability only loosely.{also}",
        "Go through the criteria with benchmark work: what makes a pass, what a fail.",
        "attention",
    )


def _notable(facts: _Facts) -> bool:
    return facts.clearly_severe and abs(facts.pass_rate - facts.usual) >= NOTABLE


def _compared(facts: _Facts) -> str:
    return f"Passes about {100 * facts.pass_rate:.0f} in 100 where the average rater passes {100 * facts.usual:.0f}"


def _side(facts: _Facts) -> str:
    return "severe" if facts.severity > 0 else "lenient"
