"""`rl.judge`: how good is each judge, given some known answers or some people who are trusted?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import Indices, Mask
from raterlens.base.atomic_files import write_text
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted, listed, number
from raterlens.config.option_fields import check_number
from raterlens.judging.gate import NEW, beside, beyond, cell, ends, junit, markdown, markdown_table
from raterlens.judging.judges import (
    EffectiveJudges,
    Measure,
    PassRates,
    certain_enough,
    effective_judges,
    judges_to_keep,
    measures_over_cuts,
    rates_by_system,
)
from raterlens.judging.replacement import (
    MARGIN,
    Replacement,
    check_scale,
    fisher_measure,
    measure_on_people_scale,
    replacement,
)
from raterlens.judging.truth import Answers, Truth, estimate_truth, read_verdicts
from raterlens.ratings.coded import Backend, Ratings, to_backend

NOT_TRUSTED = "not trusted"
FORMAT = "raterlens judges"
DEFAULT_BOUNDS = {"known": {"capability": 0.5}, "people": {"sharpness": 0.5}}
_FEW = 5
"""Judges up to whom each has a sentence of its own"""


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
        n = {word: int((verdicts == word).sum()) for word in ("not certain", NOT_TRUSTED, "contradicted")}
        trusted = len(verdicts) - sum(n.values())
        said = f"{trusted:,} of {counted(len(verdicts), 'judge')} can be trusted ({asked})"
        return "; ".join([said, *(f"{times:,} {word}" for word, times in n.items() if times)])

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
            "unclear": "may or may not stand in for a person: have them judge more work that people judge too",
            "no": "may not stand in for a person",
        }
        for verdict, words in said.items():
            if judges := [each.judge for each in self.replacements if each.verdict == verdict]:
                found.append(f"{counted(len(judges), 'judge')} {words}: {listed(judges, _FEW)}.")
        return found

    def _about_labels(self) -> list[str]:
        unknown = self.tables["labels"].filter(~pl.col("known"))
        unsure = int(unknown["needs_person"].sum())
        need = (
            f"{unsure:,} of {counted(unknown.height, 'estimated label')} {'needs' if unsure == 1 else 'need'}"
        )
        found = f"{need} a person; at most 1 in 10 of the others is wrong, if the known answers are a random sample."
        if not unknown.height:
            found = "All answers are known, so no label is estimated."
        elif self.threshold > 1:
            few = "the known answers are too few, or the labels too often wrong"
            found = f"Every estimated label needs a person: {few}."
        held, splits = self.kept_in
        times = f"in {held} of {splits} splits of the known answers"
        if len(self.keep) > 1:
            kept = f"Judges worth keeping: {listed(self.keep, 7)}; as a panel they beat the best single judge {times}."
            return [found, kept]
        if self.keep and self.tables["judges"].height > 1:
            return [found, f"{self.keep[0]} alone does as well as any panel: a panel was better {times}."]
        return [found]

    def summary(self) -> str:
        """The judges in plain words."""
        lines = [
            f"{row['judge']}: {self._measured(row, self.metrics)}; {row['verdict']}"
            for row in self.tables["judges"].iter_rows(named=True)
        ]
        return "\n".join([self.headline(), "", *lines, "", *self.sentences()])

    def _numbers(self, row: dict[str, Any], name: str) -> tuple[str, str]:
        """A measure and its interval, as text that shows on which side of the bound they are."""
        bounds = [self.bounds[name]] if name in self.bounds else []
        return beside(row[name], *bounds), ends(row[f"{name}_low"], row[f"{name}_high"], *bounds)

    def _measured(self, row: dict[str, Any], names: Sequence[str], needs: bool = False) -> str:
        """ "capability 0.38 (0.23 to 0.52), needs 0.5"."""
        return ", ".join(
            "{} {} ({})".format(name, *self._numbers(row, name))
            + (f", needs {self.bounds[name]:g}" if needs else "")
            for name in names
        )

    def columns(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings, and the cells of every judge, as text."""
        judges = self.tables["judges"]
        measured = [heading for name in self.metrics for heading in (name.capitalize(), "95 % interval")]
        more = ["Right on known", "Expected"]
        if self.people:
            more = ["Passes of 100"] * ("passes" in judges.columns) + ["Stands in"] * bool(self.replacements)
        rows = []
        for row in judges.iter_rows(named=True):
            numbers = [text for name in self.metrics for text in self._numbers(row, name)]
            known = [""] * 2
            if row.get("n_known"):
                known = [f"{percent(row['right'])} of {row['n_known']:,}", percent(row["expected"])]
            cells = {
                "Right on known": known[0],
                "Expected": known[1],
                "Passes of 100": "" if row.get("passes") is None else number(100 * row["passes"], 0),
                "Stands in": row.get("stands_in") or "",
            }
            rows.append((str(row["judge"]), *numbers, *(cells[heading] for heading in more), row["verdict"]))
        return ("Judge", *measured, *more, "Verdict"), rows

    def to_markdown(self) -> str:
        """For a pull request: what `raterlens judge --markdown` writes."""
        headings, rows = self.columns()
        body = [self.basis(), "", *markdown_table(headings, [tuple(map(cell, row)) for row in rows])]
        if self.rates is not None:
            heading = f"Pass rate by {cell(self.rates.by)}:"
            body += ["", heading, "", *(f"- {cell(line)}" for line in self.rates.lines()), "", "Findings:"]
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
        """ "mini: capability 0.38 (0.23 to 0.52), needs 0.5; not trusted"."""
        known = ""
        if row.get("n_known"):
            right, expected = percent(row["right"]), percent(row["expected"])
            known = f"; right on {right} of {counted(row['n_known'], 'known answer')}, {expected} expected"
        return (
            f"{row['judge']}: {self._measured(row, list(self.bounds), needs=True)}{known}; {row['verdict']}"
        )

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
                name: self.tables[name].fill_nan(None).to_dicts() if name in self.tables else None
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


