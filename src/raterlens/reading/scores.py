"""Scores to whole numbers from 0: how words, halves, per cent, marks and ranks are read, and the columns by it."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, plain_number, shortened
from raterlens.config import ReadConfig
from raterlens.config.limits import SCORE_CATEGORIES
from raterlens.config.read_config import OPEN, map_text
from raterlens.reading.read_plan import Finding, ReadPlan
from raterlens.reading.vocabulary import (
    VERDICTS,
    is_missing,
    known,
    ladder,
    leading_numbers,
    letters,
    levels,
    missing_among,
    plain,
    said,
    says_missing,
    signed_numbers,
    stars,
    stems,
    verdict,
    written_numbers,
)

HIGHEST = 50
MOST_MARKS = 1000
"""Steps of a continuous scale of marks, which has a table of each rater's probabilities."""
LARGEST = 2**53
"""Numbers beyond it are not exact."""
NEED = "scores are 0/1, or whole numbers from 0"
CUT = Message("give the lowest passing score, for example ", Option("cut", 3))
WORDS = Message(
    f"{NEED}: write numbers, leave a missing score blank, or say what the words are worth, for example ",
    Option("map", "good=1,bad=0,absent="),
)
FEW_WORDS = 20
"""Most words, and most characters of a word, that a message lists with what they could be worth."""
Place = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class ScoreCoding:
    """How what stands in a column becomes a score."""

    words: Mapping[str, float | None] = field(default_factory=dict)
    """Scores of texts other than numbers, stripped of blanks; None for a missing score."""
    numbers: Mapping[float, float | None] = field(default_factory=dict)
    """The same of numbers that stand for others."""
    turned: float | None = None
    """The highest score, where low ones are best: scores are taken from it."""
    factor: float = 1
    """By which scores are multiplied: half points are doubled."""
    marks: bool = False
    """Whether scores are marks on a continuous scale, rounded to its steps."""
    edges: tuple[float, ...] = ()
    """Lowest score of each band but the first."""
    cut: float | None = None


def parse_scores(column: pl.Series, coding: ScoreCoding, place: Place) -> NDArray[np.int16]:
    """Return whole numbers, -1 where missing; an error names the first bad value and its place."""
    cut = coding.cut
    simple = not (
        coding.words or coding.numbers or coding.edges or coding.factor != 1 or coding.turned is not None
    )
    highest = MOST_MARKS if coding.marks else HIGHEST
    if simple and column.dtype.is_integer() and (cut is not None or column.is_between(0, highest).all()):
        # Nothing to refuse, which takes a dozen passes over the column to see otherwise.
        return (column if cut is None else column >= cut).cast(pl.Int16).fill_null(-1).to_numpy()
    values = _numbers(column, coding, place)
    _refuse(column, values.is_infinite(), "is infinite", f"{NEED}: correct it, or leave it blank", place)
    large = values.abs() > LARGEST
    _refuse(column, large, "is too large to be a score", f"{NEED}: correct it, or leave it blank", place)
    if coding.turned is not None:
        values, cut = coding.turned - values, None if cut is None else coding.turned - cut
    if cut is not None:
        return (values >= cut).cast(pl.Int16).fill_null(-1).to_numpy()
    if coding.edges:
        bands = sum(
            ((values >= edge).cast(pl.Int16) for edge in coding.edges[1:]),
            (values >= coding.edges[0]).cast(pl.Int16),
        )
        return bands.fill_null(-1).to_numpy()
    values = values * coding.factor
    values = values.round() if coding.marks else values
    _refuse(column, values < 0, "is negative", Message(f"{NEED}; ", CUT), place)
    _refuse(column, values != values.floor(), "is a fraction", Message(f"{NEED}; ", CUT), place)
    _refuse(column, values > highest, f"is above {highest}, too many categories to model", CUT, place)
    return values.cast(pl.Int16).fill_null(-1).to_numpy()


