"""Which column plays which role: as the user says, else as the file does, else as names and content suggest."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from string import ascii_uppercase

import polars as pl

from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import BESIDES, COLUMN_ROLES, ROW, ReadConfig
from raterlens.reading.formats.table import MELTED, Rows, Table, unmelted, with_cells_filled, without_headers
from raterlens.reading.marker_pairs import find_pairs, given_pairs, pairs_to_long
from raterlens.reading.read_plan import Finding, ReadPlan
from raterlens.reading.roles import (
    ColumnSample,
    DetectedRoles,
    by_crossing,
    depends,
    detect_roles,
    tell_repeats_apart,
)
from raterlens.reading.vocabulary import (
    is_gold,
    is_other,
    is_score_word,
    is_total,
    known,
    like_rater,
    nearly_all,
    plain,
    said,
    stems,
    tier,
)
from raterlens.reading.wide_layouts import (
    STUDENT,
    Spread,
    likely_pattern,
    name_columns,
    one_per_item,
    one_per_rater,
    one_per_student,
    sums_up,
    to_long,
)

ASIDE = ("piece", "draw", "group")
MOST_DRAWS = 1000
FEW_WORDS = 8
"""Most different words, and fewest rows, of a column that is proposed for the score."""
FEW = 0.5
"""Share of the rows that a rater's labels may be at most."""


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


@dataclass(frozen=True, slots=True)
class _Draft:
    """A table whose roles are being settled."""

    table: Table
    config: ReadConfig
    """The request about the columns of this table, which may have been made long."""
    plan: ReadPlan
    found: DetectedRoles = field(default_factory=DetectedRoles)


def resolve_layout(opened: Table, plan: ReadPlan) -> tuple[Table, Roles, ReadPlan]:
    """The table, made long where raters have columns of their own, its roles, and the plan with what was found."""
    if not plan.config.as_written:
        opened = with_cells_filled(without_headers(opened))
        if not {*MELTED} & {*plan.config.taken(*COLUMN_ROLES)}:
            opened = unmelted(opened)
        plan = plan.add(one for one in opened.findings if one not in plan.findings)
    draft = _reshaped(opened, plan)
    config, notes = with_roles_from_file(draft.table.roles, draft.config)
    look = ColumnSample(draft.table)
    scored = config.score is not None or config.items is not None or config.wide is not None
    if not scored:
        refuse_preferences(draft.table.columns, look)
        refuse_counts(draft.table.columns, look)
    found = detect_roles(draft.table.columns, config, look)
    if plan.config.wide is not None and (item := found.roles.get("item")) in opened.columns:
        # As where the layout is recognised: the options that describe it must read the same.
        student = plan.config.student if isinstance(plan.config.student, str) else found.roles.get("student")
        if _says_nothing_more(item, student if student in opened.columns else None, ColumnSample(opened)):
            found = found.without("item")
    if draft.table.settled:
        notes, found = [], found.without("item").doubt("item", ())
    if draft.table.columns != opened.columns and config.student is None and found.is_open("student"):
        kept = [name for name in draft.table.columns if name in opened.columns]
        if (student := _naming_rows(kept, ColumnSample(opened))) is not None:
            found = found.assign({"student": student})
    draft = replace(draft, config=config, found=found)
    if not scored:
        draft = _several_scores(replace(draft, found=_without_prose(found, look)), look)
        if draft.config.score is None and draft.config.items is None and "score" not in draft.found.roles:
            draft = replace(draft, found=_unlikely_score(draft.table, draft.found, look))
    table, found = draft.table, draft.found
    long = look if table.columns == look.columns else ColumnSample(table)
    found = tell_repeats_apart(table.columns, draft.config, long, found)
    found = found.add(*_draws(table, draft.config, found, look))
    plan = draft.plan.add(found.findings)
    said = {option.name: option.value for finding in found.findings for option in finding.options}
    config = draft.config.changed(**said)
    roles = assign_roles(table.columns, config, found)
    plan = plan.set_options(_role_options(roles, plan.config))
    if plan.config.known is None:
        plan = plan.add(_unused_answers(opened, roles, look))
    plan = plan.add(() if scored or table.columns != look.columns else _unused_scores(table, roles, look))
    return replace(table, notes=(*table.notes, *notes)), roles, plan


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


