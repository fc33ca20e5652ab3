"""Which column is the student, the rater, the item and the score: by name and, where names do not say, by content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from raterlens.base.text import Option, shortened
from raterlens.config import COLUMN_ROLES, ReadConfig
from raterlens.reading.formats.lazy_table import Table
from raterlens.reading.proposals.column_profiles import MOST_SCORES, Profile, profiles, sampled
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.label_words import is_total, total_pattern
from raterlens.reading.proposals.role_words import (
    CLASSES,
    FORM_SENDERS,
    KEYS,
    OTHER,
    RANKS,
    TIMES,
    VARIANTS,
    is_gold,
    is_identifier,
    is_key,
    is_other,
    known,
    last_part,
    mentions,
    plain,
    stems,
    tier,
)

ROLES = ("student", "rater", "item", "score")


def without_totals(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in which no cell says that they sum up others: what they hold tells nothing of a column."""
    total = pl.Series([False]).new_from_index(0, frame.height)
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        likely = column.str.to_lowercase().str.contains(total_pattern())
        words = [word for word in column.filter(likely).unique().to_list() if is_total(word)]
        if words:
            total |= column.is_in(words)
    return frame.filter(~total.fill_null(False)) if total.any() and not total.all() else frame


class Look:
    """Some rows of a table and what its columns hold, once they are asked for: names alone often suffice."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @cached_property
    def frame(self) -> pl.DataFrame:
        return without_totals(sampled(self._table))

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        return profiles(self.frame)

    def __getitem__(self, name: str) -> Profile:
        return self.profiles[name]


@dataclass(slots=True)
class Recognised:
    """The columns found for each role; a role without any is left open."""

    roles: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, list[str]] = field(default_factory=dict)
    """Roles for which several columns would do equally well."""
    findings: list[Finding] = field(default_factory=list)


def recognise(columns: Sequence[str], config: ReadConfig, look: Look) -> Recognised:
    """Find a column for every role that the user left out, among the columns not yet taken."""
    taken = config.taken(*COLUMN_ROLES)
    open_roles = [role for role in ROLES if getattr(config, role) is None]
    if config.items is not None:
        open_roles = [role for role in open_roles if role in ("student", "rater")]
    found = Recognised()
    free = [name for name in columns if name not in taken and name and not is_gold(name)]
    for role in open_roles:
        _by_name(role, [name for name in free if name not in found.roles.values()], look, found)
    rest = [name for name in free if name not in found.roles.values() and not is_total(name)]
    if "rater" in open_roles and "rater" not in found.roles and "rater" not in found.doubtful:
        _form_sender(rest, found)
    if "student" in open_roles and "student" not in found.roles and "student" not in found.doubtful:
        _whatever_is_rated([name for name in rest if name not in found.roles.values()], look, found)
    if config.student is None:
        _variants(columns, look, found)
    return found


def _by_name(role: str, free: Sequence[str], look: Look, found: Recognised) -> None:
    for rank in (0, 1):
        fitting = [name for name in free if tier(name, role) == rank]
        if rank == 1 and role != "rater":
            unfit = ("text", "blank") if role == "item" else ("text",)
            fitting = [name for name in fitting if look[name].kind not in unfit]
            fitting = [name for name in fitting if role != "item" or look[name].distinct > 1]
        if len(fitting) > 1:
            fitting = _by_content(role, fitting, look)
        if role == "student" and rank == 1 and fitting:
            fitting = _identified(fitting, free, look, found)
        if len(fitting) > 1:
            found.doubtful[role] = fitting
            return
        if fitting:
            found.roles[role] = fitting[0]
            return
    if (name := _by_part(role, free, look)) is not None:
        found.roles[role] = name


def _by_part(role: str, free: Sequence[str], look: Look) -> str | None:
    """The only column that has a word for the role at its end or, for people, within a heading."""
    fitting = [
        name
        for name in free
        if (part := last_part(name))
        and tier(part, role) is not None
        and not any(
            tier(name.removesuffix(part).strip(" :./"), other) == 0 for other in ROLES if other != role
        )
    ]
    if len(fitting) == 1 and (role != "score" or look[fitting[0]].scored):
        return fitting[0]
    if role == "score":
        named = known(RANKS) | known(CLASSES)
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
    fitting = [name for name in fitting if look[name].kind in ("labels", "numbers") or look[name].unique]
    if role == "student" and len(fitting) > 1 and len({name.partition(": ")[0] for name in fitting}) == 1:
        # First name, last name and user name under one heading: what tells most people apart.
        fitting = [max(fitting, key=lambda name: (look[name].distinct, is_key(last_part(name))))]
    return fitting[0] if len(fitting) == 1 and not is_other(fitting[0]) else None


def _identified(fitting: list[str], free: Sequence[str], look: Look, found: Recognised) -> list[str]:
    """An identifier before a text that several answers may share; not one that numbers the rows of a long table."""
    if any(is_identifier(name) for name in fitting):
        return fitting
    names = [
        name
        for name in free
        if plain(name) in known(KEYS)
        and look[name].kind not in ("text", "blank", "dates")
        and look[name].distinct >= max(look[other].distinct for other in fitting)
    ]
    long = any(tier(name, "rater") is not None for name in free) or "rater" in found.roles
    names = [name for name in names if not (long and look[name].unique)]
    return names[:1] or fitting


def _by_content(role: str, names: Sequence[str], look: Look) -> list[str]:
    """Of several columns with a name for the role, those that also hold what it takes."""
    if role == "score":
        fitting = [name for name in names if look[name].scored]
        if len(fitting) > 1:
            fitting = _without_labels(fitting, look)
    else:
        fitting = [name for name in names if look[name].kind not in ("text", "blank", "dates")]
    if role == "student" and (labels := [name for name in fitting if not look[name].scored]):
        fitting = labels
    fitting = fitting or list(names)
    if len(fitting) > 1 and role != "score" and _same_partition(fitting, look.frame):
        # student_id and student_name: the identifier, which two people do not share.
        return [next((name for name in fitting if plain(name).endswith("id")), fitting[0])]
    return fitting


def _without_labels(names: list[str], look: Look) -> list[str]:
    """Without words that only say again what a number beside them says, and without `label` beside a verdict."""
    numeric = [name for name in names if look[name].highest is not None]
    others = [
        name
        for name in names
        if name in numeric or not any(is_function(look.frame, name, other) for other in numeric)
    ]
    plainly = [name for name in others if "label" not in stems(name)]
    return plainly if len(plainly) == 1 else others


def is_function(frame: pl.DataFrame, column: str, of: str) -> bool:
    """Whether each value of one column has one value of another beside it."""
    pairs = frame.select(column, of).drop_nulls().unique()
    return pairs.height > 1 and pairs[of].n_unique() == pairs.height


def _same_partition(names: Sequence[str], frame: pl.DataFrame) -> bool:
    groups = frame.select(names).unique()
    return all(frame[name].n_unique() == groups.height for name in names)


def _form_sender(free: Iterable[str], found: Recognised) -> None:
    free = list(free)
    if not any(stems(name) & known(TIMES) for name in free):
        return
    senders = [name for name in free if plain(name) in known(FORM_SENDERS)]
    if len(senders) == 1:
        found.roles["rater"] = senders[0]


def _whatever_is_rated(free: Sequence[str], look: Look, found: Recognised) -> None:
    """Without a name for the student: an identifier, else the item, else a text that is rated."""
    named = [
        name
        for name in free
        if is_identifier(name)
        and look[name].kind not in ("text", "blank", "dates")
        and (look[name].distinct > 1 or look[name].filled < 2)
        and (plain(name) == "id" or plain(name) not in known(OTHER))
    ]
    if "rater" in found.roles:
        named = [name for name in named if not _same_partition([name, found.roles["rater"]], look.frame)]
    if len(named) > 1:
        several = [name for name in named if plain(name) not in ("index", "id", "key", "uuid")]
        named = several or named
    if named:
        if len(named) > 1 and not _same_partition(named, look.frame):
            found.doubtful["student"] = named
        else:
            found.roles["student"] = named[0]
        return
    if "item" in found.roles:
        found.roles["student"] = found.roles.pop("item")
        return
    texts = [name for name in free if tier(name, "student") == 1 or tier(name, "item") == 1]
    if len(texts) > 1:
        texts = [name for name in texts if tier(name, "student") == 1][:1]
    if texts:
        found.roles["student"] = texts[0]
    elif "rater" in found.roles:
        _by_labels(free, look, found)


def _by_labels(free: Sequence[str], look: Look, found: Recognised) -> None:
    """Whatever the rater rates, by content alone: the column with most labels, which is a question."""
    labels = [name for name in free if look[name].kind in ("labels", "numbers") and not is_other(name)]
    labels = [name for name in labels if name not in found.roles.values() and look[name].distinct > 2]
    if not labels:
        return
    student = max(labels, key=lambda name: look[name].distinct)
    found.roles["student"] = student
    seen = f"no student column by name, and {shortened(student)} with the most labels"
    found.findings.append(
        Finding(
            seen, f"{shortened(student)} read as the student", (Option("student", student),), certain=False
        )
    )


def _variants(columns: Sequence[str], look: Look, found: Recognised) -> None:
    """Answers of several models to one question are as many pieces of work, not one rated again and again."""
    student, rater = (found.roles.get(role) for role in ("student", "rater"))
    if student is None or rater is None:
        return
    variants = known(VARIANTS) if tier(student, "student") != 0 else known(("file",))
    others = [
        name
        for name in columns
        if name not in found.roles.values() and stems(name) & variants and look[name].distinct > 1
    ]
    keys = [student, rater, *([found.roles["item"]] if "item" in found.roles else [])]
    if len(others) != 1 or not look.frame.select(keys).is_duplicated().any():
        return
    if look.frame.select(*keys, others[0]).is_duplicated().any():
        return
    found.findings.append(
        Finding(
            f"each {shortened(student)} is rated once for each {shortened(others[0])}",
            f"taken as one piece of work for each pair of {shortened(student)} and {shortened(others[0])}",
            (Option("student", (student, others[0])),),
            otherwise=Option("student", student),
            certain=False,
        )
    )