def _numbers(column: pl.Series, coding: ScoreCoding, place: Place) -> pl.Series:
    """Return the column as Float64, null where missing."""
    numeric = column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)
    text = column if numeric else stripped(column)
    values = text.cast(pl.Float64, strict=numeric).fill_nan(None)
    unread = [] if numeric else text.filter(values.is_null()).drop_nulls().unique().to_list()
    bad = [word for word in unread if word not in coding.words and not is_missing(word)]
    if bad and values.is_not_null().any() and all(word.casefold() in VERDICTS for word in bad):
        _refuse(column, text.is_in(bad), "stands among numbers", f"{NEED}: write one or the other", place)
    if bad:
        _refuse(column, text.is_in(bad), "is not a number", _words_advice(bad), place)
    if coding.numbers:
        values = values.replace(list(coding.numbers), list(coding.numbers.values()))
    worth = {word: coding.words[word] for word in unread if coding.words.get(word) is not None}
    if worth:
        values = values.fill_null(text.replace_strict(worth, default=None, return_dtype=pl.Float64))
    return values


def _words_advice(words: list[str]) -> Message:
    """How to say what these words are worth."""
    if len(words) > FEW_WORDS or max(map(len, words)) > FEW_WORDS:
        return WORDS
    return Message(
        f"{NEED}: leave a missing score blank, or say what each word is worth with ",
        Option("map", ",".join(f"{word}={OPEN}" for word in sorted(words))),
        f", a number in place of each {OPEN}; classes without an order are not scores",
    )


def stripped(column: pl.Series) -> pl.Series:
    """Text without blanks around it, and without the apostrophe that spreadsheets put before numbers kept as text."""
    return column.cast(pl.String).str.strip_chars().str.strip_prefix("'")


def _refuse(column: pl.Series, bad: pl.Series, what: str, advice: str, place: Place) -> None:
    where = bad.arg_true()
    if len(where) == 0:
        return
    first = where[0]
    others = f" (the first of {len(where):,})" if len(where) > 1 else ""
    name = "" if column.name.startswith("{") else f" in column {shortened(column.name)}"
    raise InputError(
        f"score {shortened(column[first])}{name}, {place(first)}, {what}{others}",
        advice,
        value=column[first],
        option="score",
    )


Tally = dict[str | float, int]
"""How often each text or number occurs."""

MOST_WORDS = 30
"""More different words than this are no scores."""

MOST_STEPS = 11
"""More different marks than this go into bands."""
STRAY = 0.02
"""Share of scores that do not fit up to which they are taken for slips of the pen."""

FEWEST_RANKS = 5
"""Fewer numbers than this, each given once, are no ranks yet."""

_PLAIN = {"true", "false", "pass", "passed", "fail", "failed", "yes", "no", "correct", "incorrect"}
"""Verdicts that need no word about them."""
_CODES_FOR_MISSING = {-9.0, -99.0, -999.0, -1.0, 88.0, 99.0, 999.0, 9999.0, -88.0}


def detect_scale(
    columns: Sequence[pl.Series],
    names: Collection[str],
    plan: ReadPlan,
    rankings: NDArray[np.integer[Any]] | None = None,
) -> tuple[ScoreCoding, ReadPlan]:
    """How scores are coded, by the likeliest answer to every question, and the plan with it; `rankings`: which rater
    gave each of one column, on which item."""
    if plan.config.best is None and rankings is not None and are_ranks(columns[0], rankings):
        plan = plan.add([_ranks(columns[0])])
    tally = cache(
        partial(_tally, columns)
    )  # counting the scores of a large table takes a tenth of reading it
    coding, found = scale_of(columns, names, plan.config, tally)
    plan = plan.add(found)
    if any(finding.options for finding in found):
        coding, _ = scale_of(columns, names, plan.config, tally)
    if plan.config.best == "low":
        highest = max((float(key) for key in tally() if isinstance(key, float)), default=0.0)
        coding = replace(coding, turned=highest)
    return coding, plan


def are_ranks(column: pl.Series, rankings: NDArray[np.integer[Any]]) -> bool:
    """Whether the scores of every rater on an item are the places from 1 on, each given once."""
    n = int(rankings.max(initial=0)) + 1
    if n < 2 or len(column) > n * HIGHEST or len(column) < FEWEST_RANKS * n:
        return False
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    given = pl.DataFrame({"ranking": rankings, "rank": numbers}).drop_nulls()
    own = given.group_by("ranking").agg(
        (pl.col("rank").n_unique() == pl.len())
        & (pl.col("rank").min() == 1)
        & (pl.col("rank").max() == pl.len())
        & (pl.len() >= FEWEST_RANKS)
    )
    return own.height > 1 and bool(own["rank"].all())


