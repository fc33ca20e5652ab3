"""Columns of scores that hold a rater, an item or both each, and such tables made long: one row per rating."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, takewhile

import numpy as np
import polars as pl

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import pattern_fields
from raterlens.reading.formats.header_rows import JOINT
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.profiles import ColumnSample, is_function
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import (
    is_final,
    is_gold,
    is_other,
    is_score_word,
    is_total,
    known,
    like_item,
    like_rater,
    mentions,
    names_of,
    of_arbiter,
    plain,
    sides,
    stems,
    tier,
)

STUDENT, RATER, ITEM, SCORE = "{student}", "{rater}", "{item}", "{score}"
MOST_WORDS = 30
"""More different words than this are remarks."""
FEWEST_NUMBERED = 5
"""Rows in which a column of scores numbers the rows by chance less than one time in twenty."""
_FEWEST_LEVELS = 4
"""Different scores up to which a lenient rater may give the highest of all every time."""
FEWEST_ROUNDED = 10
"""Rows in which a column must be the rounded mean of the others to be nothing else."""
_NUMBER = re.compile(r"'?\d+(,\d+)?\s*[%/]?")
FIELDS = (RATER, ITEM)
Split = dict[str, tuple[str, ...]]
"""Labels of each column that matches, in the order of the fields."""


def split_names(pattern: str, fields: Sequence[str], columns: Sequence[str]) -> Split:
    """The labels in every column that fits. Where a name can be split in two ways ("Ann Lee style"), the way is taken
    that gives the fewest different labels over all columns."""
    ways = []
    for first in ("+?", "+"):
        text = re.escape(pattern)
        for part in fields:
            text = text.replace(re.escape(part), f"(.{first})")
        found = {name: match.groups() for name in columns if (match := re.fullmatch(text, name))}
        different = sum(len({labels[place] for labels in found.values()}) for place in range(len(fields)))
        ways.append(
            (different, {name: tuple(part.strip() for part in labels) for name, labels in found.items()})
        )
    return min(ways, key=lambda way: way[0])[1]


def is_grid(split: Split) -> bool:
    """Whether some raters share an item, some items share a rater, and most raters have most items."""
    raters, items = ({labels[place] for labels in split.values()} for place in (0, 1))
    several = len(raters) > 1 and len(items) > 1 and len(split) > max(len(raters), len(items))
    return several and 2 * len(split) >= len(raters) * len(items)


def name_columns(columns: Sequence[str]) -> str:
    """The columns that there are, for a remedy."""
    return f"the columns are: {listed(columns, 20)}" if columns else "the table has no columns"


def to_long(table: Table, pattern: str, only: Sequence[str] = (), but: Sequence[str] = ()) -> Table:
    """The table with one row per rating. Columns that do not fit the pattern, or hold no number, are left as they
    are; so are all but those of `only`, where it names any, and those of `but`."""
    fields = pattern_fields(pattern)
    rows = table.take(table.columns)
    split = wide_columns(table, pattern, only, but)
    scores = list(split)
    if not scores:
        raise InputError(
            Message("the columns that fit ", Option("wide", pattern), f" hold no number: {listed(split)}"),
            "check the pattern",
        )
    labels = {name: dict(zip(fields, map(pl.lit, split[name]), strict=True)) for name in scores}
    note = f"{counted(len(scores), 'column')} read as {shortened(pattern)}: " + "; ".join(
        f"{field[1:-1]}s {listed(dict.fromkeys(split[name][place] for name in scores), 5)}"
        for place, field in enumerate(fields)
    )
    return stacked(replace(table, notes=(*table.notes, note)), rows, labels, scores)


def wide_columns(table: Table, pattern: str, only: Sequence[str] = (), but: Sequence[str] = ()) -> Split:
    """The columns of scores that fit a pattern, with their labels."""
    split = _matching(table.columns, pattern, only, but)
    frame = table.take(tuple(split)).frame
    return {name: labels for name, labels in split.items() if name in only or _has_scores(frame[name])}


def stacked(
    table: Table, rows: Rows, labels: Mapping[str, Mapping[str, pl.Expr]], used: Sequence[str]
) -> Table:
    """The table without the columns that are used: of each column of scores its rows, with its labels, in the order of
    the file."""
    others = [name for name in table.columns if name not in used]
    scores = list(labels)
    fields = (*labels[scores[0]], SCORE)
    parts = [
        rows.frame.select(
            *others,
            *(label.alias(field) for field, label in labels[name].items()),
            pl.col(name).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, name in enumerate(scores)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    if RATER in fields:
        long = long.filter(pl.col(RATER).is_not_null() | pl.col(SCORE).is_not_null())
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def take(wanted: Sequence[str]) -> Rows:
        return replace(
            rows,
            frame=long.select(wanted),
            place=lambda i: f"{rows.place(row[i])}, column {shortened(scores[column[i]])}",
        )

    roles = {field[1:-1]: field for field in fields}
    return replace(table, columns=(*others, *fields), take=take, query=None, large=False, roles=roles)


def _matching(columns: Sequence[str], pattern: str, only: Sequence[str], but: Sequence[str]) -> Split:
    """The labels in the name of every column that fits; raises where one of `only` does not, or none does."""
    split = split_names(
        pattern, pattern_fields(pattern), [name for name in only or columns if name not in but]
    )
    for name in only:
        if name not in columns:
            raise InputError(
                f"no column {shortened(name)}", name_columns(columns), value=name, option="items"
            )
        if name not in split:
            raise InputError(
                Message(f"the column {shortened(name)} does not fit ", Option("wide", pattern)),
                Message("leave it out of ", Option("items")),
                value=name,
                option="items",
            )
    if not split:
        raise InputError(
            Message("no column fits ", Option("wide", pattern)),
            f"{name_columns(columns)}; write the names as they are, with {{rater}} and {{item}} in place of what "
            "differs",
        )
    return split


def _has_scores(column: pl.Series) -> bool:
    """Whether any value is a number, or a word that can be a score."""
    texts = column.cast(pl.String).str.strip_chars()
    if texts.cast(pl.Float64, strict=False).is_not_null().any():
        return True
    words = texts.drop_nulls().unique()
    return len(words) <= MOST_WORDS and any(is_score_word(word) or _NUMBER.match(word) for word in words)


def _joints(names: Sequence[str]) -> list[str]:
    """Signs and blanks within names that may part a rater from an item, the longest and most usual first."""
    found = Counter(
        sign for name in names for sign in set(re.findall(r"(?<=\w)(?:[^\w(){}\[\]]+|_+)(?=\w)", name))
    )
    return sorted(found, key=lambda sign: (-found[sign], -len(sign)))


def likely_pattern(columns: Sequence[str]) -> str | None:
    """A pattern that several columns fit as a grid of raters and items, to be suggested."""
    patterns = (f"{{rater}}{joint}{{item}}" for joint in _joints(columns))
    return next((pattern for pattern in patterns if is_grid(split_names(pattern, FIELDS, columns))), None)


_FRAMES = ("{} ({})", "{} [{}]")


@dataclass(slots=True)
class Spread:
    """Meaning of the score columns of a table."""

    items: tuple[str, ...] = ()
    wide: str | None = None
    """The pattern of their names, where they stand for raters."""
    findings: list[Finding] = field(default_factory=list)

    def labels(self) -> list[str]:
        """The raters, or the students, that the names of columns say."""
        assert self.wide is not None
        fields = pattern_fields(self.wide)
        place = fields.index(RATER) if RATER in fields else 0
        found = (labels[place] for labels in split_names(self.wide, fields, self.items).values())
        return list(dict.fromkeys(found))


class Selection:
    """Columns that can hold scores, and those that are left out, by the reason."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.reasons, self.certain = list(names), dict[str, list[str]](), True

    def leave_out(self, names: Iterable[str], why: str) -> None:
        if out := [name for name in names if name in self.names]:
            self.reasons.setdefault(why, []).extend(out)
            self.names = [name for name in self.names if name not in out]

    @property
    def findings(self) -> list[Finding]:
        return [Finding(listed(names), f"left out ({why})") for why, names in self.reasons.items() if why]


