"""Threads: how many may be used here, work on short stretches of long arrays, and work in the background."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


Task = TypeVar("Task")
Result = TypeVar("Result")

BLOCK = 2**17
"""Rows that stay in the processor's cache from one step to the next."""
# Rows that are not worth a thread of their own.
_FEW = 2**14

_alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether what runs here is one of several tasks."""


def available_cores() -> int:
    """Cores that may be used here: all of this process, and one by a task among others."""
    if _alone.get():
        return 1
    # Not every system can say.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compiled code keeps to this thread."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def in_threads(work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """`work` of each task, in order. It has to let go of the interpreter's lock for most of its time."""
    if len(tasks) < 2 or available_cores() < 2:
        return [work(task) for task in tasks]
    # This thread has its share, so that on two cores only one has to be woken.
    others = [_thread_pool(os.getpid()).submit(_by_itself, work, task) for task in tasks[1:]]
    try:
        first = work(tasks[0])
    finally:
        done = [other.result() for other in others]
    return [first, *done]


def _by_itself(work: Callable[[Task], Result], task: Task) -> Result:
    """A thread of the pool that shared out its work would wait for threads that wait for it."""
    with one_thread():
        return work(task)


def spans(size: int, least: int = 64) -> list[tuple[int, int]]:
    """Consecutive stretches of 0 .. size, one per thread; fewer where they would be shorter than `least`: handing work
    to a thread takes some tens of microseconds."""
    if size < 2 * least:
        return [(0, size)]
    parts = max(1, min(available_cores(), size // max(least, 1)))
    return list(pairwise(size * part // parts for part in range(parts + 1)))


def in_blocks(work: Callable[[slice], Result], size: int, block: int = BLOCK) -> list[Result]:
    """`work` on short stretches of 0 .. size, in order and on all cores: what it makes of one stays in the cache."""

    def part(span: tuple[int, int]) -> list[Result]:
        return [work(slice(at, min(at + block, span[1]))) for at in range(*span, block)]

    return [done for part in in_threads(part, spans(size, _FEW)) for done in part]


@cache
def _thread_pool(process: int) -> "ThreadPoolExecutor":
    """Kept, since starting threads takes as long as a small piece of work; one per process: forks need their own."""
    from concurrent.futures import ThreadPoolExecutor  # small work does without

    return ThreadPoolExecutor(available_cores(), f"raterlens-{process}")


@contextmanager
def in_background(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do `work` on another thread; what is yielded waits for it, and returns what it found or raises its error.

    The thread is joined on exit. The two gain from each other where one of them releases the interpreter's lock.

    Examples
    --------
    >>> with in_background(lambda: 6 * 7) as answer:
    ...     answer()
    42
    """
    from concurrent.futures import ThreadPoolExecutor  # small work does without

    with ThreadPoolExecutor(1, "raterlens-background") as pool:
        yield pool.submit(_by_itself, lambda _: work(), None).result
