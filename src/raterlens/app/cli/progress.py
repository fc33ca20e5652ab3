"""Progress, on stderr and only where somebody is watching: one bar for the whole command."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STAGES = {
    "reading": 15,
    "fitting": 35,
    "standard errors": 20,
    "testing assumptions": 5,
    "diagnosing": 15,
    "writing": 10,
}
"""What a command does, in this order, and roughly what each takes of 100."""
# A fit ends where about so many standard errors are left to go.
_ARRIVED = 3e-6


class Record(Protocol):
    """One iteration of the optimiser."""

    @property
    def stage(self) -> str: ...
    @property
    def iteration(self) -> int: ...
    @property
    def loglik(self) -> float: ...
    @property
    def gradient(self) -> float: ...


@dataclass(slots=True)
class Watch:
    """Follows a command; says nothing where nobody is watching."""

    bar: "Progress | None" = None
    task: "TaskID | None" = None
    done: float = 0.0
    _farthest: float = field(default=1.0)

    def enter(self, stage: str, of: str = "") -> None:
        """The command goes on to one of `STAGES`; `of` says what of."""
        self._farthest = 1.0
        self._show(self._before(stage), f"{stage} {of}".rstrip())

    @property
    def on_iteration(self) -> Callable[[Record], None] | None:
        """What a fit should call, if anything."""
        return None if self.bar is None else self._iteration

    def _iteration(self, record: Record) -> None:
        self._farthest = max(self._farthest, record.gradient)
        left = math.log(max(record.gradient, _ARRIVED) / _ARRIVED) / math.log(self._farthest / _ARRIVED)
        words = f"fitting: step {record.iteration}, log-likelihood {record.loglik:,.4f}"
        self._show(self._before("fitting") + (1 - left) * STAGES["fitting"], words)

    def _before(self, stage: str) -> float:
        names = list(STAGES)
        return float(sum(STAGES[name] for name in names[: names.index(stage)]))

    def _show(self, done: float, words: str) -> None:
        """The bar never goes back: where a model is fitted again, it waits."""
        self.done = max(self.done, done)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.done, description=words)


@contextmanager
def watching(stage: str, of: str = "", unless: bool = False) -> Iterator[Watch]:
    """Show a bar that follows the command and goes away at its end."""
    if unless or sys.stderr is None or not sys.stderr.isatty():
        yield Watch()
        return
    # only where somebody is watching
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        watch = Watch(bar, bar.add_task("", total=100))
        watch.enter(stage, of)
        yield watch
