"""Memory in pages of the usual size, which a virtual machine has at hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from numpy._core import multiarray

_lock = Lock()
_waiting: list[bool] = []
"""One entry for each that wants usual pages now: what the switch was before the first of them."""


@contextmanager
def usual_pages() -> Iterator[None]:
    """Large arrays that are made meanwhile come in pages of 4 KiB, not in those of 2 MiB that NumPy asks Linux for.

    Huge pages save faults: at best some seconds of a fit of 100,000,000 ratings. But many virtual machines give back
    to their host what is free in pieces of that size, and a huge page is then fetched from there again. That can take
    ten times as long as pages that another process has just freed: 22 s of the same fit.
    """
    # Not part of what NumPy promises. NUMPY_MADVISE_HUGEPAGE is, but only before NumPy is loaded.
    switch: Callable[[bool], bool] | None = getattr(multiarray, "_set_madvise_hugepage", None)
    if switch is None:
        yield
        return
    with _lock:
        before = switch(False)
        _waiting.append(_waiting[0] if _waiting else before)
    try:
        yield
    finally:
        with _lock:
            before = _waiting.pop()
            if not _waiting:
                switch(before)