def _ranks(column: pl.Series) -> Finding:
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return Finding(
        f"every rater gives each number from 1 to {max(numbers.drop_nulls()):g} once, as ranks are",
        "turned round, as 1 is best; ranks only compare the pieces of work that a rater saw, so raters cannot differ "
        "in severity",
        (Option("best", "low"),),
        alternative=Option("best", "high"),
        certain=False,
    )


def _classes(names: Collection[str], counts: Mapping[Any, int], config: ReadConfig) -> list[Finding]:
    """Codes that may stand for classes without an order."""
    values = sorted(value for value in counts if isinstance(value, int | float))
    if config.best is not None or config.as_written or config.map is not None or len(values) < 3:
        return []
    if not all(float(value).is_integer() for value in values) or not any(
        {plain(name), *plain(name).split("_")} & known("codes")
        and not {*plain(name).split("_")} & known("ordered")
        for name in names
    ):
        return []
    shown = f"codes from {values[0]:g} to {values[-1]:g} in {listed(names)}, which the file does not show to be ordered"
    done = "read as ordered, the highest code best; classes without an order cannot be read as scores"
    return [Finding(shown, done, (Option("best", "high"),), alternative=Option("best", "low"), certain=False)]


def scale_of(
    columns: Sequence[pl.Series],
    names: Collection[str],
    config: ReadConfig,
    tally: Callable[[], Tally] | None = None,
) -> tuple[ScoreCoding, list[Finding]]:
    """How the scores in these columns are coded, and what is to be said about it; `names` are those of the columns
    that were in the file, `tally` counts them."""
    count, stated = tally or partial(_tally, columns), _stated(names)
    whole = config.map is None and not config.edges() and all(_whole(column, config) for column in columns)
    if whole and (stated is None or all(column.is_between(*stated).all() for column in columns)):
        # The name comes first: counting the scores of a large table takes longer than reading them.
        found = []
        if config.cut is None and _named_as_grades(names):
            found = _german_grades(names, count(), config)
        elif config.cut is None and any({*plain(name).split("_")} & known("codes") for name in names):
            found = _classes(names, count(), config)
        return ScoreCoding(cut=config.cut), found
    occurring = count()
    texts = {key for key in occurring if isinstance(key, str)}
    worth, by_number = given_worth(config.worth(), texts)
    missing = missing_among(texts) - set(worth)
    findings: list[Finding] = _said_missing(occurring, missing)
    texts -= missing
    written, found = written_numbers(texts - set(worth))
    numbers = {text: by_number.get(value, value) for text, value in written.items()}
    findings += found
    words = texts - set(worth) - set(numbers)
    amid = {float(key) for key in occurring if isinstance(key, float)} | {*filter(None, numbers.values())}
    if not config.edges() and config.cut is None and (signed := _signed_grades(words, amid, names, config)):
        return ScoreCoding(worth, by_number), [*findings, signed]
    if (rare := _rare_words(words, occurring)) is not None and config.map is None:
        return ScoreCoding(worth | dict.fromkeys(words), by_number, cut=config.cut), [*findings, rare]
    meant, found = _worded(words, names, amid, len(columns))
    findings += found
    worth |= numbers | meant
    counts: dict[float, int] = {}
    for key, times in occurring.items():
        value = by_number.get(key, key) if isinstance(key, float) else worth.get(key)
        if isinstance(value, int | float):
            counts[float(value)] = counts.get(float(value), 0) + times
    coding = ScoreCoding(worth, by_number, edges=config.edges(), cut=config.cut)
    if coding.edges or config.cut is not None or not counts or len(meant) < len(words):
        return coding, findings
    factor, found = 1.0, _german_grades(names, counts, config)
    if not found:
        factor, found = _stepped(counts, names, config, percent=any("%" in str(text) for text in numbers))
    if not found and not meant and config.map is None:
        found = _classes(names, counts, config)
    marks = any(finding.action.startswith(MARKS) for finding in found)
    return ScoreCoding(worth, by_number, factor=factor, marks=marks), [*findings, *found]


def _said_missing(tally: Tally, texts: Collection[str]) -> list[Finding]:
    """Words that stand for a missing score."""
    words = sorted((text for text in texts if says_missing(text)), key=lambda text: (-tally[text], text))
    if not words:
        return []
    shown = ", ".join(f"{shortened(word)} ({tally[word]:,})" for word in words[:5])
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    return [Finding(f"{shown}{more} among the scores", "taken for missing")]