def _reshaped(table: Table, plan: ReadPlan) -> _Draft:
    """One row per rating where the user says how, or where markers have columns of their own beside their marks."""
    config = plan.config
    if is_separate_table(config.known, table.columns):
        config = config.changed(known=None)
    if ROW in config.names("student"):
        table = numbered(table)
    if config.wide is not None:
        table = to_long(table, config.wide, config.names("items"), config.taken("student", *BESIDES))
        config = config.changed(items=None)
    if config.markers is not None:
        return _Draft(pairs_to_long(table, given_pairs(config.markers, table.columns)), config, plan)
    if any(getattr(config, role) is not None for role in ("rater", "score", "items", "wide")) or table.roles:
        return _Draft(table, config, plan)
    if (found := find_pairs(table.columns, ColumnSample(table))) is None:
        return _Draft(table, config, plan)
    pairs, findings = found
    return _Draft(pairs_to_long(table, pairs), config, plan.add(findings))


def _without_prose(found: DetectedRoles, look: ColumnSample) -> DetectedRoles:
    """Without a score column by a weak name whose texts hold a verdict each."""
    name = found.roles.get("score")
    if name is None or len(look.columns) <= len(found.roles):
        return found
    if tier(name, "score") == 0 and look.beginning(name).kind != "labels":
        return found
    try:
        others = [other for other in look.columns if look[other].scored and not is_other(other)]
    except InputError:  # a bad value in a column that may not be needed; the reader of that column reports it
        return found
    if look[name].scored:
        computed = tier(name, "score") == 1 and len(others) > 2 and sums_up(name, others, look.frame)
        return found.without("score") if computed else found
    if len(others) > 1 and look[name].kind == "labels" and not set(others) & set(found.roles.values()):
        return found.without("score")  # "Rating": 1st, 2nd
    if tier(name, "score") == 0 or verdict_in_text([name], look) is None:
        return found
    return found.without("score")


def _unlikely_score(table: Table, found: DetectedRoles, look: ColumnSample) -> DetectedRoles:
    """Where no column holds scores: verdicts in texts, or the only column of other numbers."""
    free = [name for name in table.columns if name not in found.roles.values() and name in look.profiles]
    finding = verdict_in_text(free, look)
    student = [found.roles[role] for role in ("student",) if role in found.roles]
    free = [name for name in free if not student or not depends(look.frame, name, student)]
    numbers = [name for name in free if look[name].kind == "numbers" and not is_other(name)]
    if finding is None and len(numbers) == 1 and "score" not in found.doubtful:
        seen = f"no score column by name, and {shortened(numbers[0])} the only one of numbers"
        finding = Finding(seen, "read as the score", (Option("score", numbers[0]),), certain=False)
    words = [name for name in free if look[name].kind == "labels" and not is_other(name)]
    words = [name for name in words if 1 < look[name].distinct <= FEW_WORDS <= look[name].filled]
    words = [name for name in words if not stems(name) & known("variants")]
    if finding is None and len(words) == 1 and {"student", "rater"} <= found.roles.keys():
        seen = f"no score column by name, and {shortened(words[0])} the only one of a few words"
        finding = Finding(seen, "read as the score", (Option("score", words[0]),), certain=False)
    return found if finding is None else found.doubt("score", ()).add(finding)


