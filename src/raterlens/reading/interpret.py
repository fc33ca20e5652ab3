"""Readings that the columns of a table allow, each weighed by names and structure, and the likeliest."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from string import ascii_uppercase
from typing import Any

import polars as pl

from raterlens.base.text import Option, listed, shortened
from raterlens.config import BESIDES, COLUMN_ROLES, ReadConfig
from raterlens.reading.formats.table import Table
from raterlens.reading.profiles import MOST_SCORES, ROLES, ROWS, ColumnSample
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import (
    has_rater_word,
    is_gold,
    is_identifier,
    is_key,
    is_other,
    is_score_word,
    is_total,
    known,
    last_part,
    like_item,
    like_rater,
    mentions,
    nearly_all,
    plain,
    stems,
    tier,
)
from raterlens.reading.wide_layouts import (
    RATER,
    STUDENT,
    Spread,
    one_per_item,
    one_per_rater,
    one_per_student,
    score_columns,
    works_named,
)

Names = tuple[str, ...]
NEVER = -inf
BY_NAME = (5.0, 3.0)
"""Evidence of a usual name for a role, and of a less usual one."""
GIVEN = 20.0
"""Evidence of a column that the user names."""
NAMED = 1.5
"""Evidence of a name from which on it tells the role."""
LEAST = 1.5
"""Evidence that a reading must have to be proposed."""
MARGIN = 1.0
"""By how much a reading must be ahead of the next to be taken without asking."""
MOST_SCORED = 6.5
"""Most evidence that columns of scores can have."""
MOST = {"student": 7, "rater": 6, "item": 6}
"""Columns that are tried for each role."""
FEW_WORDS = 8
"""Most different words, and fewest rows, of a column that may be the score."""
FEWEST_ROWS = 8
"""Rows in which structure says something."""
REPEATED = 0.1
"""Share of rows that repeat others from which on something should tell them apart."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a table, and what speaks for it."""

    student: Names
    """None where each row is an unnamed piece of work, or columns of scores have the students' names."""
    rater: Names
    """None where columns of scores have the raters' names."""
    item: Names
    spread: Spread
    evidence: float

    def columns(self, role: str) -> Names:
        found: Names = self.spread.items if role == "score" else getattr(self, role)
        return found


SPOKEN: tuple[tuple[Names, Mapping[str, float]], ...] = (
    (("form senders",), {"rater": 2.5}),
    (("respondents",), {"rater": 1.0}),
    (("ranks", "classes"), {"score": 2.0}),
    (("turns",), {"item": 1.0}),
    (("variants",), {"student": -3.0, "item": -3.0, "score": -4.0}),
)
"""Evidence of names that are usual beside others."""


@cache
def name_evidence(name: str, role: str) -> float:
    """Evidence of a column's name for a role: usual names, parts of a heading, or names of something else."""
    if (rank := tier(name, role)) is not None:
        return BY_NAME[rank]
    if is_gold(name):
        return NEVER
    part, words = last_part(name), {plain(name), *stems(name)}
    if part and (rank := tier(part, role)) is not None:
        before = name.removesuffix(part).strip(" :./")
        owned = any(tier(before, other) == 0 for other in ROLES if other != role)
        return 0.0 if owned else BY_NAME[rank] - 0.5
    for sections, worth in SPOKEN:
        if role in worth and words & known(*sections):
            return worth[role]
    named = is_identifier(name) and (plain(name) == "id" or plain(name) not in known("other"))
    if words & known("draws"):
        return NAMED if named and role == "student" else -3.0
    if named and role == "student":
        several = words & known("person names") or {*plain(name).split("_")} & known("metadata")
        return 1.0 if several else 3.1 if is_key(name) else 2.0
    return _mentioned(name, role)


