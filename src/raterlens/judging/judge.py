"""`rl.judge`: how accurate and how capable is each judge, given some known answers?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.arrays import Indices, Mask
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted, interval, listed, number, shortened
from raterlens.inference.ranks import each_pair
from raterlens.judging.judges import (
    NORMAL,
    EffectiveJudges,
    Guard,
    JudgeMeasures,
    Measure,
    SliceAccuracy,
    SystemRates,
    accuracy_by_system,
    certain_enough,
    effective_judges,
    guard,
    judges_to_keep,
    measure_judges,
    system_rates,
)
from raterlens.judging.truth import UNKNOWN, Truth, Verdicts, estimate_truth
from raterlens.ratings.coded import Backend, Ratings, to_backend
from raterlens.reading.read import read

FEWEST_KNOWN = 15
"""Below it, chance in the known answers decides who looks good."""
FEWEST_OF_A_KIND = 3
"""Known good and known bad answers: error rates of both kinds are asked for."""
DEFAULT_CAPABILITY = 0.5
MEASURES = ("accuracy", "sensitivity", "specificity", "capability")
METRICS = ("capability", "accuracy")


@dataclass(frozen=True, slots=True, eq=False)
class JudgeReport:
    """Every judge measured against the truth, the consensus labels and the pass rates that follow."""

    tables: Mapping[str, pl.DataFrame]
    """`judges`, `labels`, and with `by` also `systems`, `differences` and `slices`, as polars has them."""
    bounds: Mapping[str, float]
    """Lowest `accuracy` and `capability` asked for."""
    by_metric: str
    confident: bool
    by: str | None
    n_verdicts: int
    n_known: int
    effective_judges: EffectiveJudges
    keep: tuple[str, ...]
    """Judges whose votes together predict the known answers best."""
    kept_in: tuple[int, int]
    """In how many of how many half-samples of the known answers a panel beat its best judge on the other half."""
    threshold: float
    """How probable a label must be to stand without a person; above 1 where none may."""
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    backend: Backend = "polars"

    @property
    def judges(self) -> Any:
        """A row per judge, the best first: judge, n (answers judged); accuracy, sensitivity (good work passed),
        specificity (bad work failed) and capability (their sum less 1), each expected under the truth and with its 95 %
        interval (`_low`, `_high`); n_known, right and expected (shares of known answers), guard_z, flagged; verdict:
        trusted, not trusted, not certain, or contradicted."""
        return to_backend(self.tables["judges"], self.backend)

    @property
    def labels(self) -> Any:
        """A row per answer, those that need a person first: student, item, label, probability (of this label),
        n_judges, known, needs_person."""
        return to_backend(self.tables["labels"], self.backend)

    @property
    def systems(self) -> Any:
        """A row per system, the best first: n (answers), known, observed (share of passes), rate (share of good
        answers) with its 95 % interval, and the ranks that it may have. None without `by`."""
        return to_backend(self.tables["systems"], self.backend) if self.by else None

    @property
    def differences(self) -> Any:
        """A row per pair of systems: difference of their rates, interval, p and p_holm. None without `by`."""
        return to_backend(self.tables["differences"], self.backend) if self.by else None

    @property
    def slices(self) -> Any:
        """A row per judge and system: n, accuracy with its interval, and p, of a test whether accuracy differs from
        that on other systems. None without `by`."""
        return to_backend(self.tables["slices"], self.backend) if self.by else None

    @property
    def guard(self) -> Any:
        """Judges whose known answers contradict what the panel and the other known answers expect of them."""
        columns = ("judge", "n_known", "right", "expected", "guard_z")
        return to_backend(self.tables["judges"].filter("flagged").select(columns), self.backend)

    @property
    def failed(self) -> tuple[str, ...]:
        """Judges who are not trusted."""
        return tuple(self.tables["judges"].filter(pl.col("verdict") == "not trusted")["judge"])

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

    def sentences(self) -> list[str]:
        """What else there is to know, one sentence each."""
        labels = self.tables["labels"]
        unsure = int(labels["needs_person"].sum())
        many = self.tables["judges"].height
        found = [
            f"{counted(many, 'judge')} are worth {self.effective_judges.given_truth:.1f} independent ones.",
            f"{unsure:,} of {counted(labels.height, 'label')} need a person; at most 1 in 10 of the others is wrong, "
            "if the known answers are a random sample."
            if self.threshold <= 1
            else "The known answers are too few, or the labels too often wrong, to do without a person.",
        ]
        if len(self.keep) > 1:
            found.append(
                f"Judges worth keeping: {listed(self.keep, 7)}; as a panel they beat the best one in "
                f"{self.kept_in[0]} of {self.kept_in[1]} splits of the known answers."
            )
        else:
            found.append(
                f"{self.keep[0]} alone does as well as any panel: one was better in only {self.kept_in[0]} of "
                f"{self.kept_in[1]} splits of the known answers."
            )
        if self.by and (pairs := self.tables["differences"]).height:
            clear = [
                f"{row[self.by]} beats {row['other']} by {100 * row['difference']:.0f} points "
                f"({100 * row['low']:.0f} to {100 * row['high']:.0f})"
                for row in pairs.filter(pl.col("p_holm") < 0.05).iter_rows(named=True)
            ]
            found.append(f"{'; '.join(clear[:5]) or f'No two values of {self.by} clearly differ'}.")
        return [*found, *self.cautions]

    def summary(self) -> str:
        """The judges in plain words."""
        lines = [self.headline(), ""]
        for row in self.tables["judges"].iter_rows(named=True):
            shown = ", ".join(
                f"{name} {number(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])})"
                for name in METRICS
            )
            lines.append(f"{row['judge']}: {shown}; {row['verdict']}")
        return "\n".join([*lines, "", *self.sentences()])

    def __repr__(self) -> str:
        return f"<JudgeReport: {self.headline()}; see summary()>"


def judge(
    source: Any,
    *,
    known: Any = None,
    by: str | None = None,
    by_metric: str = "capability",
    min_accuracy: float | None = None,
    min_capability: float | None = None,
    confident: bool = True,
    without: Sequence[str] = (),
    raters: Sequence[str] | None = None,
    **columns: Any,
) -> JudgeReport:
    """Measure judges against the truth that some known answers and all verdicts tell.

    Parameters
    ----------
    source
        Ratings (`rl.read`), or what `rl.read` takes: a path or a dataframe. Verdicts are pass or fail; of ordered
        scores every cut is a question, and numbers are means over the cuts.
    known
        The column of known answers, or a table of them; at least 15 answers, a random sample of all.
    by
        A facet or column, such as the system that wrote an answer: pass rates and judges' accuracy for each.
    by_metric
        What judges are sorted by: `"capability"` (J, sensitivity + specificity - 1) or `"accuracy"`.
    min_accuracy, min_capability
        Bounds; capability of at least 0.5 where none is given.
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
    ratings = _read(source, known, by, columns)
    bounds = _bounds(min_accuracy, min_capability)
    if by_metric not in METRICS:
        raise OptionError(
            Message(Option("by_metric", by_metric)),
            "give capability or accuracy",
            value=by_metric,
            option="by_metric",
        )
    labels = ratings.raters.cast(pl.String).to_list()
    left_out = np.array(
        [labels.index(choose("rater", str(name), labels, "without")) for name in without], dtype=int
    )
    chosen = [name for name in labels if name not in set(without)]
    if raters is not None:
        named = [raters] if isinstance(raters, str) else raters
        chosen = [choose("rater", str(name), chosen, "raters") for name in named]
    answers = _Answers.of(ratings)
    questions = _questions(answers, left_out)
    group = None if by is None else _systems(ratings, answers, by)
    truths = [estimate_truth(each) for each in questions]
    tables = {"judges": _judges(ratings, truths, chosen, bounds, by_metric, confident)}
    thresholds = [certain_enough(truth) for truth in truths]
    tables["labels"] = _labels(ratings, answers, truths, thresholds)
    if by is not None and group is not None:
        tables |= _by_system(ratings, questions, truths, group, by, chosen)
    shown = truths[len(truths) // 2]
    panel = judges_to_keep(shown)
    return JudgeReport(
        tables,
        bounds,
        by_metric,
        confident,
        by,
        ratings.n_ratings,
        len(answers.rows),
        effective_judges(shown),
        tuple(labels[place] for place in panel.judges) or tuple(chosen[:1]),
        (panel.preferred, panel.splits),
        max(thresholds),
        _cautions(ratings, answers, truths, tables["judges"]),
        ratings.notes,
        ratings.backend,
    )


def _read(source: Any, known: Any, by: str | None, columns: Mapping[str, Any]) -> Ratings:
    if isinstance(source, Ratings):
        if known is not None or columns:
            raise OptionError(
                "these ratings have been read already",
                Message("give ", Option("known", known or "gold"), " to rl.read"),
                option="known",
            )
        return source
    given = dict(columns)
    if by is not None and by != "item" and by not in (given.get("item"), given.get("facets")):
        more = given.get("facets") or []
        given["facets"] = [*([more] if isinstance(more, str) else more), by]
    return read(source, known=known, **given)


def _bounds(min_accuracy: float | None, min_capability: float | None) -> dict[str, float]:
    given = {"accuracy": min_accuracy, "capability": min_capability}
    for name, bound in given.items():
        if bound is not None and (
            isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound <= 1
        ):
            raise OptionError(
                Message(Option(f"min_{name}", bound)),
                "give a number between 0 and 1",
                value=bound,
                option=f"min_{name}",
            )
    found = {name: float(bound) for name, bound in given.items() if bound is not None}
    return found or {"capability": DEFAULT_CAPABILITY}


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """Distinct answers, each a student and an item, with every verdict on them."""

    student: Indices
    item: Indices
    known: Indices
    """(answers,) the right score; -1 where unknown."""
    answer: Indices
    """(verdicts,) which answer."""
    judge: Indices
    score: Indices
    n_judges: int

    @property
    def rows(self) -> Indices:
        return np.flatnonzero(self.known >= 0)

    @classmethod
    def of(cls, ratings: Ratings) -> "_Answers":
        key = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
        keys, answer = np.unique(key, return_inverse=True)
        known = np.full(len(keys), UNKNOWN, dtype=np.int64)
        if ratings.known is not None:
            theirs = ratings.known.student.astype(np.int64) * ratings.n_items + ratings.known.item
            place = np.minimum(np.searchsorted(keys, theirs), len(keys) - 1)
            met = keys[place] == theirs
            known[place[met]] = ratings.known.answer[met]
        return cls(
            keys // ratings.n_items,
            keys % ratings.n_items,
            known,
            answer,
            ratings.rater.astype(np.int64),
            ratings.score.astype(np.int64),
            ratings.n_raters,
        )


def _questions(answers: _Answers, left_out: Indices) -> list[Verdicts]:
    """Pass or fail at every cut that known answers lie on both sides of."""
    n = len(answers.rows)
    if n < FEWEST_KNOWN:
        raise InputError(
            f"{counted(n, 'known answer')} that judges have judged cannot tell who judges well",
            Message(
                f"look up at least {FEWEST_KNOWN - n} more, better 30 to 60 in all (", Option("known"), ")"
            ),
            value=n,
            option="known",
        )
    found = []
    for cut in range(1, int(max(answers.score.max(), answers.known.max())) + 1):
        known = np.where(answers.known < 0, UNKNOWN, answers.known >= cut)
        if min((known == 1).sum(), (known == 0).sum()) >= FEWEST_OF_A_KIND:
            verdict = (answers.score >= cut).astype(np.int64)
            each = Verdicts.of(
                answers.answer, answers.judge, verdict, known, answers.student, answers.n_judges
            )
            found.append(each.without_judges(left_out) if len(left_out) else each)
    if not found:
        seen = np.bincount(answers.known[answers.rows])
        raise InputError(
            f"of {counted(n, 'known answer')} nearly all are alike ({int(seen.max()):,} of one kind), so one of a "
            "judge's two error rates is not known",
            f"look up answers until at least {FEWEST_OF_A_KIND} are good and {FEWEST_OF_A_KIND} are bad",
            value=int(seen.max()),
            option="known",
        )
    return found


def _systems(ratings: Ratings, answers: _Answers, by: str) -> tuple[Indices, pl.Series]:
    """(answers,) the system of each, and their labels."""
    if by == "item":
        return answers.item, ratings.items.cast(pl.String)
    facets = {facet.name: facet for facet in ratings.facets}
    if by not in facets:
        raise OptionError(
            f"the ratings have no facet {shortened(by)}",
            Message(
                "read its column too, ",
                Option("facets", [by]),
                f"; there are: {', '.join(['item', *facets])}",
            ),
            value=by,
            option="by",
        )
    codes = facets[by].codes.astype(np.int64)
    found = np.zeros(len(answers.known), dtype=np.int64)
    found[answers.answer] = codes
    if (differs := np.flatnonzero(found[answers.answer] != codes)).size:
        student = str(ratings.students[int(ratings.student[differs[0]])])
        raise InputError(
            f"student {shortened(student)} has more than one {by}",
            "an answer belongs to one system: let the student column name the answer, not the task",
            option="by",
        )
    return found, facets[by].labels.cast(pl.String)


def _mean(measures: Sequence[Measure]) -> Measure:
    """Over cuts; ends are means of ends, which is exact where the cuts err together and wide where they do not."""
    return Measure(
        *(np.mean([getattr(each, end) for each in measures], axis=0) for end in ("value", "low", "high"))
    )


def _judges(
    ratings: Ratings,
    truths: Sequence[Truth],
    chosen: Sequence[str],
    bounds: Mapping[str, float],
    by_metric: str,
    confident: bool,
) -> pl.DataFrame:
    found: list[JudgeMeasures] = [measure_judges(truth) for truth in truths]
    guards: list[Guard] = [guard(truth) for truth in truths]
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
        "verdict": _verdicts(measures, bounds, flagged, confident),
    }
    table = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))
    return table.filter(pl.col("judge").is_in(list(chosen))).sort(by_metric, descending=True, nulls_last=True)


