"""JSON: a list of records, one record per line, tables by columns, or what annotation and evaluation tools export."""

import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.base.text import listed
from raterlens.config import ReadConfig
from raterlens.reading.formats.delimited import encoding_of
from raterlens.reading.formats.table import (
    Table,
    check_archive,
    decoded,
    read_whole,
    require,
    table_of,
)
from raterlens.reading.formats.tool_exports import (
    ANNOTATION_TOOLS,
    DOCUMENTS,
    EVALUATION_TOOLS,
    OBSERVABILITY_TOOLS,
    Export,
    Record,
    flattened,
    refuse_aggregates,
)
from raterlens.reading.read_plan import Finding
from raterlens.reading.roles import profile
from raterlens.reading.vocabulary import is_identifier, last_part, like_item, like_rater, mentions, tier

_TOOLS = (
    '"annotations"',
    '"annotation_id"',
    '"responses"',
    "responses.users",
    '"_input_hash"',
    '"label"',
    '"doc_id"',
    '"scores"',
    '"traceId"',
    '"assessments"',
    '"annotation_name"',
    '"sample_id"',
    '"spec"',
    '"gradingResult"',
)
"""Fields that exports of tools have."""
_DOCUMENTS = ('"testCases"', '"gradingResult"', '"evalId"', '"conversationalTestCases"', '"eval"')
RATER = "rater"
"""The column of the place of a score in its list."""
NEED = 'each rating is a record such as {"student": 7, "rater": "AM", "score": 1}'


def read_json(path: Path, config: ReadConfig) -> Table:
    """Open JSON lines, an array of records, or what a tool exports; fields of records within records are called
    `outer.inner`."""
    with path.open("rb") as file:
        start = file.read(4096)
    encoding, findings = (config.encoding, []) if config.encoding else encoding_of(path)
    text = start.decode(_codec(encoding), errors="ignore").lstrip()
    if not text:
        raise InputError(f"{path.name!r} is an empty file", NEED)
    table = _opened(path, encoding, text)
    return replace(table, findings=(*findings, *table.findings))


def _opened(path: Path, encoding: str, start: str) -> Table:
    if start.startswith("["):
        records = _array(path, encoding)
        return _exported(records, path.name) or _plain_table(records, path)
    if any(mark in start for mark in _DOCUMENTS) or not _whole(start.splitlines()[0]) or _alone(path, start):
        document = _document(path, encoding)
        if document is not None:
            return _within(document, path)
    if any(mark in start for mark in _TOOLS):
        records = list(_parsed_lines(path, encoding))
        if (table := _exported(records, path.name)) is not None:
            return table
    frame = _lines(path, encoding)
    if any(dtype in (pl.List, pl.Object) or dtype.is_nested() for dtype in frame.dtypes):
        return _plain_table(list(_parsed_lines(path, encoding)), path)
    return table_of(path.name, frame)


_ZSTANDARD, _LOCAL_HEADER = 93, 30
_DAMAGES = (BadZipFile, NotImplementedError, struct.error, ValueError, RecursionError, KeyError)
"""Errors of an archive that is cut short, or compressed in a way that zipfile does not know."""


def read_archived_log(path: Path, config: ReadConfig) -> Table:
    """Open a log of Inspect AI that is an archive: `summaries.json` has the scores of every sample, the samples
    themselves where an evaluation was interrupted."""
    check_archive(path)
    try:
        with ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}

            def load(name: str) -> Any:
                return json.loads(_member(path, archive, members[name]))

            log = load("header.json" if "header.json" in members else "_journal/start.json")
            summed_up = "summaries.json" in members
            samples = (
                load("summaries.json")
                if summed_up
                else [load(name) for name in members if name.startswith("samples/")]
            )
    except _DAMAGES as error:
        raise InputError(
            f"{path.name!r} is not a whole log of Inspect AI ({error})",
            "write the log again, or convert it with: inspect log convert",
        ) from error
    return _within({**log, "samples": samples}, path)


