"""Ratings on disk: the file, its writer, and ratings that come into memory by parts."""

import io
import json
import math
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from raterlens.base.arrays import distinct_counts
from raterlens.base.errors import InputError
from raterlens.config.limits import IN_MEMORY, PART
from raterlens.ratings.coded import Codes, Facet, Ratings, Tally

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
    """A file that is open: arrays are read when asked for."""

    path: Path
    about: dict[str, Any]
    checksum: int
    """Checksum of the header."""
    _arrays: dict[str, dict[str, Any]]

    def array(self, name: str, start: int = 0, stop: int | None = None) -> AnyArray:
        """A copy of an array, or of what it has from `start` to `stop`; damage raises."""
        found = self._arrays[name]
        kind, shape = np.dtype(np.uint8 if found["type"] == "arrow" else found["type"]), tuple(found["shape"])
        row = kind.itemsize * math.prod(shape[1:])
        start, stop, _ = slice(start, stop).indices(shape[0])
        if not row or start >= stop:
            return np.empty((0, *shape[1:]), kind)
        begin = start * row // _BLOCK * _BLOCK  # checksums are of whole blocks
        end = min(-(-stop * row // _BLOCK) * _BLOCK, _size(found))
        content = self._read(found["first"] + begin, end - begin)
        self._check(name, content, begin // _BLOCK)
        return content[start * row - begin : stop * row - begin].view(kind).reshape(-1, *shape[1:])

    def _check(self, name: str, content: NDArray[np.uint8], first: int) -> None:
        """Raise where a block of an array, from its `first` on, is not as it was written."""
        for place, found in enumerate(
            self._arrays[name]["blocks"][first : first + -(-len(content) // _BLOCK)]
        ):
            if zlib.crc32(content[place * _BLOCK : (place + 1) * _BLOCK].data) != found:
                raise InputError(
                    f"{self.path.name!r} is damaged: {name!r} has another checksum in block {first + place + 1:,}",
                    AGAIN,
                    value=name,
                )

    def _read(self, first: int, size: int) -> NDArray[np.uint8]:
        """Bytes of the file; raise where they are not there."""
        try:
            content = np.fromfile(self.path, np.uint8, size, offset=first)
        except FileNotFoundError as error:
            raise InputError(
                f"no such file: {str(self.path)!r}",
                "workers of a cluster need the packed ratings under the same name",
                value=str(self.path),
            ) from error
        if len(content) < size:
            raise InputError(f"{self.path.name!r} was cut short while it was read", AGAIN, value=size)
        return content

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


Offsets = NDArray[np.int64]


class StoredRatings(Ratings):
    """As `Ratings`. What goes over `parts` needs memory for one part; whoever asks for `student`, `rater`, `item` or
    `score` themselves gets them whole, in memory."""

    def __init__(self, packed: Packed, places: NDArray[np.int16] | None = None, part: int = PART) -> None:
        for name, value in (("packed", packed), ("places", places), ("part_size", part), ("_counted", {})):
            object.__setattr__(self, name, value)

    packed: Packed
    places: NDArray[np.int16] | None
    """The score of each stored code, if not the code itself."""
    part_size: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the file itself."""
        packed = replace(self.packed, path=self.packed.path.resolve())
        return StoredRatings, (packed, self.places, self.part_size)

    # ---------------------------------------------------------------------------------- what is small

    @cached_property
    def students(self) -> pl.Series:
        return self.packed.labels("students").alias("student")

    @cached_property
    def raters(self) -> pl.Series:
        return self.packed.labels("raters").alias("rater")

    @cached_property
    def items(self) -> pl.Series:
        return self.packed.labels("items").alias("item")

    score_step = 1.0
    """Packed files hold whole scores."""

    @property
    def known(self) -> None:
        """Packed files hold no known answers."""
        return None

    @property
    def piece(self) -> None:
        """Packed files do not say which piece of work a rating is of."""
        return None

    @property
    def draw(self) -> None:
        """Packed files do not number draws."""
        return None

    @property
    def group(self) -> None:
        """Packed files hold no groups of students."""
        return None

    @property
    def trusted(self) -> tuple[str, ...]:
        """Packed files mark nobody."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.packed.about["notes"])

    @property
    def backend(self) -> Any:
        return self.packed.about["backend"]

    @cached_property
    def offsets(self) -> Offsets:
        """(students + 1,): where each student's ratings begin."""
        return self.packed.array("offsets")

    @property
    def n_students(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_ratings(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_categories(self) -> int:
        return len(self.score_counts)

    @cached_property
    def score_counts(self) -> NDArray[np.int64]:
        cells, times = self._stored_cells
        stored = cells % self._stored_categories
        return np.bincount(stored if self.places is None else self.places[stored], times).astype(np.int64)

    @property
    def _stored_categories(self) -> int:
        return int(self.packed.about["categories"])

    @cached_property
    def _stored_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.packed.array("cells"), self.packed.array("times")

    def _count_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells, times = self._stored_cells
        if self.places is None:
            return cells, times
        codes, scores = np.divmod(cells, self._stored_categories)
        recoded = codes * self.n_categories + self.places[scores].astype(np.int64)
        distinct, place = np.unique(recoded, return_inverse=True)
        return distinct, np.bincount(place, times).astype(np.int64)

    def _by_student(self) -> Tally:
        if self.places is None:
            total = self.packed.array("totals").astype(np.float64)
        else:
            total = np.concatenate([part.tally("student").total for part in self.parts()])
        return Tally(np.diff(self.offsets), total)

    # ------------------------------------------------------------------------------------ by parts

    def edges(self) -> Offsets:
        """Students at which parts begin, and the number of students."""
        return part_edges(self.offsets, self.part_size)

    def parts(self) -> Iterator[Ratings]:
        for first, last in pairwise(self.edges()):
            yield self.part(int(first), int(last))

    def part(self, first: int, last: int) -> Ratings:
        """The ratings of students `first` to `last - 1`, coded from 0; raters and items as in the whole."""
        start, stop = int(self.offsets[first]), int(self.offsets[last])
        given = np.diff(self.offsets[first : last + 1])
        score = self._taken("score", start, stop, np.int16)
        return Ratings(
            student=np.repeat(np.arange(last - first, dtype=np.int32), given),
            rater=self._taken("rater", start, stop),
            item=self._taken("item", start, stop),
            score=score if self.places is None else self.places[score],
            students=self.students.slice(first, last - first),
            raters=self.raters,
            items=self.items,
            notes=self.notes,
            backend=self.backend,
            facets=tuple(
                Facet(name, self._taken(f"facet {f}", start, stop), labels)
                for f, (name, labels) in enumerate(self._facet_labels)
            ),
        )

    def _taken(self, name: str, start: int, stop: int, dtype: Any = np.int32) -> Any:
        return self.packed.array(name, start, stop).astype(dtype)

    @cached_property
    def _facet_labels(self) -> list[tuple[str, pl.Series]]:
        names = self.packed.about["facets"]
        return [(name, self.packed.labels(f"levels {f}").alias(name)) for f, name in enumerate(names)]

    # ------------------------------------------------------------------------------ whole, in memory

    @cached_property
    def _whole(self) -> Ratings:
        return self.part(0, self.n_students)

    def in_memory(self) -> Ratings:
        return self.part(0, self.n_students)

    @property
    def student(self) -> Codes:
        return self._whole.student

    @property
    def rater(self) -> Codes:
        return self._whole.rater

    @property
    def item(self) -> Codes:
        return self._whole.item

    @property
    def score(self) -> NDArray[np.int16]:
        return self._whole.score

    @cached_property
    def facets(self) -> tuple[Facet, ...]:
        return tuple(_LazyFacet(self, f) for f in range(len(self._facet_labels)))  # type: ignore[misc]

    def with_scores(self, places: NDArray[np.int16]) -> Ratings:
        combined = places if self.places is None else places[self.places]
        return StoredRatings(self.packed, combined, self.part_size)


class _LazyFacet:
    """A facet whose labels are at hand, and whose codes come into memory when asked for."""

    def __init__(self, ratings: StoredRatings, which: int) -> None:
        self._ratings, self._which = ratings, which
        self.name, self.labels = ratings._facet_labels[which]

    @property
    def codes(self) -> Codes:
        return self._ratings._whole.facets[self._which].codes


def part_edges(offsets: Offsets, size: int) -> Offsets:
    """Parts of about `size` ratings, of whole students: the same for the same data, on any number of workers."""
    n = max(1, round(int(offsets[-1]) / size))
    inner = np.searchsorted(offsets, np.arange(1, n) * (int(offsets[-1]) / n))
    return np.unique(np.concatenate([[0], inner, [len(offsets) - 1]]))


def open_ratings(packed: Packed, in_memory: int = IN_MEMORY) -> Ratings:
    """Packed ratings: in memory up to this many, else on disk."""
    stored = StoredRatings(packed)
    return stored.in_memory() if stored.n_ratings <= in_memory else stored


Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels and notes of a file of packed ratings."""

    students: pl.Series
    raters: pl.Series
    items: pl.Series
    facets: dict[str, pl.Series]
    notes: tuple[str, ...]
    backend: str
    cut: float | None

    @property
    def sizes(self) -> list[int]:
        return [len(self.raters), len(self.items), *(len(labels) for labels in self.facets.values())]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some ratings, coded."""

    student: Codes
    score: NDArray[np.int16]
    levels: Sequence[Codes]
    """Rater, item, and each further facet."""


def write_ratings(ratings: Ratings, path: Path, cut: float | None) -> None:
    """Pack ratings that are in memory."""
    facets = {facet.name: facet.labels for facet in ratings.facets}
    labels = Labels(
        ratings.students, ratings.raters, ratings.items, facets, ratings.notes, ratings.backend, cut
    )
    levels = (ratings.rater, ratings.item, *(facet.codes for facet in ratings.facets))
    chunk = Chunk(ratings.student, ratings.score, levels)
    write_chunks([chunk], labels, ratings.tally("student").n, ratings.n_categories, path)


def write_chunks(
    chunks: Iterable[Chunk], labels: Labels, per_student: Counts, n_categories: int, path: Path
) -> None:
    """Put every rating in its place among those of its student; memory is that of a chunk."""
    offsets = np.concatenate([[0], np.cumsum(per_student)])
    n, k, sizes = int(offsets[-1]), n_categories, labels.sizes
    names = ["rater", "item", *(f"facet {f}" for f in range(len(labels.facets)))]
    with writing(path) as (file, about):
        file.labels("students", labels.students)
        file.labels("raters", labels.raters)
        file.labels("items", labels.items)
        for f, series in enumerate(labels.facets.values()):
            file.labels(f"levels {f}", series)
        file.array("offsets", offsets)
        score = file.empty("score", narrow(k), n)
        levels = [file.empty(name, narrow(size), n) for name, size in zip(names, sizes, strict=True)]
        following, totals = offsets[:-1].copy(), np.zeros(len(per_student), dtype=np.int64)
        tallied: list[tuple[Counts, Counts]] = []
        for chunk in chunks:
            place = _places(chunk.student, following)
            score[place] = chunk.score
            cell = np.zeros(len(place), dtype=np.int64)
            for stored, codes, size in zip(levels, chunk.levels, sizes, strict=True):
                stored[place] = codes
                cell = cell * size + codes
            count_into(totals, chunk.student, chunk.score)
            tallied.append(
                _merged([*tallied[-1:], distinct_counts(cell * k + chunk.score, int(np.prod(sizes)) * k)])
            )
            del tallied[:-1]
            for stored in (score, *levels):
                forget(stored)
        file.array("totals", totals)
        cells, times = tallied[-1]
        file.array("cells", cells)
        file.array("times", times)
        about.update(
            categories=k,
            facets=list(labels.facets),
            notes=list(labels.notes),
            backend=labels.backend,
            cut=labels.cut,
        )


def count_into(counts: Counts, codes: Codes, weights: AnyArray | None = None) -> None:
    """Add how often each code occurs, or its weights; a chunk in order has the codes of a short stretch."""
    if not len(codes):
        return
    lowest = int(codes.min())
    found = np.bincount(codes - lowest, weights)
    counts[lowest : lowest + len(found)] += found.astype(np.int64)


def _places(student: Codes, following: Counts) -> AnyArray:
    """Where each rating goes: after those that its student has so far, in the order in which they come."""
    order = None if (np.diff(student) >= 0).all() else np.argsort(student, kind="stable")
    own = student if order is None else student[order]
    first = np.flatnonzero(np.diff(own, prepend=-1))
    length = np.diff(first, append=len(own))
    whose = own[first]
    place = np.repeat(following[whose] - first, length) + np.arange(len(own))
    following[whose] += length
    if order is None:
        return place
    back = np.empty_like(place)
    back[order] = place
    return back


def _merged(found: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    if len(found) == 1:
        return found[0]
    cells, place = np.unique(np.concatenate([cells for cells, _ in found]), return_inverse=True)
    times: Any = np.concatenate([times for _, times in found])
    return cells, np.bincount(place, times).astype(np.int64)
