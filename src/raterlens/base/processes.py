"""Tasks side by side: in processes, or on a Dask cluster; and long work in numbered parts that resumes."""

import json
import os
import platform
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raterlens.base.atomic_files import atomic_write, write_text
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.base.threads import available_cores, one_thread

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client, Future


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
            both = Message("both ", Option("workers", workers), " and client are given")
            raise OptionError(both, "leave one of them out")
        return on_cluster(work, shared, tasks, client)
    if workers == 1:
        return ((task, _alone(work, shared, task)) for task in tasks)
    return _in_processes(work, shared, tasks, workers or available_cores())


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


def _alone(work: Callable[[Any, Task], Result], shared: Any, task: Task) -> Result:
    with one_thread():
        return work(shared, task)


def _work(work: Callable[[Any, Task], Result], task: Task) -> Result:
    return _alone(work, _shared, task)


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
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})


# ----------------------------------------------------------------------------------------------------- a Dask cluster

# Seconds to wait for a scheduler, and for its first worker.
SCHEDULER, WORKERS = 10, 60
# Workers with another release of these would misread what they are sent, or compute something else.
_SAME = ("raterlens", "distributed")


class ClusterLostError(ConnectionError):
    """All workers are gone."""


@contextmanager
def cluster_at(
    address: str | None, scheduler_timeout: float = SCHEDULER, workers_timeout: float = WORKERS
) -> "Iterator[Client | None]":
    """Connect to the scheduler at `address`, and disconnect at the end; yields None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # an optional package
    except ImportError as error:
        what, remedy = "a cluster needs the package distributed", "run: pip install 'raterlens[cluster]'"
        raise OptionError(what, remedy, value=address, option="cluster") from error
    try:
        with warnings.catch_warnings():
            # Told as an error below, in one line, where it matters.
            warnings.filterwarnings("ignore", message="Mismatched versions")
            client = Client(address, timeout=scheduler_timeout)
    except (OSError, ValueError) as error:
        what = f"no Dask scheduler answers at {address!r} ({error})"
        remedy = "start one with: dask scheduler, and workers with: dask worker ADDRESS"
        raise InputError(what, remedy, value=address, option="cluster") from error
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            start = f"start some with: dask worker {address}"
            waiting = f"waiting {workers_timeout} s for one ({start})"
            print(
                f"raterlens: the Dask scheduler at {address} has no workers yet; {waiting}", file=sys.stderr
            )
            try:
                client.wait_for_workers(1, timeout=workers_timeout)
            except TimeoutError as error:
                what = f"the Dask scheduler at {address!r} has no workers after {workers_timeout} s"
                raise InputError(what, start, value=address, option="cluster") from error
        check_versions(client)
        yield client


def check_client(client: object) -> None:
    """Raise unless this is a client of a Dask cluster."""
    if not hasattr(client, "submit") or not hasattr(client, "scatter"):
        remedy = "give a distributed.Client, which pip install 'raterlens[cluster]' brings"
        raise OptionError(f"client is a {type(client).__name__}", remedy, value=client, option="client")


def check_versions(client: "Client") -> None:
    """Raise if a worker lacks Raterlens, or has another version of a package that must be the same everywhere."""
    from importlib.metadata import version  # only with a cluster

    def minor(python: str) -> str:
        return ".".join(python.split(".")[:2])

    here = {name: version(name) for name in _SAME} | {"python": minor(platform.python_version())}
    found = client.get_versions(packages=["raterlens"])
    everyone = {f"the worker at {address}": about for address, about in found["workers"].items()}
    for who, about in ({"the scheduler": found["scheduler"]} | everyone).items():
        there = about["packages"] | {"python": minor(about["packages"]["python"])}
        for name, wanted in here.items():
            if there.get(name) != wanted:
                seen = f"no {name}" if there.get(name) is None else f"{name} {there[name]}"
                what = f"{who} has {seen}, but this machine has {wanted}"
                same = f"pip install 'raterlens[cluster]=={here['raterlens']}'"
                remedy = f"install the same everywhere, for example with: {same}"
                raise InputError(what, remedy, value=there.get(name), option="cluster")


def on_cluster(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], client: "Client"
) -> Generator[tuple[Task, Result], None, None]:
    """Yield each task with `work(shared, task)` as it finishes; tasks of a worker that dies move to another."""
    if not tasks:
        return
    sent = broadcast(client, shared)
    futures = client.map(_work_on_cluster, tasks, work=work, shared=sent, pure=False)
    waiting = dict(zip(futures, tasks, strict=True))
    try:
        for future in _ready(client, waiting):
            yield waiting.pop(future), future.result()
    finally:
        with suppress(Exception):  # of a cluster that is gone
            client.cancel(list(waiting))


def _ready(client: "Client", waiting: "Collection[Future]") -> "Iterator[Future]":
    """Yield futures as they finish, until none is left."""
    from distributed import as_completed  # an optional package

    while waiting:
        try:
            yield from as_completed(list(waiting), timeout=WORKERS)
        except TimeoutError:
            check_alive(client)


def addresses(client: "Client") -> frozenset[str]:
    """Return the addresses of running workers; one that is still starting takes no tasks."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return frozenset(at for at, about in workers.items() if about["status"] == "running")


