"""Tasks side by side: in processes of this machine, or on the workers of a Dask cluster.

A task is done on one thread wherever it is done: tasks are the parallelism, and sums in a fixed order give the same
last digit.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from raterlens.base.dask_cluster import check_client, on_cluster
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.base.threads import available_cores, one_thread

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Result = TypeVar("Result")

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
"""What keeps the libraries of a new process to one thread, each set to 1."""

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
            raise OptionError(
                Message("both ", Option("workers", workers), " and client are given"),
                "leave one of them out",
                value=workers,
                option="workers",
            )
        return on_cluster(work, shared, tasks, client)
    return _in_processes(work, shared, tasks, workers or available_cores())


def _in_processes(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """In processes that end with this one."""
    # Imported here: most sessions start no process.
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
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process  # only in a worker

    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


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
