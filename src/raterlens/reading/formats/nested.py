"""Nested records as rows: records within records flattened, lists of judgements read one by one."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import Option, counted, listed
from raterlens.reading.formats.table import Table, table_of
from raterlens.reading.profiles import profile
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import (
    is_identifier,
    last_part,
    like_item,
    like_rater,
    mentions,
    roles_named,
    tier,
    usual_role,
)

Record = Mapping[str, Any]
RATER, ITEM, SCORE = "rater", "item", "score"
NEED = 'each rating is a record such as {"student": 7, "rater": "AM", "score": 1}'
DEEPEST = 6
"""Records within records that are flattened, and lists within lists that are read one by one."""
SAMPLE = 200
"""Records that show what lists hold."""
MOSTLY = 0.8
"""Share of texts that are JSON where they are to be: judges are cut short, or talk."""


def flattened(
    record: Record, prefix: str = "", whole: Sequence[str] = (), depth: int = DEEPEST
) -> dict[str, Any]:
    """The fields of a record, those of records within it called `outer.inner`, but for those to be left `whole`."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth and path not in whole:
            found |= flattened(value, f"{path}.", whole, depth - 1)
        else:
            found[path] = value
    return found


def spread(records: Iterable[Record], *paths: str) -> list[dict[str, Any]]:
    """One flat record per element of the list at each of these paths, one within the other.

    The fields of an element are called `path.field`, its number, or its name in a mapping, `path.#`.

    Examples
    --------
    >>> spread([{"id": 7, "marks": {"Ann": {"style": 1}, "Bob": {"style": 0}}}], "marks")
    [{'id': 7, 'marks.#': 'Ann', 'marks.style': 1}, {'id': 7, 'marks.#': 'Bob', 'marks.style': 0}]
    """
    rows = [flattened(record, whole=paths) for record in records]
    for path in paths:
        rows = [row | element for row in rows for element in _elements(row.pop(path, None), path, paths)]
    return rows


def _elements(held: Any, path: str, whole: Sequence[str]) -> Iterator[dict[str, Any]]:
    pairs = (
        held.items() if isinstance(held, Mapping) else enumerate(held if isinstance(held, list) else [], 1)
    )
    for key, element in pairs:
        inner = element if isinstance(element, Mapping) else {"value": element}
        yield {f"{path}.#": key, **flattened(inner, f"{path}.", whole)}


def plain_table(records: Sequence[Record], name: str) -> Table:
    """Records with the judgements that are nested in them spread out."""
    records, findings = _parsed(records)
    people = _records_of_raters(records[:SAMPLE])
    try:
        rows = [flattened(_first_named(_listed_by_rater(record, people))) for record in records]
        for _ in range(DEEPEST):
            if (opened := _opened(rows[:SAMPLE])) is None:
                break
            rows = [flattened(one) for row in rows for one in opened(row)]
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{name!r} has records of several kinds ({error})", NEED) from error
    if len(rows) != len(records):
        seen = f"{len(records):,} records with {len(rows):,} judgements in them"
        findings.append(Finding(seen, "read one by one"))
    rows, found, roles = _by_place(rows, name)
    frame = frame_of(rows, name)
    # Where some records have a record and others nothing: "audit" beside "audit.label".
    blank = [column for column in frame.columns if frame[column].dtype == pl.Null]
    held = {column for column in blank if any(other.startswith(f"{column}.") for other in frame.columns)}
    return replace(table_of(name, frame.drop(held)), findings=(*findings, *found), roles=roles)


def frame_of(records: Sequence[Record], name: str) -> pl.DataFrame:
    """Flat records as a frame; values of several types under one name as what they are, for `table_of` to make text."""
    if not records:
        raise InputError(f"{name!r} has no records", NEED)
    try:
        return pl.DataFrame(records, infer_schema_length=None)
    except (PolarsError, TypeError):
        names = dict.fromkeys(name for record in records for name in record)
        return pl.DataFrame(
            [pl.Series(name, [record.get(name) for record in records], dtype=pl.Object) for name in names]
        )


def _records_of_raters(records: Sequence[Record]) -> dict[str, str]:
    """Fields with a record for each rater, `"judges": {"gpt-4o": {"score": 3}}`, and the column of raters then."""
    found = {}
    for name in dict.fromkeys(name for record in records for name in record):
        given = [record[name] for record in records if record.get(name)]
        held = [value.values() if isinstance(value, Mapping) else [value] for value in given]
        if not given or not all(isinstance(one, Mapping) for values in held for one in values):
            continue
        keys = {key for value in given for key in value}
        inner = {key for values in held for one in values for key in one}
        named = usual_role(name) == RATER
        people = named or 2 * sum(map(like_rater, keys)) > len(keys)
        if people and _any_named(SCORE, inner) and not _any_named(RATER, inner):
            found[name] = name.removesuffix("s") if named else RATER
    return found


