"""JSON: a list of records, or one record per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from raterlens.config import ReadConfig
from raterlens.errors import InputError
from raterlens.reading.formats.inspect_log import is_log, read_inspect
from raterlens.reading.formats.lazy_table import Table, table_of
from raterlens.text import Message, Option

NEED = 'each rating is a record such as {"student": 7, "rater": "AM", "score": 1}'


def read_json(path: Path, config: ReadConfig) -> Table:
    """Open JSON lines, or an array of records; fields of records within records are called `outer.inner`."""
    with path.open("rb") as file:
        start = file.read(4096)
    text = start.decode(_codec(config.encoding), errors="ignore").lstrip()
    if not text:
        raise InputError(f"{path.name!r} is an empty file", NEED)
    if is_log(start):
        return read_inspect(path, config)
    frame = _array(path, config.encoding) if text.startswith("[") else _lines(path, config.encoding)
    return table_of(path.name, _flat(frame))


def _lines(path: Path, encoding: str) -> pl.DataFrame:
    try:
        if encoding == "utf-8":
            return pl.read_ndjson(path, infer_schema_length=None)
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


def _array(path: Path, encoding: str) -> pl.DataFrame:
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
    return _frame(records, path)


def _too_deep(path: Path, where: str = "") -> InputError:
    return InputError(f"{path.name!r}{where} has lists or records nested too deeply to be ratings", NEED)


def _text(path: Path, encoding: str) -> str:
    try:
        return path.read_text(encoding=_codec(encoding))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name!r} is not {encoding}: byte 0x{error.object[error.start]:02x} at position {error.start:,} does "
            "not belong there",
            Message(
                "JSON is UTF-8 as a rule: write the file again, or give its encoding, ", Option("encoding")
            ),
            value=encoding,
            option="encoding",
        ) from error


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


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    while nested := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
        for name in nested:
            fields = frame[name].struct.fields
            frame = frame.with_columns(
                frame[name].struct.rename_fields([f"{name}.{field}" for field in fields])
            ).unnest(name)
    return frame
