"""The first screen: what it means for students, whether raters differ at all, who needs attention, what next."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.text import counted, interval, number, sentence
from raterlens.diagnostics.earlier_fit import changes
from raterlens.diagnostics.panel_summary import attention, headline, shared_fault
from raterlens.diagnostics.verdicts import verdicts_of
from raterlens.output.report import english as words
from raterlens.pictures.style import MARKS

if TYPE_CHECKING:
    from raterlens.diagnostics.consequences import Consequences
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.diagnostics.findings import Findings
    from raterlens.inference.result import Result

Row = Mapping[str, Any]

CARDS = 8
"""Raters with a card on the first screen; the table has the rest."""
STANDING_OUT = 3
"""Cards of raters who are otherwise fine."""
NAMED = 12
"""Raters named in each list of doubtful cases, and among those who changed."""


def opening(
    fit: "Result", raters: pl.DataFrame, found: "Findings", previous: "Result | None" = None
) -> dict[str, Any]:
    """What the first screen says; `raters` are those of `rater_rows.panel`, `previous` is an earlier fit."""
    wanting = attention(raters)
    clear = wanting.filter(standing="attention")
    standing_out = raters.filter(notice="flagged").sort("kappa", maintain_order=True)
    answer = headline(raters)
    asides = [answer.aside] if answer.aside else []
    if standing_out.height:
        others = (
            counted(standing_out.height, "other") if clear.height else counted(standing_out.height, "rater")
        )
        asides.append(words.STAND_OUT_ASIDE.format(raters=others, s="s" * (standing_out.height == 1)))
    return {
        "headline": _headline(found, answer.text),
        "who": answer.text,
        "aside": "; ".join(asides),
        "facts": facts(found.consequences),
        "differ": " ".join([*_pass_mark(found.consequences), *found.differences.words()]),
        "panel": shared(raters, found.diagnosis),
        "source": words.FROM.format(
            ratings=counted(fit.n_ratings, "rating"),
            students=counted(fit.n_students, "student"),
            raters=counted(fit.n_raters, "rater"),
            items=counted(fit.n_items, "item"),
        ),
        "scale": scale(fit),
        "tally": tally(raters),
        "cards": [_card(row) for row in clear.head(CARDS).iter_rows(named=True)],
        "more": max(0, clear.height - CARDS),
        "standing_out": [_card(row) for row in standing_out.head(STANDING_OUT).iter_rows(named=True)],
        "more_standing_out": max(0, standing_out.height - STANDING_OUT),
        "doubtful": doubtful(wanting),
        "since": None if previous is None else since(fit, previous),
        "converged": fit.converged,
    }


def _headline(found: "Findings", who: str) -> str:
    """What has to be known before anything else; else what it means for students; that raters do not differ, where they
    do not; who, where nobody's result is known."""
    meaning = found.consequences
    if alarms := found.alarmed:
        return words.ALARMED.format(raters=counted(alarms, "rater"), drift="s" * (alarms == 1))
    if found.groups > 1:
        return words.UNLINKED.format(groups=found.groups)
    if meaning.alone:
        return words.ALONE
    if found.differences.equal:
        return words.EQUAL
    changed, students = meaning.changed, counted(meaning.students, "student")
    if changed is None:
        if meaning.moved is None or meaning.results is None:
            return who
        many, half = meaning.moved[1], f"{meaning.results.step / 2:g}"
        return words.MOVED_BY.format(many=f"{many:,}", students=students, half=half)
    if not changed:
        return words.NONE_CHANGED
    return words.CHANGED.format(changed=f"{changed:,}", students=students)


def _pass_mark(found: "Consequences") -> list[str]:
    """How sure the number of changed results is; what would say who passes, where scores do not."""
    if found.results is None:
        return []
    between = found.changed_interval
    if between is not None and found.changed:
        return [words.BETWEEN.format(low=f"{between[0]:,}", high=f"{between[1]:,}")]
    return [] if found.cuts else [words.NO_PASS_MARK]


def facts(found: "Consequences") -> list[tuple[str, str, str]]:
    """Numbers that say what raters' differences cost: what, how much, and what it would be if all were alike."""
    alike = words.IF_ALIKE.format
    rows = []
    if found.observed_agreement is not None:
        expected = words.EXPECTED.format(value=f"{100 * found.agreement:.0f} %")
        rows.append((words.FACTS["agreement"], f"{100 * found.observed_agreement:.0f} %", expected))
    if np.isfinite(found.reliability):
        raters = counted(found.raters_per_student, "rater")
        rows.append(
            (
                words.FACTS["reliability"].format(raters=raters),
                f"{found.reliability:.2f}",
                alike(value=f"{found.reliability_if_alike:.2f}"),
            )
        )
    (kind, high), (hard, low) = found.most_lenient, found.most_severe
    if kind != hard:
        what = words.FACTS["marks" if found.ordered else "passes"]
        rows.append(
            (
                what,
                words.FACTS["range"].format(low=f"{100 * low:.0f}", high=f"{100 * high:.0f}"),
                words.FACTS["ends"].format(severe=hard, lenient=kind),
            )
        )
    return rows


