"""Which judges can be trusted: the gate on the scale of known answers or people, with what ML teams ask besides.

`raterlens judge` prints it, and writes it as Markdown, JUnit and JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import counted, interval, listed, number
from raterlens.diagnostics.findings import FAIR
from raterlens.inference.result import Result
from raterlens.judging.bounds import Bounds
from raterlens.judging.gate import NORMAL, Gate, as_judged, cell, judge
from raterlens.judging.replacement import Replacement, can_replace
from raterlens.judging.system_rates import PassRates, known_of_ratings
from raterlens.judging.trusted_raters import trusted_raters
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

USUAL = Bounds(min_sharpness=FAIR)
"""What is asked where nothing is: scores that share a quarter of their variance with ability."""
_HEADINGS = (
    "Judge", "Sharpness", "95 % interval", "Passes of 100", "Right on known", "Shared bias", "Stands in", "Verdict"
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What is said about every judge."""

    gate: Gate
    table: pl.DataFrame
    """A row per judge, the sharpest first: judge, n, sharpness and kappa with their intervals, passes (share, where the
    people, or else the average rater, pass half), bias (how much it follows what judges share) where the model has it,
    n_known and right (share of known answers hit) with its interval, trusted, certain."""
    people: tuple[str, ...]
    n_known: int
    replacements: tuple[Replacement, ...] = ()
    """May each stand in for a person; where people are named."""
    rates: PassRates | None = None

    @property
    def passed(self) -> bool:
        return self.gate.passed

    def headline(self) -> str:
        """One line for the whole."""
        n, good = self.table.height, int(self.table["trusted"].sum())
        asked = " and ".join(
            f"{name[4:]} {'at least' if name.startswith('min_') else 'at most'} {bound:g}"
            for name, bound in self.gate.bounds.items()
        )
        failed = "" if self.gate.converged else "; the fit did not converge, so nothing can be said"
        return f"{good} of {counted(n, 'judge')} can be trusted ({asked}){failed}"

    def basis(self) -> str:
        """What the scale rests on: "On the scale of 60 known answers"."""
        known = [counted(self.n_known, "known answer")] if self.n_known else []
        people = (
            [f"{counted(len(self.people), 'person', 'people')} ({listed(self.people, 4)})"]
            if self.people
            else []
        )
        return f"On the scale of {' and '.join([*known, *people])}"

    def columns(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings, and the cells of every judge, as text; a column that nobody has anything in is left out."""
        rows = [self._cells(row) for row in self.table.iter_rows(named=True)]
        shown = [place for place in range(len(_HEADINGS)) if any(row[place] for row in rows)]
        headings = tuple(_HEADINGS[place] for place in shown)
        return headings, [tuple(row[place] for place in shown) for row in rows]

    def _cells(self, row: dict[str, Any]) -> tuple[str, ...]:
        right = bias = ""
        if row["n_known"]:
            right = f"{number(row['right'])} of {row['n_known']:,}"
        if row.get("bias") is not None:
            bias = f"{number(row['bias'])} ({interval(row['bias_low'], row['bias_high'], ' to ')})"
        verdict = "trusted" if row["trusted"] else "not trusted"
        return (
            str(row["judge"]),
            number(row["sharpness"]),
            interval(row["sharpness_low"], row["sharpness_high"]),
            number(None if row["passes"] is None else 100 * row["passes"], 0),
            right,
            bias,
            next((found.verdict for found in self.replacements if found.judge == row["judge"]), ""),
            verdict if row["certain"] else f"{verdict}, not certain",
        )

    def reasons(self) -> list[str]:
        """Why some are not trusted, where the table of judges does not show it."""
        if set(self.gate.bounds) == {"min_sharpness"}:
            return []
        failed = self.gate.table.filter(~pl.col("passed")).sort("rater", maintain_order=True)
        return [self.gate.worded(row) for row in failed.iter_rows(named=True)]

    def to_markdown(self) -> str:
        """For a pull request."""
        headings, rows = self.columns()
        lines = [f"### Raterlens: {cell(self.headline())}", "", cell(self.basis()) + ".", ""]
        lines += [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
        lines += [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
        if why := self.reasons():
            lines += ["", "Not trusted:", "", *(f"- {cell(text)}" for text in why)]
        if self.rates is not None:
            lines += ["", *_rates_as_markdown(self.rates)]
        if self.gate.changed:
            lines += ["", "Since the last run:", "", *(f"- {cell(text)}" for text in self.gate.changed)]
        elif self.gate.changes is not None:
            lines += ["", "No judge has changed since the last run beyond chance."]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """For other programs."""
        rates = None
        if self.rates is not None:
            rates = {name: _plain(self.rates.tables[name]) for name in ("rates", "differences")}
        content = {
            "format": "raterlens judgement",
            "version": 1,
            "passed": self.passed,
            "judges": _plain(self.table),
            "people": list(self.people),
            "n_known": self.n_known,
            "replacements": [_replacement(found) for found in self.replacements],
            "pass_rates": rates,
            "gate": json.loads(self.gate.to_json()),
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False)


def judged(
    fit: "Fit",
    ratings: Ratings,
    bounds: Bounds = USUAL,
    *,
    people: Sequence[str] | None = None,
    margin: float | None = None,
    baseline: Result | None = None,
) -> Judgement:
    """Judge every rater who is neither trusted nor one of the people; `bounds.raters` names others."""
    labels = fit.table("raters")["rater"].cast(pl.String).to_list()
    trusted = trusted_raters(fit)
    ours = trusted if people is None else [choose("rater", str(name), labels, "people") for name in people]
    if not trusted and ratings.known is None:
        raise OptionError(
            "nothing says what is right", "give known answers, trusted raters or anchors", option="known"
        )
    if not bounds.given():
        bounds = replace(USUAL, raters=bounds.raters, confident=bounds.confident)
    others = [name for name in labels if name not in {*trusted, *ours}]
    named = [bounds.raters] if isinstance(bounds.raters, str) else bounds.raters
    chosen = others if named is None else [choose("rater", str(name), labels, "raters") for name in named]
    if not chosen:
        raise OptionError(
            f"all {counted(len(labels), 'rater')} are people or trusted, so nobody is left to judge",
            "leave the judges out of them",
            option="people",
        )
    seen = as_judged(fit, ratings, chosen, misfit=bounds.on_misfit)
    gate = judge(fit, ratings, replace(bounds, raters=tuple(chosen)), baseline, seen)
    stands = [] if margin is None or not ours else [name for name in chosen if name not in ours]
    found = [can_replace(fit, name, ratings, people=ours, margin=float(margin or 0)) for name in stands]
    table = _table(seen.fit, ratings, gate, chosen)
    n_known = 0 if ratings.known is None else len(ratings.known)
    return Judgement(gate, table, tuple(ours), n_known, tuple(found))


def _table(fit: Result, ratings: Ratings, gate: Gate, chosen: list[str]) -> pl.DataFrame:
    rows = fit.table("raters").with_columns(pl.col("rater").cast(pl.String).alias("judge"))
    measures = ("sharpness", "kappa")
    columns = [f"{name}{end}" for name in measures for end in ("", "_low", "_high")]
    biases = [name for name in ("bias", "bias_low", "bias_high") if name in rows.columns]
    passed, certain = pl.col("passed"), pl.col("certain")
    beyond_doubt = pl.when(passed.all()).then(certain.all()).otherwise((~passed & certain).any())
    held = gate.table.group_by("rater").agg(trusted=passed.all(), certain=beyond_doubt)
    return (
        rows.filter(pl.col("judge").is_in(chosen))
        .select("judge", "n", *columns, "passes", *biases)
        .join(_hits(ratings), on="judge", how="left", maintain_order="left")
        .join(held.rename({"rater": "judge"}), on="judge", maintain_order="left")
        .sort("sharpness", descending=True, nulls_last=True)
    )


def _hits(ratings: Ratings) -> pl.DataFrame:
    """Of every rater: known answers rated, the share of them hit, and its 95 % interval (Wilson)."""
    known = known_of_ratings(ratings)
    rows = known >= 0
    n = np.bincount(ratings.rater[rows], minlength=ratings.n_raters).astype(np.float64)
    right = (ratings.score[rows] == known[rows]).astype(np.float64)
    hit = np.bincount(ratings.rater[rows], right, ratings.n_raters).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = _wilson(hit, n)
        share = hit / n
    labels = ratings.raters.cast(pl.String)
    found = {
        "judge": labels,
        "n_known": n.astype(np.int64),
        "right": share,
        "right_low": low,
        "right_high": high,
    }
    return pl.DataFrame(found).fill_nan(None)


def _wilson(hit: Array, n: Array) -> tuple[Array, Array]:
    centre, spread = hit + NORMAL**2 / 2, NORMAL * np.sqrt(hit * (n - hit) / n + NORMAL**2 / 4)
    return (centre - spread) / (n + NORMAL**2), (centre + spread) / (n + NORMAL**2)


def _plain(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()


def _replacement(found: Replacement) -> dict[str, Any]:
    numbers = {
        name: getattr(found, name)
        for name in ("judge", "verdict", "margin", "difference", "low", "high", "p")
    }
    test = found.alt_test
    rate = None if test is None or not test.table.height else test.winning_rate
    return {**numbers, "alt_test_winning_rate": rate}


def _rates_as_markdown(rates: PassRates) -> list[str]:
    lines = [
        f"Share of good work by {cell(rates.by)}, as if nobody erred:",
        "",
        f"| {cell(rates.by)} | Good | 95 % interval | Observed | Pieces of work |",
        "|---|--:|---|--:|--:|",
    ]
    lines += [
        f"| {cell(row[rates.by])} | {number(row['rate'])} | {interval(row['low'], row['high'])} | "
        f"{number(row['observed'])} | {row['n']:,} |"
        for row in rates.tables["rates"].iter_rows(named=True)
    ]
    return [*lines, "", *(cell(text) for text in rates.words())]
