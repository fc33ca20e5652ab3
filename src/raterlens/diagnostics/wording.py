"""Findings in words: label, sentence, next step, letter, headline. Pure functions of the records in `findings`."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from raterlens.base.text import Message, Option, counted, sentence
from raterlens.diagnostics.drift import REVIEW_SINCE
from raterlens.diagnostics.findings import (
    OFF,
    UNCLEAR,
    Interval,
    PanelFindings,
    RaterFindings,
    Status,
    rater_findings,
)
from raterlens.diagnostics.flags import TOO_ALIKE
from raterlens.diagnostics.what_if import Levers
from raterlens.inference.result import Result
from raterlens.models.terms.shared_bias import BIAS
from raterlens.models.terms.students import GROUP_MEAN

TOO_FEW, NOT_COMPARABLE, DRIFTS = "too few ratings to say", "cannot be compared", "drift alarm"
LABELS = (
    *("sharp", "fair or sharp", "fair", "probably fair", "severe", "lenient", "halo", "borderline"),
    *("too severe", "too lenient", "blunt", "cannot tell students apart", "reversed"),
    *("random", "alternating", DRIFTS, TOO_FEW, NOT_COMPARABLE),
)
"""All labels that a rater can have."""

_SCORES = {
    "all pass": ("a pass", "weaker"),
    "all fail": ("a fail", "stronger"),
    "all highest": ("the highest score", "weaker"),
    "all lowest": ("the lowest score", "stronger"),
}
_APART = {
    "sharp": "Tells students apart well",
    "fair or sharp": "Tells students apart fairly well or better",
    "fair": "Tells students apart fairly well",
    "probably fair": "Probably tells students apart fairly well",
}


# --------------------------------------------------------------------------------------------- one rater


class Said(NamedTuple):
    """The words about a rater."""

    label: str
    """The verdict in a word or two"""
    explanation: str
    """The finding, in a sentence or two"""
    next_step: str
    """One thing to do, about what decides"""


def said(it: RaterFindings) -> Said:
    """Say what decides, why, and what to do about it."""
    found = _decided(it)
    if not it.category_use or it.reason in ("unlinked", "too few", "alarm"):
        return found
    # How the rater uses the scale, if unusually, and whether that costs capability.
    use, lost = f"{it.category_use[0].upper()}{it.category_use[1:]}", it.lost_to_categories
    use += "" if it.category_use.startswith("avoids") else " of the scale"
    cost = "" if lost is None or lost.low <= 0 else f", which costs {lost.value:.2f} of capability"
    if not cost and it.flags:  # a flag says it
        return found
    return found._replace(explanation=f"{found.explanation} {use}{cost}.")


def _decided(it: RaterFindings) -> Said:
    if it.grave:
        return Said(it.grave.effect, sentence(it.grave.evidence), sentence(it.grave.next_step))
    match it.reason:
        case "alarm":
            return Said(DRIFTS, f"{it.alarm}.", sentence(REVIEW_SINCE))
        case "severity":
            return Said(it.standard, *_on_severity(it))
        case "discrimination":
            return Said(it.sharpness_verdict, *_on_discrimination(it))
        case "halo":
            spread = 0.0 if it.halo is None else it.halo.value
            said = (
                f"One impression colours all scores of a student: it varies by {spread:.1f} besides ability."
            )
            step = "Mark each item across all students before the next, so that one impression does not carry over."
            return Said("halo", said, step)
        case "unlinked":
            return Said(NOT_COMPARABLE, *_not_comparable(it))
        case "too few":
            return Said(TOO_FEW, _too_few(it), "Assign more double-marked work.")
        case "borderline":
            said = f"{_compared(it)}, but that may be chance."
            if it.sharpness_verdict == "probably blunt":
                value, _, high = it.sharpness
                said = f"Probably blunt: sharpness {value:.2f}, but up to {high:.2f} is possible."
            return Said("borderline", said, "Assign more double-marked work to settle it.")
    step = sentence(it.flags[0].next_step) if it.flags else "Nothing to do."
    usual = it.passes.low >= 0.5 - OFF and it.passes.high <= 0.5 + OFF
    standard = ", with the usual standard." if usual else f". {_compared(it)}, which may be chance."
    return Said(it.sharpness_verdict, f"{_APART[it.sharpness_verdict]}{standard}", step)


def label(it: RaterFindings) -> str:
    """The verdict in a word or two."""
    return said(it).label


def explanation(it: RaterFindings) -> str:
    """The finding, in a sentence or two."""
    return said(it).explanation


def next_step(it: RaterFindings) -> str:
    """One thing to do, about what decides."""
    return said(it).next_step


def _on_severity(it: RaterFindings) -> tuple[str, str]:
    if it.constant:
        score, needed = _SCORES[it.constant]
        return (
            f"Each of the {it.n:,} ratings is {score}, so they do not tell students apart.",
            f"Ask which standard was applied, and assign some {needed} work.",
        )
    also = f" {_APART[it.sharpness_verdict]}." if it.sharpness_verdict in _APART else ""
    other = "more lenient" if it.standard.endswith("severe") else "stricter"
    step = f"Review borderline work with a {other} colleague, and agree on the standard."
    if not it.standard.startswith("too "):
        step = "Discuss the standard at the next briefing; students' results already allow for it."
    return f"{_compared(it)}.{also}", step


def _on_discrimination(it: RaterFindings) -> tuple[str, str]:
    seen = f"sharpness {it.sharpness.value:.2f}, at most {it.sharpness.high:.2f}"
    also = f" {_compared(it)}." if it.standard not in ("typical", UNCLEAR) else ""
    if it.sharpness_verdict == "reversed":
        said = "Abler students get lower scores from this rater"
        step = "Check that the scores were recorded the right way round."
    elif it.sharpness_verdict == "blunt":
        said = f"Scores follow ability only loosely: {seen}"
        step = "Review the criteria with benchmark work, and agree on why each piece gets its score."
    else:
        said = f"No sign that scores follow ability: {seen}"
        step = "Check that the scores belong to the right students; then train on benchmark work."
    return f"{said}.{also}", step


def _too_few(it: RaterFindings) -> str:
    known = not it.constant and it.sharpness.low < it.sharpness.high
    span = (
        f": sharpness could be anywhere from {it.sharpness.low:.2f} to {it.sharpness.high:.2f}"
        if known
        else ""
    )
    return f"{counted(it.n, 'rating is', 'ratings are')} not enough to tell{span}."


def _not_comparable(it: RaterFindings) -> tuple[str, str]:
    if it.link == "alone":
        return (
            "Nobody else marked these students: severity cannot be compared, and capability rests on how well this "
            "rater's own scores agree with each other.",
            "Let another rater mark some of the same students.",
        )
    return (
        "Shares no students with the other groups of raters: severity rests on the assumption that all groups of "
        "students are equally able.",
        "Let raters of different groups mark some of the same students.",
    )


def _compared(it: RaterFindings) -> str:
    of_100 = f"{100 * it.passes.value:.0f}"
    if it.ordered:
        return (
            f"Gives the middle mark or more to about {of_100} of 100 students, the average rater to 50"
            f"{_marks(it, ' than from the average rater')}"
        )
    return f"Passes about {of_100} of 100 students where the average rater passes 50"


def _marks(it: RaterFindings, end: str) -> str:
    """Say how many marks less or more an average student gets; nothing where that is next to none."""
    if abs(it.less) < _FEW_MARKS:
        return ""
    size = f"{abs(it.less):.1f}" if abs(it.less) >= 10 * _FEW_MARKS else f"{abs(it.less):.2f}"
    return f"; an average student gets {size} marks {'less' if it.less > 0 else 'more'}{end}"


_FEW_MARKS = 0.01


# ---------------------------------------------------------------------------------------------- letters


_WHERE = ((-0.75, "weaker"), (0.75, "mid-range"), (np.inf, "stronger"))
_OPENINGS = {
    "severity": "What sets you apart from your colleagues most is your standard.",
    "discrimination": "Your scores follow the quality of the work only loosely.",
    "halo": "One impression of a student seems to colour all the scores you give.",
}
_GOOD = {
    "sharp": "They separate students well and are a good basis for fair results.",
    "fair or sharp": "They separate students fairly well or better, and are a good basis for fair results.",
}
_IN_LINE = "So far they are in line with those of your colleagues."


def letter(it: RaterFindings, low: float, high: float) -> str:
    """Thanks, what is seen, and what would help; nothing that chance could have done, and no suspicion of copying.

    `low`, `high`: the abilities that this rater judges best, where known.
    """
    thanks, step = f"Dear {it.rater}, thank you for your {counted(it.n, 'rating')}.", next_step(it)
    if it.reason == "unlinked":
        return f"{thanks} Nobody has marked the same students yet, so they cannot be compared with others'."
    if it.reason == "too few":
        return f"{thanks} They are too few to say how you rate yet."
    if it.grave:
        return f"{thanks} One thing to look into together: {it.grave.evidence}. Suggested next step: {step}"
    if it.alarm:
        return f"{thanks} Your standard has changed: {it.alarm}. Suggested next step: {step}"
    fine = it.status in ("fine", "flagged")
    opening = _GOOD.get(it.sharpness_verdict, _IN_LINE) if fine else _IN_LINE
    lines = [thanks, _OPENINGS.get(it.cause, opening)]
    if it.cause == "severity":
        lines.append(_letter_standard(it))
    elif it.sharpness_verdict == "reversed":
        lines.append("They are lower where other raters see better work.")
    if it.accuracy is not None:
        right, wrong = it.accuracy
        lines.append(
            f"Of work that deserves to pass you passed about {100 * right:.0f} %; of work that does not, you failed "
            f"about {100 * wrong:.0f} %."
        )
    if np.isfinite(low) and it.cause != "discrimination":
        where = next(word for limit, word in _WHERE if (low + high) / 2 < limit)
        lines.append(f"You are best at separating {where} work.")
    to_discuss = [flag.evidence for flag in it.flags if flag.effect != TOO_ALIKE]
    if it.cause != "nothing":
        lines.append(f"Suggested next step: {step}")
    elif it.reason == "flag" and to_discuss:
        lines.append(f"One point to discuss: {to_discuss[0]}.")
    return " ".join(lines)


def _letter_standard(it: RaterFindings) -> str:
    than = "stricter" if it.standard.endswith("severe") else "more generous"
    share = f"{100 * it.passes.value:.0f}"
    seen = (
        f"of 100 students you would give the middle mark or more to about {share}, the average rater to 50"
        f"{_marks(it, ' from you')}"
        if it.ordered
        else f"of 100 borderline students you would pass about {share}, the average rater 50"
    )
    return f"You are {than} than they are: {seen}."


# --------------------------------------------------------------------------------------------- the panel


class Headline(NamedTuple):
    """The answer in one line, who needs attention, and what belongs beside it."""

    text: str
    who: str
    aside: str


def headline(panel: PanelFindings) -> Headline:
    """Sum up a panel: what has to be known before anything else; else what it means for students; that raters do not
    differ, where they do not; who needs attention, where nobody's result is known."""
    needing = who(panel.raters)
    return Headline(_first_line(panel) or needing, needing, aside(panel.raters))


