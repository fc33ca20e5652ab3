"""The first screen: what it means for students, whether raters differ at all, who needs attention, what next."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.style import MARKS, mark_of_verdict
from raterlens.base.text import counted, number, sentence
from raterlens.diagnostics import wording
from raterlens.diagnostics.drift import moved
from raterlens.diagnostics.findings import Interval, RaterFindings, Status, rater_findings
from raterlens.diagnostics.flags import Flag
from raterlens.output.report import english as words

if TYPE_CHECKING:
    from raterlens.diagnostics.differences import Consequences
    from raterlens.diagnostics.findings import PanelFindings
    from raterlens.inference.result import Result

Row = Mapping[str, Any]

CARDS = 8
"""Raters with a card on the first screen; the table has the rest."""
STANDING_OUT = 3
"""Cards of raters who are otherwise fine."""
NAMED = 12
"""Raters named in each list of doubtful cases, and among those who changed."""


def opening(fit: "Result", found: "PanelFindings", previous: "Result | None" = None) -> dict[str, Any]:
    """Contents of the first screen; `previous` is an earlier fit."""
    clear = wording.most_urgent(found.raters, "attention")
    flagged = wording.most_urgent(found.raters, "flagged")
    answer, fault = wording.headline(found), wording.common_fault(found)
    sizes = {name: getattr(fit, f"n_{name}") for name in ("ratings", "students", "raters", "items")}
    return {
        "headline": answer.text,
        "who": answer.who,
        "aside": answer.aside,
        "facts": facts(found.consequences) if found.comparable else [],
        "differ": " ".join(_differences(found)),
        # Findings about the panel rather than single raters, each once.
        "panel": [*([fault] if fault else []), *(found.diagnosis.shared() if found.diagnosis else ())],
        "source": words.FROM.format(**{name: counted(n, name[:-1]) for name, n in sizes.items()}),
        "scale": scale(fit),
        "tally": tally(found.raters),
        "cards": [card(it) for it in clear[:CARDS]],
        "more": max(0, len(clear) - CARDS),
        "standing_out": [card(it) for it in flagged[:STANDING_OUT]],
        "more_standing_out": max(0, len(flagged) - STANDING_OUT),
        "doubtful": doubtful(found.raters),
        "since": None if previous is None else since(fit, previous, found),
        "converged": fit.converged,
    }


def _differences(found: "PanelFindings") -> list[str]:
    """How many results would change, where the headline is about something else, and how sure that is; what would say
    who passes, where scores do not; and whether raters differ at all."""
    if not found.comparable:
        return wording.meaning(found)
    meant, said = found.consequences, wording.on_results(found)
    if meant.results is None:
        return list(found.differences.words())
    known = [] if said == wording.headline(found).text else [sentence(said)]
    between = meant.changed_interval
    if between is not None and meant.changed:
        known.append(words.BETWEEN.format(low=f"{between[0]:,}", high=f"{between[1]:,}"))
    return [*known, *([] if meant.cuts else [words.NO_PASS_MARK]), *found.differences.words()]


def facts(found: "Consequences") -> list[tuple[str, str, str]]:
    """Numbers that say what raters' differences cost: what, how much, and what it would be if all were alike."""
    rows = []
    if found.observed_agreement is not None:
        expected = found.expected_agreement
        beside = "" if expected is None else words.EXPECTED.format(value=f"{100 * expected:.0f} %")
        rows.append((words.FACTS["agreement"], f"{100 * found.observed_agreement:.0f} %", beside))
    if np.isfinite(found.reliability):
        what = words.FACTS["reliability"].format(raters=counted(found.raters_per_student, "rater"))
        alike = words.IF_ALIKE.format(value=f"{found.reliability_if_alike:.2f}")
        rows.append((what, f"{found.reliability:.2f}", alike))
    if (extremes := found.extremes()) is not None:
        lenient, severe = extremes
        what = words.FACTS["marks" if found.ordered else "passes"]
        ends = words.FACTS["ends"].format(severe=found.most_severe[0], lenient=found.most_lenient[0])
        rows.append((what, words.FACTS["range"].format(low=severe.removesuffix(" %"), high=lenient), ends))
    return rows


def scale(fit: "Result") -> str:
    """Which yardstick capability is measured with, and the model, in one line."""
    reference = fit.yardstick.reference
    other = words.SLOPE if isinstance(reference, int | float) else words.RATER_YARDSTICK
    known: str = words.YARDSTICKS.get(str(reference).split()[0], other)
    model, link = words.MODELS[fit.model].partition(":")[0], words.LINKS.get(fit.link, fit.link).lower()
    said: str = words.SCALE.format(against=known.format(reference=reference), model=model, link=link)
    return said


