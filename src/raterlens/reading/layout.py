"""How a table is laid out: one row per rating, and which column plays which role."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from raterlens.base.text import Option, counted, listed, shortened
from raterlens.config import BESIDES, COLUMN_ROLES, ROW, ReadConfig
from raterlens.reading.columns import Roles, as_told, assign_roles
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.known_column import second_table
from raterlens.reading.proposals.column_profiles import depends
from raterlens.reading.proposals.findings import Finding, Understanding
from raterlens.reading.proposals.label_words import is_total, like_rater
from raterlens.reading.proposals.marker_pairs import find_pairs, given_pairs, pairs_to_long
from raterlens.reading.proposals.preferences import refuse_preferences
from raterlens.reading.proposals.role_detection import Look, Recognised, recognise
from raterlens.reading.proposals.role_words import DRAWS, is_gold, is_other, known, stems
from raterlens.reading.proposals.spread_columns import Spread, one_per_item, one_per_rater
from raterlens.reading.proposals.verdict_texts import verdict_in_text
from raterlens.reading.wide import to_long

MOST_DRAWS = 1000


def laid_out(table: Table, understanding: Understanding) -> tuple[Table, Roles]:
    """The table, made long where raters have columns of their own, and its roles: as the user says, else as the file
    does, else as names and content suggest."""
    config, opened = understanding.config, table
    if second_table(config.known, table.columns):
        config = config.changed(known=None)
    if ROW in config.names("student"):
        table = numbered(table)
    if config.wide is not None:
        others = config.taken("student", *BESIDES)
        table = to_long(table, config.wide, config.names("items"), others)
        config = config.changed(items=None)
    table = _paired(table, config, understanding)
    config, notes = as_told(table.roles, config)
    notes = [] if table.settled else notes
    look = Look(table)
    scored = config.score is not None or config.items is not None or config.wide is not None
    if not scored:
        refuse_preferences(table.columns, look)
    found = recognise(table.columns, config, look)
    if table.settled:
        found.roles.pop("item", None)
        found.doubtful.pop("item", None)
    if not scored:
        table, config = _spread(table, config, understanding, found, look)
        if config.score is None and config.items is None and "score" not in found.roles:
            _unlikely_score(table, found, look)
    _find_draws(table, config, found, look)
    understanding.take(found.findings)
    for finding in found.findings:
        config = config.changed(**{option.name: option.value for option in finding.options})
    roles = assign_roles(table.columns, config, found)
    _say(roles, understanding)
    _name_known(opened, roles, config, understanding, look)
    return replace(table, notes=(*table.notes, *notes)), roles


def _paired(table: Table, config: ReadConfig, understanding: Understanding) -> Table:
    """Where markers have columns of their own beside their marks: one row per mark."""
    if config.markers is not None:
        return pairs_to_long(table, given_pairs(config.markers, table.columns))
    if any(getattr(config, role) is not None for role in ("rater", "score", "items", "wide")) or table.roles:
        return table
    found = find_pairs(table.columns, Look(table))
    if found is None:
        return table
    pairs, findings = found
    understanding.take(findings)
    return pairs_to_long(table, pairs)


def _unlikely_score(table: Table, found: Recognised, look: Look) -> None:
    """Where no column holds scores: verdicts in texts, or the only column of other numbers."""
    free = [name for name in table.columns if name not in found.roles.values() and name in look.profiles]
    finding = verdict_in_text(free, look)
    numbers = [name for name in free if look[name].kind == "numbers" and not is_other(name)]
    if finding is None and len(numbers) == 1 and "score" not in found.doubtful:
        seen = f"no score column by name, and {shortened(numbers[0])} the only one of numbers"
        finding = Finding(seen, "read as the score", (Option("score", numbers[0]),), certain=False)
    if finding is not None:
        found.doubtful.pop("score", None)
        found.findings.append(finding)


def _find_draws(table: Table, config: ReadConfig, found: Recognised, look: Look) -> None:
    """A column that numbers a rater's answers to the same question."""
    taken = {*config.taken(*COLUMN_ROLES), *found.roles.values()}
    free = [name for name in table.columns if name not in taken and stems(name) & known(DRAWS)]
    if config.draw is not None or not free:
        return
    named = [(found.roles.get(role), *config.names(role)) for role in ("student", "rater", "item")]
    every = dict.fromkeys(name for names in named for name in names if name is not None)
    keys = [name for name in every if name in look.frame.columns]
    free = [name for name in free if name in look.frame.columns]
    if not keys:
        return
    for name in free:
        together = look.frame.select(*keys, name).drop_nulls()
        if together.height < 4 or not together.select(keys).is_duplicated().any():
            continue
        if together.is_duplicated().any() or together[name].n_unique() > MOST_DRAWS:
            continue
        n = counted(together[name].n_unique(), "answer")
        seen = f"{shortened(name)} numbers {n} of a rater to the same question"
        found.findings.append(Finding(seen, "read as draws", (Option("draw", name),)))
        return