def _first_line(panel: PanelFindings) -> str:
    if panel.alarmed:
        drifting = len(panel.alarmed)
        return f"{counted(drifting, 'rater')} drift{'s' * (drifting == 1)}: look into that first"
    if not panel.comparable:
        if len(panel.raters) == 1:
            return "One rater: there is nobody to compare with"
        return f"Raters cannot be compared: they fall into {panel.groups} groups that share no students"
    if panel.count("unclear") == len(panel.raters):
        return "Too few ratings to say how capable any rater is"
    if not panel.ranked:
        return "Raters do not differ beyond chance in severity or sharpness"
    return on_results(panel)


def on_results(panel: PanelFindings) -> str:
    """Whose results raters' differences change; empty where that is not known."""
    meaning, students = panel.consequences, counted(panel.consequences.students, "student")
    if meaning.changed is not None:
        who = f"{meaning.changed:,} of {students}" if meaning.changed else "Nobody"
        return f"{who} would pass or fail differently with an average rater"
    if meaning.moved is None:
        return ""
    many = meaning.moved[1]
    whose = f"The mean scores of {many:,} of {students}" if many else "Nobody's mean score"
    return f"{whose} would move by {meaning.so_far()} with an average rater"


def meaning(panel: PanelFindings) -> list[str]:
    """Say what the raters' differences mean for students, and whether there are any, if raters can be compared."""
    if panel.comparable:
        return [*panel.consequences.words(), *panel.differences.words()]
    if len(panel.raters) == 1:
        return []
    return [
        "Severities take all groups of students for equally able: what raters' differences mean for students is not "
        "known."
    ]