def tally(raters: Iterable[RaterFindings]) -> Sequence[Row]:
    """How many raters have each verdict, from none to the gravest fault."""
    order = [*MARKS]
    counts = Counter(wording.label(it) for it in raters)
    rows = [{"label": label, "mark": mark_of_verdict(label).name, "len": n} for label, n in counts.items()]
    return sorted(rows, key=lambda row: (order.index(row["mark"]), wording.LABELS.index(row["label"])))


def doubtful(raters: Iterable[RaterFindings]) -> Sequence[Row]:
    """Raters about whom the ratings do not say enough yet, listed in brief, by what would help."""
    lists = []
    statuses: tuple[Status, ...] = ("borderline", "unclear")
    for status in statuses:
        parts: dict[str, list[RaterFindings]] = {}
        for it in wording.most_urgent(raters, status):
            parts.setdefault(wording.next_step(it), []).append(it)
        rows = [
            {"advice": step, "raters": [_brief(it) for it in own[:NAMED]], "rest": max(0, len(own) - NAMED)}
            for step, own in parts.items()
        ]
        if rows:
            lists.append({"heading": words.DOUBTFUL[status], "parts": rows})
    return lists


def since(fit: "Result", previous: "Result", found: "PanelFindings") -> dict[str, Any] | None:
    """Changes since an earlier fit: raters whose standard or sharpness moved beyond chance, and who came and
    went."""
    if found.monitoring is None:
        return None
    before, now = ({str(name) for name in one.table("raters")["rater"]} for one in (previous, fit))
    was, are = (
        {it.rater: wording.label(it) for it in some} for some in (rater_findings(previous), found.raters)
    )
    clear = found.monitoring.changes.filter("clear").with_columns(pl.col("rater").cast(pl.String))
    rows = clear.head(NAMED).iter_rows(named=True)
    return {
        "rows": [
            {
                "rater": row["rater"],
                "what": moved(row["measure"], row["before"], row["now"], ordered=fit.ordered),
                "was": was[row["rater"]],
                "now": are[row["rater"]],
            }
            for row in rows
        ],
        "more": max(0, clear.height - NAMED),
        "compared": counted(len(before & now), "rater"),
        "new": counted(len(now - before), "new rater") if now - before else "",
        "gone": counted(len(before - now), "rater") if before - now else "",
    }


def card(it: RaterFindings) -> Row:
    """Capability with its interval, what the verdict is, why, and what to do."""
    reasons = it.flags[it.reason == "flag" and it.status == "attention" :]  # the first is the verdict itself
    return {
        "rater": it.rater,
        "mark": mark_of_verdict(wording.label(it)).name,
        "label": wording.label(it),
        "sentence": wording.explanation(it),
        "advice": wording.next_step(it),
        "reasons": [{"effect": flag.effect, "evidence": sentence(flag.evidence)} for flag in reasons],
        **_number(it.kappa, words.CARD["capability"]),
    }


def _brief(it: RaterFindings) -> Row:
    """The number that is in doubt, with its interval."""
    seen = _number(it.sharpness, words.CARD["sharpness"])
    if it.status == "borderline" and it.sharpness_verdict != "probably blunt":
        seen = _number(it.passes, words.CARD["ordered_standard" if it.ordered else "standard"], 100, 0)
    return {"rater": it.rater, "mark": mark_of_verdict(wording.label(it)).name, **seen}


def _number(found: Interval, of: str, times: int = 1, digits: int = 2) -> dict[str, str]:
    value, low, high = (number(times * end, digits) for end in (found.value, found.low, found.high))
    return {"value": value, "span": f"{low}–{high}" if found.low < found.high else "", "of": of}


def panel_rows(fit: "Result", found: "PanelFindings") -> pl.DataFrame:
    """One row per rater, the most capable first (by name where chance explains all differences, and a rank would rank
    luck): the columns of the fit, those of the verdict, rank, mark, and reasons (flags)."""
    rows = wording.rater_table(fit, found.raters).with_columns(pl.col("rater").cast(pl.String))
    rows = rows if found.ranked else rows.sort("rater", maintain_order=True)
    flags = {
        it.rater: [dict(zip(Flag._fields, flag[:3], strict=False)) for flag in it.flags]
        for it in found.raters
    }
    return rows.with_row_index("rank", offset=1).with_columns(
        pl.Series("mark", [mark_of_verdict(label).name for label in rows["label"]]),
        pl.Series("reasons", [flags[rater] for rater in rows["rater"]], dtype=pl.Object),
    )