def placements(client: "Client", n: int) -> list[dict[str, Any]]:
    """For each of `n` parts, return the task options that place it on a worker: neighbours together, so that partial
    sums do not travel. If that worker is gone, any other will do."""
    threads = {at: about["nthreads"] for at, about in client.scheduler_info(n_workers=-1)["workers"].items()}
    places = [at for at in sorted(threads) for _ in range(threads[at])]
    if not places:
        return [{}] * n
    return [
        {"workers": [places[which * len(places) // n]], "allow_other_workers": True} for which in range(n)
    ]


def result(client: "Client", future: "Future") -> Any:
    """Return the result of a task; raise if all workers are gone."""
    while True:
        try:
            return future.result(timeout=WORKERS)
        except TimeoutError:
            if future.status == "error":
                raise
            check_alive(client)


def check_alive(client: "Client", timeout: float = WORKERS) -> None:
    """Raise if there is no worker and none joins in time."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except Exception as error:
        raise ClusterLostError(
            f"the Dask cluster is gone: no worker for {timeout} s ({error}); start it again, and where the fit has a "
            "checkpoint, go on with resume"
        ) from error


def broadcast(client: "Client", value: Any) -> "Future":
    """Send a value to all workers, as the result of a task.

    What a dead worker had of it is then computed again by the scheduler. Scattered data would be lost, and scattering
    to a worker that has just died does not end.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(identity, value, pure=False)


def is_cluster_failure(error: BaseException) -> bool:
    """Whether the cluster failed, rather than the work."""
    # An optional package.
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    known = (CancelledError, KilledWorker, CommClosedError, TimeoutError, OSError)
    # Named differently by different releases: data whose only holder is gone.
    return isinstance(error, known) or type(error).__name__ in ("FutureCancelledError", "NoSuchTaskError")


def identity(value: Any) -> Any:
    """On a worker, return what was sent."""
    return value


def _work_on_cluster(task: Task, work: Callable[[Any, Task], Result], shared: Any) -> Result:
    return _alone(work, shared, task)


# ----------------------------------------------------------------------------------------------------- numbered parts

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
                    other = f"{name} {found.get(name)!r}, not {wanted!r}"
                    other = other if len(str(found.get(name))) <= _LONGEST_VALUE else f"another {name}"
                    what = f"'{self.settings}' was begun with {other}"
                    remedy = "give another folder, or remove that file and its parts"
                    raise OptionError(what, remedy, value=wanted, option=name)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.settings, json.dumps(dict(settings), indent=2) + "\n")

    def part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"

    def keep(self, number: int, rows: "pl.DataFrame") -> None:
        atomic_write(self.part(number), rows.write_parquet)


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
    tell = on_done or (lambda done, total: None)
    tell(total - len(missing), total)
    with closing(map_in_processes(work, shared, missing, workers=workers, client=client)) as ready:
        for done, (number, rows) in enumerate(ready, total - len(missing) + 1):
            keep(number, rows)
            tell(done, total)
