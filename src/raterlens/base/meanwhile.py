"""Work beside the work: one thing is done on another thread while a block goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

from raterlens.base.threads import one_thread

Result = TypeVar("Result")


@contextmanager
def meanwhile(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do `work` on a thread of its own; what is yielded waits for it, and returns what it found or raises its error.

    The block ends once the work has, however it ends: nothing goes on behind the back of what follows. The two gain
    from each other where one of them lets go of the interpreter's lock.

    Examples
    --------
    >>> with meanwhile(lambda: 6 * 7) as answer:
    ...     answer()
    42
    """
    found: list[Result] = []
    failed: list[BaseException] = []

    def done() -> None:
        try:
            with one_thread():
                found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=done, name="raterlens-meanwhile")
    thread.start()

    def answer() -> Result:
        thread.join()
        if failed:
            raise failed[0]
        return found[0]

    try:
        yield answer
    finally:
        thread.join()