RARE, FEWEST_SCORES = 0.1, 40
"""Share of scores up to which words that nobody knows are taken for missing ones among numbers, and how many scores it
takes to say so."""


def _rare_words(words: Collection[str], tally: Tally) -> Finding | None:
    """Words among numbers, each without a digit and all of them rare: probably codes for a missing score."""
    times = sum(tally[word] for word in words)
    total = sum(tally.values())
    if not words or len(words) > FEW_WORDS or not FEWEST_SCORES <= total >= times / RARE or verdict(words):
        return None
    if any(re.search(r"[\d★+]", word) or len(word) > FEW_WORDS for word in words):
        return None
    option = Option("map", ",".join(f"{word}=" for word in sorted(words)))
    seen = f"{listed(sorted(words), 5)} among numbers, {counted(times, 'time')}"
    return Finding(seen, "taken for missing", (option,), certain=False)


def _whole(column: pl.Series, config: ReadConfig) -> bool:
    return column.dtype.is_integer() and (config.cut is not None or bool(column.is_between(0, HIGHEST).all()))


def _tally(columns: Sequence[pl.Series]) -> Tally:
    found: Tally = {}
    for column in columns:
        if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
            counted_ = column.cast(pl.Float64).fill_nan(None).drop_nulls().rename("v").value_counts(name="n")
            pairs: list[tuple[str | float, int]] = list(counted_.iter_rows())
        else:
            text = stripped(column).drop_nulls().rename("v").value_counts(name="n")
            number = text["v"].cast(pl.Float64, strict=False).fill_nan(None)
            pairs = [
                (word if value is None else value, times)
                for (word, times), value in zip(text.iter_rows(), number, strict=True)
                if value is not None or says_missing(word) or not is_missing(word)
            ]
        for key, times in pairs:
            found[key] = found.get(key, 0) + times
    return found


def given_worth(
    given: Mapping[str, float | None], texts: Collection[str]
) -> tuple[dict[str, float | None], dict[float, float | None]]:
    """Scores of words and numbers as the user gives them."""
    folded = {word.casefold(): value for word, value in given.items()}
    words = {
        text: given.get(text, folded.get(text.casefold()))
        for text in texts
        if text in given or text.casefold() in folded
    }
    numbers: dict[float, float | None] = {}
    for word, value in given.items():
        try:
            numbers[float(word)] = value
        except ValueError:
            continue
    return words, numbers


def _worded(
    words: Collection[str], names: Collection[str], amid: Collection[float], n_columns: int
) -> tuple[dict[str, float], list[Finding]]:
    """Scores of words with an obvious order."""
    if not words or len(words) > MOST_WORDS:
        return {}, []
    _refuse_pairs(words, names)
    if amid and not set(amid) <= {0.0, 1.0}:
        return {}, []
    passes, steps = verdict(words), ladder(words)
    if steps is not None and (
        passes is None or len(set(map(str.casefold, words))) > 2 or len(set(passes.values())) < 2
    ):
        return steps, [_read_as(steps)]
    if passes is not None:
        folded = {word.casefold() for word in words}
        certain = all(_kin([word for word in folded if _side(passes, word) == side]) for side in (0.0, 1.0))
        certain &= not amid or folded <= _PLAIN
        return passes, [] if folded <= _PLAIN and certain else [_read_as(passes, certain=certain)]
    if amid:
        return {}, []
    for meaning in (partial(leading_numbers, meanings=n_columns), stars, levels):
        if (found := meaning(words)) is not None:
            return found, [_read_as(found)]
    if (grades := letters(words)) is not None:
        signs = any(len(word.strip()) > 1 for word in words)
        named = any(stems(name) & known("letter grades", "grades") for name in names)
        return grades, [
            _read_as(grades, certain=signs or named or bool({"F", "E"} & {*map(str.upper, words)}))
        ]
    return {}, []


def _side(passes: Mapping[str, float], folded: str) -> float:
    return next(value for word, value in passes.items() if word.casefold() == folded)


def _kin(words: Sequence[str]) -> bool:
    """Whether words are spellings of one: pass and passed, y and yes, or signs."""
    ordered = sorted(words, key=len)
    return all(word[0] == ordered[0][0] or not word[0].isalpha() for word in ordered)


