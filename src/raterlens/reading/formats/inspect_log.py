"""Logs of Inspect AI, without its package: scorers are raters, samples are students, epochs repeat a rating.

A log is one JSON document, or (.eval) a zip archive of them whose `summaries.json` has the scores of every sample
(the samples themselves where an evaluation was interrupted). Newer archives are compressed by Zstandard, which Python's
zipfile does not know before 3.14.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, shortened
from raterlens.config import ReadConfig
from raterlens.reading.formats.table import Table, check_archive, require, rows_of, suffix_of
from raterlens.reading.formats.tool_exports import singles

# As Inspect's own `value_to_float` has them: correct, incorrect, partial and no answer.
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
ONE_ITEM = "all"
AGAIN = "write the log again, or convert it with: inspect log convert"

UNREAD = "Grade not found in model output"
"""How Inspect explains the score of an answer from which no verdict could be read."""

_ROLES = ("student", "rater", "item", "score", "epoch", "model")
_ZSTANDARD = 93
_LOCAL_HEADER = 30


@dataclass(frozen=True, slots=True)
class _Log:
    task: str
    model: str
    status: str
    samples: list[dict[str, Any]]


def is_log(start: bytes) -> bool:
    """Whether JSON that begins like this is a log: its first fields are the version, the status and the evaluation."""
    return all(mark in start for mark in (b'"version"', b'"status"', b'"eval"'))


def read_inspect(path: Path, config: ReadConfig) -> Table:
    """Open a log: the columns student, rater, item, score, epoch and model."""
    try:
        log = _archived(path) if suffix_of(path, config) == ".eval" else _document(path)
    except (
        BadZipFile,
        NotImplementedError,  # a method of compression that zipfile does not know
        json.JSONDecodeError,
        UnicodeDecodeError,
        struct.error,
        RecursionError,
    ) as error:
        raise InputError(f"{path.name!r} is not a whole log of Inspect AI ({error})", AGAIN) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path.name!r} is not a log of Inspect AI as this release knows them ({error} is missing)", AGAIN
        ) from error
    rows = list(_rows(log, path.name))
    if not rows:
        raise InputError(
            f"{path.name!r} (task {shortened(log.task)}, status {shortened(log.status)}) has no scores",
            "score it first: inspect score",
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    epochs = frame["epoch"].n_unique()
    unread = frame["score"].null_count()
    notes = [
        f"Inspect log of task {shortened(log.task)}, model {shortened(log.model)}: scorers are raters, samples are "
        "students"
    ]
    if epochs > 1:
        notes.append(
            Message(
                f"{counted(epochs, 'epoch')}: repeated ratings of a sample. Where each epoch is an answer of its own, "
                "give ",
                Option("student", ["student", "epoch"]),
            )
        )
    if unread:
        notes.append(
            f"{counted(unread, 'verdict')} could not be read from the judge's answer: missing, not a fail"
        )
    if log.status != "success":
        notes.append(f"the log's status is {shortened(log.status)}: only samples that were scored are read")
    return Table(
        path.name,
        tuple(frame.columns),
        lambda wanted: rows_of([frame[column] for column in wanted]),
        notes=tuple(notes),
    )


def _document(path: Path) -> _Log:
    content = json.loads(path.read_text(encoding="utf-8"))
    return _log(content, content.get("samples") or [])


def _archived(path: Path) -> _Log:
    check_archive(path)
    with ZipFile(path) as archive:
        members = {info.filename: info for info in archive.infolist()}

        def load(name: str) -> Any:
            return json.loads(_member(path, archive, members[name]))

        header = load("header.json" if "header.json" in members else "_journal/start.json")
        if "summaries.json" in members:
            samples = load("summaries.json")
        else:
            samples = [load(name) for name in members if name.startswith("samples/")]
    return _log(header, samples)


def _log(header: Mapping[str, Any], samples: list[dict[str, Any]]) -> _Log:
    evaluation = header["eval"]
    return _Log(evaluation["task"], evaluation["model"], header.get("status", "started"), samples)


def _member(path: Path, archive: ZipFile, info: ZipInfo) -> bytes:
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


def _rows(log: _Log, name: str) -> Iterator[dict[str, object]]:
    for sample in log.samples:
        for scorer, score in (sample.get("scores") or {}).items():
            for item, value in _parts(score["value"]):
                yield {
                    "student": str(sample["id"]),
                    "rater": scorer,
                    "item": item,
                    "score": None
                    if _unread(score)
                    else _number(
                        value, f"{name!r}, sample {shortened(sample['id'])}, scorer {shortened(scorer)}"
                    ),
                    "epoch": int(sample["epoch"]),
                    "model": log.model,
                    **_about(sample),
                }


def _about(sample: Mapping[str, Any]) -> dict[str, object]:
    """The target and the metadata of a sample, where they are single values."""
    return singles({"target": sample.get("target")}) | singles(sample.get("metadata"), *_ROLES)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """A score of several parts has an item for each."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(place), part) for place, part in enumerate(value, 1))
    else:
        yield ONE_ITEM, value


def _unread(score: Mapping[str, Any]) -> bool:
    """Whether a judge's answer held no verdict: newer releases score it as not a number, older ones as incorrect."""
    return str(score.get("explanation") or "").startswith(UNREAD)


def _number(value: object, where: str) -> float | None:
    if value is None or isinstance(value, bool | int | float):
        return None if value is None or value != value else float(value)
    if isinstance(value, str):
        if value in GRADES:
            return GRADES[value]
        if value.lower() in WORDS:
            return WORDS[value.lower()]
        try:
            return float(value)
        except ValueError:
            pass
    raise InputError(
        f"{where}: the value {shortened(value)} is neither a number nor one of {', '.join(GRADES)}",
        "have the scorer give one",
        value=value,
    )
