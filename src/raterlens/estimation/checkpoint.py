"""A long fit that was interrupted goes on where it was.

The optimiser is quick and does the same every time; what takes long are evaluations of the likelihood. So every
evaluation is written to a journal as it is done. A fit that is resumed runs from its beginning, takes what the journal
has, and so comes through the same steps to the same estimates, whichever the optimiser.

    first line    a mark, and as JSON the version and digests of the ratings and of the model
    other lines   CRC-32 of the rest, a key, and log-likelihood, objective and gradient (float64 in base 64)

A line that a crash has cut short is left out, and written again.
"""

import base64
import hashlib
import json
import os
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import numpy as np

from raterlens.base.arrays import Array
from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.nodes import Nodes

MARK = b"Raterlens checkpoint "
VERSION = 2
# Seconds after which what was written is forced to the disk itself, against a loss of power.
_SAFE = 10.0


class Checkpoint:
    """Where a fit keeps its evaluations, and from where it goes on."""

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path, self._resume = Path(path), resume
        self._file: FileIO | None = None
        self._known: dict[str, Value] = {}
        self._saved = time.monotonic()
        if resume and not self.path.exists():
            raise InputError(
                f"no such checkpoint: {str(self.path)!r}",
                Message("leave out ", Option("resume", True), " to begin one there"),
                value=self.path,
                option="checkpoint",
            )
        if not resume and self.path.exists():
            raise OptionError(
                f"{str(self.path)!r} exists",
                Message(
                    "add ", Option("resume", True), " to go on from it, or remove it, or choose another name"
                ),
                value=self.path,
                option="checkpoint",
            )
        if not self.path.parent.is_dir():
            raise InputError(
                f"no such folder: {str(self.path.parent)!r}",
                "make it first, or choose another",
                value=self.path,
                option="checkpoint",
            )

    def begin(self, ratings: str, model: str) -> None:
        """Open the journal for ratings and a model with these digests."""
        about = {"version": VERSION, "ratings": ratings, "model": model}
        whole = self._read(about) if self._resume else 0
        with self._writable():
            self._file = self.path.open("r+b" if self._resume else "xb", buffering=0)
            self._file.truncate(whole)
            self._file.seek(whole)
        weakref.finalize(self, self._file.close)
        if not whole:
            self._append(MARK + json.dumps(about).encode() + b"\n")

    def value(self, parameters: Array, nodes: Nodes, compute: Callable[[Array, Nodes], Value]) -> Value:
        """The objective, from the journal where it is there."""
        key = _key(parameters, nodes)
        if key not in self._known:
            try:
                found = compute(parameters, nodes)
            except KeyboardInterrupt as interrupt:
                interrupt.add_note(f"to go on, fit again with checkpoint={str(self.path)!r}, resume=True")
                raise
            self._known[key] = found
            self._write(key, found)
        return self._known[key]

    def finish(self) -> None:
        """The fit is done: nothing is left to go on with."""
        if self._file is not None:
            self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, key: str, value: Value) -> None:
        numbers = np.concatenate([[value.loglik, value.objective], value.gradient]).astype("<f8")
        self._append(_line(f"{key} {base64.b64encode(numbers.tobytes()).decode()}"))
        if time.monotonic() - self._saved > _SAFE:
            assert self._file is not None
            os.fsync(self._file.fileno())
            self._saved = time.monotonic()

    def _append(self, content: bytes) -> None:
        assert self._file is not None
        with self._writable():
            while content:
                content = content[self._file.write(content) :]

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OptionError(
                f"cannot write the checkpoint {str(self.path)!r}: {reason(error)}",
                Message(
                    "make room on its disk and fit again, with ", Option("resume", True), " if it exists"
                ),
                value=self.path,
                option="checkpoint",
            ) from error

    def _read(self, about: dict[str, object]) -> int:
        """Take in all whole lines; return where they end: at 0 where the fit was killed while the first was written."""
        content = self.path.read_bytes()
        if b"\n" not in content and MARK.startswith(content[: len(MARK)]):
            return 0
        if not content.startswith(MARK):
            raise self._unreadable(
                f"is not a checkpoint: it begins with {content[:8]!r}", "give another path"
            )
        head, *lines = content.splitlines(keepends=True)
        try:
            known = json.loads(head.removeprefix(MARK))
        except ValueError as error:
            raise self._unreadable("is a damaged checkpoint", "remove it and fit again") from error
        if known["version"] != VERSION:
            version = f"has checkpoint version {known['version']}, this release reads {VERSION}"
            raise self._unreadable(version, "remove it and fit again")
        for what, other in (("ratings", "other ratings"), ("model", "another model, or of other options")):
            if known[what] != about[what]:
                remedy = "fit what it was made for, or give another path"
                raise self._unreadable(f"is a checkpoint of {other}", remedy)
        end = len(head)
        for line in lines:
            _, _, record = line.decode(errors="replace").rstrip("\n").partition(" ")
            if line != _line(record):
                break
            key, _, encoded = record.partition(" ")
            numbers = np.frombuffer(base64.b64decode(encoded), "<f8")
            self._known[key] = Value(float(numbers[0]), float(numbers[1]), numbers[2:].copy())
            end += len(line)
        return end

    def _unreadable(self, why: str, remedy: str) -> InputError:
        return InputError(f"{str(self.path)!r} {why}", remedy, value=self.path, option="checkpoint")


def _line(record: str) -> bytes:
    return f"{zlib.crc32(record.encode()):08x} {record}\n".encode()


def _key(parameters: Array, nodes: Nodes) -> str:
    """Nodes come from moments that are added up again: the last digits of their places are no difference."""
    grid = f"{len(nodes.points)} {nodes.low:.9e} {nodes.high:.9e} {nodes.finest_step:.9e}"
    return digest(parameters, grid)


def digest(*parts: object) -> str:
    """A short name for arrays and texts."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else str(part).encode()
        found.update(f"{len(content)}:".encode())
        found.update(content)
    return found.hexdigest()