def _mentioned(name: str, role: str) -> float:
    """Evidence of a name that is usual for no role."""
    if is_total(name) or is_other(name):
        return -3.0 if role == "score" else -6.0
    if role != "item" and "_" in plain(name) and mentions(name, role):
        return NAMED if role == "score" else 2.0
    if role == "student" and tier(name, "item") is not None:
        return NAMED  # a crowd's task
    elsewhere = [rank for other in ROLES if other != role and (rank := tier(name, other)) is not None]
    return 0.0 if not elsewhere else -5.0 if 0 in elsewhere else -1.5


def content_evidence(name: str, role: str, look: ColumnSample) -> float:
    """Evidence of a column's values for a role."""
    column, named = look[name], tier(name, role) is not None
    if column.kind in ("blank", "dates"):
        return -2.0 if named and role != "score" else NEVER
    if role == "score":
        if column.scored:
            return -3.0 if like_rater(name) and not named else 1.0
        few = 1 < column.distinct <= FEW_WORDS <= column.filled
        words = column.kind == "labels" and (few or named)
        return 0.0 if column.kind == "numbers" or words else NEVER
    unspoken = all(tier(name, other) is None for other in ROLES[:3]) and not is_identifier(name)
    if unspoken and column.scored and not column.consecutive:
        free = [other for other in look.columns if other and other != name and not is_other(other)]
        alike = [other for other in free if look[other].scored and column.like(look[other])]
        if len(alike) > 1 or (mentions(name, role) and any(mentions(other, role) for other in alike)):
            return NEVER  # one of several columns of scores
    if column.kind == "text":
        return -2.0 if role == "student" else NEVER
    if column.distinct < 2 < column.filled:
        return -1.0 if role == "rater" else -6.0
    if role == "rater":
        judges = nearly_all(like_rater, look.frame[name])
        sender = plain(name) in known("form senders")
        return (
            -2.5 * (column.scored and not named)
            - 6.0 * column.fine
            + 3.0 * (judges and not named and not sender)
        )
    if role == "item":
        found = 0.0 if named else -2.5 if column.scored else -1.5
        return (
            found
            + 2.0 * nearly_all(like_item, look.frame[name])
            - 6.0 * (column.unique and column.filled > 12)
        )
    return -1.0 if column.scored and not named and not is_key(name) else 0.0