def shared(raters: pl.DataFrame, diagnosis: "Diagnosis | None") -> list[str]:
    """What holds for the panel rather than for single raters, each said once."""
    fault = shared_fault(raters)
    return [*([fault] if fault else []), *(() if diagnosis is None else diagnosis.shared())]


def scale(fit: "Result") -> str:
    """Which yardstick capability is measured with, and the model, in one line."""
    reference = fit.yardstick.reference
    known = words.YARDSTICKS.get(str(reference).split()[0])
    against = known or (words.SLOPE if isinstance(reference, int | float) else words.RATER_YARDSTICK).format(
        reference=reference
    )
    model = words.MODELS.get(fit.model, fit.model).partition(":")[0]
    return words.SCALE.format(against=against, model=model, link=words.LINKS.get(fit.link, fit.link).lower())


def tally(raters: pl.DataFrame) -> Sequence[Row]:
    """How many raters have each verdict, from none to the gravest fault."""
    order = {name: place for place, name in enumerate(MARKS)}
    counts = raters.group_by("label", "mark").agg(pl.len())
    return counts.sort(
        pl.col("mark").replace_strict(order, return_dtype=pl.Int8), pl.col("label") != "sharp", "label"
    ).to_dicts()


def doubtful(wanting: pl.DataFrame) -> Sequence[Row]:
    """Raters about whom the ratings do not say enough yet, listed in brief, by what would help."""
    lists = []
    for standing, heading in words.DOUBTFUL.items():
        group = wanting.filter(standing=standing)
        parts = []
        for (advice,), own in group.group_by("advice", maintain_order=True):
            named = [_card(row) for row in own.head(NAMED).iter_rows(named=True)]
            parts.append({"advice": advice, "raters": named, "rest": own.height - len(named)})
        if parts:
            lists.append({"heading": heading, "parts": parts})
    return lists


def since(fit: "Result", previous: "Result") -> dict[str, Any]:
    """What has changed since an earlier fit: raters whose standard or sharpness moved beyond chance, and who came and
    went."""
    found = changes(fit, previous, ("standard", "sharpness"))
    before, now = ({str(name) for name in one.table("raters")["rater"]} for one in (previous, fit))
    labels = [_labels(one) for one in (previous, fit)]
    moved = [
        words.MOVED[row["measure"]].format(
            before=_size(row["measure"], row["before"]), now=_size(row["measure"], row["now"])
        )
        for row in found.filter("clear").iter_rows(named=True)
    ]
    who = [str(name) for name in found.filter("clear")["rater"]]
    return {
        "rows": [
            {"rater": rater, "what": what, "was": labels[0][rater], "now": labels[1][rater]}
            for rater, what in zip(who[:NAMED], moved, strict=False)
        ],
        "more": max(0, len(who) - NAMED),
        "compared": counted(len(before & now), "rater"),
        "new": counted(len(now - before), "new rater") if now - before else "",
        "gone": counted(len(before - now), "rater") if before - now else "",
    }


def _labels(fit: "Result") -> dict[str, str]:
    table = fit.table("raters")
    return dict(zip(table["rater"].cast(pl.String), verdicts_of(fit)["label"], strict=True))


def _size(measure: str, value: float) -> str:
    return f"{100 * value:.0f}" if measure == "standard" else f"{value:.2f}"


_SHARPNESS = ("sharpness", 1, 2, words.CARD["sharpness"])
_OTHERS = {"discrimination": _SHARPNESS, "nothing": _SHARPNESS, "halo": ("halo", 1, 1, words.CARD["halo"])}


def _card(row: Row) -> Row:
    """The number at issue, with its interval, and what the verdict says about it."""
    kept = ("rater", "mark", "label", "sentence", "advice", "reasons")
    standard = row["costs_most"] == "severity" or (
        row["standing"] == "borderline" and row["sharpness_verdict"] in ("sharp", "fair")
    )
    name, times, digits, of = (
        ("passes", 100, 0, words.CARD["standard"]) if standard else _OTHERS[row["costs_most"]]
    )
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    known = interval(low, high) != interval(None, None)
    span = f"{number(times * low, digits)}–{number(times * high, digits)}" if known else ""
    return {name: row[name] for name in kept} | {
        "value": number(None if value is None else times * value, digits),
        "span": span,
        "of": of,
        "reasons": [
            {"effect": one["effect"], "evidence": sentence(one["evidence"])} for one in row["reasons"]
        ],
    }
