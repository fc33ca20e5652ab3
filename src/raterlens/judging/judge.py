"""`rl.judge`: how good is each judge, given some known answers or some people who are trusted?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted, interval, listed, number
from raterlens.judging.answers import Answers, read_verdicts
from raterlens.judging.judges import (
    EffectiveJudges,
    Measure,
    certain_enough,
    effective_judges,
    guard,
    judges_to_keep,
    measure_judges,
)
from raterlens.judging.people_scale import fisher_interval, measure_on_people_scale
from raterlens.judging.replacement import MARGIN, Replacement, check_scale, replacement
from raterlens.judging.system_rates import PassRates, rates_by_system
from raterlens.judging.truth import Truth, estimate_truth
from raterlens.ratings.coded import Backend, Ratings, to_backend

DEFAULT_BOUNDS = {"known": {"capability": 0.5}, "people": {"sharpness": 0.5}}
NOT_TRUSTED = "not trusted"
MEASURES = ("accuracy", "sensitivity", "specificity", "capability")


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
        return (
            f"Measured against the truth, as {counted(self.n_known, 'known answer')} and {verdicts} tell it."
        )

    def sentences(self) -> list[str]:
        """Further findings, one sentence each."""
        found = [each.words()[0] for each in self.replacements]
        if self.effective_judges is not None:
            found += [*self.effective_judges.words(), *self._about_labels()]
        return [*found, *(self.rates.words() if self.rates is not None else ()), *self.cautions]

    def _about_labels(self) -> list[str]:
        labels = self.tables["labels"]
        unsure = int(labels["needs_person"].sum())
        found = [
            f"{unsure:,} of {counted(labels.height, 'label')} need a person; at most 1 in 10 of the others is wrong, "
            "if the known answers are a random sample."
            if self.threshold <= 1
            else "The known answers are too few, or the labels too often wrong, to do without a person."
        ]
        if not self.keep:
            return found
        held, splits = self.kept_in
        return [
            *found,
            f"Judges worth keeping: {listed(self.keep, 7)}; as a panel they beat the best one in {held} of {splits} "
            "splits of the known answers."
            if len(self.keep) > 1
            else f"{self.keep[0]} alone does as well as any panel: one was better in only {held} of {splits} splits of "
            "the known answers.",
        ]

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

    def __repr__(self) -> str:
        return f"<JudgeReport: {self.headline()}; see summary()>"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Checked request about judges."""

    bounds: Mapping[str, float]
    by_metric: str
    confident: bool
    chosen: list[str]
    """Judges whom the result lists."""

    def table(
        self, columns: Mapping[str, Any], measures: Mapping[str, Measure], flagged: Mask
    ) -> pl.DataFrame:
        """The judges asked for, the best first: trusted above every bound, not trusted below one, not certain between;
        never trusted against known answers."""
        above, below = np.ones(len(flagged), dtype=bool), np.zeros(len(flagged), dtype=bool)
        for name, bound in self.bounds.items():
            each = measures[name]
            above &= (each.low if self.confident else each.value) >= bound
            below |= (each.high if self.confident else each.value) < bound
        between = np.where(flagged, "contradicted", np.where(above, "trusted", "not certain"))
        words = [str(word) for word in np.where(below, NOT_TRUSTED, between)]
        found = pl.DataFrame({**columns, "verdict": words}).with_columns(pl.selectors.float().fill_nan(None))
        return found.filter(pl.col("judge").is_in(self.chosen)).sort(
            self.by_metric, descending=True, nulls_last=True
        )


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
    people = [] if ratings.known is not None and trusted is None else _people(ratings, trusted, labels)
    if bool(people) == (ratings.known is not None):
        raise _nothing_or_both(bool(people))
    basis = "people" if people else "known"
    given = {"accuracy": min_accuracy, "capability": min_capability, "sharpness": min_sharpness}
    ordered = bool(people) and ratings.n_categories > 2
    metrics = ("sharpness",) if ordered else ("capability", "sharpness" if people else "accuracy")
    left_out = [choose("rater", str(name), labels, "without") for name in without]
    chosen = [name for name in labels if name not in {*left_out, *people}]
    if raters is not None:
        named = [raters] if isinstance(raters, str) else raters
        chosen = [choose("rater", str(name), chosen, "raters") for name in named]
    if not chosen:
        raise OptionError(
            f"all {counted(len(labels), 'rater')} are trusted, so nobody is left to judge",
            "leave the judges out of them",
            option="trusted",
        )
    asked = _Asked(
        _bounds(given, metrics) or DEFAULT_BOUNDS[basis], _metric(by_metric, metrics), confident, chosen
    )
    if people:
        if by is not None:
            raise OptionError(
                "pass rates are estimated from known answers",
                Message("look up some (", Option("known", "gold"), "), or leave out ", Option("by")),
                option="by",
            )
        return _on_people_scale(ratings, people, asked, metrics, margin)
    codes = np.array([labels.index(name) for name in left_out], dtype=np.int64)
    return _against_truth(ratings, by, codes, asked, metrics)


