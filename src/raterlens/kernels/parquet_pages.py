"""Heads of the pages of a parquet file (`c/parquet_pages.c`), of which a large file has tens of thousands.

The readable twin is in `reading/formats/parquet.py`, which says what is wrong where something is.
"""

import numpy as np
from numpy.typing import NDArray

from raterlens.kernels.library import Bytes, Integer, kernel, refuse_unless

_page_values = kernel("page_values", Bytes, *[Integer] * 3, returns=Integer)


def page_values(content: NDArray[np.int8], start: int, end: int, most: int) -> int | None:
    """How many values the pages from byte `start` to `end` hold, none of which may have more than `most` bytes; None
    where they have to be looked at more closely."""
    refuse_unless(0 <= start <= end <= len(content), "pages of a file")
    found = int(_page_values(content, start, end, most))
    return found if found >= 0 else None
