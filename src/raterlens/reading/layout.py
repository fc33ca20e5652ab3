"""How a table is laid out, and how it becomes one row per rating: wide tables, and markers beside their marks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import BESIDES, COLUMN_ROLES, ROW, ReadConfig, marker_patterns, pattern_fields
from raterlens.reading.columns import Roles, Split, as_told, assign_roles, split_names, those
from raterlens.reading.detection.proposal import Finding, Understanding
from raterlens.reading.detection.roles import (
    Look,
    Recognised,
    depends,
    recognise,
    refuse_preferences,
    verdict_in_text,
)
from raterlens.reading.detection.vocabulary import (
    DRAWS,
    has_rater_word,
    is_final,
    is_gold,
    is_other,
    is_score_word,
    is_total,
    known,
    like_rater,
    plain,
    rater_words,
    stems,
)
from raterlens.reading.detection.wide_layouts import Spread, one_per_item, one_per_rater
from raterlens.reading.formats.table import Rows, Table
from raterlens.reading.truth_columns import second_table

SCORE = "{score}"
MOST_WORDS = 30
"""More different words than this are remarks."""
_NUMBER = re.compile(r"'?\d+(,\d+)?\s*[%/]?")


def to_long(table: Table, pattern: str, only: Sequence[str] = (), but: Sequence[str] = ()) -> Table:
    """The table with one row per rating. Columns that do not fit the pattern, or hold no number, are left as they
    are; so are all but those of `only`, where it names any, and those of `but`."""
    fields = pattern_fields(pattern)
    split = _matching(table.columns, pattern, only, but)
    rows = table.take(table.columns)
    scores = [name for name in split if name in only or _has_scores(rows.frame[name])]
    if not scores:
        raise InputError(
            Message("the columns that fit ", Option("wide", pattern), f" hold no number: {listed(split)}"),
            "check the pattern",
        )
    others = [name for name in table.columns if name not in scores]
    parts = [
        rows.frame.select(
            *others,
            *(pl.lit(label).alias(field) for field, label in zip(fields, split[name], strict=True)),
            pl.col(name).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, name in enumerate(scores)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def take(wanted: Sequence[str]) -> Rows:
        return replace(
            rows,
            frame=long.select(wanted),
            place=lambda i: f"{rows.place(row[i])}, column {shortened(scores[column[i]])}",
        )

    note = f"{counted(len(scores), 'column')} read as {shortened(pattern)}: " + "; ".join(
        f"{field[1:-1]}s {listed(dict.fromkeys(split[name][place] for name in scores), 5)}"
        for place, field in enumerate(fields)
    )
    roles = {field[1:-1]: field for field in (*fields, SCORE)}
    return replace(
        table,
        columns=(*others, *fields, SCORE),
        take=take,
        query=None,
        large=False,
        notes=(*table.notes, note),
        roles=roles,
    )


def _matching(columns: Sequence[str], pattern: str, only: Sequence[str], but: Sequence[str]) -> Split:
    """The labels in the name of every column that fits; raises where one of `only` does not, or none does."""
    split = split_names(
        pattern, pattern_fields(pattern), [name for name in only or columns if name not in but]
    )
    for name in only:
        if name not in columns:
            raise InputError(f"no column {shortened(name)}", those(columns), value=name, option="items")
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
            f"{those(columns)}; write the names as they are, with {{rater}} and {{item}} in place of what "
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


N = "{n}"
RATER, ITEM = "{rater}", "{item}"


@dataclass(frozen=True, slots=True)
class MarkerPairs:
    """Which columns of marks belong to which column of markers."""

    rater: str
    scores: tuple[str, ...]
    """How the columns are called, with {n} for what tells markers apart."""
    places: tuple[str, ...]
    """Values of {n}."""

    @property
    def option(self) -> Option:
        return Option("markers", f"{self.rater}:{','.join(self.scores)}")

    @property
    def columns(self) -> list[str]:
        return [pattern.replace(N, n) for n in self.places for pattern in (self.rater, *self.scores)]


def find_pairs(columns: Sequence[str], look: Look) -> tuple[MarkerPairs, list[Finding]] | None:
    """The pairs that names and contents show, and what is said about them."""
    named = [name for name in columns if has_rater_word(name)]
    if len(named) < 2:
        return None
    people = [name for name in named if look[name].kind in ("labels", "numbers") and not is_final(name)]
    marks = [name for name in columns if look[name].scored and not is_other(name) and name not in people]
    found = [
        MarkerPairs(pattern, scores, places)
        for pattern, places in _templates(people)
        if (scores := _score_patterns(places, [name for name in marks if not _summary(name)]))
    ]
    if not found:
        return None
    pairs = max(found, key=lambda one: (len(one.places), len(one.scores)))
    seen = f"{counted(len(pairs.places), 'marker column')}, each with marks of its own ({listed(pairs.columns, 6)})"
    findings = [Finding(seen, "each mark read with its marker as the rater", (pairs.option,))]
    if left := [name for name in marks if name not in pairs.columns]:
        verb = "is" if len(left) == 1 else "are"
        findings.append(Finding(f"{listed(left)} {verb} nobody's own mark (final or agreed)", "left out"))
    return pairs, findings


def _summary(name: str) -> bool:
    return is_final(name) or is_total(name)


def _templates(names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names with {n} for the part that differs, and the parts."""
    seen = set()
    for first, second in combinations(names, 2):
        start = _alike(first, second).rstrip("0123456789")
        end = _alike(first[len(start) :][::-1], second[len(start) :][::-1])[::-1].lstrip("0123456789")
        middle = first[len(start) : len(first) - len(end)]
        if end[:1].isalpha() and middle[-1:].isalpha():  # Erstprüfer and Zweitprüfer share a t
            end = next((end[k:] for k in range(len(end)) if plain(end[k:]) in known(rater_words())), end)
        pattern = f"{start}{N}{end}"
        if pattern in seen or not start + end or {"{", "}"} & set(start + end):
            continue
        seen.add(pattern)
        fitting = [
            name[len(start) : len(name) - len(end)]
            for name in names
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        ]
        if len(fitting) > 1 and has_rater_word(f"{start} {end}"):
            yield pattern, tuple(fitting)


