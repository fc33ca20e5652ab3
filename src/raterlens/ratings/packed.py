"""Ratings on disk: the file, its writer, and ratings that come into memory by parts."""

import io
import json
import math
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
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
from raterlens.base.text import shortened
from raterlens.config.limits import IN_MEMORY, PART
from raterlens.ratings.coded import (
    NO_ANSWERS,
    TWO_GROUPS,
    Codes,
    Facet,
    KnownAnswers,
    Ratings,
    Tally,
    answers_as_ratings,
    lengthened,
)

MARK = b"\x89RLPACK\n"
VERSION, READABLE = 3, (2, 3)
"""The version written, and those that are read: version 2 held no pieces, draws, groups and known answers."""
SUFFIX = ".rlpack"
_PREFIX = struct.Struct("<8sIIQQQ")
_PREFIX_SIZE, _PAGE, _BLOCK = 64, 4096, 2**18
AGAIN = "copy it again, or pack the ratings again"

AnyArray = NDArray[Any]


@dataclass(slots=True)
class Writer:
    """A file being written: arrays are added one by one, or opened to be filled in place."""

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
    """Yield a writer and a dict of metadata; the file is complete when the block ends without an error."""
    with path.open("w+b") as file:
        file.write(bytes(_PREFIX_SIZE))
        writer, about = Writer(file), dict[str, Any]()
        yield writer, about
        writer._finish(about)
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed file whose arrays are read on demand."""

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
        if version not in READABLE:
            raise InputError(
                f"{path.name!r} has pack version {version}, this release reads {' and '.join(map(str, READABLE))}",
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
    """Yield the number of bytes of each block."""
    return (min(_BLOCK, size - first) for first in range(0, size, _BLOCK))


def narrow(size: int) -> np.dtype[Any]:
    """The smallest type that holds codes below `size`."""
    return np.min_scalar_type(max(size - 1, 0))


def forget(array: AnyArray) -> None:
    """Release the memory of a mapped array; the system keeps its pages while there is room."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


