"""Pages of a parquet file (`c/parquet_pages.c`): their heads, of which a large file has tens of thousands, and those of
places in a dictionary.

The readable twin of the first is in `reading/formats/parquet_pages.py`, which says what is wrong where something is;
that of the second is polars.
"""

import ctypes

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.library import Bytes, Integer, Ints, kernel, refuse_unless, same

_page_values = kernel("page_values", Bytes, *[Integer] * 3, returns=Integer)
_unpack_page = kernel("unpack_page", Bytes, *[Integer] * 3, Bytes, Integer, returns=ctypes.c_int32)
_of_codes = Ints, Integer, Bytes, Bytes, Integer, Ints, Integer
_decode_codes = kernel("decode_codes", Bytes, *[Integer] * 4, *_of_codes, returns=ctypes.c_int32)

# Bytes after the content of a page that may be read, and not used.
_BEYOND = 8


def page_values(content: NDArray[np.int8], start: int, end: int, most: int) -> int | None:
    """How many values the pages from byte `start` to `end` hold, none of which may have more than `most` bytes; None
    where they have to be looked at more closely."""
    refuse_unless(0 <= start <= end <= len(content), "pages of a file")
    found = int(_page_values(content, start, end, most))
    return found if found >= 0 else None


def unpacked_page(
    content: NDArray[np.int8], start: int, end: int, size: int, *, snappy: bool
) -> NDArray[np.int8] | None:
    """The content of a page, of so many bytes before Snappy packed it; None where it is something else."""
    refuse_unless(0 <= start <= end <= len(content), "pages of a file")
    page = np.empty(size, dtype=np.int8)
    return page if _unpack_page(content, start, end, snappy, page, size) else None


def decoded_codes(
    content: NDArray[np.int8],
    start: int,
    end: int,
    codes: NDArray[np.int32],
    seen: NDArray[np.int8],
    to: NDArray[np.int32],
    most: int,
    *,
    snappy: bool,
    optional: bool,
) -> bool:
    """Fill `to` with the codes of the values that pages from byte `start` to `end` hold as places in a dictionary, none
    with more than `most` bytes, and `seen` with 1 where a place occurs. False where they hold something else."""
    fitting = 0 <= start <= end <= len(content) and same(len(codes), len(seen)) and most >= 0
    refuse_unless(fitting, "pages of a file and their codes")
    page = np.empty(most + _BEYOND, dtype=np.int8)
    known = codes, len(codes), seen, page, len(page), to, len(to)
    return bool(_decode_codes(content, start, end, snappy, optional, *known))