def _read_as(worth: Mapping[str, float], *, certain: bool = True) -> Finding:
    pairs = sorted(worth.items(), key=lambda pair: -pair[1])
    shown = ", ".join(f"{word} = {value:g}" for word, value in pairs[:8]) + (" ..." if len(pairs) > 8 else "")
    option = Option("map", map_text(dict(pairs)))
    return Finding(f"scores in words ({shown})", "read as these numbers", (option,), certain=certain)


def _refuse_pairs(words: Collection[str], names: Collection[str]) -> None:
    """Verdicts that compare two answers say nothing about one."""
    folded = {word.casefold().strip() for word in words}
    if len(folded) < 2 or not folded <= said("comparisons") or folded <= {"both", "neither"}:
        return
    if (
        {"win", "lose", "loss"} & folded
        or len(folded & {"a", "b"}) != len(folded)
        or not any(stems(name) & known("letter grades") for name in names)
    ):
        raise InputError(
            f"the scores {listed(sorted(words))} compare two answers with each other (pairwise verdicts)",
            "Raterlens judges raters by scores of single pieces of work: let the judges score each answer by itself",
            value=sorted(words),
            option="score",
        )


def _stepped(
    counts: Mapping[float, int], names: Collection[str], config: ReadConfig, *, percent: bool
) -> tuple[float, list[Finding]]:
    """By what scores are multiplied to be whole; many are marks on a continuous scale; where none fits, bands to
    choose."""
    values = sorted(counts)
    if not -LARGEST <= values[0] <= values[-1] <= LARGEST:
        return 1, []  # for the parser to refuse, by its place
    if set(values) == {-1.0, 1.0}:
        return 1, [Finding("scores of -1 and 1", "read as fail and pass", (Option("cut", 1),))]
    if (missing := _codes_for_missing(values, _stated(names))) is not None:
        return 1, [missing]
    many = len(values) > SCORE_CATEGORIES and values[0] >= 0
    if not percent and not (many and values[-1] <= 2 * HIGHEST) and _stray(counts):
        return 1, []
    if many and (values[-1] > HIGHEST or not _whole_numbers(values)):
        return _as_marks(counts)
    if values[0] < 0:
        return 1, _around_zero(values) or ([] if _whole_numbers(values) else [_banded(counts)])
    if percent or values[-1] > HIGHEST:
        return 1, [_stepwise(values) or _banded(counts)]
    if _whole_numbers(values) or config.as_written:
        return 1, []
    return _in_fractions(counts) or (1, [_banded(counts)])


def _in_fractions(counts: Mapping[float, int]) -> tuple[float, list[Finding]] | None:
    """Half points, or tenths of 1, multiplied to be whole."""
    values = sorted(counts)
    for factor in (2, 4, 5, 10, 20):
        if not _fits(values, factor, HIGHEST):
            continue
        if factor > 2 and values[-1] > 1:
            return None
        done = "doubled, so that they are whole" if factor == 2 else f"multiplied by {factor}"
        seen = f"scores in steps of {1 / factor:g}, such as {next(v for v in values if not v.is_integer()):g}"
        return factor, [Finding(seen, done, alternative=Option("cut", plain_number(suggested_cut(counts))))]
    return None


_STATED = re.compile(r".*[(\[]\s*(\d+)\s*(?:-|–|to|bis|à|a)\s*(\d+)\s*[)\]]\s*")


def _stated(names: Collection[str]) -> tuple[float, float] | None:
    """The lowest and the highest score, where the headings of all columns say the same: "Method (1-6)"."""
    spans = {match and match.groups() for match in map(_STATED.fullmatch, names)}
    span = spans.pop() if len(spans) == 1 else None
    return None if span is None else (float(span[0]), float(span[1]))


def _codes_for_missing(values: Sequence[float], stated: tuple[float, float] | None) -> Finding | None:
    low, high = stated or (-math.inf, math.inf)
    odd = [value for value in values if value in _CODES_FOR_MISSING or not low <= value <= high]
    rest = [value for value in values if value not in odd]
    apart = bool(odd and rest) and (rest[0] >= 0 > odd[0] or odd[-1] > 5 * rest[-1] or stated is not None)
    if len(rest) < 2 or not apart:
        return None
    option = Option("map", ",".join(f"{value:g}=" for value in odd))
    seen = f"{', '.join(f'{value:g}' for value in odd)} among scores from {rest[0]:g} to {rest[-1]:g}"
    return Finding(seen, "taken for missing", (option,), certain=False)


