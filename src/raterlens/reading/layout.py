"""How a table is laid out: one row per rating, and which column plays which role."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from raterlens.base.text import Option
from raterlens.config import BESIDES, ROW, ReadConfig
from raterlens.reading.columns import Roles, as_told, assign_roles
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.known_column import second_table
from raterlens.reading.proposals.findings import Understanding
from raterlens.reading.proposals.rater_content import rater_by_content
from raterlens.reading.proposals.role_detection import Look, Recognised, recognise
from raterlens.reading.proposals.spread_columns import Spread, one_per_item, one_per_rater
from raterlens.reading.wide import to_long


def laid_out(table: Table, understanding: Understanding) -> tuple[Table, Roles]:
    """The table, made long where raters have columns of their own, and its roles: as the user says, else as the file
    does, else as names and content suggest."""
    config = understanding.config
    if second_table(config.known, table.columns):
        config = config.changed(known=None)
    if ROW in config.names("student"):
        table = numbered(table)
    if config.wide is not None:
        others = config.taken("student", *BESIDES)
        table = to_long(table, config.wide, config.names("items"), others)
        config = config.changed(items=None)
    config, notes = as_told(table.roles, config)
    look = Look(table)
    found = recognise(table.columns, config, look)
    if config.wide is None and config.score is None and config.items is None:
        table, config = _spread(table, config, understanding, found, look)
    understanding.take(found.findings)
    for finding in found.findings:
        config = config.changed(**{option.name: option.value for option in finding.options})
    roles = assign_roles(table.columns, config, found)
    _say(roles, understanding)
    return replace(table, notes=(*table.notes, *notes)), roles


def _spread(
    table: Table, config: ReadConfig, understanding: Understanding, found: Recognised, look: Look
) -> tuple[Table, ReadConfig]:
    """Where one row has several scores."""
    if "rater" in found.doubtful:
        return table, config
    given = {role: config.names(role) for role in ("student", "rater", "item", *BESIDES)}
    named = {**given, **{role: (name,) for role, name in found.roles.items()}}
    free = [name for name in table.columns if not any(name in names for names in named.values())]
    if named["rater"]:
        if "score" in found.roles or "score" in found.doubtful:
            return table, config
        spread = one_per_item(free, [named["student"], named["rater"]], look)
        if len(spread.items) == 1:
            found.roles["score"] = spread.items[0]
        elif spread.items:
            found.roles.pop("item", None)
            config = config.changed(items=spread.items, item=None)
        understanding.take(spread.findings)
        return table, config
    if "score" in found.roles and not look[found.roles["score"]].scored:
        free.append(found.roles.pop("score"))
    kept = found.roles.pop("score", None)
    free += [kept] if kept is not None else []
    spread = one_per_rater(free, look, two_headers=table.two_headers)
    if spread.wide is None:
        if kept is not None:
            found.roles["score"] = kept
        rater_by_content(table.columns, found, look)
        return table, config
    return _one_row_per_rating(table, config, understanding, found, look, spread)


def _one_row_per_rating(
    table: Table,
    config: ReadConfig,
    understanding: Understanding,
    found: Recognised,
    look: Look,
    spread: Spread,
) -> tuple[Table, ReadConfig]:
    assert spread.wide is not None
    if (item := found.roles.get("item")) is not None and ("{item}" in spread.wide or look[item].unique):
        del found.roles["item"]
    found.doubtful.pop("score", None)
    if config.student is None and "student" not in found.roles and "student" not in found.doubtful:
        _name_students(table, found, look, spread)
    if found.roles.get("student") == ROW:
        table = numbered(table)
    understanding.take(spread.findings)
    others = config.taken("student", *BESIDES)
    long = to_long(table, spread.wide, spread.items, others)
    config, _ = as_told(long.roles, config)
    found.roles = {role: name for role, name in found.roles.items() if getattr(config, role) is None}
    return long, config


def _name_students(table: Table, found: Recognised, look: Look, spread: Spread) -> None:
    """Of a row with a score of each rater: the first column that differs from row to row, else its number."""
    free = [name for name in table.columns if name not in spread.items and name not in found.roles.values()]
    unique = [
        name
        for name in free
        if look[name].unique and look[name].kind in ("labels", "numbers", "scores", "marks")
    ]
    found.roles["student"] = unique[0] if unique else ROW


def numbered(table: Table) -> Table:
    """The table with the numbers of its rows as a column."""

    def take(wanted: Sequence[str]) -> Rows:
        others = [name for name in wanted if name != ROW] or list(table.columns[:1])
        rows = table.take(others)
        numbers = pl.int_range(1, rows.frame.height + 1, eager=True).alias(ROW)
        return replace(rows, frame=rows.frame.with_columns(numbers).select(wanted))

    return replace(table, columns=(*table.columns, ROW), take=take, query=None, parts=None)


def _say(roles: Roles, understanding: Understanding) -> None:
    """The columns of each role, in so many words."""
    wide = understanding.config.wide is not None
    named = {"student": roles.student, "rater": roles.rater, "item": roles.item}
    if roles.wide and not wide:
        named["items"] = roles.scores
    elif not wide:
        named["score"] = roles.scores
    for role, names in named.items():
        if names and not any(name.startswith("{") and name != ROW for name in names):
            understanding.say([Option(role, names[0] if len(names) == 1 else names)])