@dataclass(slots=True)
class Search:
    """The readings of one table."""

    columns: Names
    config: ReadConfig
    look: ColumnSample
    two_headers: bool = False
    settled: bool = False
    """Whether a role that the file does not name has no column."""
    fixed: Spread | None = None
    """The columns of scores that the user names, or that stand beside those of markers."""
    spreads: dict[tuple[Any, ...], Spread] = field(default_factory=dict)
    weights: dict[tuple[str, str], float] = field(default_factory=dict)

    def evidence(self, name: str, role: str) -> float:
        """Evidence of a column's name and values for a role."""
        if (name, role) not in self.weights:
            by_name = name_evidence(name, role)
            found = by_name if by_name == NEVER else by_name + content_evidence(name, role, self.look)
            gaps = 1 - self.look[name].filled / max(self.look.frame.height, 1)
            self.weights[name, role] = (
                found - 0.01 * self.columns.index(name) - 4.0 * gaps * (role != "score")
            )
        return self.weights[name, role]

    def best(self) -> tuple[Reading, Reading | None] | None:
        """The likeliest reading, and the next that means something else."""
        found = [one for one in self.readings() if one.evidence >= LEAST]
        found.sort(key=lambda one: -one.evidence)
        if not found:
            return None
        rival = next((one for one in found[1:] if not self.same(found[0], one)), None)
        alike = [one for one in found if self.same(found[0], one)]
        return min(alike, key=lambda one: self.unclear(one, found[0].evidence)), rival

    def unclear(self, one: Reading, most: float) -> tuple[bool, int, bool]:
        """Order of readings that say the same: raters by name rather than address, students by identifier."""
        return self.has_addresses(one.rater), int(most - one.evidence), not any(map(is_key, one.student))

    def has_addresses(self, names: Names) -> bool:
        return any("@" in str(label) for name in names for label in self.look.frame[name].head(FEWEST_ROWS))

    def same(self, one: Reading, other: Reading) -> bool:
        """Whether two readings differ only in which of several names of one thing they take."""
        if one.spread.items != other.spread.items or one.spread.wide != other.spread.wide:
            return False
        pairs = [(one.columns(role), other.columns(role)) for role in ROLES[:3]]
        return all(
            a == b
            or (
                bool(a and b)
                and len({self.look.cells(*a), self.look.cells(*b), self.look.cells(*a, *b)}) == 1
            )
            for a, b in pairs
        )

    def readings(self) -> Iterator[Reading]:
        """The readings that may be the best or close to it, from the likeliest columns on."""
        students, raters, items = (self.candidates(role) for role in ROLES[:3])
        pairs = [(s, r, self.pair(s, r)) for s in students for r in raters if not {*s} & {*r}]
        most_item = max(self.role_evidence("item", item) for item in items) + 2.0
        most, best = GIVEN if self.fixed else MOST_SCORED, NEVER
        for student, rater, own in sorted(pairs, key=lambda pair: -pair[2]):
            if own + most_item + most < best - MARGIN:
                return
            for item in items:
                if {*item} & {*student, *rater}:
                    continue
                total = own + self.role_evidence("item", item) + self.apart(student, rater, item)
                if total + most < best - MARGIN or total == NEVER:
                    continue
                for spread, more in self.spreads_of(student, rater, item):
                    best = max(best, total + more)
                    yield Reading(student, rater, item, spread, total + more)

    def candidates(self, role: str) -> list[Names]:
        """Columns that may have a role, the likeliest first; none, where columns of scores may have it."""
        if getattr(self.config, role) is not None:
            return [self.config.names(role)]
        if role == "item" and (self.settled or (self.config.items is not None and self.config.wide is None)):
            return [()]
        taken = {*self.config.taken(*COLUMN_ROLES), *(self.fixed.items if self.fixed else ())}
        free = [name for name in self.columns if name and name not in taken]
        found = sorted(
            (name for name in free if self.evidence(name, role) > -4),
            key=lambda name: -self.evidence(name, role),
        )[: MOST[role]]
        several = self.combined(found[:3], free) if role == "student" else ()
        return [*((name,) for name in found), *several, ()]

    def combined(self, students: Sequence[str], free: Sequence[str]) -> Iterator[Names]:
        """Columns that name a student, or a piece of work, together."""
        parts = [name for name in free if stems(name) & known("person names")]
        if len(parts) == 2 and not any(map(is_key, free)):
            yield tuple(parts)
        beside = [name for name in free if self.look[name].kind not in ("text", "dates", "blank")]
        for student in (name for name in students if not stems(name) & known("variants")):
            for name in beside:
                if self.look.cells(student) < self.look.cells(student, name) and self.names_a_piece(
                    student, name
                ):
                    yield student, name

    def names_a_piece(self, student: str, name: str) -> bool:
        """Whether a column can say, beside the student, which piece of work a rating is of."""
        if name == student or stems(name) & known("occasions", "draws") or tier(name, "student") == 0:
            return False
        words = {*stems(name), plain(name).rpartition("_")[2]}
        return bool(words & known("places", "variants", "turns")) or not is_other(name)

    def spreads_of(self, student: Names, rater: Names, item: Names) -> Iterator[tuple[Spread, float]]:
        """Columns of scores that there can be beside these, with the evidence."""
        wide = self.fixed is not None and self.fixed.wide is not None
        if student and rater and not wide:
            for spread, evidence in self.scores(student, rater, item):
                if len(spread.items) == 1 or not item:
                    yield spread, evidence
        elif rater and not student and self.look[rater[0]].unique:
            spread = self.spread(one_per_student, (*rater, *item), rater[0])
            if spread.wide is not None and "{student}" in spread.wide:
                yield spread, weight(spread)
        elif not rater:
            spread = self.spread(one_per_rater, (*student, *item), self.two_headers)
            if owned := {n for n in spread.items if item and self.look.depends(n, *item)}:
                spread = self.spread(one_per_rater, (*student, *item, *owned), self.two_headers)
            if (
                spread.wide is not None
                and "{student}" not in spread.wide
                and not ("{item}" in spread.wide and item)
            ):
                yield spread, weight(spread) - 2.5 * (not student)

    def role_evidence(self, role: str, names: Names) -> float:
        if names and getattr(self.config, role) is not None:
            return GIVEN
        return self.evidence(names[0], role) - 1.0 * (len(names) > 1) if names else 0.0

    def spread(self, find: Callable[..., Spread], keys: Names, *more: Any) -> Spread:
        """The columns of scores among others than these, looked for once for all keys that could not be scores."""
        if self.fixed is not None:
            return self.fixed
        taken = {*keys, *self.config.taken(*BESIDES)}
        free = tuple(name for name in self.columns if name and name not in taken)
        chosen = (
            find,
            tuple(name for name in keys if self.look[name].scored or self.look[name].partly),
            *more,
        )
        if chosen not in self.spreads:
            self.spreads[chosen] = find(free, self.look, *more)
        return self.spreads[chosen]

    def scores(self, student: Names, rater: Names, item: Names) -> Iterator[tuple[Spread, float]]:
        """Columns of scores that there can be where students and raters have columns of their own."""
        if self.fixed is not None:
            yield self.fixed, GIVEN
            return
        keys = (*student, *rater, *item)
        whole = self.spread(one_per_item, keys)
        owned = {n for n in whole.items if self.look.depends(n, *student) or self.look.depends(n, *rater)}
        if owned and {*whole.items} - owned:
            whole = self.spread(one_per_item, (*keys, *owned))
        if len(whole.items) > 1:
            yield whole, weight(whole)
        taken = {*keys, *owned, *self.config.taken(*BESIDES)}
        free = [name for name in self.columns if name and name not in taken]
        for name in sorted(free, key=lambda name: -self.evidence(name, "score"))[:3]:
            if tier(name, "score") is None and any(
                self.look.depends(name, *whose) for whose in (student, rater)
            ):
                continue
            if self.evidence(name, "score") > -1.5:
                others = [other for other in whole.items if other != name]
                summed = name not in whole.items and len(others) > 1 and self.look[name].scored
                rank = name_evidence(name, "score")
                alike = any(name_evidence(other, "score") >= max(rank, NAMED) for other in others)
                yield (
                    Spread((name,)),
                    self.evidence(name, "score") - min(len(others), 3) - 3.0 * (summed or alike),
                )
        if not whole.items and {*(texts := self.spread(verdict_in_text, ())).items} & {*free}:
            yield texts, BY_NAME[1]

    def pair(self, student: Names, rater: Names) -> float:
        """Evidence for a student and a rater: several raters have each student, each rater has several."""
        found = self.role_evidence("student", student) + self.role_evidence("rater", rater)
        if not student or not rater or found == NEVER:
            return found
        if all(stems(name) & known("person names") for name in (*student, *rater)):
            return NEVER  # the parts of one name
        look = self.look
        n, met = look.rows(*student, *rater), look.cells(*student, *rater)
        n_students, n_raters = look.cells(*student), look.cells(*rater)
        spoken = self.config.rater is not None or name_evidence(rater[0], "rater") >= NAMED
        if met == n_students and not spoken and n < ROWS:
            return NEVER
        if n < FEWEST_ROWS:
            spoken |= self.config.student is not None or name_evidence(student[0], "student") >= NAMED
            return found if spoken else NEVER
        crossed = 1.5 if met >= 1.5 * n_students else 0.5 if met > 1.1 * n_students else -1.0
        crossed += 0.5 if met >= 2 * n_raters else -3.0
        crossed -= (n_raters > n_students) + 1.5 * (n_raters > 4 * n_students) + 2.0 * (n_students == n > 3)
        if n > 12 and met < 1.5 * n_raters and not spoken:
            return NEVER
        return found + crossed * min(n / 12, 1)

    def apart(self, student: Names, rater: Names, item: Names) -> float:
        """Evidence that these columns tell all rows apart, and that the item is one that several students have."""
        look, owners = self.look, (*student, *rater)
        if not student:
            return -8.0 * (item != self.config.names("item"))
        n = max(look.rows(*owners, *item), 1)
        few = n < FEWEST_ROWS
        visits = self.occasions(owners, item)
        before, again = (1 - look.cells(*columns, *visits) / n for columns in (owners, (*owners, *item)))
        found = (1.0 if rater else 2.0) if again < 0.02 else -4.0 * again
        if len(student) > 1 and self.config.student is None:
            single = 1 - look.cells(student[0], *rater, *item, *visits) / n
            found -= self.needless(student, rater, single)
        if few and (len(student) > 1 and self.config.student is None):
            return NEVER
        if item and self.config.item is None and not few:
            n_items, n_students = look.cells(*item), look.cells(*student)
            if look.cells(*student, *item) == n_students >= max(n_items, 5):
                found -= 8.0
            found -= 3.0 * (n_items > 4 * n_students)
            if tier(item[0], "item") is None:
                found -= 0.5 * (n_items > n_students)
                crossed = 2 * look.cells(*student, *item) >= n_items * n_students and n_items <= MOST_SCORES
                found += -4.0 if before < REPEATED else 0.5 if crossed else -1.0
        return found

    def occasions(self, owners: Names, item: Names) -> list[str]:
        """Columns that tell repeats on purpose apart."""
        found = [name for name in self.columns if stems(name) & known("occasions", "draws")]
        found = [name for name in found if self.look[name].kind not in ("dates", "text", "blank")]
        found = list(self.config.taken("draw", "piece")) or found
        taken = {*owners, *item}
        return [
            name
            for name in found
            if name not in taken and 2 * self.look[name].distinct <= self.look[name].filled
        ]

    def needless(self, student: Names, rater: Names, single: float) -> float:
        """Evidence against naming a student by two columns where this share of rows repeats without the second."""
        first, other = student
        if stems(other) & known("person names"):
            return 0.0
        if stems(other) & known("places"):
            several = self.look.cells(first, other) >= 1.5 * self.look.cells(first)
            own = self.look.cells(*rater) == self.look.cells(*rater, other)  # each rater has one centre
            return -3.0 if several and (own or single > 0) else 5.0
        if single < REPEATED:
            return 5.0
        named = {*stems(other), plain(other).rpartition("_")[2]} & known("variants", "turns")
        if named or tier(other, "student") is not None:
            return 0.0
        if 2 * self.look.cells(first, other) > self.look.cells(first, other, *rater):
            return 5.0  # no two raters met it
        labels = self.look.cells(other)
        crossed = (
            2 * self.look.cells(first, other) >= labels * self.look.cells(first) and labels <= MOST_SCORES
        )
        return 1.5 * crossed


