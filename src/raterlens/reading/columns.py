"""Which column plays which role: as the user says, else as the file does, else as names and content suggest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import BESIDES, COLUMN_ROLES, ROW, ReadConfig
from raterlens.reading.formats.table import MELTED, Rows, Table, unmelted, with_cells_filled, without_headers
from raterlens.reading.interpret import NAMED, Search, interpret, name_evidence
from raterlens.reading.marker_pairs import find_pairs, given_pairs, pairs_to_long
from raterlens.reading.profiles import ROLES, ColumnSample
from raterlens.reading.read_plan import Finding, ReadPlan
from raterlens.reading.vocabulary import is_gold, is_other, known, plain, said, stems, tier
from raterlens.reading.wide_layouts import (
    Spread,
    likely_pattern,
    name_columns,
    one_per_item,
    to_long,
    wide_columns,
)

ASIDE = ("piece", "draw", "group")
MOST_DRAWS = 1000


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


def resolve_layout(opened: Table, plan: ReadPlan) -> tuple[Table, Roles, ReadPlan]:
    """The table, made long where raters have columns of their own, its roles, and the plan with what was found."""
    if not plan.config.as_written:
        opened = with_cells_filled(without_headers(opened))
        if not {*MELTED} & {*plan.config.taken(*COLUMN_ROLES)}:
            opened = unmelted(opened)
        plan = plan.add(one for one in opened.findings if one not in plan.findings)
    table = numbered(opened) if ROW in plan.config.names("student") else opened
    config = plan.config
    if is_separate_table(config.known, table.columns):
        config = config.changed(known=None)
    config, notes = with_roles_from_file(table.roles, config)
    check_named(table.columns, config)
    look = ColumnSample(table)
    given = config
    if (settled := by_names(table, config)) is not None:
        config = settled
    else:
        plan, config = understood(table, plan, config, look)
    if ROW in config.names("student") and ROW not in table.columns:
        table = numbered(table)
    table = as_long(table, config)
    if config.wide is not None or config.markers is not None:
        config, _ = with_roles_from_file(table.roles, config.changed(items=None))
    roles = assign_roles(config, given)
    plan = plan.set_options(_role_options(roles, plan.config))
    if plan.config.known is None:
        plan = plan.add(_unused_answers(opened, roles, look))
    if given.score is None and given.items is None and table.columns == look.columns:
        plan = plan.add(_unused_scores(table, roles, look))
    return replace(table, notes=(*table.notes, *notes)), roles, plan


TELLING = ("places", "variants", "draws", "turns", "occasions", "gold", "person names")
"""Sections of words for columns that may change the meaning of those beside them."""


def by_names(table: Table, config: ReadConfig) -> ReadConfig | None:
    """The request with its roles, where usual names alone settle them all and nobody has to look at the rows."""
    if table.roles or any(
        getattr(config, role) is not None for role in ("items", "wide", "markers", "pattern")
    ):
        return None
    free = [name for name in table.columns if name not in config.taken(*COLUMN_ROLES)]
    found = dict[str, str]()
    for role in (role for role in ROLES if getattr(config, role) is None):
        named = [name for name in free if tier(name, role) == 0] or [
            name for name in free if tier(name, role) == 1
        ]
        if role == "item" and any(tier(name, role) for name in named):
            return None  # such as a prompt that is the same throughout
        if len(named) > 1 or not (named or role == "item") or {*named} & {*found.values()}:
            return None
        found |= dict.fromkeys([role] * len(named), named[0] if named else "")
    others = [name for name in free if name not in found.values()]
    if any(not is_other(name) or {plain(name), *stems(name)} & known(*TELLING) for name in others):
        return None
    return config.changed(**found)


def understood(
    table: Table, plan: ReadPlan, config: ReadConfig, look: ColumnSample
) -> tuple[ReadPlan, ReadConfig]:
    """The plan and the request with the likeliest reading of the columns."""
    columns, fixed, found = table.columns, None, list[Finding]()
    if config.score is None and config.items is None and config.wide is None and config.markers is None:
        refuse_preferences(columns, look)
        refuse_counts(columns, look)
    if config.markers is not None:
        fixed = Spread(tuple(given_pairs(config.markers, columns).columns), RATER_PAIRS)
    elif config.wide is not None:
        taken = config.taken("student", "rater", "item", *BESIDES)
        fixed = Spread(tuple(wide_columns(table, config.wide, config.names("items"), taken)), config.wide)
    elif config.items is not None or config.score is not None:
        fixed = Spread(config.names("items") or config.names("score"))
    elif config.rater is None and (pairs := find_pairs(columns, look)) is not None:
        fixed, found = Spread(tuple(pairs[0].columns), RATER_PAIRS), pairs[1]
        plan, config = plan.add(found), config.changed(markers=pairs[0].option.value)
    search = Search(columns, config, look, table.two_headers, table.settled, fixed)
    if (best := interpret(search)) is None:
        refuse_open(search)
    reading, findings = best
    plan = plan.add(findings)
    changes: dict[str, Any] = {role: reading.columns(role) for role in ROLES[:3]}
    if reading.spread.wide is None:
        several = config.items is not None or len(reading.spread.items) > 1
        changes["items" if several else "score"] = reading.spread.items
    elif not reading.student and "{student}" not in reading.spread.wide:
        changes["student"] = (ROW,)
    changes = {role: names[0] if len(names) == 1 else names for role, names in changes.items() if names}
    changes |= {option.name: option.value for finding in findings for option in finding.options}
    config = config.changed(
        **{name: value for name, value in changes.items() if getattr(config, name) is None}
    )
    draws = [] if reading.spread.wide else list(_draws(table, config, look))
    plan = plan.add(draws)
    return plan, config.changed(**{option.name: option.value for one in draws for option in one.options})


RATER_PAIRS = "{rater}"


def as_long(table: Table, config: ReadConfig) -> Table:
    """One row per rating, where raters, or markers beside their marks, have columns of their own."""
    if config.markers is not None:
        return pairs_to_long(table, given_pairs(config.markers, table.columns))
    if config.wide is None:
        return table
    return to_long(
        table, config.wide, config.names("items"), config.taken("student", "rater", "item", *BESIDES)
    )


def numbered(table: Table) -> Table:
    """The table with the numbers of its rows as a column."""

    def take(wanted: Sequence[str]) -> Rows:
        others = [name for name in wanted if name != ROW] or list(table.columns[:1])
        rows = table.take(others)
        numbers = pl.int_range(1, rows.frame.height + 1, eager=True).alias(ROW)
        return replace(rows, frame=rows.frame.with_columns(numbers).select(wanted))

    return replace(table, columns=(*table.columns, ROW), take=take, query=None, large=False)


def is_separate_table(known: object, columns: tuple[str, ...]) -> bool:
    """Whether known answers stand in a table of their own: a dataframe, or a file where no column has that name."""
    if known is None or (isinstance(known, str) and known in columns):
        return False
    return not isinstance(known, str) or (bool(Path(known).suffix) and Path(known).is_file())


def _draws(table: Table, config: ReadConfig, look: ColumnSample) -> Iterator[Finding]:
    """A column that numbers a rater's answers to the same question."""
    taken = config.taken(*COLUMN_ROLES)
    free = [name for name in table.columns if name not in taken and stems(name) & known("draws")]
    keys = config.taken("student", "rater", "item")
    if config.draw is not None or look.rows(*keys) == look.cells(*keys):
        return
    for name in free:
        rows = look.rows(*keys, name)
        if (
            rows >= 4
            and look.cells(*keys, name) == rows > look.cells(*keys)
            and look.cells(name) <= MOST_DRAWS
        ):
            n = counted(look.cells(name), "answer")
            seen = f"{shortened(name)} numbers {n} of a rater to the same question"
            yield Finding(seen, "read as draws", (Option("draw", name),))
            return