def _alike(first: str, second: str) -> str:
    """Common start of two names."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(letter for letter, _ in same)


def _score_patterns(places: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """How the columns of marks are called of which every marker has one."""
    first = places[0]
    found: list[str] = []
    for name in marks:
        at = name.find(first)
        while at >= 0:
            pattern = f"{name[:at]}{N}{name[at + len(first) :]}"
            fits = all(pattern.replace(N, n) in marks for n in places)
            if fits and "," not in pattern and pattern not in found:
                found.append(pattern)
                break
            at = name.find(first, at + 1)
    return tuple(found)


def given_pairs(markers: str, columns: Sequence[str]) -> MarkerPairs:
    """The pairs that the user names."""
    for rater, scores in marker_patterns(markers):
        start, _, end = rater.partition(N)
        places = [
            name[len(start) : len(name) - len(end)]
            for name in columns
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        ]
        places = [n for n in places if all(pattern.replace(N, n) in columns for pattern in scores)]
        if places:
            return MarkerPairs(rater, scores, tuple(places))
    raise InputError(
        Message("no columns fit ", Option("markers", markers)),
        f"{those(columns)}; write the names as they are, with {N} in place of what differs",
    )


def pairs_to_long(table: Table, pairs: MarkerPairs) -> Table:
    """One row per mark."""
    rows = table.take(table.columns)
    others = [name for name in table.columns if name not in pairs.columns]
    several = len(pairs.scores) > 1
    wanted = [(n, pattern) for n in pairs.places for pattern in pairs.scores]
    parts = [
        rows.frame.select(
            *others,
            pl.col(pairs.rater.replace(N, n)).cast(pl.String).alias(RATER),
            *([pl.lit(item_of(pattern)).alias(ITEM)] if several else []),
            pl.col(pattern.replace(N, n)).cast(pl.String).alias(SCORE),
            pl.int_range(pl.len()).alias("\0row"),
            pl.lit(place).alias("\0column"),
        )
        for place, (n, pattern) in enumerate(wanted)
    ]
    long = pl.concat(parts).sort("\0row", "\0column")
    long = long.filter(pl.col(RATER).is_not_null() | pl.col(SCORE).is_not_null())
    row, column = long["\0row"].to_list(), long["\0column"].to_list()

    def place(i: int) -> str:
        n, pattern = wanted[column[i]]
        return f"{rows.place(row[i])}, column {shortened(pattern.replace(N, n))}"

    def take(names: Sequence[str]) -> Rows:
        return replace(rows, frame=long.select(names), place=place)

    fields = (RATER, *([ITEM] if several else []), SCORE)
    roles = {field[1:-1]: field for field in fields}
    return replace(table, columns=(*others, *fields), take=take, query=None, large=False, roles=roles)


def item_of(pattern: str) -> str:
    """The item of a column of marks, without the part that names the marker."""
    return pattern.replace(N, "").strip(" _-:./()") or pattern


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
    """Name the student of a row with a score of each rater: the first column that differs from row to row, else its
    number."""
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