def who(raters: Sequence[RaterFindings]) -> str:
    """How many raters need attention."""
    statuses = [rater.status for rater in raters]
    wanting, of = statuses.count("attention"), len(statuses)
    if wanting == of:
        return f"All {of:,} raters need attention" if of > 1 else "The rater needs attention"
    if wanting:
        return f"{wanting:,} of {counted(of, 'rater')} need{'s' * (wanting == 1)} attention"
    if "unclear" in statuses or "borderline" in statuses:
        return "No rater clearly needs attention"
    return "No rater needs attention"


def aside(raters: Sequence[RaterFindings]) -> str:
    """Who else there is, and why nothing more is said of them."""
    few, apart = (
        sum(rater.status == "unclear" and (rater.link == "linked") == linked for rater in raters)
        for linked in (True, False)
    )
    others = [rater.reason for rater in raters if rater.status in ("borderline", "flagged", "fine")]
    counts = (
        (others.count("severity"), "is severe or lenient", "are severe or lenient"),
        (others.count("borderline"), "is borderline", "are borderline"),
        (few, "has too few ratings to say", "have too few ratings to say"),
        (
            apart * (len(raters) > 1),
            "cannot be compared with the others",
            "cannot be compared with each other",
        ),
        (others.count("flag"), "stands out for another reason", "stand out for another reason"),
    )
    return "; ".join(f"{n:,} {one if n == 1 else several}" for n, one, several in counts if n)