def _listed_by_rater(record: Record, people: Mapping[str, str]) -> Record:
    return {**record} | {
        name: [{column: key, **one} for key, one in (record.get(name) or {}).items()]
        for name, column in people.items()
    }


def _first_named(record: Record) -> Record:
    """With the first of a list of texts for the rater, the others beside it: "judge": ["gpt-4", "single-v1"]."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        several = isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value)
        if several and tier(name, RATER) == 0 and not name.endswith("s"):
            found |= {name: value[0], **{f"{name} {place}": one for place, one in enumerate(value[1:], 2)}}
        else:
            found[name] = value
    return found


def json_columns(records: Sequence[Record]) -> list[str]:
    """Columns whose text is JSON with scores in it, where no other column has them: '{"score": 3, "why": "short"}'."""
    found = []
    names = dict.fromkeys(name for record in records for name in record)
    for name in names:
        values = [_from_json(record[name]) for record in records if record.get(name) not in (None, "")]
        parsed = [value for value in values if value is not None]
        if parsed and len(parsed) >= MOSTLY * len(values) and any(_holds_scores(name, one) for one in parsed):
            found.append(name)
    return [] if SCORE in roles_named(set(names) - set(found)) else found


def _from_json(text: Any) -> Any:
    """The record or list that a text holds, else None."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def _holds_scores(name: str, value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_scores(name, one) for one in value)
    if isinstance(value, Mapping):
        inner = {key: one for key, one in flattened(value).items() if not isinstance(one, str | None)}
        return any(
            _any_named(SCORE, [key]) or like_item(key) or mentions(f"{name} {key}", SCORE) for key in inner
        )
    return isinstance(value, int | float) and mentions(name, SCORE)


def _parsed(records: Sequence[Record]) -> tuple[list[Record], list[Finding]]:
    """Records with the content of JSON texts, and how many texts are not JSON."""
    columns = json_columns(records[:SAMPLE])
    parsed: list[Record] = [
        {**record, **{name: _from_json(record.get(name)) for name in columns}} for record in records
    ]
    findings = []
    for name in columns:
        pairs = zip(records, parsed, strict=True)
        if lost := sum(after[name] is None and before.get(name) not in (None, "") for before, after in pairs):
            findings.append(
                Finding(f"{counted(lost, 'text')} under {name!r} not JSON as the others", "missing")
            )
    return parsed, findings


def _opened(sample: Sequence[Record]) -> Callable[[Record], Iterable[Record]] | None:
    """A function that makes one record per judgement, where a field lists them: as records, as pairs of a rater and a
    score, or as lists of equal length."""
    names = list(dict.fromkeys(name for record in sample for name in record))
    judged = any(tier(name, RATER) == 0 for name in names)
    for name in names:
        given = [record[name] for record in sample if record.get(name)]
        if not given or not all(isinstance(value, list) for value in given):
            continue
        elements = [one for value in given for one in value]
        if all(map(_is_pair, elements)) and not roles_named(names) & {RATER, SCORE}:
            return partial(_pairs, field=name)
        records = [one for one in elements if isinstance(one, Mapping)]
        if all(isinstance(value[0], Mapping) for value in given) and _are_judgements(records, judged):
            return partial(_one_each, field=name)
    lists = _parallel_lists(sample, names)
    return partial(_side_by_side, fields=lists) if lists else None


def _are_judgements(records: Sequence[Record], judged: bool) -> bool:
    """Whether records within a list have a rater or a score in each, or in lists of their own."""
    inner = {key for record in records for key in flattened(record)}
    if any(_is_score_list(*field) for record in records for field in record.items()):
        return True
    named = bool({"name", "model", "source", "metric"} & inner) or _any_named(ITEM, inner)
    if (_any_named(RATER, inner) and len(inner) > 1) or (_any_named(SCORE, inner) and (judged or named)):
        return True
    return _opened(records[:SAMPLE]) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _is_pair(value: Any) -> bool:
    """Whether a list names somebody and a number."""
    return (
        isinstance(value, list)
        and sorted(map(_is_number, value)) == [False, True]
        and any(isinstance(one, str) for one in value)
    )


