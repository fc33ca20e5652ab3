"""The raters as the report shows them: ranked, with verdicts, words for the numbers, and flags."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.charts.verdict_marks import mark
from raterlens.diagnostics.panel_summary import attention, headline, judged
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.report import english as words
from raterlens.text import counted, sentence

if TYPE_CHECKING:
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.result.record import Result

Row = Mapping[str, Any]

CARDS = 6
"""Raters with a card on the first screen; the table has the rest."""
STANDING_OUT = 3
"""Cards of raters who are otherwise fine."""
NAMED = 12
"""Raters named in each list of doubtful cases."""
_CLEAR = 1.96


def panel(fit: "Result", diagnosis: "Diagnosis | None") -> pl.DataFrame:
    """One row per rater, the most capable first: the columns of the fit, those of the verdict, and

    rank, notice (attention, flagged, borderline, unclear, fine), mark, eta_words, rho_words, reasons (flags).
    """
    rows = judged(fit).with_columns(pl.col("rater").cast(pl.String)).with_row_index("rank", offset=1)
    found = {} if diagnosis is None else _reasons(diagnosis.flags)
    reasons = [found.get(rater, []) for rater in rows["rater"]]
    notice = [
        "flagged" if flags and standing == "fine" else standing
        for flags, standing in zip(reasons, rows["standing"], strict=True)
    ]
    # For raters who are otherwise fine, the flag is what to look into.
    advice = [
        sentence(flags[0]["next_step"]) if how == "flagged" else given
        for flags, how, given in zip(reasons, notice, rows["next_step"], strict=True)
    ]
    return rows.with_columns(
        pl.Series("notice", notice),
        pl.Series("advice", advice),
        pl.Series("mark", [mark(label).name for label in rows["label"]]),
        pl.Series("eta_words", _severity_words(rows)),
        pl.Series("rho_words", [_discrimination_words(value) for value in rows["rho"]]),
        pl.Series("reasons", reasons, dtype=pl.Object),
    )


def overview(fit: "Result", raters: pl.DataFrame, diagnosis: "Diagnosis | None") -> dict[str, Any]:
    """What the first screen says."""
    wanting = attention(raters)
    clear = wanting.filter(standing="attention")
    standing_out = raters.filter(notice="flagged").sort("kappa", maintain_order=True)
    answer = headline(raters)
    asides = [answer.aside] if answer.aside else []
    if standing_out.height:
        asides.append(words.STAND_OUT_ASIDE.format(n=f"{standing_out.height:,}"))
    return {
        "headline": answer.text,
        "aside": "; ".join(asides),
        "source": words.FROM.format(
            ratings=counted(fit.n_ratings, "rating"),
            students=counted(fit.n_students, "student"),
            raters=counted(fit.n_raters, "rater"),
            items=counted(fit.n_items, "item"),
        ),
        "scale": words.SCALE.format(line=f"{CAPABLE:.2f}"),
        "numbers": _numbers(raters, diagnosis),
        "tally": tally(raters),
        "cards": [_card(row) for row in clear.head(CARDS).iter_rows(named=True)],
        "more": max(0, clear.height - CARDS),
        "standing_out": [_card(row) for row in standing_out.head(STANDING_OUT).iter_rows(named=True)],
        "more_standing_out": max(0, standing_out.height - STANDING_OUT),
        "doubtful": doubtful(wanting),
        "converged": fit.converged,
    }


def tally(raters: pl.DataFrame) -> Sequence[Row]:
    """How many raters have each verdict, the most capable first."""
    counts = raters.group_by("label", "mark").agg(pl.len(), pl.col("kappa").max())
    return counts.sort("kappa", "label", descending=[True, False], nulls_last=True).to_dicts()


def doubtful(wanting: pl.DataFrame) -> Sequence[Row]:
    """Raters about whom the ratings do not say enough yet, listed in brief."""
    lists = []
    for standing, heading in words.DOUBTFUL.items():
        group = wanting.filter(standing=standing)
        if group.height:
            named = [_card(row) for row in group.head(NAMED).iter_rows(named=True)]
            rest = group.height - len(named)
            lists.append({"heading": heading, "advice": group["advice"][0], "raters": named, "rest": rest})
    return lists


def _card(row: Row) -> Row:
    kept = ("rater", "mark", "label", "kappa", "kappa_low", "kappa_high", "sentence", "advice", "reasons")
    return {name: row[name] for name in kept}


def _numbers(raters: pl.DataFrame, diagnosis: "Diagnosis | None") -> list[tuple[str, str]]:
    """A few numbers that sum up the panel, as (what, value)."""
    known = raters["kappa"].drop_nulls().drop_nans().to_numpy()
    needing = raters.filter(pl.col("notice") == "attention").height
    found = [
        (words.NUMBERS["needing"], words.RATER["of"].format(place=f"{needing:,}", all=f"{raters.height:,}")),
        (words.NUMBERS["median"], f"{np.median(known):.2f}" if len(known) else words.SCRIPT["missing"]),
        (words.NUMBERS["ratings"], f"{np.median(raters['n'].to_numpy()):,.0f}"),
    ]
    if diagnosis is not None and "reliability" in diagnosis.tables:
        value = diagnosis.table("reliability").filter(of="students")["reliability"]
        if len(value) and np.isfinite(value[0]):
            found.append((words.NUMBERS["reliability"], f"{value[0]:.2f}"))
    return found


def _reasons(flags: pl.DataFrame) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in flags.iter_rows(named=True):
        reason = {name: row[name] for name in ("effect", "evidence", "next_step")}
        found.setdefault(str(row["rater"]), []).append(reason)
    return found


def _severity_words(rows: pl.DataFrame) -> list[str]:
    """Severe or lenient only if the interval excludes 0; without an interval, about average."""
    eta, se = (rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("eta", "eta_se"))
    side = np.where(np.abs(eta) > _CLEAR * se, np.sign(eta), 0)
    return [words.SEVERITY_WORDS[1 + int(place)] if place == place else "" for place in side]


def _discrimination_words(rho: float | None) -> str:
    if rho is None or rho != rho:
        return ""
    return next(word for limit, word in words.DISCRIMINATION_WORDS if rho >= limit)