def _finite(content: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in content.items()}


_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError, RecursionError)
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
    except _UNREADABLE as error:
        what = f"{path.name!r} is not what raterlens judge saves"
        raise InputError(what, "give a file that --save wrote", option="baseline") from error


@dataclass(frozen=True, slots=True)
class _Asked:
    """Checked request about judges."""

    metrics: tuple[str, ...]
    """The measures of this basis, known answers or people."""
    bounds: Mapping[str, float]
    by_metric: str
    confident: bool
    chosen: list[str]
    """Judges whom the result lists."""
    baseline: Baseline | None

    def decided(
        self, columns: Mapping[str, Any], measures: Mapping[str, Measure], flagged: Mask
    ) -> tuple[pl.DataFrame, list[str]]:
        """The judges asked for, the best first, and those whose verdict is that of an earlier run, in words. Trusted
        above every bound, not trusted below one, not certain between; never trusted against known answers."""
        names, earlier = columns["judge"], self.baseline or {}
        new = np.full(len(flagged), NEW)
        known = np.array([earlier[name]["failed"] if name in earlier else NEW for name in names])
        above, below, at_once = np.ones_like(flagged), np.zeros_like(flagged), np.zeros_like(flagged)
        for name, bound in self.bounds.items():
            value = measures[name].value
            interval = (measures[name].low, measures[name].high) if self.confident else (value, value)
            above &= interval[0] >= bound
            at_once |= beyond(value, interval, (bound, np.inf), new)
            below |= beyond(value, interval, (bound, np.inf), known) & np.isfinite(value)
        between = np.where(flagged, "contradicted", np.where(above, "trusted", "not certain"))
        words = [str(word) for word in np.where(below, NOT_TRUSTED, between)]
        found = pl.DataFrame({**columns, "verdict": words}).with_columns(pl.selectors.float().fill_nan(None))
        kept = [
            f"{name} is {word} rather than {NOT_TRUSTED if now else 'not certain'} because of the last run: its "
            "numbers are too near the bound to overturn that verdict."
            for name, word, now, then in zip(names, words, at_once, below, strict=True)
            if now != then and name in self.chosen
        ]
        asked = found.filter(pl.col("judge").is_in(self.chosen))
        return asked.sort(self.by_metric, descending=True, nulls_last=True), kept

    def changes(self, judges: pl.DataFrame) -> tuple[str, ...] | None:
        """Judges who moved since the baseline beyond chance: the intervals do not overlap."""
        if self.baseline is None:
            return None
        found = []
        for now in judges.iter_rows(named=True):
            then = self.baseline.get(now["judge"], {})
            for name in self.metrics:
                low, high = f"{name}_low", f"{name}_high"
                known = {name, low, high} <= then.keys() and None not in (now[low], now[high])
                if known and (now[low] > then[high] or now[high] < then[low]):
                    found.append(f"{now['judge']}: {name} {number(then[name])} -> {number(now[name])}")
        return tuple(found)


