"""Known answers: what is right for a student and an item, whoever rated them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from raterlens.base.types import Indices

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswers:
    """The right score of some students on some items, once each, by student and then by item."""

    student: Codes
    item: Codes
    answer: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.answer)

    def with_scores(self, places: NDArray[np.int16]) -> "KnownAnswers":
        """The same with answer s replaced by `places[s]`."""
        return replace(self, answer=places[self.answer])

    def among(self, students: Indices, items: Indices) -> "KnownAnswers | None":
        """Those of students and items that are left, by their new codes, -1 for those that are not; None where there
        are none."""
        student, item = students[self.student], items[self.item]
        left = (student >= 0) & (item >= 0)
        if not left.any():
            return None
        return KnownAnswers(student[left].astype(np.int32), item[left].astype(np.int32), self.answer[left])

    def of_students(self, drawn: Indices) -> "KnownAnswers | None":
        """Those of the students drawn, who may repeat, by their places among the draws."""
        first = np.searchsorted(self.student, np.arange(int(drawn.max()) + 2))
        size = first[drawn + 1] - first[drawn]
        if not size.any():
            return None
        begin = np.repeat(first[drawn] - np.cumsum(size) + size, size)
        rows = begin + np.arange(size.sum())
        student = np.repeat(np.arange(len(drawn), dtype=np.int32), size)
        return KnownAnswers(student, self.item[rows], self.answer[rows])


def renumbered(codes: NDArray[np.integer], size: int) -> Indices:
    """(size,): the new code of each level where only those in `codes` are left; -1 for the others."""
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    return np.where(present, np.cumsum(present) - 1, -1)


def joined_answers(parts: "list[tuple[int, KnownAnswers | None]]") -> KnownAnswers | None:
    """Those of parts of the students, each with the number of students before it."""
    found = [replace(known, student=known.student + np.int32(n)) for n, known in parts if known is not None]
    if not found:
        return None
    return KnownAnswers(
        *(np.concatenate([getattr(part, name) for part in found]) for name in ("student", "item", "answer"))
    )
