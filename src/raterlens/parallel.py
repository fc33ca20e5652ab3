"""Work side by side in processes of one thread each, which end with the process that started them."""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

# One thread a worker: workers are the parallelism, and sums in a fixed order give the same last digit.
ONE_THREAD = (
    "OMP_NUMONE_THREAD",
    "OPENBLAS_NUMONE_THREAD",
    "MKL_NUMONE_THREAD",
    "POLARS_MAXONE_THREAD",
    "NUMBA_NUMONE_THREAD",
)

_shared: Any = None
"""In a worker: what all its tasks are about."""


def side_by_side(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """Each task with `work(shared, task)`, in the order in which they get ready.

    `work` is a function of a module, and `shared` is sent to each worker once.
    """
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


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _work(work: Callable[[Any, Task], Result], task: Task) -> Result:
    return work(_shared, task)


def _start_worker(shared: Any) -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
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
