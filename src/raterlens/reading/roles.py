"""Which column is the student, the rater, the item and the score: by name and, where names do not say, by content."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Literal, Self

import polars as pl

from raterlens.base.text import Option, listed, shortened
from raterlens.config import COLUMN_ROLES, ReadConfig
from raterlens.reading.formats.table import Table
from raterlens.reading.read_plan import Finding
from raterlens.reading.scores import stripped
from raterlens.reading.vocabulary import (
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
    missing_among,
    nearly_all,
    plain,
    stems,
    tier,
    total_pattern,
)

ROWS = 4_000
"""Looked at, spread over the table."""
MOSTLY = 0.8
"""Share of a column of scores that must be scores: here and there stands a word, such as "absent"."""
MOST_SCORES = 30
"""More different values than this are no scores, unless they are marks out of 100."""
LOWEST = -5
"""Scores may be around zero: from -3 to 3, say."""
MOST_POINTS, LEAST_STEP = 1000, 5
"""Highest mark, and least step between marks above 100, that a column of scores can have."""
FEWEST_TWINS = 5
"""Students of whom each has an item of its own by chance in no larger table."""
LONG = 40
"""Characters, on average, from which on a column holds prose."""

Kind = Literal["scores", "marks", "labels", "numbers", "text", "dates", "blank"]

_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2})?.*")
_NUMBER = re.compile(r"'?[+-]?\d+(?:[.,]\d+)?\s*%?|\d+(?:[.,]\d+)?\s*(?:/|out of)\s*\d+")


@dataclass(frozen=True, slots=True)
class Profile:
    """A column in a few numbers."""

    name: str
    kind: Kind
    filled: int
    """Rows that hold something, of those looked at."""
    distinct: int
    lowest: float | None = None
    highest: float | None = None
    partly: bool = False
    """Whether some of what it holds could be scores, but not enough of it."""
    fine: bool = False
    """Whether its numbers are finer than quarters."""

    @property
    def scored(self) -> bool:
        return self.kind in ("scores", "marks")

    def like(self, other: "Profile") -> bool:
        """Whether both can be scores on one scale: words or numbers, as fine, of about the same range."""
        if self.highest is None or other.highest is None or self.lowest is None or other.lowest is None:
            return self.highest == other.highest
        low, high = sorted((self.highest, other.highest))
        apart = max(self.lowest, other.lowest) > low
        return self.fine == other.fine and high <= 2.5 * max(low, 1) and not apart

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.filled > 1 and self.distinct == self.filled

    @property
    def consecutive(self) -> bool:
        """Whether it numbers the rows, in whatever order."""
        width = None if self.lowest is None or self.highest is None else self.highest - self.lowest + 1
        return self.unique and width == self.filled


def sampled(table: Table, rows: int = ROWS) -> pl.DataFrame:
    """Rows from all over a table."""
    if table.query is not None:
        height = table.query.select(pl.len()).collect().item()
        if height > rows:
            pieces = 8
            starts = [part * (height - rows // pieces) // (pieces - 1) for part in range(pieces)]
            query = table.query.select(table.columns)
            return pl.concat([query.slice(start, rows // pieces).collect() for start in starts])
    frame = table.take(table.columns).frame
    return frame if frame.height <= rows else frame.gather_every(-(-frame.height // rows))


def profile(column: pl.Series) -> Profile:
    """Profile one column.

    Examples
    --------
    >>> profile(pl.Series("x", ["pass", "fail", "pass"])).kind, profile(pl.Series("x", [3.5, 70, 81])).kind
    ('scores', 'marks')
    >>> profile(pl.Series("x", ["Ann", "Bob", "Cleo"])).kind
    'labels'
    """
    text = (column.cast(pl.String) if column.dtype.is_numeric() else stripped(column)).drop_nulls()
    counts = text.rename("v").value_counts(name="n")
    missing = missing_among(counts["v"])
    times = {word: n for word, n in counts.iter_rows() if word not in missing}
    if not times:
        return Profile(column.name, "blank", 0, 0)
    words = list(times)
    filled, distinct = sum(times.values()), len(words)
    if column.dtype.is_temporal() or _share(times, _DATE) > MOSTLY:
        return Profile(column.name, "dates", filled, distinct)
    if column.dtype == pl.Boolean:
        return Profile(column.name, "scores", filled, distinct, 0, 1)
    numeric = [word for word in words if _NUMBER.fullmatch(word)]
    by_number = sum(times[word] for word in numeric) / filled
    if by_number >= MOSTLY and 2 * sum(word[0] == "0" and word[1:].isdigit() for word in numeric) > len(
        numeric
    ):
        return Profile(column.name, "labels", filled, distinct)  # 00011 is no number
    if by_number >= MOSTLY:
        return _numeric(column.name, numeric, filled, distinct)
    by_word = sum(times[word] for word in words if is_score_word(word) or word in numeric) / filled
    if by_word >= MOSTLY and distinct <= MOST_SCORES:
        return Profile(column.name, "scores", filled, distinct)
    long = sum(len(word) * n for word, n in times.items()) / filled > LONG
    partly = by_number > 0 and distinct <= MOST_SCORES
    return Profile(column.name, "text" if long else "labels", filled, distinct, partly=partly)


def _numeric(name: str, words: Sequence[str], filled: int, distinct: int) -> Profile:
    numbers = [float(re.split(r"[%/o\s]", word.strip("' "))[0].replace(",", ".")) for word in words]
    lowest, highest = min(numbers), max(numbers)
    few = distinct <= MOST_SCORES and lowest >= LOWEST and highest <= 100
    steps = all((2 * number).is_integer() for number in numbers)
    if few and steps and highest <= 50:
        kind: Kind = "scores"
    elif lowest >= 0 and (highest <= 100 or _in_steps(numbers)):
        kind = "marks"
    else:
        kind = "numbers"
    fine = not all((4 * number).is_integer() for number in numbers)
    return Profile(name, kind, filled, distinct, lowest, highest, fine=fine)


def _in_steps(numbers: Sequence[float]) -> bool:
    """Whether marks run from 0 in a few even steps: 0, 40, 80 to 200."""
    if min(numbers) or max(numbers) > MOST_POINTS or not 4 <= len({*numbers}) <= MOST_SCORES:
        return False
    return all(number.is_integer() for number in numbers) and math.gcd(*map(int, numbers)) >= LEAST_STEP


def _share(times: dict[str, int], pattern: re.Pattern[str]) -> float:
    return sum(n for word, n in times.items() if pattern.fullmatch(word)) / sum(times.values())


def depends(frame: pl.DataFrame, column: str, on: Sequence[str]) -> bool:
    """Whether a column has one value within each group of the others, where groups have several rows: the school of a
    student, say, is not a score."""
    chosen = frame.select(*on, column).drop_nulls()
    groups = chosen.group_by(list(on)).agg(pl.len().alias("\0n"), pl.col(column).n_unique().alias("\0d"))
    several = groups.filter(pl.col("\0n") > 1)
    return several.height >= 5 and chosen[column].n_unique() > 1 and bool((several["\0d"] == 1).all())


ROLES = ("student", "rater", "item", "score")


def without_totals(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in which no cell says that they sum up others: what they hold tells nothing of a column."""
    total = pl.Series([False]).new_from_index(0, frame.height)
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        likely = column.str.contains(total_pattern())
        words = [word for word in column.filter(likely).unique().to_list() if is_total(word)]
        if words:
            total |= column.is_in(words)
    return frame.filter(~total.fill_null(False)) if total.any() and not total.all() else frame


