"""Which column plays which role, as the user says or as it was recognised; names that say whose scores they hold."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, listed, shortened
from raterlens.config import COLUMN_ROLES, ReadConfig
from raterlens.reading.detection.roles import Recognised

FIELDS = ("{rater}", "{item}")
_SEPARATORS = ("_", " ", ".", "-", ":", "/", "|")
Split = dict[str, tuple[str, ...]]
"""Labels of each column that matches, in the order of the fields."""


def likely_pattern(columns: Sequence[str]) -> str | None:
    """A pattern that several columns fit as a grid of raters and items, to be suggested."""
    for separator in _SEPARATORS:
        pattern = f"{{rater}}{separator}{{item}}"
        if is_grid(split_names(pattern, FIELDS, columns)):
            return pattern
    return None


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
    """At least two raters who share an item, and two items that share a rater."""
    raters, items = ({labels[place] for labels in split.values()} for place in (0, 1))
    return len(raters) > 1 and len(items) > 1 and len(split) > max(len(raters), len(items))


ASIDE = ("piece", "draw", "group")


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of each role. `wide`: each score column is an item. Otherwise no item column: one item."""

    student: tuple[str, ...]
    rater: tuple[str, ...]
    item: tuple[str, ...]
    scores: tuple[str, ...]
    facets: tuple[str, ...]
    wide: bool
    notes: tuple[str, ...]
    known: tuple[str, ...] = ()
    aside: Mapping[str, str] = field(default_factory=dict)
    """Facets that are no part of the model: the columns of the piece of work, the draw and the group."""
    trusted: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        named = self.student + self.rater + self.item + self.scores + self.facets + self.known + self.trusted
        return tuple(dict.fromkeys(named))


def assign_roles(columns: Sequence[str], config: ReadConfig, found: Recognised) -> Roles:
    """Give each role its columns: those that the user names, else those that were recognised."""
    wide = config.items is not None
    taken = {
        role: _present(columns, role, config.names(role))
        for role in COLUMN_ROLES
        if getattr(config, role) is not None
    }
    _refuse_shared(taken)
    notes = []
    for role in ("student", "rater") if wide else ("student", "rater", "item", "score"):
        if role not in taken:
            name = found.roles.get(role)
            if name is None:
                _refuse_open(role, columns, found)
                notes.append("no item column: all ratings are of one item, 'all'")
            else:
                notes.append(f"{role} column: {shortened(name)} (recognised)")
            taken[role] = () if name is None else (name,)
    if wide and "known" in taken and len(taken["items"]) > 1:
        raise OptionError(
            Message(
                f"column {shortened(taken['known'][0])} is given for ",
                Option("known"),
                f", but a row has scores of {len(taken['items'])} items, and one answer does not say of which",
            ),
            Message(
                "give ", Option("known"), " as a table with the columns of the students, items and answers"
            ),
            value=taken["known"][0],
        )
    aside = {role: taken[role][0] for role in ASIDE if role in taken}
    return Roles(
        student=taken["student"],
        rater=taken["rater"],
        item=taken.get("item", ()),
        scores=taken["items"] if wide else taken["score"],
        facets=(*taken.get("facets", ()), *aside.values()),
        wide=wide,
        notes=tuple(notes),
        known=taken.get("known", ()),
        aside=aside,
        trusted=taken.get("trusted_column", ()),
    )


def as_told(by_file: Mapping[str, str | list[str]], config: ReadConfig) -> tuple[ReadConfig, list[str]]:
    """Roles by the user, else by the file for columns not yet taken; and notes."""
    taken = config.taken(*COLUMN_ROLES)
    filled: dict[str, str | list[str]] = {}
    notes: list[str] = []
    for role, spec in by_file.items():
        free = [name for name in ([spec] if isinstance(spec, str) else spec) if name not in taken]
        replaced = config.items is not None and role in ("item", "score")
        if getattr(config, role) is None and free and not replaced:
            filled[role] = free if role == "facets" else free[0]
            if not free[0].startswith("{"):  # made from the names of columns, which has its own note
                notes.append(
                    Message(f"{role}: {listed(free)} (from the file; override with ", Option(role), ")")
                )
    return config.changed(**filled), notes


def _present(columns: Sequence[str], role: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise OptionError(
            Message(Option(role, []), " names no column"),
            f"choose from: {listed(columns, 20)}",
            value=names,
        )
    for name in names:
        if name not in columns:
            raise InputError(
                f"no column {shortened(name)} for {role}",
                f"{_near(name, columns)}{those(columns)}",
                value=name,
                option=role,
            )
    return names


def _refuse_shared(taken: dict[str, tuple[str, ...]]) -> None:
    roles: dict[str, list[str]] = {}
    for role, names in taken.items():
        for name in names if role != "group" else ():  # also part of what names a student
            roles.setdefault(name, []).append(role)
    for name, shared in roles.items():
        if len(shared) > 1:
            times = Counter(shared)
            where = " and ".join(role if n == 1 else f"{role} ({n} times)" for role, n in times.items())
            raise OptionError(
                f"column {shortened(name)} is given for {where}",
                "give each role a column of its own",
                value=name,
                option=shared[0],
            )


def _refuse_open(role: str, columns: Sequence[str], found: Recognised) -> None:
    """Raise where a role has several columns to choose from, or none and needs one."""
    if several := found.doubtful.get(role):
        raise InputError(
            f"{listed(several)} could each be the {role} column",
            Message("say which, for example ", Option(role, several[0])),
            value=several,
        )
    if role == "item":
        return
    remedy: list[str | Option] = ["name it with ", Option(role)]
    if role == "score":
        remedy += [", or ", Option("items"), " where each item has a column of scores"]
    if role in ("rater", "score") and (pattern := likely_pattern(columns)):
        remedy += [", or, as columns look like one for each rater and item, give ", Option("wide", pattern)]
    raise InputError(
        f"no {role} column recognised",
        Message(*remedy, f"; {those(columns)}"),
        value=list(columns),
        option=role,
    )


def _near(name: str, columns: Sequence[str]) -> str:
    folded = {column.casefold(): column for column in columns}
    near = get_close_matches(str(name).casefold(), folded, n=1)
    return f"did you mean {shortened(folded[near[0]])}? " if near else ""


def those(columns: Sequence[str]) -> str:
    """The columns that there are, for a remedy."""
    return f"the columns are: {listed(columns, 20)}" if columns else "the table has no columns"
