"""Rows that stand in a table more than once, alike in every column."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.text import counted
from raterlens.base.threads import BLOCK, in_threads
from raterlens.base.types import Mask
from raterlens.kernels.break_even import compiled_code_pays
from raterlens.reading.columns import Roles
from raterlens.reading.formats.lazy_table import Rows, Table
from raterlens.reading.masks import is_everywhere

Whole = NDArray[np.integer[Any]]

_ROW = "\0row"


def repeated_rows(table: Table, roles: Roles, rows: Rows, of_use: Mask, codes: Iterable[Whole]) -> list[str]:
    """Say how many rows repeat another in every column, also those that are not used: a date, say, tells them apart.

    Codes that rows have in common with their copies are enough to see that there are none.
    """
    if is_everywhere(of_use) or of_use.all():
        alike = rows_alike([*codes])
    else:
        alike = of_use.copy()
        alike[of_use] = rows_alike([code[of_use] for code in codes])
    if not alike.any():
        return []
    frame = rows.frame
    if not set(roles.columns) <= set(frame.columns):
        frame = table.take(roles.columns).frame
    suspects = frame.filter(alike).unique()
    whole = table.take(table.columns)
    found = whole.frame.with_row_index(_ROW).join(
        suspects, on=list(roles.columns), how="semi", nulls_equal=True
    )
    found = found.sort(_ROW)
    first = found.unique(table.columns, keep="first", maintain_order=True)
    again = found.join(first, on=_ROW, how="anti", maintain_order="left")
    if again.is_empty():
        return []
    one = again.head(1)
    original = first.join(one, on=list(table.columns), how="semi", nulls_equal=True)
    places = [whole.place(frame[_ROW][0]) for frame in (one, original)]
    if places[0] == places[1]:  # The file says itself that a rating counts several times: R3 of FACETS.
        return []
    what = "row" if len(roles.scores) > 1 else "rating"
    return [
        f"{len(again):,} of {counted(len(rows.frame), what)} "
        f"{'is a copy' if len(again) == 1 else 'are copies'}: {places[0]} repeats {places[1]} in every column. "
        "All are kept, as a rating may be repeated on purpose; if it was by mistake, remove the copies and read the "
        "table again"
    ]


def rows_alike(codes: list[Whole], block: int = BLOCK) -> Mask:
    """Which rows have all their codes, the student's first, in common with another row."""
    if compiled_code_pays(len(codes[0])) and _none_alike(codes):
        return np.zeros(len(codes[0]), dtype=np.bool_)
    sizes = [int(code.max(initial=0)) + 1 for code in codes]

    def keys(rows: slice) -> NDArray[np.int64]:
        key = np.zeros(1, dtype=np.int64)
        for code, size in zip(codes, sizes, strict=True):
            # Where this exceeds 64 bits, it makes rows look alike that are not, never the other way round.
            key = key * np.int64(size) + code[rows]
        return key

    def found(span: tuple[int, int]) -> bool:
        # Nearly always there is none, and a sort says so soonest.
        ordered = np.sort(keys(slice(*span)))
        return bool((ordered[1:] == ordered[:-1]).any())

    if not any(in_threads(found, list(pairwise(_edges(codes[0], block))))):
        return np.zeros(len(codes[0]), dtype=np.bool_)
    return pl.Series(keys(slice(None))).is_duplicated().to_numpy()


def _none_alike(codes: list[Whole]) -> bool:
    """Whether compiled code finds that rows differ, in the student's code and others of the same type."""
    from raterlens.kernels.coded_columns import none_alike  # may be missing

    student, *others = codes
    others = [code for code in others if code.dtype == student.dtype]
    return student.dtype == np.int32 and none_alike(np.ascontiguousarray(student), others)


def _edges(student: Whole, block: int) -> list[int]:
    """Rows between which no student stands on both sides: short stretches of a table in order, else all rows."""
    n = len(student)
    if n <= block or not (student[1:] >= student[:-1]).all():
        return [0, n]
    return [*np.unique(np.searchsorted(student, student[::block])).tolist(), n]