class ColumnSample:
    """Some rows of a table and what its columns hold, once they are asked for: names alone often suffice."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.columns = table.columns

    @cached_property
    def frame(self) -> pl.DataFrame:
        return without_totals(sampled(self._table))

    def beginning(self, name: str, rows: int = 100) -> Profile:
        """Profile the first rows of a column, without a sample of the table."""
        query = self._table.query
        frame = self._table.take([name]).frame if query is None else query.select(name).head(rows).collect()
        return profile(frame[name].head(rows))

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        return {name: profile(self.frame[name]) for name in self.frame.columns}

    def __getitem__(self, name: str) -> Profile:
        return self.profiles[name]


@dataclass(frozen=True, slots=True)
class DetectedRoles:
    """The columns found for each role; a role without any is left open."""

    roles: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Roles for which several columns would do equally well."""
    findings: tuple[Finding, ...] = ()

    def is_open(self, role: str) -> bool:
        return role not in self.roles and role not in self.doubtful

    def assign(self, roles: Mapping[str, str]) -> Self:
        return replace(self, roles={**self.roles, **roles})

    def without(self, *roles: str) -> Self:
        """With no column for some roles."""
        return replace(self, roles={role: name for role, name in self.roles.items() if role not in roles})

    def doubt(self, role: str, names: Sequence[str]) -> Self:
        """With these columns to choose from; none settles a doubt."""
        others = {other: several for other, several in self.doubtful.items() if other != role}
        return replace(self, doubtful=others | ({role: names} if names else {}))

    def add(self, *findings: Finding) -> Self:
        return replace(self, findings=(*self.findings, *findings))