MARKS = "read as marks on a continuous scale"


def _as_marks(counts: Mapping[float, int]) -> tuple[float, list[Finding]]:
    """By what marks are multiplied to be whole: as few steps as they have, or else so many that rounding is small."""
    values = sorted(counts)
    exact = [
        factor
        for factor in (1, 2, 4, 5, 10, 20, 50, 100, 200, 500, 1000)
        if _fits(values, factor, MOST_MARKS)
    ]
    done, factor = MARKS, float(exact[0]) if exact else 0.0
    if not exact:
        step = _round_step(20 * values[-1] / MOST_MARKS)
        done, factor = f"{MARKS}, rounded to {step:g}", 1 / step
    edges = ",".join(f"{edge:g}" for edge in suggested_bands(counts))
    seen = f"scores from {values[0]:g} to {values[-1]:g} in {counted(len(values), 'different value')}"
    return factor, [Finding(seen, done, alternative=Option("bands", edges))]


def _fits(values: Sequence[float], factor: int, most: int) -> bool:
    """Whether all are whole when they are multiplied by it, and none is above the highest that may be."""
    steps = [value * factor for value in values]
    return steps[-1] <= most and all(abs(step - round(step)) < 1e-9 for step in steps)


def _whole_numbers(values: Sequence[float]) -> bool:
    return all(value.is_integer() for value in values)


def _around_zero(values: Sequence[float]) -> list[Finding]:
    """Answers from -2 to 2, say, counted from the lowest, and a few others in their order (-3, 0, 2, 4, 7, 10, 12);
    other negative scores are for the parser to refuse."""
    if (
        not _whole_numbers(values)
        or values[0] < -5
        or len(values) > MOST_STEPS
        or (-values[0] != values[-1] and len(values) < 4)
    ):
        return []
    top = int(max(-values[0], values[-1]))
    even = top <= 5
    steps = range(-top, top + 1) if even else [int(value) for value in values]
    worth = ",".join(f"{value}={place}" for place, value in enumerate(steps))
    seen = f"scores from {values[0]:g} to {values[-1]:g}"
    done = f"counted from {-top} as 0" if even else "counted in their order"
    return [Finding(seen, done, (Option("map", worth),), certain=False)]


def _stepwise(values: Sequence[float]) -> Finding | None:
    """Marks out of 100 in a few even steps, 0, 25, 50, 75, 100: each is a score of its own."""
    if not 2 <= len(values) <= SCORE_CATEGORIES or not _whole_numbers(values):
        return None
    step = math.gcd(*(int(value - values[0]) for value in values[1:]))
    if step < 5 or values[-1] - values[0] > step * SCORE_CATEGORIES:
        return None
    edges = ",".join(f"{edge}" for edge in range(int(values[0]) + step, int(values[-1]) + 1, step))
    seen = f"scores from {values[0]:g} to {values[-1]:g} in steps of {step}"
    return Finding(seen, "counted in steps", (Option("bands", edges),))


def _stray(counts: Mapping[float, int]) -> bool:
    """Whether only a few scores do not fit, among whole ones that do: slips of the pen, to be named by their place."""
    odd = sum(
        times for value, times in counts.items() if value < 0 or value > HIGHEST or (2 * value) % 1 != 0
    )
    return 0 < odd <= STRAY * sum(counts.values())


def _banded(counts: Mapping[float, int]) -> Finding:
    if len(counts) == 1:
        (value,) = counts
        raise InputError(
            f"all {counted(counts[value], 'score')} are {value:g}, so nothing can be estimated",
            "check the score column",
            value=value,
            option="score",
        )
    values = sorted(counts)
    each = len(values) <= SCORE_CATEGORIES
    edges = values[1:] if each else suggested_bands(counts)
    text = ",".join(f"{edge:.12g}" for edge in edges)
    begin = (
        f"put into {counted(len(edges) + 1, 'band')} that begin at {', '.join(f'{edge:g}' for edge in edges)}"
    )
    return Finding(
        f"scores from {values[0]:g} to {values[-1]:g} in {counted(len(values), 'different value')}",
        "each a score of its own, in their order" if each else begin,
        (Option("bands", text),),
        alternative=Option("cut", plain_number(suggested_cut(counts))),
        certain=False,
    )


