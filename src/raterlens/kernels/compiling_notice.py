"""Who wants to know that functions are being compiled, which takes seconds, once per environment.

Apart from the compiler, so that asking to be told does not load it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_tell: list[Callable[[bool], None]] = []


@contextmanager
def told_of_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """`tell` is called with True when a function begins to be compiled, and with False when it is done; not where it is
    kept from an earlier run."""
    _tell.append(tell)
    try:
        yield
    finally:
        _tell.remove(tell)


def notify(begun: bool) -> None:
    for tell in tuple(_tell):
        tell(begun)