def _name_known(
    table: Table, roles: Roles, config: ReadConfig, understanding: Understanding, look: Look
) -> None:
    """Name the columns that look like known answers, which are used only when asked for."""
    gold = [
        name
        for name in table.columns
        if is_gold(name) and name not in roles.columns and name in look.profiles
    ]
    gold = [name for name in table.columns if is_gold(name) and name not in roles.columns]
    if config.known is not None or understanding.config.known is not None:
        return
    if gold := [name for name in gold if name in look.profiles and look[name].scored]:
        seen = f"{shortened(gold[0])} looks like known answers"
        understanding.take([Finding(seen, "not used", otherwise=Option("known", gold[0]))])


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
    if (item := found.roles.get("item")) is not None:
        student = found.roles.get("student")
        # A question that few answers share says nothing that the answers do not.
        nested = (
            student is not None and look[student].unique and 4 * look[item].distinct > look[student].distinct
        )
        if "{item}" in spread.wide or look[item].unique or nested:
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

    return replace(table, columns=(*table.columns, ROW), take=take, query=None, large=False)


def _say(roles: Roles, understanding: Understanding) -> None:
    """The columns of each role, in so many words."""
    wide = understanding.config.wide is not None or understanding.config.markers is not None
    named = {"student": roles.student, "rater": roles.rater, "item": roles.item}
    if roles.wide and not wide:
        named["items"] = roles.scores
    elif not wide:
        named["score"] = roles.scores
    for role, names in named.items():
        if names and not any(name.startswith("{") and name != ROW for name in names):
            understanding.say([Option(role, names[0] if len(names) == 1 else names)])


FEW = 0.5
"""Share of the rows that a rater's labels may be at most."""


def rater_by_content(columns: Sequence[str], found: Recognised, look: Look) -> None:
    """Fill in the rater, and the student and the score where they are missing: a question, unless the labels are those
    of raters."""
    if "rater" in found.doubtful:
        return
    free = [name for name in columns if name and name not in found.roles.values()]
    guessed = {}
    if "score" not in found.roles and "score" not in found.doubtful:
        scores = [name for name in free if look[name].scored and not is_other(name) and not is_total(name)]
        if len(scores) != 1:
            return
        guessed["score"] = scores[0]
    labels = [
        name
        for name in free
        if name not in guessed.values()
        and look[name].kind in ("labels", "numbers", "scores")
        and not is_other(name)
    ]
    if "student" not in found.roles and "student" not in found.doubtful:
        if not labels:
            return
        guessed["student"] = max(labels, key=lambda name: look[name].distinct)
        labels.remove(guessed["student"])
    student = guessed.get("student") or found.roles.get("student")
    labels = [name for name in labels if 1 < look[name].distinct <= FEW * look[name].filled]
    labels = [name for name in labels if student is None or not depends(look.frame, name, [student])]
    people = [name for name in labels if _of_raters(name, look)]
    candidates = people or labels
    if not candidates:
        return
    guessed["rater"] = candidates[0]
    certain = len(people) == 1 and set(guessed) == {"rater"}
    found.roles |= guessed
    shown = ", ".join(f"{name!r} as the {role}" for role, name in sorted(guessed.items()))
    options = tuple(Option(role, name) for role, name in guessed.items())
    done = f"read with {shown}"
    found.findings.append(Finding(f"no rater column among {listed(columns)}", done, options, certain=certain))


def _of_raters(name: str, look: Look) -> bool:
    labels = look.frame[name].drop_nulls().unique().cast(str).to_list()
    return bool(labels) and sum(map(like_rater, map(str, labels))) > 0.8 * len(labels)
