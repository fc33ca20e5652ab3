"""Work side by side: in processes of this machine, on the workers of a Dask cluster, or in threads.

A task is done on one thread wherever it is done: tasks are the parallelism, and sums in a fixed order give the same
last digit.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from raterlens.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from distributed import Client
    from numpy.typing import NDArray

Task = TypeVar("Task")
Result = TypeVar("Result")
Number = TypeVar("Number", bound="np.generic")

BLOCK = 2**17
"""Rows that stay in the processor's cache from one step to the next."""

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
)
"""What keeps the libraries of a new process to one thread, each set to 1."""

_alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether what runs here is one of several tasks."""

_shared: Any = None
"""In a process of the pool: what all its tasks are about."""


def side_by_side(
    work: Callable[[Any, Task], Result],
    shared: Any,
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    client: "Client | None" = None,
) -> Generator[tuple[Task, Result], None, None]:
    """Each task with `work(shared, task)`, in the order in which they get ready.

    Parameters
    ----------
    work
        A function of a module.
    shared
        Sent to each worker once.
    workers
        Processes; as many as there are cores where left out.
    client
        Of a Dask cluster, whose workers then do the work.
    """
    if client is not None:
        check_client(client)
        if workers is not None:
            raise OptionError(f"both workers={workers} and client are given; leave one of them out")
        from raterlens.parallel.dask_cluster import on_cluster

        return on_cluster(work, shared, tasks, client)
    return _in_processes(work, shared, tasks, workers or available_cores())


def check_client(client: object) -> None:
    """Raise where it is not a client of a Dask cluster."""
    if not hasattr(client, "submit") or not hasattr(client, "scatter"):
        raise OptionError(
            f"client is a {type(client).__name__}; give a distributed.Client, which "
            "pip install 'raterlens[cluster]' brings"
        )


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


# --------------------------------------------------------------------------------------------- threads


def in_threads(work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """`work` of each task, in order. It has to let go of the interpreter's lock for most of its time."""
    if len(tasks) < 2 or available_cores() < 2:
        return [work(task) for task in tasks]
    return list(_thread_pool(os.getpid()).map(work, tasks))


def spans(size: int) -> list[tuple[int, int]]:
    """Consecutive stretches of 0 .. size, one a thread."""
    cores = available_cores()
    return list(pairwise(size * part // cores for part in range(cores + 1)))


def in_blocks(work: Callable[[slice], Result], size: int) -> list[Result]:
    """`work` on short stretches of 0 .. size, in order and on all cores: what it makes of one stays in the cache."""

    def part(span: tuple[int, int]) -> list[Result]:
        return [work(slice(at, min(at + BLOCK, span[1]))) for at in range(*span, BLOCK)]

    return [done for part in in_threads(part, spans(size)) for done in part]


def looked_up(table: "NDArray[Number]", places: "NDArray[np.integer]") -> "NDArray[Number]":
    """`table[places]`, without all places as wide integers at once."""
    import numpy as np  # the web server does without

    found = np.empty(len(places), dtype=table.dtype)

    def block(rows: slice) -> None:
        found[rows] = table[places[rows]]

    in_blocks(block, len(places))
    return found


@cache
def _thread_pool(process: int) -> "ThreadPoolExecutor":
    """Kept, since starting threads takes as long as a small piece of work; one a process: forks need their own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(available_cores(), f"raterlens-{process}")


# ------------------------------------------------------------------------------------------- processes


def _in_processes(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """In processes that end with this one."""
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import get_context

    if not tasks:
        return
    # Fresh processes rather than forked ones: threads of the parent (polars, BLAS) do not survive a fork.
    with (
        _one_thread_each(),
        ProcessPoolExecutor(
            min(workers, len(tasks)),
            mp_context=get_context("spawn"),
            initializer=_start_worker,
            initargs=(shared,),
        ) as pool,
    ):
        waiting: dict[Future[Result], Task] = {pool.submit(_work, work, task): task for task in tasks}
        try:
            while waiting:
                ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield waiting.pop(future), future.result()
        except BaseException:
            # Interrupted, or a task failed: what is under way need not be waited for.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise


def _work(work: Callable[[Any, Task], Result], task: Task) -> Result:
    with one_thread():
        return work(_shared, task)


def _start_worker(shared: Any) -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