PATTERNS = (
    r"\[\[\s*([^\[\]]+?)\s*\]\]",
    r"(?i)(?:rating|score|grade|verdict|judge?ment|answer|result|punkte|note|urteil)[\"']?\**\s*[:=]\s*\**\s*[\"'(]?([A-Za-z]+|\d+(?:\.\d+)?)",
    r"<(?:score|rating|verdict|answer)>\s*([^<]+?)\s*</",
)
VERDICTS_FIT, MOST_VERDICTS = 0.8, 30
"""The share of texts that a pattern must fit, and how many different verdicts it may find."""
_VERDICT_NUMBER = re.compile(r"\d+(\.\d+)?")


def verdict_in_text(columns: Sequence[str], look: ColumnSample) -> Finding | None:
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
            return Finding(
                f"{shortened(name)} holds texts with a verdict in each, such as {shown}",
                f"{shortened(found[0])} read from it",
                (Option("score", name), Option("pattern", pattern)),
                certain=False,
            )
    return None


def _draws(table: Table, config: ReadConfig, found: DetectedRoles, look: ColumnSample) -> Iterator[Finding]:
    """A column that numbers a rater's answers to the same question."""
    taken = {*config.taken(*COLUMN_ROLES), *found.roles.values()}
    free = [name for name in table.columns if name not in taken and stems(name) & known("draws")]
    if config.draw is not None or not free:
        return
    named = [(found.roles.get(role), *config.names(role)) for role in ("student", "rater", "item")]
    every = dict.fromkeys(name for names in named for name in names if name is not None)
    keys = [name for name in every if name in look.frame.columns]
    if not keys:
        return
    for name in (name for name in free if name in look.frame.columns):
        together = look.frame.select(*keys, name).drop_nulls()
        if together.height < 4 or not together.select(keys).is_duplicated().any():
            continue
        if together.is_duplicated().any() or together[name].n_unique() > MOST_DRAWS:
            continue
        n = counted(together[name].n_unique(), "answer")
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
    if others := one_per_item(free, [roles.student, roles.rater], look).items:
        alternative = Option("score", others[0]) if roles.item else Option("items", (*roles.scores, *others))
        seen = f"{listed(others)} could be {'a score' if len(others) == 1 else 'scores'}, too"
        yield Finding(seen, "not used", alternative=alternative)


def _several_scores(draft: _Draft, look: ColumnSample) -> _Draft:
    """Where one row has several scores: an item each or, without a rater, a rater each."""
    table, config, found = draft.table, draft.config, draft.found
    if "rater" in found.doubtful:
        return draft
    given = {role: config.names(role) for role in ("student", "rater", "item", *BESIDES)}
    named: dict[str, Sequence[str]] = {**given, **{role: (name,) for role, name in found.roles.items()}}
    free = [name for name in table.columns if not any(name in names for names in named.values())]
    if named["rater"]:
        if not found.is_open("score"):
            return draft
        if not named["student"] and (spread := one_per_student(free, named["rater"], look)).wide is not None:
            return _one_row_per_rating(draft, look, spread)
        return _one_per_item(draft, free, named, look)
    if not config.student and (spread := one_per_student(table.columns, (), look)).wide is not None:
        (rater,) = (
            option.value
            for finding in spread.findings
            for option in finding.options
            if option.name == "rater"
        )
        found = found.without("student", "item", "score").doubt("student", ()).assign({"rater": rater})
        return _one_row_per_rating(replace(draft, found=found), look, spread)
    scores = [name for name in free if look[name].scored and not is_other(name)]
    apart = not named["item"] and len(named["student"]) < 2
    if apart and len(scores) > 1 and not any(map(like_rater, scores)):
        students = found.assign({"student": named["student"][0]} if named["student"] else {})
        crossed = by_crossing(free, look, students, alone=True)
        if crossed is not students:
            return _two_apart(draft, crossed, free, named, look)
    score = found.roles.get("score")
    others = found.without("score")
    spread = one_per_rater(free if score is None else [*free, score], look, two_headers=table.two_headers)
    if spread.wide is not None:
        if len(named["student"]) == 1 and _come_again(named["student"][0], named["item"], look):
            spread.findings[-1] = replace(spread.findings[-1], certain=False)
        return _one_row_per_rating(replace(draft, found=others), look, spread)
    if score is not None and not look[score].scored and look[score].kind != "numbers":
        found = others
    return replace(draft, found=rater_by_content(table.columns, found, look))