def _verdicts(
    measures: Mapping[str, Measure], bounds: Mapping[str, float], flagged: Mask, confident: bool
) -> list[str]:
    """Trusted above every bound, not trusted below one, not certain between; never trusted against known answers."""
    above, below = np.ones(len(flagged), dtype=bool), np.zeros(len(flagged), dtype=bool)
    for name, bound in bounds.items():
        each = measures[name]
        above &= (each.low if confident else each.value) >= bound
        below |= (each.high if confident else each.value) < bound
    words = np.where(
        below, "not trusted", np.where(flagged, "contradicted", np.where(above, "trusted", "not certain"))
    )
    return [str(word) for word in words]


def _labels(
    ratings: Ratings, answers: _Answers, truths: Sequence[Truth], thresholds: Sequence[float]
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
    scores = np.where(known, answers.known, label) if len(truths) > 1 else label
    probability = np.where(known, 1.0, levels[label, np.arange(len(label))])
    table = pl.DataFrame(
        {
            "student": ratings.students.gather(answers.student),
            "item": ratings.items.gather(answers.item),
            "label": scores,
            "probability": probability,
            "n_judges": np.asarray(truths[0].verdicts.judged.sum(axis=1)).astype(np.int64),
            "known": known,
            "needs_person": ~sure & ~known,
        }
    )
    return table.sort(pl.col("needs_person"), -pl.col("probability"), descending=True, maintain_order=True)


def _by_system(
    ratings: Ratings,
    questions: Sequence[Verdicts],
    truths: Sequence[Truth],
    group: tuple[Indices, pl.Series],
    by: str,
    chosen: Sequence[str],
) -> dict[str, pl.DataFrame]:
    """Rates, differences and slices of the middle question: pass or fail, where there are no others."""
    system, labels = group
    middle = len(truths) // 2
    truth = estimate_truth(questions[middle], system, truths[middle].features)
    rates = system_rates(truth)
    return {
        "systems": _rates_table(rates, labels, by),
        "differences": _differences(rates, labels, by),
        "slices": _slices(accuracy_by_system(truth), ratings.raters.cast(pl.String), labels, by).filter(
            pl.col("judge").is_in(list(chosen))
        ),
    }


def _rates_table(rates: SystemRates, labels: pl.Series, by: str) -> pl.DataFrame:
    columns = {
        by: labels,
        "n": rates.n.astype(np.int64),
        "known": rates.known.astype(np.int64),
        "observed": rates.observed,
        "rate": rates.rate.value,
        "low": rates.rate.low,
        "high": rates.rate.high,
        "rank_low": rates.rank_low.astype(np.int64),
        "rank_high": rates.rank_high.astype(np.int64),
    }
    return pl.DataFrame(columns).sort("rate", descending=True)


def _differences(rates: SystemRates, labels: pl.Series, by: str) -> pl.DataFrame:
    one, other, tests = each_pair(rates.rate.value, rates.covariance)
    half = NORMAL * tests.se
    columns = {
        by: labels.gather(one),
        "other": labels.gather(other),
        "difference": tests.difference,
        "low": tests.difference - half,
        "high": tests.difference + half,
        "p": tests.p,
        "p_holm": tests.holm,
    }
    return pl.DataFrame(columns).sort("p")


def _slices(found: SliceAccuracy, judges: pl.Series, labels: pl.Series, by: str) -> pl.DataFrame:
    who, where = (part.ravel() for part in np.indices(found.n.shape))
    columns = {
        "judge": judges.gather(who),
        by: labels.gather(where),
        "n": found.n.ravel().astype(np.int64),
        "accuracy": found.accuracy.value.ravel(),
        "accuracy_low": found.accuracy.low.ravel(),
        "accuracy_high": found.accuracy.high.ravel(),
        "p": found.p.ravel(),
    }
    return pl.DataFrame(columns).with_columns(pl.col("p").fill_nan(None)).filter(pl.col("n") > 0)


def _cautions(
    ratings: Ratings, answers: _Answers, truths: Sequence[Truth], judges: pl.DataFrame
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