def _people(ratings: Ratings, trusted: str | Sequence[str] | None, labels: list[str]) -> list[str]:
    named = ratings.trusted if trusted is None else [trusted] if isinstance(trusted, str) else trusted
    return [choose("rater", str(name), labels, "trusted") for name in dict.fromkeys(named)]


def _nothing_or_both(both: bool) -> OptionError:
    if both:
        return OptionError(
            "known answers and trusted raters are two ways to say what is right",
            Message("leave out ", Option("trusted"), ": with known answers people are measured like judges"),
        )
    return OptionError(
        "nothing says what is right, and judges who agree may all be wrong",
        Message(
            "add a column of known answers, ",
            Option("known", "human_label"),
            ", or name raters whom you trust, ",
            Option("trusted", ["Ann", "Bob"]),
        ),
    )


def _metric(by_metric: str | None, metrics: tuple[str, ...]) -> str:
    if by_metric is not None and by_metric not in metrics:
        raise OptionError(
            Message(Option("by_metric", by_metric)),
            f"give {' or '.join(metrics)}",
        )
    return by_metric or metrics[0]


def _bounds(given: Mapping[str, float | None], metrics: tuple[str, ...]) -> dict[str, float]:
    for name, bound in given.items():
        if bound is None:
            continue
        option = Option(f"min_{name}", bound)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound <= 1:
            raise OptionError(
                Message(option), "give a number between 0 and 1", value=bound, option=option.name
            )
        if name not in metrics:
            raise OptionError(
                Message(option, f" does not go with what says what is right here: {name} is not estimated"),
                Message("give ", Option(f"min_{metrics[0]}", bound)),
                option=option.name,
            )
    return {name: float(bound) for name, bound in given.items() if bound is not None}


def _on_people_scale(
    ratings: Ratings, people: list[str], asked: _Asked, metrics: tuple[str, ...], margin: float
) -> JudgeReport:
    labels = ratings.raters.cast(pl.String).to_list()
    codes = [labels.index(name) for name in people]
    found = measure_on_people_scale(ratings, codes, [labels.index(name) for name in asked.chosen])
    check_scale(found, people)
    own = slice(len(people), None)
    numbers = {"sharpness": found.sharpness[own], "capability": found.capability[own]}
    measures = {name: Measure(each[:, 0], *fisher_interval(each)) for name, each in numbers.items()}
    columns: dict[str, Any] = {"judge": asked.chosen, "n": found.n_shared[own]}
    for name in metrics:
        each = measures[name]
        columns |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
    if found.pass_fail:
        columns["passes"] = special.ndtr(-found.severity[own, 0])
    table = asked.table(columns, measures, np.zeros(len(asked.chosen), dtype=bool))
    stands = {}
    cautions = []
    if len(people) > 1:
        for place, name in enumerate(asked.chosen, len(people)):
            if found.n_shared[place]:
                stands[name] = replacement(ratings, found, name, people, place, margin=margin)
    else:
        cautions.append(
            f"{people[0]} is taken for the truth: a second person would tell how far one can be trusted."
        )
    alone = [name for name, n in zip(asked.chosen, found.n_shared[own], strict=True) if not n]
    if alone:
        cautions.append(f"{listed(alone, 5)}: too little work shared with people to say anything.")
    words = [stands[name].verdict if name in stands else None for name in table["judge"]]
    table = table.with_columns(pl.Series("stands_in", words, dtype=pl.String))
    return JudgeReport(
        {"judges": table},
        metrics,
        asked.bounds,
        asked.confident,
        ratings.n_ratings,
        0,
        tuple(people),
        replacements=tuple(stands[name] for name in table["judge"] if name in stands),
        cautions=tuple(cautions),
        notes=ratings.notes,
        backend=ratings.backend,
    )


def _against_truth(
    ratings: Ratings,
    by: str | Mapping[Any, Any] | None,
    left_out: Indices,
    asked: _Asked,
    metrics: tuple[str, ...],
) -> JudgeReport:
    answers = Answers.of(ratings)
    questions = answers.questions(left_out)
    group = None if by is None else answers.systems(ratings, by)
    truths = [estimate_truth(each) for each in questions]
    judges = _judges(ratings, truths, asked)
    thresholds = [certain_enough(truth) for truth in truths]
    middle = len(truths) // 2
    rates = None
    if group is not None:
        name = by if isinstance(by, str) else "group"
        rates = rates_by_system(ratings, questions[middle], group, name, truths[middle].features)
        kept = rates.tables["slices"].filter(pl.col("judge").is_in(asked.chosen))
        rates = PassRates(
            {**rates.tables, "slices": kept}, rates.by, rates.n_known, rates.warnings, rates.backend
        )
    labels = ratings.raters.cast(pl.String).to_list()
    panel = judges_to_keep(truths[middle])
    return JudgeReport(
        {
            "judges": judges,
            "labels": _labels(ratings, answers, truths, thresholds),
            **(rates.tables if rates is not None else {}),
        },
        metrics,
        asked.bounds,
        asked.confident,
        ratings.n_ratings,
        len(answers.rows),
        rates=rates,
        effective_judges=effective_judges(truths[middle], labels),
        keep=tuple(labels[place] for place in panel.judges),
        kept_in=(panel.preferred, panel.splits),
        threshold=max(thresholds),
        cautions=_cautions(ratings, answers, truths, judges),
        notes=ratings.notes,
        backend=ratings.backend,
    )


