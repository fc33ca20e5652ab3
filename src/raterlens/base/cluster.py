"""Dask clusters: connect, check the workers' versions, submit tasks."""

import platform
import sys
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from raterlens.base.errors import InputError, OptionError
from raterlens.base.threads import one_thread

if TYPE_CHECKING:
    from distributed import Client, Future


Task = TypeVar("Task")
Result = TypeVar("Result")

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
        raise OptionError(
            "a cluster needs the package distributed",
            "run: pip install 'raterlens[cluster]'",
            value=address,
            option="cluster",
        ) from error
    try:
        with warnings.catch_warnings():
            # Told as an error below, in one line, where it matters.
            warnings.filterwarnings("ignore", message="Mismatched versions")
            client = Client(address, timeout=scheduler_timeout)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error})",
            "start one with: dask scheduler, and workers with: dask worker ADDRESS",
            value=address,
            option="cluster",
        ) from error
    with client:
        _wait_for_workers(client, address, workers_timeout)
        check_versions(client)
        yield client


def _wait_for_workers(client: "Client", address: str, timeout: float) -> None:
    if client.scheduler_info(n_workers=-1)["workers"]:
        return
    start = f"start some with: dask worker {address}"
    print(
        f"raterlens: the Dask scheduler at {address} has no workers yet; waiting {timeout} s for one ({start})",
        file=sys.stderr,
    )
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        raise InputError(
            f"the Dask scheduler at {address!r} has no workers after {timeout} s",
            start,
            value=address,
            option="cluster",
        ) from error


def check_client(client: object) -> None:
    """Raise unless this is a client of a Dask cluster."""
    if not hasattr(client, "submit") or not hasattr(client, "scatter"):
        raise OptionError(
            f"client is a {type(client).__name__}",
            "give a distributed.Client, which pip install 'raterlens[cluster]' brings",
            value=client,
            option="client",
        )


def check_versions(client: "Client") -> None:
    """Raise if a worker lacks Raterlens, or has another version of a package that must be the same everywhere."""
    from importlib.metadata import version  # only with a cluster

    here = {name: version(name) for name in _SAME} | {"python": _minor(platform.python_version())}
    found = client.get_versions(packages=["raterlens"])
    everyone = {f"the worker at {address}": about for address, about in found["workers"].items()}
    for who, about in ({"the scheduler": found["scheduler"]} | everyone).items():
        there = about["packages"] | {"python": _minor(about["packages"]["python"])}
        for name, wanted in here.items():
            if there.get(name) != wanted:
                seen = f"no {name}" if there.get(name) is None else f"{name} {there[name]}"
                raise InputError(
                    f"{who} has {seen}, but this machine has {wanted}",
                    "install the same everywhere, for example with: "
                    f"pip install 'raterlens[cluster]=={here['raterlens']}'",
                    value=there.get(name),
                    option="cluster",
                )


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def on_cluster(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], client: "Client"
) -> Generator[tuple[Task, Result], None, None]:
    """Yield each task with `work(shared, task)` as it finishes; tasks of a worker that dies move to another."""
    if not tasks:
        return
    sent = broadcast(client, shared)
    waiting = dict(zip(client.map(_work, tasks, work=work, shared=sent, pure=False), tasks, strict=True))
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


# --------------------------------------------------------------------------------------------- on a worker


def identity(value: Any) -> Any:
    return value


def _work(task: Task, work: Callable[[Any, Task], Result], shared: Any) -> Result:
    with one_thread():
        return work(shared, task)