def _without(record: Record, *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _pairs(record: Record, field: str) -> Iterator[dict[str, Any]]:
    for pair in record.get(field) or []:
        rater, score = sorted(pair, key=_is_number)
        yield {**_without(record, field), RATER: rater, SCORE: score}


def _one_each(record: Record, field: str) -> Iterator[dict[str, Any]]:
    outer = _without(record, field)
    for one in record.get(field) or []:
        inner = {
            (field.removesuffix("s") if key == "name" else f"{field}.{key}" if key in outer else key): value
            for key, value in one.items()
        }
        yield outer | inner


def _side_by_side(record: Record, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    outer = _without(record, *fields)
    for values in zip(*(record.get(name) or [] for name in fields), strict=False):
        yield outer | {name.removesuffix("s"): value for name, value in zip(fields, values, strict=True)}


def _parallel_lists(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Fields with lists of the same length within each record, among them raters and scores."""
    lists = [
        name
        for name in names
        if all(isinstance(record.get(name), list) for record in records)
        and any(record[name] for record in records)
        and not any(isinstance(one, Mapping) for record in records for one in record[name])
    ]
    if len(lists) < 2 or any(len({len(record[name]) for name in lists}) > 1 for record in records):
        return []
    singular = [name.removesuffix("s") for name in lists]
    return lists if _any_named(RATER, singular) and _any_named(SCORE, singular) else []


def _any_named(role: str, names: Iterable[str]) -> bool:
    """Whether a name, or the end of one, is for a role."""
    parts = (part for name in names for part in (name, last_part(name) or name))
    return any(tier(part, role) is not None for part in parts)


def _is_score_list(name: str, value: object) -> bool:
    return isinstance(value, list) and len(value) > 1 and (mentions(name, SCORE) or like_item(name))


def _by_place(
    rows: list[dict[str, Any]], name: str
) -> tuple[list[dict[str, Any]], list[Finding], dict[str, str | list[str]]]:
    """Rows with lists of bare scores taken apart: one score by each rater, and lists within them one per item; lists of
    a rater's own scores are of items. What was found, and the roles that follow."""
    findings, roles = list[Finding](), dict[str, str | list[str]]()
    rated = bool(rows) and any(tier(column, RATER) is not None for column in rows[0])
    for role in (ITEM,) if rated else (RATER, ITEM):
        if not (fields := _score_lists(rows, name)):
            break
        if (
            role == RATER
            and len(fields) > 1
            and len({field.rpartition(".")[0] for field in fields} - {""}) == 1
        ):
            continue  # a record of lists, one for each rater
        places = range(1, 1 + len(rows[0][fields[0]]))
        rows = [one for row in rows for one in _side_by_side({**row, role: places}, [*fields, role])]
        roles |= {role: role} | ({SCORE: fields[0].removesuffix("s")} if len(fields) == 1 else {})
        findings.append(
            Finding(
                f"lists of scores under {listed(fields)}",
                f"read as of {role}s 1, 2 and so on, by their place in the list",
                () if role == RATER else (Option(ITEM, ITEM),),
                certain=role == RATER,
            )
        )
    return rows, findings, roles


def _score_lists(records: Sequence[Record], name: str) -> list[str]:
    """Fields that hold a list of bare scores in every record, or lists of them; raises where their lengths differ, so
    that nothing says who gave which, and nothing else could be a score."""
    some = records[:SAMPLE]
    names = dict.fromkeys(name for record in some for name in record)
    single = [name for name in names if not any(isinstance(one.get(name), list) for one in some)]
    fields = [
        name
        for name in names
        if all(isinstance(one.get(name), list) and len(one[name]) > 1 for one in records)
        and profile(pl.Series([str(value) for one in some for value in _leaves(one[name])])).scored
    ]
    if not any(_is_score_list(name, some[0][name]) for name in fields):
        return []
    for column in single:
        values = [str(one[column]) for one in some if one.get(column) is not None]
        numbers = profile(pl.Series(values)).highest is not None and not is_identifier(column)
        if (numbers and column not in (RATER, ITEM)) or tier(column, SCORE) == 0:
            return []
    lengths = {len(one[name]) for one in records for name in fields}
    if len(lengths) == 1:
        return fields
    seen = f"{listed(fields)} ({min(lengths)} to {max(lengths)} in each record)"
    what = f"{name!r} has lists of scores under {seen}, and nothing says who gave which"
    raise InputError(what, NEED, value=fields)


def _leaves(value: Any) -> Iterator[Any]:
    """The values of lists within lists."""
    if isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value
