"""JSON: a list of records, one record per line, tables by columns, or what annotation and evaluation tools export."""

import io
import json
import re
import struct
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.encodings import utf8_text
from raterlens.reading.formats.nested import NEED, SAMPLE, json_columns, plain_table
from raterlens.reading.formats.table import Table, check_archive, read_whole, require, table_of
from raterlens.reading.formats.tool_exports import exported, is_export
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import like_rater, tier


def read_json(path: Path, config: ReadConfig) -> Table:
    """Open JSON lines, an array of records, a document, or what a tool exports; fields of records within records are
    called `outer.inner`."""
    text, findings = utf8_text(path, config.encoding)
    content = text if isinstance(text, bytes) else read_whole(text).removeprefix(BOM_UTF8)
    lines = (line for line in io.BytesIO(content) if line.strip())
    if (first := next(lines, None)) is None:
        raise InputError(f"{path.name!r} is an empty file", NEED)
    _refuse_surrogates(content, path.name)
    by_lines = next(lines, None) is not None and _is_json(first)
    table = (_by_lines if by_lines else _whole)(content, path.name)
    return replace(table, findings=(*findings, *table.findings))


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except RecursionError:
        pass
    return True


def _whole(content: bytes, name: str) -> Table:
    """The table in a file that is one list or document."""
    try:
        whole = json.loads(content)
    except RecursionError:
        raise _too_deep(name) from None
    except json.JSONDecodeError as error:
        what = f"{name!r} is not JSON from line {error.lineno:,} on: {error.msg}"
        raise InputError(what, "write the file again if it was cut short") from error
    if isinstance(whole, dict):
        return _within(whole, name)
    values = whole if isinstance(whole, list) else [whole]
    named = ((f"element {place:,} of the list", value) for place, value in enumerate(values, 1))
    return table_of_records(_records(named, name), name)


def _by_lines(content: bytes, name: str) -> Table:
    """The table in a file with one record per line: by polars, unless records are nested, or a tool's."""
    sample = _records(islice(_lines(content, name), SAMPLE), name)
    nested = any(isinstance(value, list | dict) for record in sample for value in record.values())
    in_lists = isinstance(next(_lines(content, name))[1], list)
    if not (nested or in_lists or is_export(sample) or json_columns(sample)):
        try:
            frame = pl.read_ndjson(content, infer_schema_length=None)
        except PolarsError:
            pass  # Python's json names the line at fault, or copes
        else:
            if not any(dtype == pl.Object or dtype.is_nested() for dtype in frame.dtypes):
                return table_of(name, frame)
    return table_of_records(_records(_lines(content, name), name), name)


def _lines(content: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """The value of every line, and where it stands."""
    for number, line in enumerate(io.BytesIO(content), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number:,}", json.loads(line)
        except RecursionError:
            raise _too_deep(name, f", line {number:,},") from None
        except json.JSONDecodeError as error:
            text, why = line.decode().strip(), f"{error.msg} at character {error.colno}"
            remedy = "give one whole record per line, or write the file again if it was cut short"
            what = f"{name!r}, line {number:,}, is not JSON ({why}): {text[:60]!r}"
            raise InputError(what, remedy, value=text) from error


def _records(values: Iterable[tuple[str, Any]], name: str) -> list[dict[str, Any]]:
    """Values that are records, or lists under a list of their names; raises at the first that is not."""
    records: list[dict[str, Any]] = []
    header: list[str] | None = None
    for where, value in values:
        if isinstance(value, list) and header is not None and len(value) == len(header):
            records.append(dict(zip(header, value, strict=True)))
        elif isinstance(value, list) and not records and header is None and _are_names(value):
            header = value
        elif isinstance(value, dict):
            records.append(value)
        else:
            raise InputError(f"{name!r}: {where} is {str(value)[:60]!r}", NEED, value=value)
    return records


def _are_names(values: list[Any]) -> bool:
    return len(values) > 1 and all(isinstance(value, str) and value for value in values)


def table_of_records(records: list[dict[str, Any]], name: str) -> Table:
    """Records as a table: those of a tool's export, or with what is nested in them spread out."""
    return exported(records, name) or plain_table(records, name)


def _within(document: dict[str, Any], name: str) -> Table:
    """A document of a tool, or one with a list of records in it."""
    if (table := exported(document, name)) is not None:
        return table
    if {"results", "configs", "versions"} <= document.keys():
        raise InputError(
            f"{name!r} has the results of lm-evaluation-harness as averages, without samples",
            "run it with --log_samples and give the file samples_*.jsonl",
        )
    if (rows := table_records(document)) is not None:
        return plain_table(rows, name)
    lists = {
        field: value
        for field, value in document.items()
        if isinstance(value, list) and value and all(isinstance(record, dict) for record in value)
    }
    if len(lists) != 1:
        return table_of_records([document], name)
    field, records = next(iter(lists.items()))
    table = table_of_records(records, name)
    return replace(table, findings=(Finding(f"a list of records under {field!r}", "read"), *table.findings))


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
        counted = alike and all(map(str.isdigit, document))
        return [{**({} if counted else {"id": name}), **value} for name, value in document.items()]
    return None


def _too_deep(name: str, where: str = "") -> InputError:
    return InputError(f"{name!r}{where} has lists or records nested too deeply to be ratings", NEED)


_HALF = re.compile(rb"\\u[dD]")
_LONE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"  # an escape of its own, not part of an escaped backslash
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


def _refuse_surrogates(content: bytes, name: str) -> None:
    """Raise where an escape is half of a character, which no text can hold."""
    if not _HALF.search(content):
        return
    if found := _LONE.search(content):
        line = content.count(b"\n", 0, found.start()) + 1
        half = found[2].decode()
        remedy = "write the file again: a text was cut in the middle of a character"
        raise InputError(f"{name!r}, line {line:,}, has {half}, half of a character", remedy, value=half)


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
    return _within({**log, "samples": samples}, path.name)


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