def judge(
    source: Any,
    *,
    known: Any = None,
    trusted: str | Sequence[str] | None = None,
    by: str | Mapping[Any, Any] | None = None,
    by_metric: str | None = None,
    min_accuracy: float | None = None,
    min_capability: float | None = None,
    min_sharpness: float | None = None,
    margin: float = MARGIN,
    confident: bool = True,
    without: Sequence[str] = (),
    raters: Sequence[str] | None = None,
    baseline: str | PathLike[str] | None = None,
    **columns: Any,
) -> JudgeReport:
    """Measure judges against the truth that some known answers tell, or on the scale of people who are trusted.

    Parameters
    ----------
    source
        Ratings (`rl.read`), or what `rl.read` takes: a path or a dataframe. Verdicts are pass or fail; ordered
        scores are judged at every cut, and numbers are means over the cuts.
    known
        The column of known answers, or a table of them; at least 15 answers, a random sample of all.
    trusted
        People, where no answers are known: their agreement sets the scale, on which judges have no say.
    by
        With known answers, a facet or column, such as the system that wrote an answer, or a mapping from students to
        groups: pass rates and judges' accuracy for each.
    by_metric
        What judges are sorted by: `"capability"` (with known answers J, sensitivity + specificity - 1; with people
        kappa against a rater without noise), `"accuracy"` (known answers) or `"sharpness"` (people).
    min_accuracy, min_capability, min_sharpness
        Bounds; where none is given, capability of at least 0.5 with known answers and sharpness of 0.5 with people.
    margin
        With people: how much less capable than they a judge may be who stands in for one (`rl.can_replace`).
    confident
        A judge is trusted, or not, only where its 95 % interval lies on one side of every bound; between, it is "not
        certain", which fails no gate. With False the estimate decides.
    without
        Judges whose verdicts are left out, such as one whom the guard flags.
    raters
        Judge only these; the verdicts of the others still tell about the truth.
    baseline
        What `save` wrote in an earlier run; a file that is not there yet is no baseline. `changed` has what moved
        beyond chance, and an earlier verdict stands until it is clearly wrong: who passed fails only beyond 3.3
        standard errors, who failed does so until its estimate reaches the bound.
    columns
        Further options of `rl.read`, such as `cut=4`.

    Returns
    -------
    JudgeReport
        `judges`, `labels`, `systems`, `guard`, `effective_judges`, `passed`, `summary()`.

    Examples
    --------
    >>> import raterlens as rl
    >>> import numpy as np, polars as pl
    >>> rng = np.random.default_rng(1)
    >>> good = rng.random(200) < 0.5
    >>> verdicts = pl.concat(
    ...     pl.DataFrame(
    ...         {
    ...             "answer": np.arange(200),
    ...             "judge": name,
    ...             "verdict": np.where(rng.random(200) < share, good, ~good).astype(int),
    ...             "gold": [int(g) if i < 50 else None for i, g in enumerate(good)],
    ...         }
    ...     )
    ...     for name, share in (("large", 0.95), ("small", 0.8), ("coin", 0.5))
    ... )
    >>> found = rl.judge(verdicts, student="answer", rater="judge", score="verdict", known="gold")
    >>> found.judges["judge"].to_list()
    ['large', 'small', 'coin']
    >>> found.failed
    ('coin',)
    """
    ratings = read_verdicts(source, known, by, columns)
    labels = ratings.raters.cast(pl.String).to_list()
    named = ratings.trusted if trusted is None else [trusted] if isinstance(trusted, str) else trusted
    if ratings.known is not None and trusted is None:
        named = []
    people = [choose("rater", str(name), labels, "trusted") for name in dict.fromkeys(named)]
    _check_basis(people, ratings, by)
    left_out = [choose("rater", str(name), labels, "without") for name in without]
    chosen = [name for name in labels if name not in {*left_out, *people}]
    if raters is not None:
        wanted = [raters] if isinstance(raters, str) else raters
        chosen = [choose("rater", str(name), chosen, "raters") for name in wanted]
    if not chosen:
        left, option = ("trusted", "trusted") if people else ("left out", "without")
        what = f"all {counted(len(labels), 'rater')} are {left}, so nobody is left to judge"
        raise OptionError(what, "name fewer of them", option=option)
    metrics: tuple[str, ...] = ("capability", "sharpness" if people else "accuracy")
    if people and ratings.n_categories > 2:
        metrics = ("sharpness",)
    if by_metric not in (None, *metrics):
        raise OptionError(Message(Option("by_metric", by_metric)), f"give {' or '.join(metrics)}")
    given = {"accuracy": min_accuracy, "capability": min_capability, "sharpness": min_sharpness}
    asked = _Asked(
        metrics,
        _bounds(given, metrics) or DEFAULT_BOUNDS["people" if people else "known"],
        by_metric or metrics[0],
        confident,
        chosen,
        None if baseline is None else read_baseline(Path(baseline)),
    )
    if people:
        found = _on_people_scale(ratings, people, asked, margin)
    else:
        found = _against_truth(
            ratings, by, np.array([labels.index(name) for name in left_out], np.int64), asked
        )
    return JudgeReport(
        metrics=metrics,
        bounds=asked.bounds,
        confident=confident,
        n_verdicts=ratings.n_ratings,
        notes=ratings.notes,
        changed=asked.changes(found["tables"]["judges"]),
        backend=ratings.backend,
        **found,
    )