def weight(spread: Spread) -> float:
    """Evidence of the names of several columns of scores for their meaning."""
    names = spread.labels() if spread.wide else spread.items
    works = sum(
        any(plain(word) in works_named() for word in re.findall(r"[^\W\d_]+", name)[-2:])
        for name in spread.items
    )
    share = {kind: sum(map(kind, names)) / max(len(names), 1) for kind in (like_rater, like_item)}
    if spread.wide is None:
        plainly = any(tier(name, "score") == 0 for name in names)
        spoken = all(name_evidence(name, "score") >= NAMED for name in names) and not plainly
        return 1.0 + 2.0 * spoken + 3.0 * share[like_item] - 2.0 * share[like_rater] - 3.0 * plainly
    rated = works / len(spread.items)
    if "{student}" in spread.wide:
        return 1.0 + 4.0 * rated - 3.0 * sum(map(has_rater_word, spread.items)) / len(spread.items)
    panel = sorted(names) == [*ascii_uppercase[: len(names)]]
    told = spread.wide != RATER or 2 * share[like_rater] > 1 or panel
    phrases = sum(len(name.split()) > 2 for name in names) / len(names)
    one_side = 0.0 if "{item}" in spread.wide else 2.0 * rated + 3.0 * share[like_item] + 1.5 * phrases
    return told + 3.0 * max(share[like_rater], panel) - one_side


