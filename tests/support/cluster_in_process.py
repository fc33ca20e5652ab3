"""A Dask cluster in this process: tasks are done at once, workers come, go and lose what they had."""

from collections.abc import Iterable
from concurrent.futures import CancelledError
from itertools import count
from typing import Any

_NUMBERS = count()


class Task:
    """A future whose task is done already."""

    def __init__(self, value: Any, workers: Iterable[str]) -> None:
        self.key, self.status = f"task {next(_NUMBERS)}", "finished"
        self.workers, self._value = list(workers), value

    def result(self, timeout: float | None = None) -> Any:
        if self.status != "finished":
            raise CancelledError(self.key)
        return self._value

    def lose(self) -> None:
        """As if the worker that had it had died."""
        self.status, self.workers = "lost", []


class Cluster:
    """A client, as engines use it."""

    def __init__(self, *workers: str) -> None:
        self.workers = list(workers)
        self.sent: list[list[str]] = []
        """Where each task was to be done."""

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {at: {"status": "running", "nthreads": 1} for at in self.workers}}

    def submit(self, work: Any, *given: Any, workers: list[str] | None = None, **options: Any) -> Task:
        self.sent.append(workers or [])
        return Task(work(*(_value(one) for one in given)), workers or self.workers[:1])

    def map(self, work: Any, tasks: Iterable[Any], pure: bool, **options: Any) -> list[Task]:
        named = {name: _value(one) for name, one in options.items()}
        return [Task(work(_value(task), **named), self.workers[:1]) for task in tasks]

    def gather(self, tasks: Iterable[Task], errors: str = "raise") -> list[Any]:
        return [task.result() for task in tasks]

    def scatter(self, value: Any, workers: list[str] | None, hash: bool) -> Task:
        return Task(value, workers or self.workers[:1])

    def who_has(self, tasks: Iterable[Task]) -> dict[str, list[str]]:
        return {task.key: task.workers for task in tasks}

    def wait_for_workers(self, number: int, timeout: float) -> None:
        if len(self.workers) < number:
            raise TimeoutError


def _value(given: Any) -> Any:
    if isinstance(given, Task):
        return given.result()
    return [_value(one) for one in given] if isinstance(given, list) else given