def _german_grades(names: Collection[str], counts: Mapping[Any, int], config: ReadConfig) -> list[Finding]:
    """Grades of German schools run from 1, the best, to 6; those of universities in thirds: 1.0, 1.3, 1.7."""
    if config.best is not None or config.map is not None:
        return []
    values = sorted(value for value in counts if isinstance(value, int | float))
    if not values or not _named_as_grades(names) or values[0] < 1 or values[-1] > 6:
        return []
    halves = all(float(2 * value).is_integer() for value in values)
    if not halves and not {*values} <= {*range(1, 7), *_THIRDS}:
        return []
    steps = [grade / 2 for grade in range(2, 13)] if halves else [*range(1, 6), *_THIRDS[:6]]
    grades = sorted({*range(1, 7)} if _whole_numbers(values) else {*steps, *values})
    worth = ",".join(f"{grade:g}={len(grades) - place}" for place, grade in enumerate(grades, 1))
    return [
        Finding(
            f"a column of grades ('Note') from {values[0]:g} to {values[-1]:g}, of which 1 may be the best",
            f"turned round, so that 1 becomes {len(grades) - 1}",
            (Option("map", worth),),
            alternative=Option("as_written", True) if len(grades) == 6 else None,
            certain=False,
        )
    ]


_THIRDS = (1.3, 1.7, 2.3, 2.7, 3.3, 3.7, 4.3, 4.7)


def _signed_grades(
    words: Collection[str], amid: Collection[float], names: Collection[str], config: ReadConfig
) -> Finding | None:
    """Numbers with signs: one map of them all, with signs and without, by which number is the best."""
    german = _named_as_grades(names) and all(number in range(1, 7) for number in amid)
    worths = [signed_numbers(words, amid, lowest_best=low) for low in (german, not german)]
    options = [Option("map", map_text(config.worth() | worth)) for worth in worths if worth is not None]
    if not options or config.best is not None:
        return None
    likely, other = options
    best = "1 is" if german else "high numbers are"
    seen = f"numbers with signs, such as {min(words)!r}, of which {best} probably the best"
    return Finding(seen, f"read in their order, {best} the best", (likely,), alternative=other, certain=False)


def _named_as_grades(names: Collection[str]) -> bool:
    return any(stems(name) & known("german grades") or re.search(r"\bNote\b", name) for name in names)


BANDS = 5
# A range of scores below which powers of ten are no longer numbers.
_NARROWEST = 1e-300


def suggested_bands(counts: Mapping[float, int], bands: int = BANDS) -> list[float]:
    """Where bands begin: round numbers near the quantiles, each band with scores in it.

    Examples
    --------
    >>> suggested_bands({float(mark): 1 for mark in range(101)})
    [20.0, 40.0, 60.0, 80.0]
    """
    values = np.array(sorted(counts))
    times = np.array([counts[value] for value in values])
    shares = np.cumsum(times) / times.sum()
    wanted = [float(values[np.searchsorted(shares, part / bands)]) for part in range(1, bands)]
    step = _round_step(float(values[-1]) - float(values[0]))
    edges: list[float] = []
    for edge in (round(round(value / step) * step, 10) for value in wanted):
        below = edges[-1] if edges else -math.inf
        if edge > below and ((values >= below) & (values < edge)).any() and (values >= edge).any():
            edges.append(edge)
    return edges or [suggested_cut(counts)]


def suggested_cut(counts: Mapping[float, int]) -> float:
    """A round number near the median, with scores on both sides.

    Examples
    --------
    >>> suggested_cut({40.0: 3, 62.0: 5, 90.0: 2})
    60.0
    """
    values = np.array(sorted(counts))
    times = np.array([counts[value] for value in values])
    median = float(values[np.searchsorted(np.cumsum(times), times.sum() / 2)])
    step = _round_step(float(values[-1]) - float(values[0]))
    edge = round(round(median / step) * step, 10)
    if not values[0] < edge <= values[-1]:
        edge = float(values[1]) if len(values) > 1 else float(values[0])
    return edge


def _round_step(width: float) -> float:
    """1, 2 or 5 times a power of ten, about a twentieth of the width."""
    if not _NARROWEST < width < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width / 20))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width / 20)