PATTERNS = (
    r"\[\[\s*([^\[\]]+?)\s*\]\]",
    r"(?i)(?:rating|score|grade|verdict|judge?ment|answer|result|punkte|note|urteil)[\"']?\**\s*[:=]\s*\**\s*[\"'(]?([A-Za-z]+|\d+(?:\.\d+)?)",
    r"<(?:score|rating|verdict|answer)>\s*([^<]+?)\s*</",
)
VERDICTS_FIT, MOST_VERDICTS = 0.8, 30
"""The share of texts that a pattern must fit, and how many different verdicts it may find."""
_VERDICT_NUMBER = re.compile(r"\d+(\.\d+)?")


def verdict_in_text(columns: Sequence[str], look: ColumnSample) -> Spread:
    """The column and pattern to propose, where texts hold a verdict each."""

    for name in columns:
        if look[name].kind not in ("text", "labels"):
            continue
        texts = look.frame[name].drop_nulls().cast(pl.String)
        for pattern in PATTERNS:
            found = texts.str.extract(pattern, 1).drop_nulls()
            said = found.unique().to_list()
            if len(found) < max(VERDICTS_FIT * len(texts), 3) or not 2 <= len(said) <= MOST_VERDICTS:
                continue
            if not all(_VERDICT_NUMBER.fullmatch(word) or is_score_word(word) for word in said):
                continue
            shown = shortened(str(texts[0]), 60)
            seen = f"{shortened(name)} holds texts with a verdict in each, such as {shown}"
            options = (Option("score", name), Option("pattern", pattern))
            return Spread(
                (name,), None, [Finding(seen, f"{shortened(found[0])} read from it", options, certain=False)]
            )
    return Spread()