def _two_apart(
    draft: _Draft,
    crossed: DetectedRoles,
    free: list[str],
    named: Mapping[str, Sequence[str]],
    look: ColumnSample,
) -> _Draft:
    """With two columns that tell the rows apart: a student and a rater or, beside a panel A, B, C, a student and a
    round."""
    letters = sorted(name for name in free if len(name) == 1 and look[name].scored)
    if len(letters) > 2 and letters == [*ascii_uppercase[: len(letters)]] and not named["student"]:
        return _panel_and_rounds(draft, crossed, look)
    roles = {role: crossed.roles[role] for role in ("student", "rater") if not named[role]}
    draft = replace(draft, found=replace(draft.found.assign(roles), findings=crossed.findings))
    if not draft.found.is_open("score"):
        return draft
    free = [name for name in free if name not in roles.values()]
    return _one_per_item(draft, free, {**named, **{role: (name,) for role, name in roles.items()}}, look)


def _panel_and_rounds(draft: _Draft, crossed: DetectedRoles, look: ColumnSample) -> _Draft:
    """With a column per member of a panel, and rows that two columns tell apart: a student in a round, perhaps."""
    student, item = crossed.roles["student"], crossed.roles["rater"]
    options = (Option("student", student), Option("item", item))
    seen = (
        f"columns called A, B and so on, and each {shortened(student)} occurs with several {shortened(item)}"
    )
    done = f"{shortened(student)} read as the student and {shortened(item)} as the item"
    question = Finding(seen, done, options, certain=False)
    found = draft.found.without("score").doubt("student", ()).assign({"student": student, "item": item})
    free = [name for name in draft.table.columns if name not in (student, item)]
    spread = one_per_rater(free, look, two_headers=draft.table.two_headers)
    if spread.wide is None:
        return draft
    return _one_row_per_rating(replace(draft, found=found.add(question)), look, spread)


def _one_per_item(
    draft: _Draft, free: Sequence[str], named: Mapping[str, Sequence[str]], look: ColumnSample
) -> _Draft:
    spread = one_per_item(free, [named["student"], named["rater"]], look)
    config, found = draft.config, draft.found
    if len(spread.items) == 1 and look[spread.items[0]].distinct > 1:
        found = found.assign({"score": spread.items[0]})
    elif len(spread.items) > 1:
        found = found.without("item")
        config = config.changed(items=spread.items, item=None)
    return _Draft(draft.table, config, draft.plan.add(spread.findings), found)


def _one_row_per_rating(draft: _Draft, look: ColumnSample, spread: Spread) -> _Draft:
    assert spread.wide is not None
    table, config, found = draft.table, draft.config, draft.found
    item = found.roles.get("item")
    if item and ("{item}" in spread.wide or _says_nothing_more(item, found.roles.get("student"), look)):
        found = found.without("item")
    found = found.doubt("score", ())
    if config.student is None and found.is_open("student") and STUDENT not in spread.wide:
        taken = {*spread.items, *found.roles.values()}
        free = [name for name in table.columns if name not in taken]
        found = found.assign({"student": _naming_rows(free, look) or ROW})
    if found.roles.get("student") == ROW:
        table = numbered(table)
    long = to_long(table, spread.wide, spread.items, config.taken("student", *BESIDES))
    config, _ = with_roles_from_file(long.roles, config)
    found = found.without(*(role for role in found.roles if getattr(config, role) is not None))
    return _Draft(long, config, draft.plan.add(spread.findings), found)


def _come_again(student: str, items: Sequence[str], look: ColumnSample) -> bool:
    """Whether most students have several rows, which no item tells apart: of several raters, perhaps."""
    keys = [name for name in (student, *items) if name in look.frame.columns]
    return student in keys and 2 * int(look.frame.select(keys).is_duplicated().sum()) > look.frame.height


