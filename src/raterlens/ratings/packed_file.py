"""One file of plain arrays: a fixed prefix, the arrays, and a header that says where each of them is.

    prefix   64 bytes, little-endian: mark (8 bytes), version (uint32), CRC-32 of the header (uint32), where the header
             begins, its length, and the length of the whole file (uint64 each); the rest is zero
    arrays   each from a multiple of 4096 bytes on, so that it can be memory-mapped alone
    header   JSON: `arrays` (name -> type, shape, where it begins, CRC-32 of each 2**18 bytes) and `about`, whatever the
             writer has to say

A type is NumPy's (`<i4`), or `arrow` for labels: an Arrow IPC file of one column. Blocks are checked as they are read:
a part of a large array needs no look at the rest.
"""

import io
import json
import math
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from raterlens.base.errors import InputError

MARK = b"\x89RLPACK\n"
VERSION = 2
SUFFIX = ".rlpack"
_PREFIX = struct.Struct("<8sIIQQQ")
_PREFIX_SIZE, _PAGE, _BLOCK = 64, 4096, 2**18
AGAIN = "copy it again, or pack the ratings again"

AnyArray = NDArray[Any]


@dataclass(slots=True)
class Writer:
    """A file under way: arrays are added one by one, or opened to be filled in place."""

    _file: BinaryIO
    _arrays: dict[str, dict[str, Any]] = field(default_factory=dict)

    def array(self, name: str, values: AnyArray) -> None:
        self._begin(name, values.dtype.str, values.shape)
        self._file.write(np.ascontiguousarray(values).data)

    def labels(self, name: str, labels: pl.Series) -> None:
        buffer = io.BytesIO()
        labels.alias("label").to_frame().write_ipc(buffer, compression="uncompressed")
        self._begin(name, "arrow", (buffer.tell(),))
        self._file.write(buffer.getbuffer())

    def empty(self, name: str, dtype: DTypeLike, size: int) -> AnyArray:
        """An array on disk, to be filled in any order."""
        kind = np.dtype(dtype)
        first = self._begin(name, kind.str, (size,))
        self._file.seek(first + size * kind.itemsize)
        self._file.truncate()
        self._file.flush()
        if hasattr(
            os, "posix_fallocate"
        ):  # else a full disk would end the process, once the map is written to
            os.posix_fallocate(self._file.fileno(), first, size * kind.itemsize)
        return np.memmap(self._file, dtype=kind, mode="r+", offset=first, shape=(size,))

    def _begin(self, name: str, kind: str, shape: tuple[int, ...]) -> int:
        first = -(-self._file.seek(0, os.SEEK_END) // _PAGE) * _PAGE
        self._file.seek(first)
        self._arrays[name] = {"type": kind, "shape": shape, "first": first}
        return first

    def _finish(self, about: dict[str, Any]) -> None:
        self._file.flush()
        for found in self._arrays.values():
            self._file.seek(found["first"])
            found["blocks"] = [zlib.crc32(self._file.read(n)) for n in _blocks(_size(found))]
        header = json.dumps({"arrays": self._arrays, "about": about}, ensure_ascii=False).encode()
        first = self._file.seek(0, os.SEEK_END)
        self._file.write(header)
        prefix = _PREFIX.pack(MARK, VERSION, zlib.crc32(header), first, len(header), self._file.tell())
        self._file.seek(0)
        self._file.write(prefix)


@contextmanager
def writing(path: Path) -> Iterator[tuple[Writer, dict[str, Any]]]:
    """A writer and what to say about the arrays; the file is whole when the block is left without an error."""
    with path.open("w+b") as file:
        file.write(bytes(_PREFIX_SIZE))
        writer, about = Writer(file), dict[str, Any]()
        yield writer, about
        writer._finish(about)
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Packed:
    """A file that is open: arrays are mapped when asked for."""

    path: Path
    about: dict[str, Any]
    checksum: int
    """Of the header."""
    _arrays: dict[str, dict[str, Any]]

    def array(self, name: str, start: int = 0, stop: int | None = None) -> AnyArray:
        """A copy of an array, or of what it has from `start` to `stop`; damage raises."""
        stored = self._mapped(name)
        part = slice(start, stop)
        self._check(name, stored, part)
        taken = np.array(stored[part])
        forget(stored)
        return taken

    def _mapped(self, name: str) -> AnyArray:
        found = self._arrays[name]
        shape = tuple(found["shape"])
        kind = np.dtype(np.uint8 if found["type"] == "arrow" else found["type"])
        if 0 in shape:
            return np.empty(shape, kind)
        try:
            return np.memmap(self.path, kind, "r", offset=found["first"], shape=shape)
        except FileNotFoundError as error:
            raise InputError(
                f"no such file: {str(self.path)!r}",
                "workers of a cluster need the packed ratings under the same name",
                value=str(self.path),
            ) from error

    def _check(self, name: str, stored: AnyArray, part: slice) -> None:
        """Raise where a block that the part touches is not as it was written."""
        content = stored.reshape(-1).view(np.uint8)
        row = stored.nbytes // max(len(stored), 1)
        start, stop, _ = part.indices(len(stored))
        for block in range(start * row // _BLOCK, -(-stop * row // _BLOCK)):
            found = content[block * _BLOCK : (block + 1) * _BLOCK]
            if zlib.crc32(found.data) != self._arrays[name]["blocks"][block]:
                raise InputError(
                    f"{self.path.name!r} is damaged: {name!r} has another checksum in block {block + 1:,}",
                    AGAIN,
                    value=name,
                )

    def labels(self, name: str) -> pl.Series:
        return pl.read_ipc(io.BytesIO(self.array(name).data))["label"]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays


def open_packed(path: Path) -> Packed:
    """Check the prefix and the header, and read them."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_PREFIX_SIZE)
        if not start.startswith(MARK):
            raise InputError(
                f"{path.name!r} is not a file of packed ratings: it begins with {start[:8]!r}",
                "give one that `raterlens pack` wrote, or rename it to what it is",
                value=start,
            )
        if len(start) < _PREFIX_SIZE:
            raise InputError(f"{path.name!r} is cut short after {size:,} bytes", AGAIN, value=size)
        _, version, checksum, first, length, whole = _PREFIX.unpack_from(start)
        if version != VERSION:
            raise InputError(
                f"{path.name!r} has pack version {version}, this release reads {VERSION}",
                "pack the ratings again, or use the release that wrote it",
                value=version,
            )
        if size != whole:
            raise InputError(
                f"{path.name!r} has {size:,} bytes of {whole:,}: it is cut short or damaged",
                AGAIN,
                value=size,
            )
        file.seek(min(first, size))
        header = file.read(min(length, size))
    if zlib.crc32(header) != checksum or first + length != size:
        raise InputError(f"{path.name!r} is damaged: its header has another checksum", AGAIN)
    content = json.loads(header)
    return Packed(path, content["about"], checksum, content["arrays"])


def _size(found: dict[str, Any]) -> int:
    """Bytes of an array."""
    kind = np.dtype(np.uint8 if found["type"] == "arrow" else found["type"])
    return int(math.prod(found["shape"])) * kind.itemsize


def _blocks(size: int) -> Iterator[int]:
    """How many bytes each block has."""
    return (min(_BLOCK, size - first) for first in range(0, size, _BLOCK))


def narrow(size: int) -> np.dtype[Any]:
    """The smallest type that holds codes below `size`."""
    return np.min_scalar_type(max(size - 1, 0))


def forget(array: AnyArray) -> None:
    """Give back the memory of a mapped array; the system keeps its pages as long as nobody else needs the room."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


class Scratch:
    """Arrays on disk for as long as somebody holds them: a file without a name."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115, open until the last array is written
        weakref.finalize(self, self._file.close)

    def keep(self, values: AnyArray) -> AnyArray:
        """The same numbers, mapped from disk."""
        if not values.size:
            return values
        first = -(-self._file.seek(0, os.SEEK_END) // _PAGE) * _PAGE
        self._file.seek(first)
        self._file.write(np.ascontiguousarray(values).data)
        self._file.flush()
        # A plain array: compiled code and sparse matrices want no subclass.
        return np.asarray(np.memmap(self._file, values.dtype, "r", offset=first, shape=values.shape))