def interpret(search: Search) -> tuple[Reading, list[Finding]] | None:
    """The likeliest reading and what is to be said or asked about it; None where no columns can be ratings."""
    if (found := search.best()) is None:
        return None
    best, rival = found
    findings = [
        *best.spread.findings,
        *_unnamed(search, best),
        *_together(search, best),
        *_square(search, best),
    ]
    if rival is not None and best.evidence - rival.evidence < MARGIN:
        findings += _either(best, rival, findings)
    if best.spread.wide is not None and best.student and findings:
        owners = (*best.student, *best.item)
        if 2 * search.look.cells(*owners) <= search.look.rows(*owners):  # of several raters, perhaps
            findings[0] = Finding(
                findings[0].observed,
                findings[0].action,
                findings[0].options,
                findings[0].alternative,
                certain=False,
            )
    return best, findings


def _unnamed(search: Search, best: Reading) -> Iterator[Finding]:
    """Columns whose names do not tell their role."""
    guessed: dict[str, Names] = {}
    wide = best.spread.wide is not None
    for role in ("student", "rater"):
        names = best.columns(role)
        if not names or getattr(search.config, role) is not None:
            continue
        if max(name_evidence(name, role) for name in names) >= NAMED:
            continue
        if role == "student" and wide and search.look.cells(*names) == search.look.rows(*names):
            continue
        guessed[role] = names
    single = best.spread.items if len(best.spread.items) == 1 and not best.spread.findings else ()
    if single and search.fixed is None and name_evidence(single[0], "score") < NAMED:
        column = search.look[single[0]]
        if guessed or not column.scored:
            guessed["score"] = single
    if guessed:
        certain = {*guessed} == {"rater"} and nearly_all(like_rater, search.look.frame[guessed["rater"][0]])
        certain &= not stems(guessed.get("rater", ("",))[0]) & known("variants")  # a model may be judged
        shown = " and ".join(f"{listed(names)} as the {role}" for role, names in guessed.items())
        options = tuple(
            Option(role, names[0] if len(names) == 1 else names) for role, names in guessed.items()
        )
        seen = f"no column is named for the {' and the '.join(guessed)}"
        yield Finding(seen, f"read with {shown}", options, certain=certain)
    if best.item and search.config.item is None and name_evidence(best.item[0], "item") < NAMED:
        name = best.item[0]
        yield Finding(
            f"several ratings of a student by the same rater, told apart by {shortened(name)}",
            "read as the item",
            (Option("item", name),),
            alternative=Option("student", (*best.student, name)),
            certain=False,
        )


