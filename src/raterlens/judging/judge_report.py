"""A report on judges: what it says, and how it is written for people and other programs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from raterlens.base.atomic_files import write_text
from raterlens.base.errors import InputError
from raterlens.base.text import counted, interval, listed, number
from raterlens.judging.gate import cell, junit, markdown, markdown_table
from raterlens.judging.judges import EffectiveJudges
from raterlens.judging.replacement import Replacement
from raterlens.judging.system_rates import PassRates
from raterlens.ratings.coded import Backend, to_backend

NOT_TRUSTED = "not trusted"
_FEW = 5
"""Judges up to whom each has a sentence of its own"""
FORMAT = "raterlens judges"


@dataclass(frozen=True, slots=True, eq=False)
class JudgeReport:
    """Every judge measured against the truth or on the people's scale, with what follows from it."""

    tables: Mapping[str, pl.DataFrame]
    """`judges`, and with known answers `labels`; with `by` also `systems`, `differences` and `slices`; as polars has
    them."""
    metrics: tuple[str, ...]
    """The columns of `judges` that judges are compared by."""
    bounds: Mapping[str, float]
    """The lowest value asked for, by metric."""
    confident: bool
    n_verdicts: int
    n_known: int
    people: tuple[str, ...] = ()
    """Whose scale it is, where no answers are known."""
    rates: PassRates | None = None
    effective_judges: EffectiveJudges | None = None
    keep: tuple[str, ...] = ()
    """Judges whose votes together predict the known answers best."""
    kept_in: tuple[int, int] = (0, 0)
    """In how many of how many half-samples of the known answers a panel beat its best judge on the other half."""
    threshold: float = np.inf
    """How probable a label must be to stand without a person; above 1 where none may."""
    replacements: tuple[Replacement, ...] = ()
    """Whether each judge may stand in for a person, where at least two people are named."""
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] | None = None
    """Changes since the baseline beyond chance; None without one."""
    backend: Backend = "polars"

    @property
    def judges(self) -> Any:
        """A row per judge, the best first.

        With known answers: judge, n (answers judged); accuracy, sensitivity (good work passed), specificity (bad work
        failed) and capability (their sum less 1), each expected under the truth and with its 95 % interval (`_low`,
        `_high`); n_known, right and expected (shares of known answers), guard_z, flagged. With people: judge, n (work
        shared with them), sharpness, and for pass/fail capability and passes (share, where people pass half), each of
        the first two with its interval. Last the verdict: trusted, not trusted, not certain, or contradicted."""
        return to_backend(self.tables["judges"], self.backend)

    @property
    def labels(self) -> Any:
        """A row per answer, those that need a person first: student, item, label, probability (of this label),
        n_judges, known, needs_person. None without known answers."""
        return to_backend(self.tables["labels"], self.backend) if "labels" in self.tables else None

    @property
    def systems(self) -> Any:
        """A row per system, as `rl.pass_rate` has them. None without `by`."""
        return None if self.rates is None else self.rates.rates

    @property
    def differences(self) -> Any:
        """A row per pair of systems, as `rl.pass_rate` has them. None without `by`."""
        return None if self.rates is None else self.rates.differences

    @property
    def slices(self) -> Any:
        """A row per judge and system, as `rl.pass_rate` has them. None without `by`."""
        return None if self.rates is None else self.rates.slices

    @property
    def guard(self) -> Any:
        """Judges whose known answers contradict what the panel and the other known answers expect of them."""
        columns = ("judge", "n_known", "right", "expected", "guard_z")
        judges = self.tables["judges"]
        return to_backend(judges.filter("flagged").select(columns), self.backend) if self.n_known else None

    @property
    def failed(self) -> tuple[str, ...]:
        """Judges who are not trusted."""
        return tuple(self.tables["judges"].filter(pl.col("verdict") == NOT_TRUSTED)["judge"])

    @property
    def passed(self) -> bool:
        """Whether no judge fails."""
        return not self.failed

    def __bool__(self) -> bool:
        return self.passed

    def headline(self) -> str:
        """One line for the whole."""
        verdicts = self.tables["judges"]["verdict"]
        asked = " and ".join(f"{name} at least {bound:g}" for name, bound in self.bounds.items())
        trusted = int((verdicts == "trusted").sum())
        said = [f"{trusted:,} of {counted(len(verdicts), 'judge')} can be trusted ({asked})"]
        others = {word: int((verdicts == word).sum()) for word in ("not certain", "contradicted")}
        said += [f"{n:,} {word}" for word, n in others.items() if n]
        return "; ".join(said)

    def basis(self) -> str:
        """Sentence on what the numbers rest on."""
        verdicts = counted(self.n_verdicts, "verdict")
        if self.people:
            people = f"{counted(len(self.people), 'person', 'people')} ({listed(self.people, 4)})"
            return f"Measured on the scale of {people}, from {verdicts}."
        return f"Measured against the truth, estimated from {counted(self.n_known, 'known answer')} and {verdicts}."

    def sentences(self) -> list[str]:
        """Further findings, one sentence each."""
        found = self._on_replacements()
        if self.effective_judges is not None:
            found += [*self.effective_judges.words(), *self._about_labels()]
        return [*found, *(self.rates.words() if self.rates is not None else ()), *self.cautions]

    def _on_replacements(self) -> list[str]:
        """Who may stand in for a person: one sentence for each, or of more than a few for each verdict."""
        if len(self.replacements) <= _FEW:
            return [each.words()[0] for each in self.replacements]
        margin, found = self.replacements[0].margin, []
        said = {
            "yes": f"may stand in for a person, with a margin of {margin:g}",
            "unclear": "may or may not: have them judge more work that people judge, too",
            "no": "may not stand in for a person",
        }
        for verdict, words in said.items():
            if judges := [each.judge for each in self.replacements if each.verdict == verdict]:
                found.append(f"{counted(len(judges), 'judge')} {words}: {listed(judges, _FEW)}.")
        return found

    def _about_labels(self) -> list[str]:
        unknown = self.tables["labels"].filter(~pl.col("known"))
        unsure = int(unknown["needs_person"].sum())
        if not unknown.height:
            found = ["All answers are known, so no label is estimated."]
        elif self.threshold > 1:
            few = "the known answers are too few, or the labels too often wrong"
            found = [f"Every estimated label needs a person: {few}."]
        else:
            found = [
                f"{unsure:,} of {counted(unknown.height, 'estimated label')} {'needs' if unsure == 1 else 'need'} a "
                "person; at most 1 in 10 of the others is wrong, if the known answers are a random sample."
            ]
        held, splits = self.kept_in
        if len(self.keep) > 1:
            found.append(
                f"Judges worth keeping: {listed(self.keep, 7)}; as a panel they beat the best one in {held} of "
                f"{splits} splits of the known answers."
            )
        elif self.keep and self.tables["judges"].height > 1:
            found.append(
                f"{self.keep[0]} alone does as well as any panel: a panel was better in {held} of {splits} splits of "
                "the known answers."
            )
        return found

    def summary(self) -> str:
        """The judges in plain words."""
        lines = [self.headline(), ""]
        for row in self.tables["judges"].iter_rows(named=True):
            shown = ", ".join(
                f"{name} {number(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])})"
                for name in self.metrics
            )
            lines.append(f"{row['judge']}: {shown}; {row['verdict']}")
        return "\n".join([*lines, "", *self.sentences()])

    def columns(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings, and the cells of every judge, as text."""
        measured = [heading for name in self.metrics for heading in (name.capitalize(), "95 % interval")]
        besides = ("Passes of 100", "Stands in") if self.people else ("Right on known", "Expected")
        rows = [self._cells(row) for row in self.tables["judges"].iter_rows(named=True)]
        return ("Judge", *measured, *besides, "Verdict"), rows

    def _cells(self, row: dict[str, Any]) -> tuple[str, ...]:
        measured = [
            text
            for name in self.metrics
            for text in (number(row[name]), interval(row[f"{name}_low"], row[f"{name}_high"]))
        ]
        if self.people:
            passes = number(100 * row["passes"], 0) if row.get("passes") is not None else ""
            besides = (passes, row["stands_in"] or "")
        elif row["n_known"]:
            besides = (f"{percent(row['right'])} of {row['n_known']:,}", percent(row["expected"]))
        else:
            besides = ("", "")
        return (str(row["judge"]), *measured, *besides, row["verdict"])

    def to_markdown(self) -> str:
        """For a pull request: what `raterlens judge --markdown` writes."""
        headings, rows = self.columns()
        body = [self.basis(), "", *markdown_table(headings, [tuple(map(cell, row)) for row in rows])]
        if self.rates is not None:
            heading = f"Pass rate by {cell(self.rates.by)}:"
            body += ["", heading, "", *(f"- {cell(line)}" for line in self.rates.lines()), "", "Besides:"]
        body += ["", *(f"- {cell(text)}" for text in self.sentences())]
        if self.changed == ():
            body += ["", "No judge has changed since the last run beyond chance."]
        return markdown(self.headline(), body, self.changed or ())

    def to_junit(self) -> str:
        """As a test suite, a case per judge: what `raterlens judge --junit` writes. Who is not certain passes."""
        rows = self.tables["judges"].iter_rows(named=True)
        return junit(
            [(str(row["judge"]), self._sentence(row), row["verdict"] != NOT_TRUSTED) for row in rows]
        )

    def _sentence(self, row: dict[str, Any]) -> str:
        """ "mini: capability 0.38 (0.23-0.52), needs 0.5; not trusted"."""
        measured = ", ".join(
            f"{name} {number(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])}), needs {bound:g}"
            for name, bound in self.bounds.items()
        )
        known = (
            f"; right on {percent(row['right'])} of {row['n_known']:,} known answers, "
            f"{percent(row['expected'])} expected"
            if row.get("n_known")
            else ""
        )
        return f"{row['judge']}: {measured}{known}; {row['verdict']}"

    def to_json(self) -> str:
        """The report as JSON, for other programs: what `raterlens judge --json` prints."""
        content = {
            "format": FORMAT,
            "version": 1,
            "passed": self.passed,
            "bounds": dict(self.bounds),
            "decided_by": "interval" if self.confident else "estimate",
            "n_known": self.n_known,
            "people": list(self.people),
            "effective_judges": self.effective_judges and _finite(asdict(self.effective_judges)),
            "keep": list(self.keep),
            **{
                name: _plain(self.tables[name]) if name in self.tables else None
                for name in ("judges", "systems", "differences")
            },
            "replacements": [_finite(each.numbers()) for each in self.replacements],
            "changes": list(self.changed or ()),
            "sentences": self.sentences(),
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | PathLike[str]) -> None:
        """Save it as JSON, as the `baseline` of a later run."""
        write_text(Path(path), self.to_json(), option="save")

    def __repr__(self) -> str:
        return f"<JudgeReport: {self.headline()}; see summary()>"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _plain(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()


def _finite(content: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in content.items()}


Baseline = dict[str, dict[str, float]]
"""Numbers of every judge of an earlier run, by judge and name; `failed` is 1 where it was not trusted."""


def read_baseline(path: Path) -> Baseline | None:
    """The judges of an earlier run; None where there has been none: the first run has nothing to compare with."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        return {
            str(row["judge"]): {
                **{name: float(value) for name, value in row.items() if isinstance(value, int | float)},
                "failed": float(row.get("verdict") == NOT_TRUSTED),
            }
            for row in content["judges"]
        }
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        OSError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{path.name!r} is not what raterlens judge saves",
            "give a file that --save wrote",
            option="baseline",
        ) from error