def _unused_answers(table: Table, roles: Roles, look: ColumnSample) -> list[Finding]:
    """Name the first column that looks like known answers, which are used only when asked for."""
    gold = [name for name in table.columns if is_gold(name) and name not in roles.columns]
    gold = [name for name in gold if name in look.profiles and look[name].scored]
    seen = "{} looks like known answers"
    return [
        Finding(seen.format(shortened(name)), "not used", alternative=Option("known", name))
        for name in gold[:1]
    ]


def _unused_scores(table: Table, roles: Roles, look: ColumnSample) -> Iterator[Finding]:
    """Name the other columns of scores, where one was recognised by its name."""
    free = [name for name in table.columns if name not in roles.columns and not is_other(name)]
    if roles.wide or table.large or not free:
        return
    free = [name for name in free if not look.depends(name, *roles.student)]
    if others := one_per_item(free, look).items:
        alternative = Option("score", others[0]) if roles.item else Option("items", (*roles.scores, *others))
        seen = f"{listed(others)} could be {'a score' if len(others) == 1 else 'scores'}, too"
        yield Finding(seen, "not used", alternative=alternative)


def _role_options(roles: Roles, config: ReadConfig) -> Iterator[Option]:
    """The columns of each role, as explicit options."""
    wide = config.wide is not None or config.markers is not None
    named = {"student": roles.student, "rater": roles.rater, "item": roles.item}
    if not wide:
        named["items" if roles.wide else "score"] = roles.scores
    for role, names in named.items():
        if names and not any(name.startswith("{") and name != ROW for name in names):
            yield Option(role, names[0] if len(names) == 1 else names)


