"""Progress, on stderr and only where somebody is watching."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Record(Protocol):
    """One iteration of the optimiser."""

    @property
    def stage(self) -> str: ...
    @property
    def iteration(self) -> int: ...
    @property
    def loglik(self) -> float: ...


@contextmanager
def watching(start: str, unless: bool = False) -> Iterator[Callable[[Record], None] | None]:
    """Show a line that follows the fit and goes away at its end; yield what the fit should call, if anything."""
    if unless or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    # only where somebody is watching
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(start)) as status:

        def report(record: Record) -> None:
            status.update(
                escape(f"{record.stage}: step {record.iteration}, log-likelihood {record.loglik:,.4f}")
            )

        yield report