def _together(search: Search, best: Reading) -> Iterator[Finding]:
    """Columns that name a student together."""
    if len(best.student) < 2 or search.config.student is not None:
        return
    first, other = best.student
    option = Option("student", best.student)
    if all(stems(name) & known("person names") for name in best.student):
        yield Finding(f"{listed(best.student)} name a student together", "read so", (option,))
        return
    yield Finding(
        f"each {shortened(first)} occurs with several {shortened(other)}",
        f"taken as one piece of work for each pair of {shortened(first)} and {shortened(other)}",
        (option,),
        alternative=Option("student", other if stems(other) & known("variants") else first),
        certain=False,
    )


def _square(search: Search, best: Reading) -> Iterator[Finding]:
    """People who have both a row and a column, as peers who rate each other do."""
    if best.spread.wide != RATER or len(best.student) != 1 or search.config.wide is not None:
        return
    in_rows, in_columns = set(search.look.frame[best.student[0]]), {*best.spread.labels()}
    if 2 * len(in_rows & in_columns) > len(in_columns) > 1:
        option, turned = Option("wide", RATER), Option("wide", STUDENT)
        seen = "rows and columns name the same people"
        yield Finding(seen, "each column read as a rater", (option,), alternative=turned, certain=False)


def _either(best: Reading, rival: Reading, said: Sequence[Finding]) -> Iterator[Finding]:
    """The first role for which another column would do as well, unless that is asked already."""
    role = next((role for role in ROLES if best.columns(role) != rival.columns(role)), None)
    if role is None or not best.columns(role) or not rival.columns(role):
        return
    here, there = best.columns(role), rival.columns(role)
    asked = {option.name for one in said if not one.certain for option in one.options}
    others = [one.alternative.value for one in said if one.alternative is not None]
    if role in asked or there in others:
        return
    option, alternative = (
        Option(
            "items" if role == "score" and len(names) > 1 else role, names[0] if len(names) == 1 else names
        )
        for names in (here, there)
    )
    seen = f"{listed(here, 3)} could be the {role}, and so could {listed(there, 3)}"
    yield Finding(seen, f"{listed(here, 3)} read as the {role}", (option,), alternative, certain=False)


def likely_roles(table: Table, config: ReadConfig) -> dict[str, str]:
    """The likeliest role of each column, of a table that cannot be read as it is."""
    search = Search(table.columns, config, ColumnSample(table))
    found: dict[str, str] = {}
    for role in ROLES:
        free = [
            name
            for name in table.columns
            if name and name not in found and name_evidence(name, role) >= NAMED
        ]
        if best := max(free, key=lambda name: search.evidence(name, role), default=None):
            found[best] = role
    if "score" not in found.values():
        free = [name for name in table.columns if name not in found]
        found |= dict.fromkeys(score_columns(free, search.look, raters=False).names, "score")
    return found