def _mean(measures: Sequence[Measure]) -> Measure:
    """Over cuts; ends are means of ends, which is exact where the cuts err together and wide where they do not."""
    return Measure(
        *(np.mean([getattr(each, end) for each in measures], axis=0) for end in ("value", "low", "high"))
    )


def _judges(ratings: Ratings, truths: Sequence[Truth], asked: _Asked) -> pl.DataFrame:
    found = [measure_judges(truth) for truth in truths]
    guards = [guard(truth) for truth in truths]
    measures = {name: _mean([getattr(each, name) for each in found]) for name in MEASURES}
    columns: dict[str, Any] = {
        "judge": ratings.raters.cast(pl.String),
        "n": truths[0].verdicts.answers_per_judge.astype(np.int64),
    }
    for name, each in measures.items():
        columns |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
    worst = np.argmax(np.nan_to_num(np.abs([each.z for each in guards])), axis=0)
    who = np.arange(len(worst))
    flagged = np.stack([each.flagged for each in guards])[worst, who]
    columns |= {
        "n_known": guards[0].n.astype(np.int64),
        "right": np.mean([each.right for each in guards], axis=0),
        "expected": np.mean([each.expected for each in guards], axis=0),
        "guard_z": np.stack([each.z for each in guards])[worst, who],
        "flagged": flagged,
    }
    return asked.table(columns, measures, flagged)


def _labels(
    ratings: Ratings, answers: Answers, truths: Sequence[Truth], thresholds: Sequence[float]
) -> pl.DataFrame:
    """The most probable score of every answer. P(at least cut) falls with the cut, so it is made to."""
    at_least = np.minimum.accumulate(np.stack([truth.probability for truth in truths]), axis=0)
    levels = -np.diff(np.vstack([np.ones(at_least.shape[1]), at_least, np.zeros(at_least.shape[1])]), axis=0)
    label = np.argmax(levels, axis=0)
    known = answers.known >= 0
    sure = np.all(
        [
            np.maximum(truth.probability, 1 - truth.probability) >= threshold
            for truth, threshold in zip(truths, thresholds, strict=True)
        ],
        axis=0,
    )
    return label_table(
        ratings,
        answers.student,
        answers.item,
        {
            "label": np.where(known, answers.known, label) if len(truths) > 1 else label,
            "probability": np.where(known, 1.0, levels[label, np.arange(len(label))]),
            "n_judges": np.asarray(truths[0].verdicts.judged.sum(axis=1)).astype(np.int64),
            "known": known,
            "needs_person": ~sure & ~known,
        },
    )


def label_table(
    ratings: Ratings, student: Indices, item: Indices, columns: Mapping[str, Array | Indices | Mask]
) -> pl.DataFrame:
    """A row per answer, those that need a person first, the least certain on top; labels are scores of the file."""
    label = columns["label"] * ratings.score_step
    named = {
        "student": ratings.students.gather(student),
        "item": ratings.items.gather(item),
        **columns,
        "label": label.astype(np.int64) if float(ratings.score_step).is_integer() else label,
    }
    order = (pl.col("needs_person"), -pl.col("probability"))
    return pl.DataFrame(named).sort(*order, descending=True, maintain_order=True)


def _cautions(
    ratings: Ratings, answers: Answers, truths: Sequence[Truth], judges: pl.DataFrame
) -> tuple[str, ...]:
    found = [
        f"{row['judge']} is right on {100 * row['right']:.0f} % of {row['n_known']:,} known answers where "
        f"{100 * row['expected']:.0f} % are expected: look at its verdicts on them, or judge again without it "
        f"(--without {row['judge']})."
        for row in judges.filter("flagged").iter_rows(named=True)
    ]
    if len(answers.rows) < 30:
        found.append(f"{len(answers.rows)} known answers tell little; 30 to 60 give narrower intervals.")
    if len(truths) > 1:
        found.append(f"Scores have {ratings.n_categories} levels: numbers are means over {len(truths)} cuts.")
    known, unknown = answers.known >= 0, answers.known < 0
    if unknown.any() and known.any():
        passes, n = (
            np.asarray(part.sum(axis=1)) for part in (truths[0].verdicts.passes, truths[0].verdicts.judged)
        )
        share = passes / np.maximum(n, 1)
        p = float(stats.mannwhitneyu(share[known], share[unknown]).pvalue)
        if p < 0.001:
            found.append(
                "Judges pass known answers more or less often than the others, so the known answers are not a random "
                "sample: pass rates and labels may be off."
            )
    return tuple(found)