def _check_basis(people: list[str], ratings: Ratings, by: object) -> None:
    """Raise unless either known answers or people say what is right."""
    if people and ratings.known is not None:
        remedy = Message(
            "leave out ", Option("trusted"), ": with known answers people are measured like judges"
        )
        raise OptionError("known answers and trusted raters are two ways to say what is right", remedy)
    if not people and ratings.known is None:
        known, trusted = Option("known", "human_label"), Option("trusted", ["Ann", "Bob"])
        remedy = Message(
            "add a column of known answers, ", known, ", or name raters whom you trust, ", trusted
        )
        raise OptionError("nothing says what is right, and judges who agree may all be wrong", remedy)
    if people and by is not None:
        remedy = Message("look up some (", Option("known", "gold"), "), or leave out ", Option("by"))
        raise OptionError("pass rates are estimated from known answers", remedy, option="by")


def _bounds(given: Mapping[str, float | None], metrics: tuple[str, ...]) -> dict[str, float]:
    found = {name: bound for name, bound in given.items() if bound is not None}
    basis = "people" if "sharpness" in metrics else "known answers"
    for name, bound in found.items():
        check_number(f"min_{name}", bound, 0, 1)
        if name not in metrics:
            what = f", but with {basis} {name} is not estimated"
            remedy = Message("give ", Option(f"min_{metrics[0]}", bound))
            raise OptionError(Message(Option(f"min_{name}", bound), what), remedy)
    return {name: float(bound) for name, bound in found.items()}


def _on_people_scale(ratings: Ratings, people: list[str], asked: _Asked, margin: float) -> dict[str, Any]:
    labels = ratings.raters.cast(pl.String).to_list()
    codes = [labels.index(name) for name in people]
    found = measure_on_people_scale(ratings, codes, [labels.index(name) for name in asked.chosen])
    check_scale(found, people)
    own = slice(len(people), None)
    measures = {
        "sharpness": fisher_measure(found.sharpness[own]),
        "capability": fisher_measure(found.capability[own]),
    }
    columns: dict[str, Any] = {"judge": asked.chosen, "n": found.n_shared[own]}
    for name in asked.metrics:
        columns |= measures[name].columns(name)
    if found.pass_fail:
        columns["passes"] = special.ndtr(-found.severity[own, 0])
    table, cautions = asked.decided(columns, measures, np.zeros(len(asked.chosen), dtype=bool))
    shared = {name: int(n) for name, n in zip(asked.chosen, found.n_shared[own], strict=True)}
    stands = {
        name: replacement(ratings, found, name, people, place, margin=margin)
        for place, name in enumerate(asked.chosen, len(people))
        if len(people) > 1 and shared[name]
    }
    if len(people) == 1:
        cautions.append(
            f"{people[0]} is taken for the truth: a second person would show how far one can be trusted."
        )
    if alone := [name for name in asked.chosen if not shared[name]]:
        cautions.append(f"{listed(alone, 5)}: too little work shared with people to say anything.")
    words = [stands[name].verdict if name in stands else None for name in table["judge"]]
    return {
        "tables": {"judges": table.with_columns(pl.Series("stands_in", words, dtype=pl.String))},
        "n_known": 0,
        "people": tuple(people),
        "replacements": tuple(stands[name] for name in table["judge"] if name in stands),
        "cautions": tuple(cautions),
    }


