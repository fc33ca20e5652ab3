"""Thrift's compact protocol, in which a parquet file says where its columns are: fields by number, without names."""

import struct
from mmap import mmap
from typing import Any

Record = dict[int, Any]
DEEPEST = 16
"""Records within records; parquet has seven."""
LONGEST = 10
"""Bytes of a number of 64 bits."""
_DOUBLE = struct.Struct("<d")
_TRUE, _FALSE, _BYTE, _INTEGERS, _REAL, _TEXT, _LISTS, _MAP, _RECORD = (
    1,
    2,
    3,
    (4, 5, 6),
    7,
    8,
    (9, 10),
    11,
    12,
)


class Fields:
    """Reads record after record; raises ValueError or IndexError where there is none."""

    __slots__ = ("content", "place")

    def __init__(self, content: bytes | mmap, place: int) -> None:
        self.content = content
        self.place = place

    def record(self, depth: int = 0) -> Record:
        """The fields of a record by their numbers."""
        found: Record = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _byte(self) -> int:
        found = self.content[self.place]
        self.place += 1
        return found

    def _count(self) -> int:
        """A number without a sign, seven bits per byte."""
        found = 0
        for shift in range(0, 7 * LONGEST, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError(f"a number of more than {LONGEST} bytes")

    def _integer(self) -> int:
        """A number whose last bit is its sign."""
        found = self._count()
        return (found >> 1) ^ -(found & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"records within records, more than {DEEPEST} deep")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _TEXT:
            return self._text(self._count())
        if kind == _RECORD:
            return self.record(depth + 1)
        if kind in _LISTS:
            return self._list(depth + 1)
        if kind in (_TRUE, _FALSE, _BYTE):  # within a list
            return self._byte()
        if kind == _REAL:
            return _DOUBLE.unpack(self._text(_DOUBLE.size))[0]
        if kind == _MAP:
            return self._map(depth + 1)
        raise ValueError(f"a value of kind {kind}, which there is not")

    def _text(self, length: int) -> bytes:
        end = self.place + length
        if end > len(self.content):
            raise ValueError(
                f"text of {length:,} bytes, of which {len(self.content) - self.place:,} are there"
            )
        found = bytes(self.content[self.place : end])
        self.place = end
        return found

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4
        return [
            self._value(head & 15, depth) for _ in range(self._sized(size if size < 15 else self._count()))
        ]

    def _map(self, depth: int) -> dict[Any, Any]:
        size = self._sized(self._count())
        if not size:
            return {}
        kinds = self._byte()
        return {self._value(kinds >> 4, depth): self._value(kinds & 15, depth) for _ in range(size)}

    def _sized(self, size: int) -> int:
        """A number of values, each of which takes a byte at least."""
        if size > len(self.content) - self.place:
            raise ValueError(f"{size:,} values in {len(self.content) - self.place:,} bytes")
        return size