SUMMED, AGREED = "the sum or mean of other columns", "final or agreed: nobody's own mark"
APART = "not on the scale of the other scores"


def score_columns(columns: Sequence[str], look: ColumnSample, *, raters: bool) -> Selection:
    """The columns that hold scores, without those that say nothing more, or something else; those of `raters` have one
    scale, those of items may reach further or less far."""
    free = [name for name in columns if look[name].scored]
    signed = [name for name in free if _SIGNED_BY.fullmatch(name)]
    signed = (
        signed if 2 * sum(map(is_other, signed)) < len(signed) else []
    )  # "TS_1" of Tom Sand, beside "GA_1"
    free = [name for name in free if name in signed or not is_other(name) or stems(name) & known("criteria")]
    free = [
        name
        for name in free
        if not (stems(name) & known("draws", "variants") or _NUMBERS.search(plain(name)))
    ]
    free = _under_one_heading(free)
    free += [name for name in _as_judges(columns, free, look) if name not in free]
    counted_rows = [name for name in free if look[name].consecutive]
    if len(counted_rows) == 1 < len(free) and _numbers_rows(counted_rows[0], free, look):  # several are ranks
        free.remove(counted_rows[0])
    found = Selection(free)
    alone = sum(not is_final(name) for name in free) == 1
    grid = _grid(free)
    own = [name for name in free if of_arbiter(name) and (alone or (grid is not None and name in grid[1]))]
    found.leave_out([name for name in free if is_final(name) and name not in own], AGREED)
    few = [
        name for name in found.names if look[name].distinct == 1 and 2 * look[name].filled < look.frame.height
    ]
    found.leave_out(few, "")
    if not all(map(is_total, found.names)):
        found.leave_out([name for name in found.names if is_total(name)], SUMMED)
    counts = [name for name in found.names if {*plain(name).split("_")} & known("summing")]
    if len(found.names) - len(counts) > 1:
        found.leave_out(counts, SUMMED)
    numeric = [name for name in found.names if look[name].highest is not None]
    spoken = [
        name
        for name in found.names
        if name not in numeric
        and any(_beside(name, other) and is_function(look.frame, name, other) for other in numeric)
    ]
    found.leave_out(spoken, "words for the numbers beside them")
    if len(found.names) > 2:
        found.leave_out([name for name in found.names if sums_up(name, found.names, look)], SUMMED)
    _leave_out_other_scales(found, look, raters=raters)
    if partly := [name for name in columns if look[name].partly and not is_other(name)]:
        found.reasons["numbers only in part"] = partly
    return found


