"""Progress of a run: one bar from reading to writing."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raterlens.estimation.optimiser import Progress

STAGES = {
    "reading": 15,
    "testing assumptions": 15,
    "fitting": 30,
    "standard errors": 15,
    "diagnosing": 15,
    "writing": 10,
}
"""The stages of a run in which the data decide, in order, with rough percentages of the time. If a model is named,
assumptions are tested after its fit, and the bar waits."""
# The mean gradient, in standard errors, at which a fit ends.
_CONVERGED = 3e-6


Show = Callable[[float, str, "Progress | None"], None]
"""Called with the share done, the stage and, during a fit, its last iteration."""


@dataclass(slots=True)
class Watch:
    """Follows a run, and shows its progress if somebody is watching. It never goes back: while a model is refitted, it
    waits."""

    show: Show | None = None
    done: float = 0.0
    """From 0 to 1."""
    _stage: str = "fitting"
    _largest: float = 1.0

    def start_stage(self, stage: str) -> None:
        """Move on to one of `STAGES`."""
        self._stage, self._largest = stage, 1.0
        self._advance(_before(stage), stage)

    @property
    def on_iteration(self) -> "Callable[[Progress], None] | None":
        """The callback of a fit; None if nobody is watching."""
        return None if self.show is None else self._iterate

    def _iterate(self, last: "Progress") -> None:
        """The gradient falls from its largest to about zero, roughly evenly in logarithms."""
        self._largest = max(self._largest, last.gradient)
        left = math.log(max(last.gradient, _CONVERGED) / _CONVERGED) / math.log(self._largest / _CONVERGED)
        self._advance(_before(self._stage) + (1 - left) * STAGES[self._stage] / 100, self._stage, last)

    def _advance(self, done: float, stage: str, last: "Progress | None" = None) -> None:
        self.done = max(self.done, done)
        if self.show is not None:
            self.show(self.done, stage, last)


def _before(stage: str) -> float:
    names = list(STAGES)
    return sum(STAGES[name] for name in names[: names.index(stage)]) / 100


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Watch]:
    """Show a bar on stderr during a run; nothing if stderr is not a terminal."""
    with _bar("SpinnerColumn", "BarColumn", "TimeElapsedColumn", hidden=hidden) as update:

        def show(done: float, stage: str, last: "Progress | None") -> None:
            assert update is not None
            words = "" if last is None else f": step {last.iteration}, log-likelihood {last.loglik:,.4f}"
            update(completed=done, total=1.0, description=stage + words)

        yield Watch() if update is None else Watch(show)


@contextmanager
def parts_bar(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar of finished parts on stderr if it is a terminal; yield the callback for the run."""
    with _bar("BarColumn", "MofNCompleteColumn", "TimeRemainingColumn") as update:
        yield update and (lambda done, total: update(completed=done, total=total, description=name))


@contextmanager
def _bar(*columns: str, hidden: bool = False) -> Iterator[Callable[..., None] | None]:
    """A bar of these columns of rich; yield what updates it, or None where nobody is watching."""
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    # only where somebody is watching
    from rich import progress
    from rich.console import Console

    words = progress.TextColumn("{task.description}", markup=False)
    shown = (*(getattr(progress, name)() for name in columns), words)
    with progress.Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task("", total=None))