def detect_roles(columns: Sequence[str], config: ReadConfig, look: ColumnSample) -> DetectedRoles:
    """Find a column for every role that the user left out, among the columns not yet taken."""
    taken = config.taken(*COLUMN_ROLES)
    open_roles = [role for role in ROLES if getattr(config, role) is None]
    if config.items is not None:
        open_roles = [role for role in open_roles if role in ("student", "rater")]
    found = DetectedRoles()
    free = [name for name in columns if name not in taken and name and not is_gold(name)]
    for role in open_roles:
        found = _by_name(role, [name for name in free if name not in found.roles.values()], look, found)
    rest = [name for name in free if name not in found.roles.values() and not is_total(name)]
    if "rater" in open_roles and found.is_open("rater"):
        found = found.assign(_form_sender(rest))
    if "student" in open_roles and found.is_open("student"):
        free = [name for name in rest if name not in found.roles.values()]
        found = _whatever_is_rated(free, look, found)
    if "student" not in open_roles:
        return _without_twin([name for name in config.names("student") if name in columns], look, found)
    found = _seen_again(rest, look, _people_and_works(rest, look, found))
    return _without_twin([found.roles[role] for role in ("student",) if role in found.roles], look, found)


def _without_twin(student: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    """Without an item that each student has one of, and each item one student: a question that one answer has, or its
    identifier."""
    item = found.roles.get("item")
    if item is None or len(student) != 1 or tier(item, "item") == tier(student[0], "student") == 0:
        return found
    if look[item].unique and look[item].filled >= FEWEST_NUMBERED and not look[student[0]].unique:
        return found.without("item")
    if not _same_partition([*student, item], look.frame):
        return found
    if tier(item, "item") is not None and look[item].distinct < FEWEST_TWINS:
        return found
    found = found.without("item")
    if "student" in found.roles and is_identifier(item) and not is_identifier(student[0]):
        found = found.assign({"student": item})
        item = student[0]
    if tier(item, "item") is None:
        return found
    return found.add(Finding(f"{shortened(item)} is another for each student", "not read as an item"))


def _people_and_works(free: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    """Without a rater, and with a column of participants beside one of essays: participants may be the raters."""
    several = found.doubtful.get("student", ())
    people = [name for name in several if stems(name) & known("people")]
    works = [name for name in several if name not in people]
    if len(people) != 1 or len(works) != 1:
        return found
    if "rater" in found.roles and look[people[0]].unique:  # the number of an answer to a form
        return found.doubt("student", ()).assign({"student": works[0]})
    if not found.is_open("rater"):
        return found
    question = Finding(
        f"{shortened(people[0])} beside {shortened(works[0])}, and no rater column",
        f"{shortened(people[0])} read as the rater, {shortened(works[0])} as the student",
        (Option("rater", people[0]), Option("student", works[0])),
        certain=False,
    )
    return found.doubt("student", ()).assign({"rater": people[0], "student": works[0]}).add(question)


def _seen_again(free: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    """Where nobody would be rated twice, what several raters have in common: the number of an answer to a form is
    not the script that it is about."""
    student, rater = (found.roles.get(role) for role in ("student", "rater"))
    if student is None or rater is None or tier(student, "student") == 0:
        return found
    if not look[student].unique:
        nested = is_function(look.frame, rater, student) and look[student].distinct < look[student].filled
        other = by_crossing(free, look, found.without("student")) if nested else found
        return other if "student" in other.roles else found
    shared = [
        name
        for name in free
        if name not in found.roles.values()
        and (
            tier(last_part(name) or name, "student") is not None
            or mentions(name, "student")
            or is_identifier(name)
        )
        and look[name].kind not in ("text", "blank", "dates")
        and 2 < look[name].distinct < look[name].filled
        and not is_function(look.frame, name, rater)
    ]
    named = [name for name in shared if not is_identifier(name) or mentions(name, "student")] or shared
    if not named or not _same_partition(named, look.frame):
        return found
    return found.assign({"student": named[0]})


def _by_name(role: str, free: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    for rank in (0, 1):
        fitting = [name for name in free if tier(name, role) == rank]
        if rank == 1 and role == "student":  # one text for all
            fitting = [name for name in fitting if look[name].distinct > 1 or look[name].filled < 2]
        if rank == 1 and role != "rater":
            unfit = ("text", "blank") if role == "item" else ("text",)
            fitting = [name for name in fitting if look[name].kind not in unfit]
            fitting = [name for name in fitting if role != "item" or look[name].distinct > 1]
        if len(fitting) > 1:
            fitting = _by_content(role, fitting, look)
        if role == "rater" and len(fitting) > 1:  # a user may be the student
            fitting = [name for name in fitting if plain(name) not in ("user", "username")] or fitting
        if role == "student" and rank == 1 and fitting:
            fitting = _identified(fitting, free, look, found)
        if len(fitting) > 1:
            return found.doubt(role, fitting)
        if fitting:
            return found.assign({role: fitting[0]})
    name = _by_part(role, free, look)
    if name is not None and role == "student":
        name = _identified([name], free, look, found)[0]
    return found if name is None else found.assign({role: name})


def _by_part(role: str, free: Sequence[str], look: ColumnSample) -> str | None:
    """The only column that has a word for the role at its end or, for people, within a heading."""
    fitting = [
        name
        for name in free
        if (part := last_part(name))
        and tier(part, role) is not None
        and (role != "student" or look[name].distinct > 1)
        and not any(
            tier(name.removesuffix(part).strip(" :./"), other) == 0 for other in ROLES if other != role
        )
    ]
    if len(fitting) == 1 and (role != "score" or look[fitting[0]].scored):
        return fitting[0]
    if role == "score":
        named = known("ranks", "classes")
        fitting = [
            name
            for name in free
            if stems(name) & named and (look[name].scored or 1 < look[name].distinct <= MOST_SCORES)
        ]
        others = any(look[name].scored and not is_other(name) for name in free)
        return None if others or len(fitting) != 1 else fitting[0]
    if role == "item":
        return None
    fitting = [name for name in free if " " in name.strip() and mentions(name, role) and not is_total(name)]
    if sum(look[name].scored for name in fitting) > 2:  # "Rate essay 1", "Rate essay 2"
        fitting = [name for name in fitting if not look[name].scored]
    fitting = [
        name
        for name in fitting
        if look[name].kind in ("labels", "numbers") or (look[name].unique and not like_rater(name))
    ]
    if role == "student" and len(fitting) > 1 and len({name.partition(": ")[0] for name in fitting}) == 1:
        # First name, last name and user name under one heading: what tells most people apart.
        fitting = [max(fitting, key=lambda name: (look[name].distinct, is_key(last_part(name))))]
    return fitting[0] if len(fitting) == 1 and not is_other(fitting[0]) else None


def _identified(
    fitting: list[str], free: Sequence[str], look: ColumnSample, found: DetectedRoles
) -> list[str]:
    """An identifier before a text that several answers may share; not one that numbers the rows of a long table."""
    if any(is_identifier(name) for name in fitting):
        return fitting
    names = [
        name
        for name in free
        if plain(name) in known("keys")
        and look[name].kind not in ("text", "blank", "dates")
        and look[name].distinct >= max(look[other].distinct for other in fitting)
    ]
    long = any(tier(name, "rater") is not None for name in free) or "rater" in found.roles
    return [name for name in names if not (long and look[name].unique)][:1] or fitting


def _by_content(role: str, names: Sequence[str], look: ColumnSample) -> list[str]:
    """Columns with a name for the role that also have suitable contents."""
    if role == "score":
        fitting = _without_labels([name for name in names if look[name].scored], look)
    else:
        fitting = [name for name in names if look[name].kind not in ("text", "blank", "dates")]
    if role == "student" and (labels := [name for name in fitting if not look[name].scored]):
        fitting = labels
    fitting = fitting or list(names)
    if len(fitting) > 1 and role != "score" and _same_partition(fitting, look.frame):
        # student_id and student_name: the identifier, which two people do not share.
        return [next((name for name in fitting if plain(name).endswith("id")), fitting[0])]
    return fitting


def _without_labels(names: list[str], look: ColumnSample) -> list[str]:
    """Without words that only say again what a number beside them says, and without `label` beside a verdict."""
    numeric = [name for name in names if look[name].highest is not None]
    others = [n for n in names if n in numeric or not any(is_function(look.frame, n, o) for o in numeric)]
    plainly = [name for name in others if "label" not in stems(name)]
    return plainly if len(plainly) == 1 else others


def is_function(frame: pl.DataFrame, column: str, of: str) -> bool:
    """Whether each value of one column has one value of another beside it."""
    pairs = frame.select(column, of).drop_nulls().unique()
    return pairs.height > 1 and pairs[of].n_unique() == pairs.height


def _same_partition(names: Sequence[str], frame: pl.DataFrame) -> bool:
    groups = frame.select(names).unique()
    return all(frame[name].n_unique() == groups.height for name in names)


def _form_sender(free: Sequence[str]) -> dict[str, str]:
    """The rater of a form: whoever sent it, where each answer has a time."""
    senders = [name for name in free if plain(name) in known("form senders")]
    timed = any(stems(name) & known("times") for name in free)
    return {"rater": senders[0]} if timed and len(senders) == 1 else {}


def _whatever_is_rated(free: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    """Without a name for the student: an identifier, else the item, else a text that is rated."""
    parts = [name for name in free if stems(name) & known("person names")]
    if len(parts) == 2 and not any(map(is_key, free)):
        seen = f"{listed(parts)} name a student together"
        return found.add(Finding(seen, "read so", (Option("student", tuple(parts)),)))
    named = [
        name
        for name in free
        if is_identifier(name)
        and look[name].kind not in ("text", "blank", "dates")
        and (look[name].distinct > 1 or look[name].filled < 2)
        and (plain(name) == "id" or plain(name) not in known("other"))
    ]
    if "rater" in found.roles:
        named = [name for name in named if not _same_partition([name, found.roles["rater"]], look.frame)]
    if len(named) > 1:
        named = [name for name in named if not look[name].scored] or named
        several = [name for name in named if plain(name) not in ("index", "id", "key", "uuid")]
        named = several or named
    if named:
        if len(named) > 1 and not _same_partition(named, look.frame):
            # A user name beside first and last names: what tells most people apart.
            people = look.frame.select(named).unique().height
            finest = [name for name in named if look.frame[name].n_unique() == people]
            if not finest:
                return found.doubt("student", named)
            named = [name for name in finest if is_key(name)] or finest
        return found.assign({"student": named[0]})
    if "item" in found.roles:
        item = found.roles["item"]
        by_labels = _by_labels(free, look, found)
        student = by_labels.roles.get("student")
        if student and not look[student].unique and look[student].distinct > 2 * look[item].distinct:
            return by_labels
        return found.without("item").assign({"student": item})
    texts = [name for name in free if tier(name, "student") == 1 or tier(name, "item") == 1]
    texts = [name for name in texts if look[name].distinct > 1]
    if len(texts) > 1:
        texts = [name for name in texts if tier(name, "student") == 1][:1]
    if texts:
        return found.assign({"student": texts[0]})
    return _by_labels(free, look, found) if "rater" in found.roles else found


def _by_labels(free: Sequence[str], look: ColumnSample, found: DetectedRoles) -> DetectedRoles:
    """Whatever the rater rates, by content alone: what several raters have in common, else the column with most
    labels."""
    if (pair := by_crossing(free, look, found)) is not found:
        return pair
    labels = [name for name in free if look[name].kind in ("labels", "numbers") and not is_other(name)]
    labels = labels or [name for name in free if is_identifier(name) and not look[name].unique]
    labels = [name for name in labels if name not in found.roles.values() and look[name].distinct > 2]
    labels = [name for name in labels if not look[name].unique] or labels
    if not labels:
        return found
    return _guessed({"student": max(labels, key=lambda name: look[name].distinct)}, found)


def _guessed(roles: Mapping[str, str], found: DetectedRoles) -> DetectedRoles:
    """With columns for roles that no name tells, which is a question."""
    seen = f"no column is named for the {' and the '.join(roles)}"
    done = f"read with {' and '.join(f'{shortened(name)} as the {role}' for role, name in roles.items())}"
    options = tuple(Option(role, name) for role, name in roles.items())
    return found.assign(roles).add(Finding(seen, done, options, certain=False))


ALONE = 0.98
"""Share of the rows that no other has the student, rater and item of, from which on they look like those."""


def by_crossing(
    free: Sequence[str], look: ColumnSample, found: DetectedRoles, *, alone: bool = False
) -> DetectedRoles:
    """Find student and rater by what columns hold: each rater has several students, each student several raters, and
    hardly a row (if `alone`: none) repeats the student, rater and item of another."""
    kinds = ("labels", "numbers", "scores")
    several = [
        name for name in free if look[name].kind in kinds and not is_other(name) and not is_total(name)
    ]
    several = [name for name in several if 1 < look[name].distinct < look[name].filled][:MOST_CANDIDATES]
    own = [found.roles[role] for role in ("item", "score") if role in found.roles]
    several = [name for name in several if name not in own and not nearly_all(like_item, look.frame[name])]
    students, raters = (
        [found.roles[role]] if role in found.roles else several for role in ("student", "rater")
    )
    best, most = dict[str, str](), (False, 1.0, False)
    for student, rater in product(students, raters):
        if student == rater:
            continue
        keys = [student, rater, *(own[:1] if "item" in found.roles else [])]
        held = look.frame.select(keys).drop_nulls()
        met, n_students, n_raters = (held.select(key).n_unique() for key in (keys[:2], student, rater))
        open_ = students is several and raters is several
        if (
            held.height < MOSTLY * look.frame.height
            or n_raters < 2
            or met < 2 * n_raters
            or n_students < (max(n_raters, 3) if open_ else 3)
        ):
            continue
        quality = (
            held.n_unique() >= ALONE * held.height,
            round(met / n_students, 1),
            nearly_all(like_rater, look.frame[rater]),
        )
        if all(look[name].highest is not None and not is_identifier(name) for name in keys[:2]):
            continue
        by_number = [n for n in keys[:2] if look[n].scored and n in several and not is_identifier(n)]
        if by_number and not (
            len(by_number) == 1 and quality[0] and held.height >= FEWEST_NUMBERED and met >= 3 * n_students
        ):
            continue  # scores that happen to differ within each label
        if quality[1] > 1 and quality > most and quality[0] >= alone:
            best, most = {"student": student, "rater": rater}, quality
    new = {role: name for role, name in best.items() if role not in found.roles}
    return _guessed(new, found) if new else found


MOST_CANDIDATES, FEWEST_NUMBERED = 12, 20
"""Columns that are compared, and rows in which small numbers may be labels."""


def tell_repeats_apart(
    columns: Sequence[str], config: ReadConfig, look: ColumnSample, found: DetectedRoles
) -> DetectedRoles:
    """Ask about the column that tells several ratings of a student by one rater apart.

    Answers of several models to one question are as many pieces of work, and so are candidates of several schools with
    one number; labels that most students have are items."""
    own = {
        role: config.names(role) or (found.roles[role],)
        for role in ROLES[:3]
        if role in found.roles or config.names(role)
    }
    keys = list(dict.fromkeys(name for names in own.values() for name in names))
    if not {"student", "rater"} <= own.keys() or not {*keys} <= {*columns}:
        return found
    taken = {*config.taken(*COLUMN_ROLES), *found.roles.values()} - {*config.names("group")}
    free, student = [name for name in columns if name not in taken], own["student"]
    places, variants = list[str](), list[str]()
    if config.student is None:
        places = [name for name in free if _counts_anew(name, keys, look)]
        usual = known("variants") if tier(student[0], "student") != 0 else {"file"}
        variants = [name for name in free if {*stems(name), plain(name).rpartition("_")[2]} & usual]
    if len(places) == 1:
        found = found.add(_pieces(student[0], places[0]))
        keys.append(places[0])
    turns = known("turns")
    free = [name for name in free if name in variants or stems(name) & turns or not is_other(name)]
    if not free or not look.frame.select(keys).is_duplicated().any():
        return found
    variants = [name for name in variants if look[name].distinct > 1]
    if len(variants) == 1 and not places and look.frame.select(*keys, variants[0]).is_duplicated().any():
        if look.frame.select(*keys, variants[0]).n_unique() > 1.5 * look.frame.select(keys).n_unique():
            found, student, places = (
                found.add(_pieces(student[0], variants[0])),
                (*student, *variants),
                variants,
            )
            keys += variants
        variants = []
    others = variants or [
        name for name in free if name not in keys and _is_shared(name, [*student, *own["rater"]], look)
    ]
    visits = [name for name in columns if name not in keys and stems(name) & known("occasions", "draws")]
    if look.frame.select(*keys, *visits).is_duplicated().any():
        keys = [*keys, *visits]
    others = [
        name
        for name in others
        if name not in keys and not look.frame.select(*keys, name).is_duplicated().any()
    ]
    if len(others) != 1:
        return found
    work = bool(variants) or tier(others[0], "student") is not None
    if not work and "item" not in own and config.items is None and _is_crossed(others[0], student, look):
        question = Finding(
            f"several ratings of a student by the same rater, told apart by {shortened(others[0])}",
            "read as the item",
            (Option("item", others[0]),),
            alternative=Option("student", (*student, others[0])),
            certain=False,
        )
        return found.assign({"item": others[0]}).add(question)
    return found if places or config.student is not None else found.add(_pieces(student[0], others[0]))


def _pieces(student: str, other: str) -> Finding:
    return Finding(
        f"each {shortened(student)} occurs with several {shortened(other)}",
        f"taken as one piece of work for each pair of {shortened(student)} and {shortened(other)}",
        (Option("student", (student, other)),),
        alternative=Option("student", student),
        certain=False,
    )


def _is_crossed(name: str, student: Sequence[str], look: ColumnSample) -> bool:
    """Whether most students have most of a few labels."""
    pairs = look.frame.select(*student, name).drop_nulls().unique().height
    students = look.frame.select(student).unique().height
    return look[name].distinct <= MOST_SCORES and 2 * pairs >= look[name].distinct * students


def _counts_anew(name: str, keys: Sequence[str], look: ColumnSample) -> bool:
    """Whether most students' labels occur in several centres or classes, so that these begin to count anew: raters
    rate a label once for each, or have one centre."""
    if not stems(name) & known("places") or look[name].kind == "text":
        return False
    student, rater, *_ = keys
    if not look.frame.select(keys).is_duplicated().any() and not is_function(look.frame, name, rater):
        return False
    pairs = look.frame.select(student, name).drop_nulls().unique()
    several = pairs.group_by(student).len()["len"] > 1
    return 2 * int(several.sum()) > len(several)


def _is_shared(name: str, keys: Sequence[str], look: ColumnSample) -> bool:
    """Whether several raters meet the same pair of a student and this label: it says what they rate. Small numbers do
    so where each rater of a student has every one of them."""
    if (is_other(name) and not stems(name) & known("turns")) or stems(name) & known("draws", "occasions"):
        return False
    *student, rater = keys
    if rater in student:  # refused where roles are assigned
        return False
    seen = look.frame.select(*student, rater, name).drop_nulls().unique()
    if look[name].kind == "scores":
        return seen.height == look[name].distinct * seen.select(*student, rater).n_unique()
    return (
        look[name].kind in ("labels", "numbers") and 2 * seen.select(*student, name).n_unique() <= seen.height
    )
