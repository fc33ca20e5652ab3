"""Long work in numbered parts that an interrupted run takes up again: a finished part is a file, put in place whole.

What a part holds depends on the settings and its number only, so that an interrupted run and an uninterrupted one give
the same rows, whatever the number of workers.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raterlens.base.drafts import write_whole
from raterlens.base.errors import OptionError
from raterlens.base.processes import side_by_side
from raterlens.base.threads import one_thread

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client

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
    """A file that says what they depend on."""

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
        replace_text(self.settings, json.dumps(dict(settings), indent=2) + "\n")

    def part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"

    def keep(self, number: int, rows: "pl.DataFrame") -> None:
        write_whole(self.part(number), rows.write_parquet)


def _other(name: str, found: object, wanted: object) -> str:
    shown = f"{name} {found!r}, not {wanted!r}"
    return shown if len(str(found)) <= _LONGEST_VALUE else f"another {name}"


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the parts: processes of this machine (all cores by default), or the workers of a Dask client."""

    processes: int | None = None
    client: "Client | None" = None

    def results(
        self, work: Work, shared: Any, numbers: Sequence[int]
    ) -> Generator[tuple[int, "pl.DataFrame"], None, None]:
        """The rows of each part, as they get ready."""
        if self.processes == 1 and self.client is None:
            return _here(work, shared, numbers)
        return side_by_side(work, shared, numbers, workers=self.processes, client=self.client)


def _here(
    work: Work, shared: Any, numbers: Sequence[int]
) -> Generator[tuple[int, "pl.DataFrame"], None, None]:
    for number in numbers:
        with one_thread():
            rows = work(shared, number)
        yield number, rows


def work_through(
    work: Work,
    shared: Any,
    total: int,
    missing: Sequence[int],
    keep: Callable[[int, "pl.DataFrame"], None],
    workers: Workers,
    on_done: OnDone | None = None,
) -> None:
    """Do the missing parts of `total`, and keep each as it gets ready."""
    done = total - len(missing)
    if on_done is not None:
        on_done(done, total)
    with closing(workers.results(work, shared, missing)) as ready:
        for number, rows in ready:
            keep(number, rows)
            done += 1
            if on_done is not None:
                on_done(done, total)


def replace_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"))
