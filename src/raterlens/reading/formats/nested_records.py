"""Records within records: tables that JSON holds by columns, and lists of judgements per answer, as flat records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raterlens.reading.detection.vocabulary import last_part, tier

Record = Mapping[str, Any]


def table_records(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of a document that holds a table: pandas' `split`, `columns` and `index`, tables of Weights & Biases and
    MLflow, or lists of equal length; None where it holds none."""
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        names = [
            str(column.get("name", column)) if isinstance(column, Mapping) else str(column)
            for column in columns
        ]
        return [dict(zip(names, row, strict=False)) for row in data] if data else None
    values = list(document.values())
    if len(values) < 2:
        return None
    if all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1:
        if values[0] and not any(isinstance(one, Mapping | list) for value in values for one in value[:5]):
            return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
        return None
    if all(isinstance(value, Mapping) and len(value) > 1 for value in values):
        keys = list(values[0])
        if all(map(str.isdigit, document)) and all(list(value) == keys for value in values):
            return [dict(value) for value in values]
        if all(list(value) == keys for value in values) and all(str(key).isdigit() for key in keys):
            return [{name: document[name][key] for name in document} for key in keys]
    return None


def exploded(records: Sequence[Record]) -> list[dict[str, Any]]:
    """One record per judgement, where a field lists them: as records, or as lists of equal length."""
    some = records[:200]
    if field := _list_of_judgements(some):
        return [dict(row) for record in records for row in _one_each(record, field)]
    if fields := _parallel_lists(some):
        return [dict(row) for record in records for row in _side_by_side(record, fields)]
    return [dict(record) for record in records]


def _list_of_judgements(records: Sequence[Record]) -> str | None:
    """The field that holds a list of records with a rater or a score in each."""
    names = dict.fromkeys(name for record in records for name in record)
    for name in names:
        given = [record[name] for record in records if record.get(name)]
        if not given or not all(isinstance(value, list) and isinstance(value[0], Mapping) for value in given):
            continue
        inner = {str(key) for value in given for one in value if isinstance(one, Mapping) for key in one}
        roles = {role for key in inner for role in ("rater", "score") if tier(key, role) is not None}
        roles |= {
            role
            for key in inner
            for role in ("rater", "score")
            if tier(last_part(key) or key, role) is not None
        }
        if "score" in roles and ("rater" in roles or {"name", "model", "source", "metric"} & inner):
            return name
    return None


def _one_each(record: Record, field: str) -> Iterator[dict[str, Any]]:
    outer = {name: value for name, value in record.items() if name != field}
    for one in record.get(field) or []:
        inner = {(f"{field}.{key}" if key in outer else key): value for key, value in one.items()}
        yield outer | inner


def _parallel_lists(records: Sequence[Record]) -> list[str]:
    """Fields with lists of the same length within each record, among them raters and scores."""
    names = list(dict.fromkeys(name for record in records for name in record))
    lists = [
        name
        for name in names
        if all(isinstance(record.get(name), list) for record in records)
        and any(record[name] for record in records)
        and not any(isinstance(one, Mapping | list) for record in records for one in record[name])
    ]
    if len(lists) < 2 or any(len({len(record[name]) for name in lists}) > 1 for record in records):
        return []
    singular = [name.removesuffix("s") for name in lists]
    rated = any(
        tier(name, "rater") is not None or tier(last_part(name), "rater") is not None for name in singular
    )
    scored = any(
        tier(name, "score") is not None or tier(last_part(name), "score") is not None for name in singular
    )
    return lists if rated and scored else []


def _side_by_side(record: Record, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    outer = {name: value for name, value in record.items() if name not in fields}
    for values in zip(*(record.get(name) or [] for name in fields), strict=False):
        yield outer | {name.removesuffix("s"): value for name, value in zip(fields, values, strict=True)}


def flattened(record: Record, prefix: str = "", depth: int = 6) -> Iterator[tuple[str, Any]]:
    """The fields of a record, those of records within it called `outer.inner`; lists of single values by their text."""
    for name, value in record.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth:
            yield from flattened(value, f"{full}.", depth - 1)
        else:
            yield full, value
