"""The first screen: what it means for students, whether raters differ at all, who needs attention, what next."""

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
    answer = wording.headline(found)
    return {
        "headline": answer.text,
        "who": answer.who,
        "aside": answer.aside,
        "facts": facts(found.consequences) if found.comparable else [],
        "differ": " ".join(_differences(found)),
        "panel": shared(found),
        "source": words.FROM.format(
            ratings=counted(fit.n_ratings, "rating"),
            students=counted(fit.n_students, "student"),
            raters=counted(fit.n_raters, "rater"),
            items=counted(fit.n_items, "item"),
        ),
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
    """How sure the headline's number is, and whether raters differ at all."""
    if not found.comparable:
        return wording.meaning(found)
    return [*_results(found), *found.differences.words()]


def _results(found: "PanelFindings") -> list[str]:
    """How many results would change, where the headline is about something else, and how sure that is; what would say
    who passes, where scores do not."""
    meant, said = found.consequences, wording.on_results(found)
    if meant.results is None:
        return []
    known = [] if said == wording.headline(found).text else [sentence(said)]
    between = meant.changed_interval
    if between is not None and meant.changed:
        known.append(words.BETWEEN.format(low=f"{between[0]:,}", high=f"{between[1]:,}"))
    return known if meant.cuts else [*known, words.NO_PASS_MARK]


def facts(found: "Consequences") -> list[tuple[str, str, str]]:
    """Numbers that say what raters' differences cost: what, how much, and what it would be if all were alike."""
    alike = words.IF_ALIKE.format
    rows = []
    if found.observed_agreement is not None:
        expected = found.expected_agreement
        beside = "" if expected is None else words.EXPECTED.format(value=f"{100 * expected:.0f} %")
        rows.append((words.FACTS["agreement"], f"{100 * found.observed_agreement:.0f} %", beside))
    if np.isfinite(found.reliability):
        raters = counted(found.raters_per_student, "rater")
        rows.append(
            (
                words.FACTS["reliability"].format(raters=raters),
                f"{found.reliability:.2f}",
                alike(value=f"{found.reliability_if_alike:.2f}"),
            )
        )
    if (extremes := found.extremes()) is not None:
        lenient, severe = extremes
        what = words.FACTS["marks" if found.ordered else "passes"]
        ends = words.FACTS["ends"].format(severe=found.most_severe[0], lenient=found.most_lenient[0])
        rows.append((what, words.FACTS["range"].format(low=severe.removesuffix(" %"), high=lenient), ends))
    return rows


def shared(found: "PanelFindings") -> list[str]:
    """Findings about the panel rather than single raters, each once."""
    fault = wording.common_fault(found)
    return [*([fault] if fault else []), *(() if found.diagnosis is None else found.diagnosis.shared())]


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
    counts: dict[str, int] = {}
    for it in raters:
        counts[wording.label(it)] = counts.get(wording.label(it), 0) + 1
    order = [*MARKS]
    rows = [{"label": label, "mark": mark_of_verdict(label).name, "len": n} for label, n in counts.items()]
    return sorted(rows, key=lambda row: (order.index(row["mark"]), wording.LABELS.index(row["label"])))


def doubtful(raters: Iterable[RaterFindings]) -> Sequence[Row]:
    """Raters about whom the ratings do not say enough yet, listed in brief, by what would help."""
    lists = []
    statuses: tuple[Status, ...] = ("borderline", "unclear")
    for status in statuses:
        group = wording.most_urgent(raters, status)
        parts: dict[str, list[RaterFindings]] = {}
        for it in group:
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
    labels = [
        {it.rater: wording.label(it) for it in some} for some in (rater_findings(previous), found.raters)
    ]
    clear = found.monitoring.changes.filter("clear")
    said = [
        moved(row["measure"], row["before"], row["now"], ordered=fit.ordered)
        for row in clear.iter_rows(named=True)
    ]
    who = [str(name) for name in clear["rater"]]
    return {
        "rows": [
            {"rater": rater, "what": what, "was": labels[0][rater], "now": labels[1][rater]}
            for rater, what in zip(who[:NAMED], said, strict=False)
        ],
        "more": max(0, len(who) - NAMED),
        "compared": counted(len(before & now), "rater"),
        "new": counted(len(now - before), "new rater") if now - before else "",
        "gone": counted(len(before - now), "rater") if before - now else "",
    }


def card(it: RaterFindings) -> Row:
    """Capability with its interval, what the verdict is, why, and what to do."""
    decided = it.reason == "flag" and it.status == "attention"
    return {
        "rater": it.rater,
        "mark": mark_of_verdict(wording.label(it)).name,
        "label": wording.label(it),
        "sentence": wording.explanation(it),
        "advice": wording.next_step(it),
        "reasons": [
            {"effect": flag.effect, "evidence": sentence(flag.evidence)} for flag in it.flags[decided:]
        ],
        **_number(it.kappa, words.CARD["capability"]),
    }


def _brief(it: RaterFindings) -> Row:
    """The number that is in doubt, with its interval."""
    of_standard = it.status == "borderline" and it.sharpness_verdict != "probably blunt"
    seen = (
        _number(it.passes, words.CARD["ordered_standard" if it.ordered else "standard"], 100, 0)
        if of_standard
        else _number(it.sharpness, words.CARD["sharpness"])
    )
    return {"rater": it.rater, "mark": mark_of_verdict(wording.label(it)).name, **seen}


def _number(found: Interval, of: str, times: int = 1, digits: int = 2) -> dict[str, str]:
    low, high = (number(times * end, digits) for end in (found.low, found.high))
    return {
        "value": number(times * found.value, digits),
        "span": f"{low}–{high}" if found.low < found.high else "",
        "of": of,
    }


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