_NUMBERS = re.compile(r"(^|_)(id|ids|uid|idx|index)$")


def _leave_out_other_scales(found: Selection, look: ColumnSample, *, raters: bool) -> None:
    """Leave out columns of words among numbers, or the other way round, and finer numbers among others; where each
    rater has a column, also those of another range, or called otherwise than most: for a person to confirm, unless
    both name and numbers say so."""
    names = found.names
    words = [name for name in names if look[name].highest is None]
    spoken = [name for name in names if mentions(name, "score")]
    if 2 * len(words) == len(names) and spoken in (words, [name for name in names if name not in words]):
        found.leave_out([name for name in names if name not in spoken], APART)
    elif 2 * len(words) != len(names):
        found.leave_out(words if 2 * len(words) < len(names) else [n for n in names if n not in words], APART)
    names = found.names

    def like(name: str, others: Sequence[str]) -> list[str]:
        if raters:
            return [other for other in others if look[name].like(look[other])]
        return [other for other in others if look[name].fine == look[other].fine]

    if len(names) < 3:
        return
    grid = _grid(names)
    varied = [name for name in names if look[name].distinct > 1]
    family = list(grid[1]) if grid is not None else _family(names, varied)
    same = [name for name in names if name not in family and look[name].distinct == 1]
    found.leave_out(same if len(family) > 1 else [], "always the same")
    names, family = found.names, family if raters else []
    panel = family if len(family) > 1 else max((like(name, names) for name in names), key=len, default=[])
    if len(panel) < 2:
        return
    apart = [name for name in names if name not in panel]
    others = [name for name in apart if not like(name, panel)]
    if family:
        others += [n for n in apart if n not in others and {*plain(n).split("_")} & known("ranks")]
        found.certain = len(others) == len(apart)
    elif 2 * len(panel) <= len(names):
        return
    found.certain &= not others or (len(family) > 1 and not any(like(name, panel) for name in others))
    found.leave_out(others, APART)