def _says_nothing_more(item: str, student: str | None, look: ColumnSample) -> bool:
    """Whether an item column of a table with a row per student says nothing that the students do not: a question that
    few answers share."""
    if look[item].unique:
        return True
    return student is not None and look[student].unique and 4 * look[item].distinct > look[student].distinct


def _naming_rows(columns: Sequence[str], look: ColumnSample) -> str | None:
    """The first column that differs from row to row: the student of tables with a row per student."""
    kinds = ("labels", "numbers", "scores", "marks")
    return next((name for name in columns if look[name].unique and look[name].kind in kinds), None)


def _role_options(roles: Roles, config: ReadConfig) -> Iterator[Option]:
    """The columns of each role, as explicit options."""
    wide = config.wide is not None or config.markers is not None
    named = {"student": roles.student, "rater": roles.rater, "item": roles.item}
    if not wide:
        named["items" if roles.wide else "score"] = roles.scores
    for role, names in named.items():
        if names and not any(name.startswith("{") and name != ROW for name in names):
            yield Option(role, names[0] if len(names) == 1 else names)


def rater_by_content(columns: Sequence[str], found: DetectedRoles, look: ColumnSample) -> DetectedRoles:
    """Fill in the rater, and the student and the score where they are missing: a question, unless the labels are those
    of raters."""
    if "rater" in found.doubtful:
        return found
    free = [name for name in columns if name and name not in found.roles.values()]
    guessed = {}
    if found.is_open("score"):
        scores = [name for name in free if look[name].scored and not is_other(name) and not is_total(name)]
        if len(scores) != 1:
            return found
        guessed["score"] = scores[0]
    labels = [
        name
        for name in free
        if name not in guessed.values()
        and look[name].kind in ("labels", "numbers", "scores")
        and not is_other(name)
    ]
    crossed = by_crossing(labels, look, found)
    guessed |= {role: name for role, name in crossed.roles.items() if role not in found.roles}
    if found.is_open("student") and "student" not in guessed:
        if not labels:
            return found
        guessed["student"] = max(labels, key=lambda name: look[name].distinct)
    student = guessed.get("student") or found.roles.get("student")
    labels = [name for name in labels if name != student]
    labels = [name for name in labels if 1 < look[name].distinct <= FEW * look[name].filled]
    labels = [name for name in labels if student is None or not depends(look.frame, name, [student])]
    labels = [name for name in labels if not stems(name) & known("occasions", "draws")]
    people = [name for name in labels if nearly_all(like_rater, look.frame[name])]
    candidates = people or ([guessed["rater"]] if "rater" in guessed else labels)
    if not candidates:
        return found
    guessed["rater"] = candidates[0]
    certain = len(people) == 1 and set(guessed) == {"rater"}
    shown = ", ".join(f"{name!r} as the {role}" for role, name in sorted(guessed.items()))
    options = tuple(Option(role, name) for role, name in guessed.items())
    seen = f"no rater column among {listed(columns)}"
    return found.assign(guessed).add(Finding(seen, f"read with {shown}", options, certain=certain))


def assign_roles(columns: Sequence[str], config: ReadConfig, found: DetectedRoles) -> Roles:
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


def _refuse_open(role: str, columns: Sequence[str], found: DetectedRoles) -> None:
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
    for one, other in _SIDES:
        for short, name in names.items():
            stem = re.sub(rf"(^|_){one}($|_)", "", short, count=1)
            partner = next(
                (
                    names[full]
                    for full in names
                    if full != short and re.fullmatch(re.escape(short[: -len(one)]) + other, full)
                ),
                None,
            )
            if partner is None or not short.endswith(one) or (stem and stem not in known("compared")):
                continue
            if (winner := _winner([name, partner], names, look)) is not None:
                raise _preferences([name, partner, winner])


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