def common_fault(panel: PanelFindings) -> str:
    """The fault that most raters share, in one sentence; empty if there is none."""
    if panel.common_fault is None:
        return ""
    (fault, n), of = panel.common_fault, len(panel.raters)
    if fault == "halo":
        return f"halo costs {n:,} of {of:,} raters most: let all mark each item across all students before the next"
    typical = float(np.median([rater.sharpness.value for rater in panel.raters]))
    return (
        f"{n:,} of {of:,} raters are blunt (median sharpness {typical:.2f}): look at the criteria, the training and "
        "the model before you look at single raters, and let more raters mark each student"
    )


CAVEATS = {
    "tfm": "model tfm assumes that all raters discriminate equally, so only severity can lower their capability; "
    "fit gmf to see who tells students apart"
}
"""Limits of each model, whatever the data."""


FEW_PER_RATER = 100
"""Ratings per rater (median) up to which `benchmarks.studies priors` finds the errors of capabilities smaller by 25 %
and more with the panel prior; with 200 it is 5 to 15 %."""


def caveats(fit: Result) -> tuple[str, ...]:
    """Cautions about what was asked for: limits of the model, and a panel prior where it would help."""
    found = [CAVEATS[fit.model]] if fit.model in CAVEATS else []
    known, config = fit.calibration, fit.config
    asked = (config.prior, config.anchors, config.trusted, known and known.known_slope)
    plain = known is not None and known.spread is None and {GROUP_MEAN, BIAS}.isdisjoint(known.effects)
    possible = plain and fit.model == "gmf" and config.method == "mml" and fit.n_raters > 2
    per_rater = float(np.median(fit.table("raters")["n"].to_numpy()))
    if possible and asked == (None,) * 4 and per_rater <= FEW_PER_RATER:
        found.append(
            Message(
                f"with about {per_rater:.0f} ratings per rater, capabilities are nearer the truth if raters are taken "
                "for a random sample: ",
                Option("prior", "panel"),
            )
        )
    return tuple(found)


# -------------------------------------------------------------------------------------------- as a table