def _family(names: Sequence[str], of: Sequence[str]) -> list[str]:
    """Those of all names that are the same as most of some (`of`) but for a number, a letter, or a part between signs:
    "J1", "Mark Ann"."""
    best, most = list[str](), (0, 0)
    for first, second in combinations(of, 2):
        start, end = alike(first, second), alike(first[::-1], second[::-1])[::-1]
        numbered = re.compile(rf"{re.escape(start.rstrip('0123456789'))}(\d+|[A-Z]){re.escape(end)}")
        start, end = re.sub(r"[^\W_]*$", "", start), re.sub(r"^[^\W_]*", "", end)
        spoken = re.compile(rf"{re.escape(start)}.+{re.escape(end)}", re.DOTALL)
        for pattern in (numbered, spoken):
            fitting = [name for name in names if pattern.fullmatch(name)]
            size = (sum(name in fitting for name in of), len(pattern.pattern))
            if size > most and re.search(r"[^\W\d_]", start + end if pattern is spoken else first):
                best, most = fitting, size
    return best


def _numbers_rows(name: str, others: Sequence[str], look: ColumnSample) -> bool:
    """Whether a column that could number the rows does: not in few rows, and not where its name says that it holds
    scores ("Rater 1", or "Mark AM" beside "Mark BE")."""
    shared = (_shared_pattern([name, other], paths=False) for other in others if other != name)
    spoken = like_rater(name) or any(scored and pattern != RATER for pattern, scored in shared)
    return look[name].filled >= FEWEST_NUMBERED and not spoken


def _as_judges(columns: Sequence[str], scores: Sequence[str], look: ColumnSample) -> list[str]:
    """Columns called as known answers are, where those of judges are called alike: gpt_label, claude_label,
    human_label."""
    found = []
    for name in columns:
        start, sign, end = name.rpartition("_")
        alike = [other for other in scores if sign and other.endswith(sign + end)]
        if is_gold(name) and not is_gold(start) and look[name].scored and len(alike) > 1:
            found.append(name)
    return found


def _under_one_heading(names: Sequence[str]) -> list[str]:
    """Those under a heading that says that they are scores ("scores.tone"), where there are such; else all."""
    spoken = [name for name in names if (head := _heading(name)) and tier(head, "score") is not None]
    return spoken if len(spoken) > 1 else list(names)


def _heading(name: str) -> str:
    """The first part of a name of several, in the singular: "score" of "scores.tone"."""
    head, sign, _ = name.partition(".")
    return head.removesuffix("s") if sign else ""


def _beside(name: str, other: str) -> bool:
    """Whether two names begin alike: "Thesis - Rating" and "Thesis - Points"."""
    return bool(_shared_start([name, other]).strip(" _.:-/"))


def one_per_item(columns: Sequence[str], look: ColumnSample) -> Spread:
    """Where there is a rater: the columns of scores are items."""
    chosen = score_columns(columns, look, raters=False)
    scores, findings = chosen.names, chosen.findings
    if len(scores) > 1:
        options = (Option("items", tuple(scores)),)
        seen = f"{len(scores)} columns of scores ({listed(scores, 5)})"
        certain = chosen.certain and _comparable(scores, look)
        findings.append(Finding(seen, "each read as an item", options, certain=certain))
    return Spread(tuple(scores), None, findings)