def assign_roles(config: ReadConfig, given: ReadConfig) -> Roles:
    """Give each role its columns: those that the user or the file names, and those that were recognised."""
    wide = config.items is not None
    taken = {role: config.names(role) for role in COLUMN_ROLES if getattr(config, role) is not None}
    notes = []
    for role in ("student", "rater") if wide else ROLES:
        if role not in taken:
            notes.append("no item column: all ratings are of one item, 'all'")
        elif getattr(given, role) is None and not taken[role][0].startswith("{"):
            notes.append(f"{role} column: {listed(taken[role])} (recognised)")
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


def with_roles_from_file(
    by_file: Mapping[str, str | list[str]], config: ReadConfig
) -> tuple[ReadConfig, list[str]]:
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
                f"{_near(name, columns)}{name_columns(columns)}",
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


def check_named(columns: Sequence[str], config: ReadConfig) -> None:
    """Raise where the request names a column that there is not, or one for two roles."""
    spread = config.wide is not None or config.markers is not None
    roles = [role for role in COLUMN_ROLES if getattr(config, role) is not None]
    taken = {
        role: _present(columns, role, config.names(role)) for role in roles if role != "items" or not spread
    }
    _refuse_shared(taken)


def refuse_open(search: Search) -> NoReturn:
    """Raise where a role has no column and needs one."""
    columns = search.columns
    role = next(
        (
            role
            for role in ("student", "rater", "score")
            if getattr(search.config, role) is None
            and f"{{{role}}}" not in (search.config.wide or "")
            and not any(name_evidence(name, role) >= NAMED for name in columns)
        ),
        "rater",
    )
    remedy: list[str | Option] = ["name it with ", Option(role)]
    if role == "score":
        remedy += [", or ", Option("items"), " where each item has a column of scores"]
    if role in ("rater", "score") and (pattern := likely_pattern(columns)):
        remedy += [", or, as columns look like one for each rater and item, give ", Option("wide", pattern)]
    raise InputError(
        f"no {role} column recognised",
        Message(*remedy, f"; {name_columns(columns)}"),
        value=list(columns),
        option=role,
    )


def _near(name: str, columns: Sequence[str]) -> str:
    folded = {column.casefold(): column for column in columns}
    near = get_close_matches(str(name).casefold(), folded, n=1)
    return f"did you mean {shortened(folded[near[0]])}? " if near else ""


_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("0", "1"), ("x", "y"))


def refuse_counts(columns: Sequence[str], look: ColumnSample) -> None:
    """Raise where rows are counted: "rater1, rater2, n"."""
    counts = [name for name in columns if plain(name) in known("counts")]
    others = [name for name in columns if name not in counts]
    if (
        len(counts) == 1
        and len(others) > 1
        and all(look[name].scored for name in others)
        and look[counts[0]].distinct > 1
    ):
        raise InputError(
            f"{shortened(counts[0])} counts how often {listed(others)} have the values of a row",
            "Raterlens reads one row per piece of work: repeat each row as often as it occurs",
            value=counts[0],
        )


def refuse_preferences(columns: Sequence[str], look: ColumnSample) -> None:
    """Raise where columns hold two pieces of work and which of them won."""
    names = {plain(name): name for name in columns}
    if {"chosen", "rejected"} <= names.keys():
        raise _preferences([names["chosen"], names["rejected"]])
    for short, (one, other) in product(names, _SIDES):
        stem = short.removesuffix(one)
        pair = [names[short], names.get(stem + other, "")]
        compared = stem != short and pair[1] and (not stem.strip("_") or stem.strip("_") in known("compared"))
        if compared and (winner := _winner(pair, names, look)) is not None:
            raise _preferences([*pair, winner])


def _winner(pair: Sequence[str], names: dict[str, str], look: ColumnSample) -> str | None:
    """The column that says which of the two is better."""
    for short, name in names.items():
        if name in pair or not ({short, *short.split("_")} & known("winner")):
            continue
        answers = set(look.frame[name].drop_nulls().cast(pl.String).unique())
        sides = {value for one in pair for value in look.frame[one].drop_nulls().cast(pl.String).unique()}
        certain = bool({short, *short.split("_")} & known("winner only")) and len(answers) <= max(
            5, len(sides) + 2
        )
        if answers and (
            answers <= sides or {value.casefold() for value in answers} <= said("sides") or certain
        ):
            return name
    return None


def _preferences(columns: Sequence[str]) -> InputError:
    return InputError(
        f"the columns {listed(columns)} hold pairwise preferences (which of two pieces of work is better)",
        "Raterlens reads scores of single pieces of work: have each of them scored by itself",
        value=list(columns),
    )
