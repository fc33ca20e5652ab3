"""`rl.judge`: how good is each judge, given some known answers or some people who are trusted?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import Indices, Mask
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import Message, Option, counted, listed, number
from raterlens.config.option_fields import check_number
from raterlens.judging.gate import NEW, beyond
from raterlens.judging.judge_report import NOT_TRUSTED, Baseline, JudgeReport, percent, read_baseline
from raterlens.judging.judges import (
    MEASURES,
    Measure,
    certain_enough,
    effective_judges,
    guard,
    judges_to_keep,
    measure_judges,
)
from raterlens.judging.replacement import (
    MARGIN,
    check_scale,
    fisher_measure,
    measure_on_people_scale,
    replacement,
)
from raterlens.judging.system_rates import rates_by_system
from raterlens.judging.truth import Answers, Truth, estimate_truth, read_verdicts
from raterlens.ratings.coded import Ratings

DEFAULT_BOUNDS = {"known": {"capability": 0.5}, "people": {"sharpness": 0.5}}


@dataclass(frozen=True, slots=True)
class _Asked:
    """Checked request about judges."""

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
        known = [earlier[name]["failed"] if name in earlier else NEW for name in names]
        above, below, at_once = np.ones((3, len(flagged)), dtype=bool)
        below, at_once = ~below, ~at_once
        for name, bound in self.bounds.items():
            each = measures[name]
            above &= (each.low if self.confident else each.value) >= bound
            ends, span = (each.low, each.high), (bound, np.inf)
            if self.confident:
                at_once |= beyond(each.value, ends, span, np.full(len(known), NEW))
                below |= beyond(each.value, ends, span, np.array(known)) & np.isfinite(each.value)
            else:
                below |= each.value < bound
        between = np.where(flagged, "contradicted", np.where(above, "trusted", "not certain"))
        words = [str(word) for word in np.where(below, NOT_TRUSTED, between)]
        found = pl.DataFrame({**columns, "verdict": words}).with_columns(pl.selectors.float().fill_nan(None))
        kept = [
            f"{name} is {word}, and not {other}, because of the last run: its numbers are too near the bound for "
            "another verdict."
            for name, word, now, then in zip(names, words, at_once, below, strict=True)
            if self.confident and now != then and name in self.chosen
            for other in ["not trusted" if now else "not certain"]
        ]
        asked = found.filter(pl.col("judge").is_in(self.chosen))
        return asked.sort(self.by_metric, descending=True, nulls_last=True), kept

    def changes(self, judges: pl.DataFrame, metrics: Sequence[str]) -> tuple[str, ...] | None:
        """Judges who moved since the baseline beyond chance: the intervals do not overlap."""
        if self.baseline is None:
            return None
        found = []
        for now in judges.iter_rows(named=True):
            then = self.baseline.get(now["judge"], {})
            for name in metrics:
                ends = (f"{name}_low", f"{name}_high")
                known = {name, *ends} <= then.keys() and None not in (now[ends[0]], now[ends[1]])
                if known and (now[ends[0]] > then[ends[1]] or now[ends[1]] < then[ends[0]]):
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
        left = "trusted" if people else "left out"
        raise OptionError(
            f"all {counted(len(labels), 'rater')} are {left}, so nobody is left to judge",
            "name fewer of them",
            option="trusted" if people else "without",
        )
    asked = _Asked(
        _bounds(given, metrics) or DEFAULT_BOUNDS[basis],
        _metric(by_metric, metrics),
        confident,
        chosen,
        None if baseline is None else read_baseline(Path(baseline)),
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
    known, trusted = Option("known", "human_label"), Option("trusted", ["Ann", "Bob"])
    return OptionError(
        "nothing says what is right, and judges who agree may all be wrong",
        Message("add a column of known answers, ", known, ", or name raters whom you trust, ", trusted),
    )


def _metric(by_metric: str | None, metrics: tuple[str, ...]) -> str:
    if by_metric is not None and by_metric not in metrics:
        raise OptionError(Message(Option("by_metric", by_metric)), f"give {' or '.join(metrics)}")
    return by_metric or metrics[0]


def _bounds(given: Mapping[str, float | None], metrics: tuple[str, ...]) -> dict[str, float]:
    for name, bound in given.items():
        if bound is None:
            continue
        check_number(f"min_{name}", bound, 0, 1)
        if name not in metrics:
            what = f" does not go with what says what is right here: {name} is not estimated"
            remedy = Message("give ", Option(f"min_{metrics[0]}", bound))
            raise OptionError(Message(Option(f"min_{name}", bound), what), remedy)
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
    measures = {name: fisher_measure(each) for name, each in numbers.items()}
    columns: dict[str, Any] = {"judge": asked.chosen, "n": found.n_shared[own]}
    for name in metrics:
        columns |= measures[name].columns(name)
    if found.pass_fail:
        columns["passes"] = special.ndtr(-found.severity[own, 0])
    table, cautions = asked.decided(columns, measures, np.zeros(len(asked.chosen), dtype=bool))
    stands = {}
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
        changed=asked.changes(table, metrics),
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
    judges, kept = _judges(ratings, truths, asked)
    thresholds = [certain_enough(truth) for truth in truths]
    middle = len(truths) // 2
    rates = None
    if group is not None:
        name = by if isinstance(by, str) else "group"
        rates = rates_by_system(ratings, questions[middle], group, name, truths[middle].features)
        slices = rates.tables["slices"].filter(pl.col("judge").is_in(asked.chosen))
        rates = replace(rates, tables={**rates.tables, "slices": slices})
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
        cautions=(*_cautions(ratings, answers, truths, judges), *kept),
        notes=ratings.notes,
        changed=asked.changes(judges, metrics),
        backend=ratings.backend,
    )


def _mean(measures: Sequence[Measure]) -> Measure:
    """Over cuts; ends are means of ends, which is exact where the cuts err together and wide where they do not."""
    return Measure(
        *(np.mean([getattr(each, end) for each in measures], axis=0) for end in ("value", "low", "high"))
    )


def _judges(ratings: Ratings, truths: Sequence[Truth], asked: _Asked) -> tuple[pl.DataFrame, list[str]]:
    found = [measure_judges(truth) for truth in truths]
    guards = [guard(truth) for truth in truths]
    measures = {name: _mean([each[name] for each in found]) for name in MEASURES}
    columns: dict[str, Any] = {
        "judge": ratings.raters.cast(pl.String),
        "n": truths[0].verdicts.answers_per_judge.astype(np.int64),
    }
    for name, each in measures.items():
        columns |= each.columns(name)
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
    return asked.decided(columns, measures, flagged)


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
        f"{row['judge']} is right on {percent(row['right'])} of {row['n_known']:,} known answers where "
        f"{percent(row['expected'])} are expected: look at its verdicts on them, or judge again without it "
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