_OF_CATEGORIES = [f"lost_to_categories{end}" for end in ("", "_low", "_high")]
"""Columns about the use of the scale, where raters have thresholds of their own; besides `category_use`."""


def _row(it: RaterFindings) -> dict[str, Any]:
    """All that is said of a rater, as columns."""
    lost = {f"lost_to_{fault}": loss for fault, loss in it.losses.items()}
    costs = it.lost_to_categories or Interval(0.0, 0.0, 0.0)
    words = dict(zip(("label", "sentence", "next_step"), said(it), strict=True))
    return {
        **{
            "standard": it.standard,
            "sharpness_verdict": it.sharpness_verdict,
            "halo_verdict": it.halo_verdict,
        },
        **{"costs_most": it.cause, **words, "status": it.status, **lost, "category_use": it.category_use},
        **dict(zip(_OF_CATEGORIES, costs, strict=True)),
        **{"best_severity": it.best_severity, "best_kappa": it.best_kappa},
    }


def _columns(raters: Iterable[RaterFindings]) -> pl.DataFrame:
    return pl.DataFrame([_row(it) for it in raters], infer_schema_length=None)


def rater_table(fit: Result, raters: Iterable[RaterFindings] | None = None) -> pl.DataFrame:
    """The fit's raters, the most capable first, with their verdicts: what tables, files, charts and the app select
    from. `raters` are those of a `PanelFindings`; what the estimates alone say where left out."""
    found = _columns(rater_findings(fit) if raters is None else raters)
    table = fit.table("raters").with_columns(found.drop("category_use", *_OF_CATEGORIES[1:]))
    return table.sort("kappa", descending=True, nulls_last=True, maintain_order=True)


def most_urgent(raters: Iterable[RaterFindings], *statuses: Status) -> list[RaterFindings]:
    """Raters of these statuses, in this order; within each, alarms and voided scores before the costliest faults."""

    def order(it: RaterFindings) -> tuple[int, bool, float]:
        return statuses.index(it.status), it.reason not in ("alarm", "flag"), -max(it.losses.values())

    return sorted((it for it in raters if it.status in statuses), key=order)


def advice(fit: Result, raters: Sequence[RaterFindings] | None = None) -> pl.DataFrame:
    """A row per rater in the order of the fit: kappa, what severity, discrimination and halo cost and which of them
    costs most (a halo that is common to all is no rater's own), the best severity and kappa there, the abilities
    judged best (`from` - `to`: where sensitivity is at least half of the rater's highest), and `feedback`, a paragraph
    to send. Under latent classes a rater sees a true category and no ability, so there is no range."""
    found, at = rater_findings(fit) if raters is None else raters, Levers(fit)
    low, high = at.ability_range()
    of_use = [] if found[0].lost_to_categories is None else ["category_use", *_OF_CATEGORIES]
    losses = [f"lost_to_{fault}" for fault in found[0].losses]
    return pl.DataFrame({"rater": fit.table("raters")["rater"], "kappa": at.kappa}).hstack(
        _columns(found)
        .select(*losses, *of_use, "costs_most", "best_severity", "best_kappa")
        .with_columns(
            pl.Series("from", low),
            pl.Series("to", high),
            pl.Series("feedback", [letter(it, float(low[r]), float(high[r])) for r, it in enumerate(found)]),
        )
    )


def with_verdicts(fit: Result, raters: Sequence[RaterFindings] | None = None) -> pl.DataFrame:
    """The fit's raters in its order, with `verdict`, `standard`, `sharpness_verdict`, `costs_most` (and `halo_verdict`
    where each rater's halo was estimated): what raters.csv holds."""
    found = rater_findings(fit) if raters is None else raters
    halo = ["halo_verdict"] if any(it.halo_verdict for it in found) else []
    of_use = [] if found[0].lost_to_categories is None else ["category_use", *_OF_CATEGORIES]
    names = ["standard", "sharpness_verdict", *halo, "costs_most", "next_step", *of_use]
    verdict = pl.col("label").alias("verdict")
    return fit.table("raters").with_columns(_columns(found).select(verdict, *names))