def _member(path: Path, archive: ZipFile, info: ZipInfo) -> bytes:
    """A file of an archive; compressed by Zstandard, which Python's zipfile does not know before 3.14, as well."""
    if info.compress_type != _ZSTANDARD:
        return archive.read(info)
    zstandard = require("zstandard", "zst", path.name)
    with path.open("rb") as file:
        file.seek(info.header_offset)
        name, extra = struct.unpack("<26xHH", file.read(_LOCAL_HEADER))
        file.seek(name + extra, 1)
        packed = file.read(info.compress_size)
    try:
        return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    except zstandard.ZstdError as error:
        raise BadZipFile(f"{info.filename}: {error}") from error


def table_of_records(records: list[dict[str, Any]], name: str) -> Table:
    """Records of a file that is no JSON."""
    return _exported(records, name) or _plain_table(records, Path(name))


def _plain_table(records: list[dict[str, Any]], path: Path) -> Table:
    """Records with what is nested in them spread out."""
    rows = exploded([_first_named(record) for record in records])
    findings: tuple[Finding, ...] = ()
    if len(rows) != len(records):
        findings = (
            Finding(f"{len(records):,} records with {len(rows):,} judgements in them", "read one by one"),
        )
    roles: Mapping[str, str | list[str]] = {}
    if fields := _score_lists(rows, path):
        places = list(range(1, 1 + len(rows[0][fields[0]])))
        rows = [one for row in rows for one in _side_by_side({**row, RATER: places}, [*fields, RATER])]
        done = "read as of raters 1, 2 and so on, by their place in the list"
        findings = (*findings, Finding(f"lists of scores under {listed(fields)}", done))
        roles = {"rater": RATER} | ({"score": fields[0].removesuffix("s")} if len(fields) == 1 else {})
    frame = _frame([dict(flattened(row)) for row in rows], path)
    return replace(table_of(path.name, frame), findings=findings, roles=roles)


def _first_named(record: Record) -> Record:
    """With the first of a list of texts for the rater, the others beside it: "judge": ["gpt-4", "single-v1"]."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        several = isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value)
        if several and tier(name, "rater") == 0 and not name.endswith("s"):
            found |= {name: value[0], **{f"{name} {place}": one for place, one in enumerate(value[1:], 2)}}
        else:
            found[name] = value
    return found


def _exported(records: list[dict[str, Any]], name: str) -> Table | None:
    """The table that a tool's export makes, where it is one."""
    if not records:
        return None
    within = records[0].get("info")  # where traces of MLflow have it
    keys = [*records[0], *(within if isinstance(within, dict) else ())]
    if not any(mark.strip('"') in key for mark in _TOOLS for key in keys):
        return None
    return _by_tool((*ANNOTATION_TOOLS, *EVALUATION_TOOLS, *OBSERVABILITY_TOOLS), records, name)


def _by_tool(tools: Sequence[Callable[[Any], Export | None]], content: Any, name: str) -> Table | None:
    """The table by the first of these tools that knows the content."""
    for tool in tools:
        try:
            export = tool(content)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{name!r} looks like an export of {tool.__name__.replace('_', ' ')}, but not as this release knows it "
                f"({type(error).__name__}: {error})",
                "export it as csv",
            ) from error
        if export is not None:
            return export.table(name)
    return None


def _within(document: dict[str, Any], path: Path) -> Table:
    """A document of a tool, or one with a list of records in it."""
    if (table := _by_tool(DOCUMENTS, document, path.name)) is not None:
        return table
    refuse_aggregates(document, path.name)
    if (rows := table_records(document)) is not None:
        return _plain_table(rows, path)
    lists = {
        name: value
        for name, value in document.items()
        if isinstance(value, list) and value and all(isinstance(record, dict) for record in value)
    }
    if len(lists) != 1:
        return _plain_table([document], path)
    name, records = next(iter(lists.items()))
    table = _exported(records, path.name) or _plain_table(records, path)
    return replace(table, findings=(Finding(f"a list of records under {name!r}", "read"), *table.findings))