class Scratch:
    """Arrays on disk, in an unnamed file that lasts as long as they are referenced."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115, open until the last array is written
        weakref.finalize(self, self._file.close)

    def keep(self, values: AnyArray) -> AnyArray:
        """Write an array and map it from disk."""
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
    """Ratings on disk. A pass over `parts` needs memory for one part; `student`, `rater`, `item` and `score` load all
    of them."""

    def __init__(
        self,
        packed: Packed,
        places: NDArray[np.int16] | None = None,
        part: int = PART,
        *,
        answered: bool = False,
    ) -> None:
        given: dict[str, Any] = {
            "packed": packed,
            "places": places,
            "part_size": part,
            "answered": answered,
            "beside": (),
            "_counted": {},
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    packed: Packed
    places: NDArray[np.int16] | None
    """The score of each stored code, if it is not the code itself."""
    part_size: int
    answered: bool
    """Whether known answers are included as ratings, as by `answers_as_ratings`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process opens the file itself."""
        packed = replace(self.packed, path=self.packed.path.resolve())
        return _reopened, (packed, self.places, self.part_size, self.answered)

    # ---------------------------------------------------------------------------------- what is small

    @cached_property
    def students(self) -> pl.Series:
        return self.packed.labels("students").alias("student")

    @cached_property
    def raters(self) -> pl.Series:
        labels = self.packed.labels("raters").alias("rater")
        return lengthened(labels, 1) if self.answered else labels

    @cached_property
    def items(self) -> pl.Series:
        labels = self.packed.labels("items").alias("item")
        return lengthened(labels, len(self._answers.items)) if self.answered else labels

    @property
    def score_step(self) -> float:
        return float(self.packed.about.get("score_step", 1.0))

    @property
    def known(self) -> KnownAnswers | None:
        return self._answers if len(self._answers) and not self.answered else None

    @cached_property
    def _answers(self) -> KnownAnswers:
        if "known answer" not in self.packed:
            return NO_ANSWERS
        columns = [self.packed.array(f"known {name}") for name in ("student", "item", "answer")]
        found = KnownAnswers(columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2])
        return found if self.places is None else found.with_scores(self.places)

    @property
    def trusted(self) -> tuple[str, ...]:
        return tuple(self.packed.about.get("trusted", ()))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.packed.about["notes"])

    @property
    def backend(self) -> Any:
        return self.packed.about["backend"]

    @cached_property
    def offsets(self) -> Offsets:
        """(students + 1,): where each student's stored ratings begin."""
        return self.packed.array("offsets")

    @property
    def n_students(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_ratings(self) -> int:
        return int(self.offsets[-1]) + len(self._answers) * self.answered

    @property
    def n_categories(self) -> int:
        return max(len(self.score_counts), int(self._answers.answer.max(initial=0)) + 1)

    @cached_property
    def score_counts(self) -> NDArray[np.int64]:
        cells, times = self._stored_cells
        stored = cells % self._stored_categories
        given = np.bincount(stored if self.places is None else self.places[stored], times).astype(np.int64)
        if not self.answered:
            return given
        answers = np.bincount(self._answers.answer, minlength=len(given))
        answers[: len(given)] += given
        return answers

    @property
    def _stored_categories(self) -> int:
        return int(self.packed.about["categories"])

    @cached_property
    def _stored_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.packed.array("cells"), self.packed.array("times")

    def _count_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells, times = self._stored_cells
        if self.places is None and not self.answered:
            return cells, times
        codes, scores = np.divmod(cells, self._stored_categories)
        if self.places is not None:
            scores = self.places[scores].astype(np.int64)
        if self.answered:
            answers, n = self._answers, len(self._answers)
            stored = np.array(self.sizes) - [1, len(answers.items), *[1] * len(self._facet_labels)]
            added = [np.full(n, size) for size in stored]
            added[1] += np.searchsorted(answers.items, answers.item)
            levels = zip(np.unravel_index(codes, stored), added, strict=True)
            codes = np.ravel_multi_index([np.concatenate(both) for both in levels], self.sizes)
            scores, times = np.append(scores, answers.answer), np.append(times, np.ones(n, times.dtype))
        distinct, place = np.unique(codes * self.n_categories + scores, return_inverse=True)
        return distinct, np.bincount(place, times).astype(np.int64)

    def _by_student(self) -> Tally:
        if self.places is None and not self.answered:
            return Tally(np.diff(self.offsets), self.packed.array("totals").astype(np.float64))
        parts = [part.tally("student") for part in self.parts()]
        return Tally(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("n", "total")))

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
        aside: dict[str, Any] = {
            role: Facet(labels.name, self._taken(role, start, stop), labels)
            for role, labels in self._aside.items()
            if role != "group"
        }
        if "group" in self._aside:
            labels = self._aside["group"]
            aside["group"] = Facet(labels.name, np.repeat(self._taken("group", first, last), given), labels)
        found = Ratings(
            student=np.repeat(np.arange(last - first, dtype=np.int32), given),
            rater=self._taken("rater", start, stop),
            item=self._taken("item", start, stop),
            score=score if self.places is None else self.places[score],
            students=self.students.slice(first, last - first),
            raters=self.packed.labels("raters").alias("rater"),
            items=self.packed.labels("items").alias("item"),
            notes=self.notes,
            backend=self.backend,
            facets=tuple(
                Facet(labels.name, self._taken(f"facet {f}", start, stop), labels)
                for f, labels in enumerate(self._facet_labels)
            ),
            known=self._answers.between(first, last),
            trusted=self.trusted,
            score_step=self.score_step,
            **aside,
        )
        return answers_as_ratings(found, self._answers.items) if self.answered else found

    def _taken(self, name: str, start: int, stop: int, dtype: Any = np.int32) -> Any:
        return self.packed.array(name, start, stop).astype(dtype)

    @cached_property
    def _facet_labels(self) -> list[pl.Series]:
        names = self.packed.about["facets"]
        return [self.packed.labels(f"levels {f}").alias(name) for f, name in enumerate(names)]

    @cached_property
    def _aside(self) -> dict[str, pl.Series]:
        """Labels of the pieces, draws and groups, where there are some, named as their columns."""
        named = self.packed.about.get("aside", {})
        return {role: self.packed.labels(f"levels {role}").alias(name) for role, name in named.items()}

    @property
    def piece(self) -> Facet | None:
        return self._lazy("piece")

    @property
    def draw(self) -> Facet | None:
        return self._lazy("draw")

    @property
    def group(self) -> Facet | None:
        return self._lazy("group")

    def _lazy(self, role: str) -> Facet | None:
        if role not in self._aside or (self.answered and role != "group"):
            return None
        facet: Any = _LazyFacet(self._aside[role], lambda: getattr(self._whole, role).codes)
        return facet  # type: ignore[no-any-return]

    @property
    def student_groups(self) -> Codes | None:
        return self._taken("group", 0, self.n_students) if "group" in self._aside else None

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
        found: list[Any] = [
            _LazyFacet(
                lengthened(labels, 1) if self.answered else labels,
                lambda f=f: self._whole.facets[f].codes,  # type: ignore[misc]
            )
            for f, labels in enumerate(self._facet_labels)
        ]
        return tuple(found)

    def with_scores(self, places: NDArray[np.int16]) -> Ratings:
        combined = places if self.places is None else places[self.places]
        return StoredRatings(self.packed, combined, self.part_size, answered=self.answered)

    def with_answers(self) -> Ratings:
        return StoredRatings(self.packed, self.places, self.part_size, answered=True)


def _reopened(packed: Packed, places: NDArray[np.int16] | None, part: int, answered: bool) -> StoredRatings:
    return StoredRatings(packed, places, part, answered=answered)


class _LazyFacet:
    """A facet whose codes are loaded on demand."""

    def __init__(self, labels: pl.Series, codes: Callable[[], Codes]) -> None:
        self.name, self.labels, self._codes = labels.name, labels, codes

    @property
    def codes(self) -> Codes:
        return self._codes()


def part_edges(offsets: Offsets, size: int) -> Offsets:
    """Split students into parts of about `size` ratings: the same for the same data, on any number of workers."""
    n = max(1, round(int(offsets[-1]) / size))
    inner = np.searchsorted(offsets, np.arange(1, n) * (int(offsets[-1]) / n))
    return np.unique(np.concatenate([[0], inner, [len(offsets) - 1]]))