def one_per_student(columns: Sequence[str], look: ColumnSample, rater: str) -> Spread:
    """Where each rater has a row, and nobody else is named: the names of score columns say who is rated."""
    chosen = score_columns(columns, look, raters=True)
    scores, findings = chosen.names, chosen.findings
    if len(scores) < 3 or 2 * sum(map(like_item, scores)) > len(scores):
        return Spread()
    start = _shared_start(scores)
    start = start if start.strip() and not {"{", "}"} & set(start) else ""
    options = (Option("wide", f"{start}{STUDENT}"), Option("items", tuple(scores)), Option("rater", rater))
    seen = f"a row per rater, and {len(scores)} columns of scores ({listed(scores, 4)})"
    done = f"read as one student each, and {shortened(rater)} as the rater"
    findings.append(Finding(seen, done, options, certain=False))
    return Spread(tuple(scores), f"{start}{STUDENT}", findings)


def works_named() -> frozenset[str]:
    return names_of("student") | known("works")


def one_per_rater(columns: Sequence[str], look: ColumnSample, two_headers: bool = False) -> Spread:
    """Where there is no rater: the names of score columns say whose they are."""
    chosen = score_columns(columns, look, raters=True)
    scores, findings = chosen.names, chosen.findings
    spoken = [name for name in columns if like_rater(name) and look[name].kind == "labels"]
    if len(scores) < 2 <= len(spoken) and all(look[name].distinct <= MOST_WORDS for name in spoken):
        scores = [name for name in columns if name in spoken or (name in scores and like_rater(name))]
    if len(scores) < 2:
        return Spread()
    grid = _grid(scores, look, two_headers=two_headers)
    if grid is not None and (others := _of_nobody(grid[0], grid[1])):
        findings.append(Finding(listed(others), f"left out ({AGREED})"))
        scores = [name for name in scores if name not in others]
        grid = _grid(scores, look, two_headers=two_headers)
    if grid is None or (all(map(like_rater, scores)) and not grid[2]):
        return _raters_only(scores, look, findings, certain=chosen.certain)
    pattern, split, turned = grid
    fitting = _with_partial(split, pattern, columns, look)
    options = (Option("wide", pattern), Option("items", fitting))
    raters, items = (
        [labels[place] for labels in split.values()] for place in ((1, 0) if _turned(pattern) else (0, 1))
    )
    seen = (
        f"{len(fitting)} columns of scores, one for each rater ({listed(dict.fromkeys(raters), 4)}) and item "
        f"({listed(dict.fromkeys(items), 4)})"
    )
    other = swapped_pattern(pattern)
    certain = turned is not None and chosen.certain
    findings.append(Finding(seen, f"read as {pattern!r}", options, Option("wide", other), certain=certain))
    return Spread(fitting, pattern, findings)


def _of_nobody(pattern: str, split: Split) -> list[str]:
    """Columns of a grid under another name than the raters': "domain1_score" beside "rater1_domain1"."""
    place = 1 if _turned(pattern) else 0
    raters = {labels[place] for labels in split.values()}
    people = {label for label in raters if like_rater(label)}
    if 2 * len(people) <= len(raters):
        return []
    return [name for name, labels in split.items() if labels[place] not in people]


def _with_partial(split: Split, pattern: str, columns: Sequence[str], look: ColumnSample) -> tuple[str, ...]:
    """The columns of a grid, with those of its raters and items that hold other words among their scores: these are
    for a person to mend."""
    raters, items = ({labels[place] for labels in split.values()} for place in (0, 1))
    fields = FIELDS[::-1] if _turned(pattern) else FIELDS
    others = split_names(pattern, fields, [name for name in columns if look[name].partly])
    more = {name for name, labels in others.items() if labels[0] in raters and labels[1] in items}
    return tuple(name for name in columns if name in split or name in more)