def _document(path: Path, encoding: str) -> dict[str, Any] | None:
    """The whole file as one record; None where it is not."""
    try:
        document = json.loads(_text(path, encoding))
    except (json.JSONDecodeError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _alone(path: Path, start: str) -> bool:
    """Whether the first line is all there is, or too long to see where it ends: a document, perhaps."""
    with path.open("rb") as file:
        first = file.readline()
        return not file.read(4096).strip() and len(first) >= len(start.encode())


def _whole(line: str) -> bool:
    try:
        json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        return len(line) > 3000  # cut off where the first bytes end
    return True


def _lines(path: Path, encoding: str) -> pl.DataFrame:
    try:
        if encoding == "utf-8":
            content = read_whole(path)
            _refuse_surrogates(content, path)
            return pl.read_ndjson(content, infer_schema_length=None)
    except (PolarsError, OSError):
        pass  # read again, slowly: Python's json names the line at fault, or copes
    return _frame(list(_parsed_lines(path, encoding)), path)


def _parsed_lines(path: Path, encoding: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_text(path, encoding).splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except RecursionError:
            raise _too_deep(path, f", line {number:,},") from None
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path.name!r}, line {number:,}, is not JSON ({error.msg} at character {error.colno}): {line[:60]!r}",
                "give one whole record per line, or write the file again if it was cut short",
                value=line,
            ) from error
        if not isinstance(record, dict):
            raise InputError(f"{path.name!r}, line {number:,}, is {line[:60]!r}", NEED, value=record)
        yield record


def _array(path: Path, encoding: str) -> list[dict[str, Any]]:
    try:
        records = json.loads(_text(path, encoding))
    except RecursionError:
        raise _too_deep(path) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path.name!r} is not JSON from line {error.lineno:,} on: {error.msg}",
            "write the file again if it was cut short",
        ) from error
    for place, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(
                f"{path.name!r}: element {place:,} of the list is {str(record)[:60]!r}", NEED, value=record
            )
    return list(records)


def _too_deep(path: Path, where: str = "") -> InputError:
    return InputError(f"{path.name!r}{where} has lists or records nested too deeply to be ratings", NEED)


_HALF = re.compile(rb"\\u[dD]")
_LONE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"  # an escape of its own, not part of an escaped backslash
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


def _refuse_surrogates(content: bytes, path: Path) -> None:
    """Raise where an escape is half of a character, which no text can hold."""
    if not _HALF.search(content):
        return
    if found := _LONE.search(content):
        line = content.count(b"\n", 0, found.start()) + 1
        half = found[2].decode()
        raise InputError(
            f"{path.name!r}, line {line:,}, has {half}, half of a character",
            "write the file again: a text was cut in the middle of a character",
            value=half,
        )


def _text(path: Path, encoding: str) -> str:
    content = read_whole(path)
    _refuse_surrogates(content, path)
    return decoded(content, path.name, encoding)


def _codec(encoding: str) -> str:
    """A byte order mark is no part of the text."""
    return "utf-8-sig" if encoding == "utf-8" else encoding


