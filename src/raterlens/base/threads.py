"""Threads: the number to use, work on blocks of long arrays, work in the background."""

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
"""Whether this code runs as one of several tasks."""


def available_cores() -> int:
    """Number of cores to use: all of this process, or one within one of several tasks."""
    if _alone.get():
        return 1
    # Not every system can say.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep compiled code to this thread."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def in_threads(work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Run `work` on each task, in order of tasks. It should release the interpreter's lock for most of its time."""
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
    """Run without further threads: a pool thread that shared out its work would wait for threads that wait for it."""
    with one_thread():
        return work(task)


def spans(size: int, least: int = 64) -> list[tuple[int, int]]:
    """Split 0 .. size into consecutive spans, one per thread; fewer if they would be shorter than `least`, because
    handing work to a thread takes tens of microseconds."""
    if size < 2 * least:
        return [(0, size)]
    parts = max(1, min(available_cores(), size // max(least, 1)))
    return list(pairwise(size * part // parts for part in range(parts + 1)))


def in_blocks(work: Callable[[slice], Result], size: int, block: int = BLOCK) -> list[Result]:
    """Run `work` on blocks of 0 .. size, in order and on all cores: each block stays in the cache."""

    def part(span: tuple[int, int]) -> list[Result]:
        return [work(slice(at, min(at + block, span[1]))) for at in range(*span, block)]

    return [done for part in in_threads(part, spans(size, _FEW)) for done in part]


@cache
def _thread_pool(process: int) -> "ThreadPoolExecutor":
    """Cached, because starting threads takes as long as a small task; one per process, as forks need their own."""
    from concurrent.futures import ThreadPoolExecutor  # small work does without

    return ThreadPoolExecutor(available_cores(), f"raterlens-{process}")


@contextmanager
def in_background(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Run `work` on another thread; the yielded function waits for it and returns its result or raises its error.

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