def _raters_only(
    scores: Sequence[str], look: ColumnSample, findings: list[Finding], *, certain: bool
) -> Spread:
    spoken = all(tier(_heading(name), "score") is not None for name in scores)  # "scores.tone": of a program
    if 2 * sum(plain(name) in known("criteria") for name in scores) > len(scores) and not spoken:
        return Spread()  # criteria of whom?
    if any(plain(name) in known("score, first") - {"y"} for name in scores):
        return Spread()  # no rater is called "score"
    pattern, numbers = _shared_pattern(scores, paths=True)[0], list[str]()
    if not all(map(like_rater, scores)) and pattern == RATER:
        pattern, scored = _shared_pattern(scores, paths=False)
        certain &= scored and not any(map(like_item, scores)) and _comparable(scores, look)
        judges = 2 * sum(map(like_rater, scores)) > len(scores)
        certain &= pattern != RATER or judges or all(map(_like_name, scores))
        numbers = [name for name in scores if pattern == RATER and look[name].consecutive]
        certain &= not numbers
    called = [label for (label,) in split_names(pattern, (RATER,), scores).values()]
    if 2 * sum(map(like_item, called)) > len(called):
        certain = False
    seen = f"{len(scores)} columns of scores, {listed(scores, 6)}, and no rater column"
    seen += f" ({listed(numbers)} may only number the rows)" if numbers else ""
    options = (Option("wide", pattern), Option("items", tuple(scores)))
    findings.append(Finding(seen, "read as one rater each", options, certain=certain))
    return Spread(tuple(scores), pattern, findings)


def _like_name(label: str) -> bool:
    """Whether a label may be a person's: "Ann", "BE", "Mgr. Fiala", but not "col3"."""
    return label[:1].isalpha() and not label[:1].islower() and not re.search(r"\d", label)


def _sides_by_content(split: Split, look: ColumnSample) -> bool | None:
    """Whether the first labels are raters', by gaps: what a rater did not see has no score on any item."""
    gaps = {name: tuple(look.frame[name].is_null().arg_true()) for name in split}

    def theirs(place: int) -> bool:
        own: dict[str, set[tuple[int, ...]]] = {}
        for name, labels in split.items():
            own.setdefault(labels[place], set()).add(gaps[name])
        return all(len(seen) == 1 for seen in own.values())

    first, second = theirs(0), theirs(1)
    return None if first == second else first


def _grid(
    scores: Sequence[str], look: ColumnSample | None = None, *, two_headers: bool = False
) -> tuple[str, Split, bool | None] | None:
    """The pattern by which names are a rater and an item each, the names that fit it, and whether it is certain."""
    if len(scores) < 3:
        return None
    start = _shared_start(scores)
    start = start if not {"{", "}"} & set(start) else ""
    joints = _joints([name[len(start) :] for name in scores])
    patterns = [f"{{rater}}{JOINT}{{item}}"] if two_headers else []
    patterns += [f"{start}{{rater}}{joint}{{item}}" for joint in joints if start]
    patterns += [frame.format("{rater}", "{item}") for frame in _FRAMES]
    patterns += [f"{{rater}}{joint}{{item}}" for joint in joints]
    for pattern in patterns:
        split = split_names(pattern, FIELDS, scores)
        if not is_grid(split) or 4 * len(split) < 3 * len(scores):
            continue
        first, second = ({labels[place] for labels in split.values()} for place in (0, 1))
        before = pattern.partition("{")[0]
        forward = sides([before + label for label in first], second)
        if forward is None and look is not None:
            forward = _sides_by_content(split, look)
        if forward is not True and _owned(before, first):
            return pattern, split, None
        if forward is None and all(map(_CODE.fullmatch, second)) and not any(map(_CODE.fullmatch, first)):
            return swapped_pattern(pattern), split, None
        return (pattern if forward is not False else swapped_pattern(pattern)), split, forward
    return None


_CODE = re.compile(r"[A-Za-z]{0,3}\d+|[A-Z]")
"""A short name with a number, or a letter: of a rater, rather than of a criterion."""


_INITIALS, _SIGNED_BY = re.compile(r"[A-Z]{2}"), re.compile(r"[A-Z]{2}[ _.-]?\d")


def _owned(before: str, labels: Iterable[str]) -> bool:
    """Whether the labels are those of raters, whatever stands beside them: "Adj A", or initials."""
    return like_rater(f"{before} 1") or all(map(_INITIALS.fullmatch, labels))


