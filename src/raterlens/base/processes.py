"""Tasks side by side, in processes or on a cluster, and long work in numbered parts that resumes."""

import json
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raterlens.base.atomic_files import atomic_write, write_text
from raterlens.base.cluster import check_client, on_cluster
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.base.threads import available_cores, one_thread

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client


Task = TypeVar("Task")
Result = TypeVar("Result")

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
"""Variables that keep the libraries of a new process to one thread, each set to 1."""

_shared: Any = None
"""The argument that all tasks of a pool process share."""


def map_in_processes(
    work: Callable[[Any, Task], Result],
    shared: Any,
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    client: "Client | None" = None,
) -> Generator[tuple[Task, Result], None, None]:
    """Yield each task with `work(shared, task)` as it finishes.

    Parameters
    ----------
    work
        A function of a module.
    shared
        Sent to each worker once.
    workers
        Processes; as many as there are cores where left out. One is this process.
    client
        Of a Dask cluster, whose workers then do the work.
    """
    if client is not None:
        check_client(client)
        if workers is not None:
            raise OptionError(
                Message("both ", Option("workers", workers), " and client are given"), "leave one of them out"
            )
        return on_cluster(work, shared, tasks, client)
    if workers == 1:
        return _here(work, shared, tasks)
    return _in_processes(work, shared, tasks, workers or available_cores())


def _here(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task]
) -> Generator[tuple[Task, Result], None, None]:
    for task in tasks:
        with one_thread():
            done = work(shared, task)
        yield task, done


def _in_processes(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """Run the tasks in processes that end with this one."""
    # Imported here: most sessions start no process.
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import active_children, get_context

    if not tasks:
        return
    others = active_children()
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
            for process in active_children():
                if process not in others:
                    process.terminate()
            raise


def _work(work: Callable[[Any, Task], Result], task: Task) -> Result:
    with one_thread():
        return work(_shared, task)


def _start_worker(shared: Any) -> None:
    """Leave Ctrl-C to the parent process, and end when it ends."""
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


OnDone = Callable[[int, int], None]
"""Called with the number of finished parts and of all parts."""
Work = Callable[[Any, int], "pl.DataFrame"]
"""A function of a module: (shared, number of the part) -> its rows."""
_LONGEST_VALUE = 40


@dataclass(frozen=True, slots=True)
class Parts:
    """Where finished parts are kept."""

    folder: Path
    settings: Path
    """A file with the settings that the parts depend on."""

    def open(self, settings: Mapping[str, object]) -> None:
        """Create the folder, or raise if it holds parts of other work."""
        if self.settings.exists():
            found = json.loads(self.settings.read_text(encoding="utf-8"))
            for name, wanted in settings.items():
                if found.get(name) != wanted:
                    raise OptionError(
                        f"'{self.settings}' was begun with {_other(name, found.get(name), wanted)}",
                        "give another folder, or remove that file and its parts",
                        value=wanted,
                        option=name,
                    )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.settings, json.dumps(dict(settings), indent=2) + "\n")

    def part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"

    def keep(self, number: int, rows: "pl.DataFrame") -> None:
        atomic_write(self.part(number), rows.write_parquet)


def _other(name: str, found: object, wanted: object) -> str:
    shown = f"{name} {found!r}, not {wanted!r}"
    return shown if len(str(found)) <= _LONGEST_VALUE else f"another {name}"


def run_missing_parts(
    work: Work,
    shared: Any,
    total: int,
    missing: Sequence[int],
    keep: Callable[[int, "pl.DataFrame"], None],
    *,
    workers: int | None = None,
    client: "Client | None" = None,
    on_done: OnDone | None = None,
) -> None:
    """Compute the missing parts of `total`, as `map_in_processes` does, and keep each as it finishes."""
    done = total - len(missing)
    if on_done is not None:
        on_done(done, total)
    with closing(map_in_processes(work, shared, missing, workers=workers, client=client)) as ready:
        for number, rows in ready:
            keep(number, rows)
            done += 1
            if on_done is not None:
                on_done(done, total)
