"""Whole numbers of a small range to codes, by a table of all between the lowest and the highest."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.threads import BLOCK, in_blocks
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.ratings.coded import Codes

_NUMBERED = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Categorical, pl.Enum),
)
_INTS = np.iinfo(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class SmallNumbers:
    """A column as 32-bit numbers, none of them missing; those that stand for a categorical's texts, too."""

    numbers: Codes
    """(rows,): how much larger than `base` each is."""
    base: int
    lowest: int
    """Of the numbers, not of what the column holds."""
    size: int
    """All between the lowest and the highest."""
    some: pl.Series
    """Rows of the column, of texts all that occur."""

    @staticmethod
    def of(column: pl.Series) -> "SmallNumbers | None":
        """None where the column holds something else, or a table would be longer than it."""
        if column.dtype not in _NUMBERED or column.null_count() or not len(column):
            return None
        physical = column.to_physical()
        # Whole numbers, none of them missing, which types do not know.
        lowest, highest = int(physical.min()), int(physical.max())  # type: ignore[arg-type]
        base = 0 if _INTS.min <= lowest <= highest <= _INTS.max else lowest
        if highest - lowest >= min(len(column), _INTS.max):
            return None
        numbers, at = np.empty(len(column), dtype=np.int32), 0
        for chunk in physical.get_chunks():
            values = chunk.to_numpy()
            numbers[at : at + len(chunk)] = values - values.dtype.type(base) if base else values
            at += len(chunk)
        some = column.head(1) if column.dtype.is_integer() else column.unique()
        return SmallNumbers(numbers, base, lowest - base, highest - lowest + 1, some)

    def labels(self, block: int = BLOCK) -> tuple[NDArray[np.int64], pl.Series]:
        """The distinct numbers, and what the column holds for each."""
        physical = self.some.to_physical().to_numpy()
        if not self.some.dtype.is_integer():
            return physical.astype(np.int64), self.some
        shown = np.zeros(self.size, dtype=np.int8)
        show = _show_with(len(self.numbers))
        in_blocks(lambda rows: show(self.numbers[rows], self.lowest, shown), len(self.numbers), block)
        present = np.flatnonzero(shown) + self.lowest
        held = present.astype(physical.dtype) + physical.dtype.type(self.base)
        return present, pl.Series(self.some.name, held)

    def codes(self, present: NDArray[np.int64], code_of: Codes, block: int = BLOCK) -> Codes:
        """The code of every row, in the place of its number, from those of the distinct ones."""
        if np.array_equal(present, code_of):
            return self.numbers
        table = np.zeros(self.size, dtype=np.int32)
        table[present - self.lowest] = code_of
        recode = _recode
        if compiled_code_pays(len(self.numbers)):
            from raterlens.kernels.coded_columns import recode_numbers as recode  # may be missing
        in_blocks(lambda rows: recode(self.numbers[rows], self.lowest, table), len(self.numbers), block)
        return self.numbers


def _show_with(n: int) -> Callable[[Codes, int, NDArray[np.int8]], None]:
    if not compiled_code_pays(n):
        return _show
    from raterlens.kernels.coded_columns import show_numbers  # may be missing

    return show_numbers


def _show(numbers: Codes, lowest: int, shown: NDArray[np.int8]) -> None:
    shown[numbers.astype(np.intp) - lowest] = 1


def _recode(numbers: Codes, lowest: int, table: Codes) -> None:
    numbers[:] = table[numbers.astype(np.intp) - lowest]