def swapped_pattern(pattern: str) -> str:
    """Rater and item the other way round."""
    return pattern.replace("{rater}", "{}").replace("{item}", "{rater}").replace("{}", "{item}")


def _turned(pattern: str) -> bool:
    return pattern.index("{rater}") > pattern.index("{item}")


def _shared_pattern(names: Sequence[str], *, paths: bool) -> tuple[str, bool]:
    """The pattern of names that are the same but for one part ("scores.gpt-4", "gpt-4/value", or, not only paths, "Mark
    Ann"), and whether what they share says that they are scores, or nothing is shared."""
    start, end = _shared_start(names), _shared_start([name[::-1] for name in names])[::-1]
    end = end if ")" not in end or "(" in end else ""
    words = {*plain(f"{start} {end}").split("_")}
    scored = bool(words & names_of("score")) or tier(start.strip(" _-:."), "rater") is not None
    if paths:
        within = re.match(r"[\w ]+[./:]", names[0]) and start.endswith((".", "/", ": "))
        spoken = end.startswith((".", "/", ": ")) or (end[:1] == "_" and tier(end[1:], "score") is not None)
        start, end = start if within else "", end if spoken else ""
    short = any(len(name) <= len(start) + len(end) for name in names)
    if not re.search(r"\w", start + end) or short or {"{", "}"} & set(start + end):
        return RATER, True
    return f"{start}{RATER}{end}", scored


def _shared_start(names: Sequence[str]) -> str:
    """Common start of all names, up to the last sign between words."""
    length = next((n for n, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    return re.sub(r"[^\s_.:\-/()\[\]]*$", "", names[0][:length])


def _comparable(scores: Sequence[str], look: ColumnSample) -> bool:
    """Whether columns have scores of one kind: no marks out of 100 beside marks out of 5."""
    tops = [top for name in scores if (top := look[name].highest) is not None]
    return not tops or max(tops) <= 2.5 * max(min(tops), 1)


def sums_up(name: str, scores: Sequence[str], look: ColumnSample) -> bool:
    """Whether a column is the sum, the mean, the highest or the lowest of the others in every row."""
    others = [other for other in scores if other != name]
    table = np.array([look.numbers(other) for other in others])
    if _is_extreme(look.numbers(name), table):
        return True
    always = [other for other, gaps in zip(others, np.isnan(table).any(1), strict=True) if not gaps]
    if 1 < len(always) < len(others) and sums_up(name, always, look):
        return True  # without a third rating, if need be
    own = look.numbers(name)
    # Where all others agree, so does their mean: only rows in which they differ tell.
    with np.errstate(invalid="ignore"):
        rows = ~np.isnan(own) & ~np.isnan(table).any(0) & (table.max(0) > table.min(0))
    own, total = own[rows], table[:, rows].sum(0)
    if len(own) < 3 or len({*own.tolist()}) < 2:
        return False
    mean = total / len(others)
    if (abs(own - total) < 1e-6).all() or (abs(own - mean) < 0.0051).all():
        return True
    # A mean that is rounded always in the same way, to half points or whole ones; or a share of the points there are.
    ways = [np.floor(mean / step + shift) * step for step in (0.5, 1.0) for shift in (1e-9, 0.5)]
    if len(own) < FEWEST_ROUNDED:
        return False
    part = own.sum() / max(total.sum(), 1.0)
    return any((own == way).all() for way in ways) or bool(
        (abs(own - part * total) <= 0.002 * part * total).all()
    )


def _is_extreme(own: Array, table: Array) -> bool:
    """Whether a column always has the highest, or always the lowest, of several finer scores beside it."""
    filled = ~np.isnan(own) & (np.isfinite(table).sum(0) > 2)
    own, table = own[filled], table[:, filled]
    if len(own) < FEWEST_ROUNDED or len({*own.tolist()}) <= _FEWEST_LEVELS:
        return False
    return any((own == end).all() for end in (np.nanmax(table, 0), np.nanmin(table, 0)))


def alike(first: str, second: str) -> str:
    """Common start of two names."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(letter for letter, _ in same)