def _against_truth(
    ratings: Ratings, by: str | Mapping[Any, Any] | None, left_out: Indices, asked: _Asked
) -> dict[str, Any]:
    answers = Answers.of(ratings)
    questions = answers.questions(left_out)
    group = None if by is None else answers.systems(ratings, by)
    truths = [estimate_truth(each) for each in questions]
    columns, measures = measures_over_cuts(truths)
    columns = {"judge": ratings.raters.cast(pl.String), **columns}
    judges, kept = asked.decided(columns, measures, columns["flagged"])
    thresholds = [certain_enough(truth) for truth in truths]
    tables = {"judges": judges, "labels": _labels(ratings, answers, truths, thresholds)}
    middle = len(truths) // 2
    rates = None
    if group is not None:
        name = by if isinstance(by, str) else "group"
        rates = rates_by_system(ratings, questions[middle], group, name, truths[middle].features)
        slices = rates.tables["slices"].filter(pl.col("judge").is_in(asked.chosen))
        rates = replace(rates, tables={**rates.tables, "slices": slices})
        tables |= rates.tables
    labels = ratings.raters.cast(pl.String).to_list()
    panel = judges_to_keep(truths[middle])
    return {
        "tables": tables,
        "n_known": len(answers.rows),
        "rates": rates,
        "effective_judges": effective_judges(truths[middle], labels),
        "keep": tuple(labels[place] for place in panel.judges),
        "kept_in": (panel.preferred, panel.splits),
        "threshold": max(thresholds),
        "cautions": (*_cautions(ratings, answers, truths, judges), *kept),
    }


def _labels(
    ratings: Ratings, answers: Answers, truths: Sequence[Truth], thresholds: Sequence[float]
) -> pl.DataFrame:
    """A row per answer, those that need a person first, the least certain on top: its most probable score, as the file
    has it. P(at least cut) falls with the cut, so it is made to."""
    p = np.stack([truth.probability for truth in truths])
    levels = -np.diff(np.minimum.accumulate(p, axis=0), axis=0, prepend=1.0, append=0.0)
    label = np.argmax(levels, axis=0)
    known = answers.known >= 0
    sure = (np.maximum(p, 1 - p) >= np.array(thresholds)[:, None]).all(axis=0)
    score = (np.where(known, answers.known, label) if len(truths) > 1 else label) * ratings.score_step
    table = pl.DataFrame(
        {
            "student": ratings.students.gather(answers.student),
            "item": ratings.items.gather(answers.item),
            "label": score.astype(np.int64) if float(ratings.score_step).is_integer() else score,
            "probability": np.where(known, 1.0, levels[label, np.arange(len(label))]),
            "n_judges": np.asarray(truths[0].verdicts.judged.sum(axis=1)).astype(np.int64),
            "known": known,
            "needs_person": ~sure & ~known,
        }
    )
    order = (pl.col("needs_person"), -pl.col("probability"))
    return table.sort(*order, descending=True, maintain_order=True)


def _cautions(
    ratings: Ratings, answers: Answers, truths: Sequence[Truth], judges: pl.DataFrame
) -> tuple[str, ...]:
    found = [
        f"{row['judge']} got {percent(row['right'])} of {counted(row['n_known'], 'known answer')} right, where "
        f"{percent(row['expected'])} was expected: look at its verdicts on them, or judge again without it."
        for row in judges.filter("flagged").iter_rows(named=True)
    ]
    if (n := len(answers.rows)) < 30:
        found.append(f"{n} known answers tell little; 30 to 60 give narrower intervals.")
    if len(truths) > 1:
        found.append(f"Scores have {ratings.n_categories} levels: numbers are means over {len(truths)} cuts.")
    known, unknown = answers.known >= 0, answers.known < 0
    if unknown.any() and known.any():
        passes, given = (part.sum(axis=1) for part in (truths[0].verdicts.passes, truths[0].verdicts.judged))
        share = passes / np.maximum(given, 1)
        if stats.mannwhitneyu(share[known], share[unknown]).pvalue < 0.001:
            found.append(
                "Judges pass known answers more or less often than the others, so the known answers are not a random "
                "sample: pass rates and labels may be off."
            )
    return tuple(found)