def open_ratings(packed: Packed, in_memory: int = IN_MEMORY) -> Ratings:
    """Open packed ratings: in memory up to this many, otherwise on disk."""
    stored = StoredRatings(packed)
    return stored.in_memory() if stored.n_ratings <= in_memory else stored


Counts = NDArray[np.int64]


def write_ratings(ratings: Ratings, path: Path, cut: float | None) -> None:
    """Pack ratings that are in memory."""
    write_chunks([ratings], ratings, ratings.tally("student").n, ratings.n_categories, path, cut)


def write_chunks(
    chunks: Iterable[Ratings],
    header: Ratings,
    per_student: Counts,
    n_categories: int,
    path: Path,
    cut: float | None,
) -> None:
    """Write every rating in its place among those of its student, with memory for one chunk.

    Chunks are coded as the whole is. `header` has the labels, the known answers and the notes; its rows do not matter.
    """
    offsets = np.concatenate([[0], np.cumsum(per_student)])
    n, k, sizes = int(offsets[-1]), n_categories, header.sizes
    aside = _aside(header)
    with writing(path) as (file, about):
        _write_labels(file, header)
        file.array("offsets", offsets)
        score = file.empty("score", narrow(k), n)
        names = ["rater", "item", *(f"facet {f}" for f in range(len(header.facets)))]
        levels = [file.empty(name, narrow(size), n) for name, size in zip(names, sizes, strict=True)]
        further = {
            role: file.empty(role, narrow(len(facet.labels)), n)
            for role, facet in aside.items()
            if role != "group"
        }
        following, totals = offsets[:-1].copy(), np.zeros(len(per_student), dtype=np.int64)
        groups = np.full(len(per_student), -1, dtype=np.int32)
        tallied: list[tuple[Counts, Counts]] = []
        for chunk in chunks:
            place = _places(chunk.student, following)
            score[place] = chunk.score
            codes = (chunk.rater, chunk.item, *(facet.codes for facet in chunk.facets))
            for stored, own in zip(levels, codes, strict=True):
                stored[place] = own
            for role, stored in further.items():
                stored[place] = _aside(chunk)[role].codes
            _group_into(groups, chunk)
            count_into(totals, chunk.student, chunk.score)
            cells = distinct_counts(chunk.context_codes() * k + chunk.score, math.prod(sizes) * k)
            tallied = [_merged([*tallied, cells])]
            for stored in (score, *levels, *further.values()):
                forget(stored)
        file.array("totals", totals)
        for name, counts in zip(("cells", "times"), tallied[0], strict=True):
            file.array(name, counts)
        if header.group is not None:
            file.array("group", groups.astype(narrow(len(header.group.labels))))
        about.update(
            categories=k,
            facets=[facet.name for facet in header.facets],
            aside={role: facet.name for role, facet in aside.items()},
            trusted=list(header.trusted),
            score_step=header.score_step,
            notes=list(header.notes),
            backend=header.backend,
            cut=cut,
        )


def _aside(ratings: Ratings) -> dict[str, Facet]:
    """Pieces, draws and groups, where there are some."""
    found = {"piece": ratings.piece, "draw": ratings.draw, "group": ratings.group}
    return {role: facet for role, facet in found.items() if facet is not None}


def _write_labels(file: Writer, header: Ratings) -> None:
    file.labels("students", header.students)
    file.labels("raters", header.raters)
    file.labels("items", header.items)
    for place, facet in (*enumerate(header.facets), *_aside(header).items()):
        file.labels(f"levels {place}", facet.labels)
    if header.known is not None:
        for name in ("student", "item", "answer"):
            file.array(f"known {name}", getattr(header.known, name))


def _group_into(groups: Codes, chunk: Ratings) -> None:
    """Record the group of each student; raise if one has two."""
    if chunk.group is None:
        return
    student, group = chunk.student, chunk.group.codes
    before = groups[student]
    groups[student] = group
    other = np.flatnonzero(((before >= 0) & (before != group)) | (groups[student] != group))
    if not len(other):
        return
    row = int(other[0])
    here = int(group[row])
    there = int(before[row] if before[row] not in (-1, here) else groups[student[row]])
    who, (one, two) = chunk.students[int(student[row])], sorted((here, there))
    names = chunk.group.labels
    raise InputError(
        f"student {shortened(who)} is in two groups, {shortened(names[one])} and {shortened(names[two])}",
        TWO_GROUPS,
        value=names[two],
        option="group",
    )


def count_into(counts: Counts, codes: NDArray[np.integer], weights: AnyArray | None = None) -> None:
    """Add the count of each code, or its weights; a sorted chunk covers a short range of codes."""
    if not len(codes):
        return
    lowest = int(codes.min())
    found = np.bincount(codes - lowest, weights)
    counts[lowest : lowest + len(found)] += found.astype(np.int64)


def _places(student: Codes, following: Counts) -> AnyArray:
    """Return the place of each rating: after those that its student already has."""
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