def _frame(records: list[dict[str, Any]], path: Path) -> pl.DataFrame:
    if not records:
        raise InputError(f"{path.name!r} has no records", NEED)
    try:
        return pl.DataFrame(records, infer_schema_length=None)
    except (PolarsError, TypeError):
        # Values of several types under one name: as what they are, for `table_of` to take them as text.
        names = list(dict.fromkeys(name for record in records for name in record))
        return pl.DataFrame(
            [pl.Series(name, [record.get(name) for record in records], dtype=pl.Object) for name in names]
        )


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
    if not all(isinstance(value, Mapping) and len(value) > 1 for value in values):
        return None
    keys = list(values[0])
    alike = all(list(value) == keys for value in values)
    if alike and not all(map(str.isdigit, document)) and all(str(key).isdigit() for key in keys):
        return [{name: document[name][key] for name in document} for key in keys]
    if all(map(like_rater, document)) and not any(tier(key, "score") is not None for key in keys):
        return [
            {"student": key, "rater": rater, **(own if isinstance(own, Mapping) else {"score": own})}
            for rater, given in document.items()
            for key, own in given.items()
        ]
    if alike or len({key for value in values for key in value}) <= len(values):
        ids = {} if all(map(str.isdigit, document)) and alike else {"id": ""}
        return [{**({"id": name} if ids else {}), **value} for name, value in document.items()]
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
    judged = any(tier(name, "rater") == 0 for name in names)
    for name in names:
        given = [record[name] for record in records if record.get(name)]
        if not given or not all(isinstance(value, list) and isinstance(value[0], Mapping) for value in given):
            continue
        inner = {
            key for value in given for one in value if isinstance(one, Mapping) for key, _ in flattened(one)
        }
        roles = {role for role in ("rater", "score") if _any_named(role, inner)}
        if any(_is_score_list(*field) for value in given for one in value for field in one.items()):
            return name
        alone = judged or bool({"name", "model", "source", "metric"} & inner)
        if ("rater" in roles and len(inner) > 1) or ("score" in roles and alone):
            return name
    return None


def _one_each(record: Record, field: str) -> Iterator[dict[str, Any]]:
    outer = {name: value for name, value in record.items() if name != field}
    for one in record.get(field) or []:
        inner = {
            (field.removesuffix("s") if key == "name" else f"{field}.{key}" if key in outer else key): value
            for key, value in one.items()
        }
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
    return lists if _any_named("rater", singular) and _any_named("score", singular) else []


def _any_named(role: str, names: Iterable[str]) -> bool:
    """Whether a name, or the end of one, is for a role."""
    parts = (part for name in names for part in (name, last_part(name) or name))
    return any(tier(part, role) is not None for part in parts)


def _is_score_list(name: str, value: object) -> bool:
    return isinstance(value, list) and len(value) > 1 and (mentions(name, "score") or like_item(name))


def _score_lists(records: Sequence[Record], path: Path) -> list[str]:
    """Fields that hold a list of bare scores in every record, one by each rater; raises where nothing says who gave
    which, and nothing else could be a score."""
    some = records[:200]
    names = dict.fromkeys(name for record in some for name in record)
    single = [name for name in names if not any(isinstance(one.get(name), list | Mapping) for one in some)]
    fields = [
        name
        for name in names
        if all(isinstance(one.get(name), list) and len(one[name]) > 1 for one in records)
        and not any(isinstance(value, list | Mapping) for one in some for value in one[name])
        and profile(pl.Series([str(value) for one in some for value in one[name]])).scored
    ]
    if not any(_is_score_list(name, some[0][name]) for name in fields):
        return []
    for name in single:
        values = [str(one[name]) for one in some if one.get(name) is not None]
        numbers = profile(pl.Series(values)).highest is not None and not is_identifier(name)
        if numbers or tier(name, "score") == 0:
            return []
    lengths = {len(one[name]) for one in records for name in fields}
    if len(lengths) == 1 and not any(tier(name, "rater") is not None for name in single):
        return fields
    raise InputError(
        f"{path.name!r} has lists of scores under {listed(fields)} ({min(lengths)} to {max(lengths)} in each record), "
        "and nothing says who gave which",
        NEED,
        value=fields,
    )


def _side_by_side(record: Record, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    outer = {name: value for name, value in record.items() if name not in fields}
    for values in zip(*(record.get(name) or [] for name in fields), strict=False):
        yield outer | {name.removesuffix("s"): value for name, value in zip(fields, values, strict=True)}
