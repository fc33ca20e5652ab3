"""Each visitor's tables and fits, in a folder that is removed with the session."""

import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raterlens.app.web.jobs import Job
from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.settings import Settings


@dataclass(slots=True, eq=False)
class Table:
    """An uploaded file. Its name is shown and never opened."""

    id: str
    name: str
    path: Path
    size: int
    preview: dict[str, Any]
    """The answer of `tasks.preview`"""
    roles: dict[str, str]
    """The role of each column, as last chosen"""
    spread: str = "item"
    """Meaning of score columns: see `column_guesses.patterns`"""
    cut: str = ""
    bands: str = ""
    worth: str = ""
    """Scores of words: "good=1,bad=0" """
    as_written: bool = False
    model: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Fitted:
    """A fit: asked for, under way or done."""

    id: str
    number: int
    table: Table
    model: str
    folder: Path
    job: Job

    @property
    def short(self) -> str:
        """Told apart within a session."""
        return f"fit {self.number} ({self.model})"

    @property
    def name(self) -> str:
        return f"Fit {self.number}: {self.model}, {self.table.name}"


@dataclass(slots=True, eq=False)
class Session:
    """One visitor's tables and fits."""

    id: str
    folder: Path
    used: float
    tables: dict[str, Table] = field(default_factory=dict)
    fits: dict[str, Fitted] = field(default_factory=dict)
    counted: int = 0
    """Fits so far, removed ones included: no number is given twice."""

    @property
    def busy(self) -> bool:
        return any(not fitted.job.ended for fitted in self.fits.values())

    def new_folder(self) -> Path:
        folder = self.folder / new_id()
        folder.mkdir()
        return folder

    def take(self, table: Table) -> None:
        """Take in a table that has arrived, with its folder."""
        folder = self.folder / table.path.parent.name
        table.path.parent.rename(folder)
        table.path = folder / table.path.name
        self.tables[table.id] = table

    def remove(self, table: Table) -> list[Job]:
        """Forget a table and its fits; return their jobs, which the caller has to stop."""
        fits = [fitted for fitted in self.fits.values() if fitted.table is table]
        for fitted in fits:
            del self.fits[fitted.id]
            shutil.rmtree(fitted.folder, ignore_errors=True)
        del self.tables[table.id]
        shutil.rmtree(table.path.parent, ignore_errors=True)
        return [fitted.job for fitted in fits]


class Sessions:
    """All visitors, by a random id that only their browser knows."""

    def __init__(self, root: Path, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._root, self._settings, self._clock = root, settings, clock
        self._all: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def find(self, id: str | None) -> Session | None:
        session = self._all.get(id or "")
        if session is not None:
            session.used = self._clock()
        return session

    def create(self) -> Session:
        self.sweep()
        if len(self._all) >= self._settings.max_sessions and not self._give_up_oldest():
            raise RefusedError(
                f"{len(self._all)} people are already using this Raterlens, its limit; try again later", 503
            )
        session = Session(new_id(), self._root / new_id(), self._clock())
        session.folder.mkdir()
        self._all[session.id] = session
        return session

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """A folder for a file on its way: of no session until all is well, and gone unless `Session.take` moved it."""
        folder = self._root / new_id()
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _give_up_oldest(self) -> bool:
        """Remove the session that has been idle for longest, if it has been for a while; whether there was one."""
        idle = [session for session in self if not session.busy]
        oldest = min(idle, key=lambda session: session.used, default=None)
        if oldest is None or self._clock() - oldest.used <= self._settings.spared:
            return False
        self.remove(oldest)
        return True

    def remove(self, session: Session) -> list[Job]:
        """Forget everything of a visitor; return the jobs, which the caller has to stop."""
        self._all.pop(session.id, None)
        shutil.rmtree(session.folder, ignore_errors=True)
        return [fitted.job for fitted in session.fits.values()]

    def sweep(self) -> None:
        """Remove sessions that have been idle for long, unless a fit of theirs is still running."""
        for session in self:
            if not session.busy and self._clock() - session.used > self._settings.idle:
                self.remove(session)


def new_id() -> str:
    """128 random bits: an id cannot be guessed."""
    return secrets.token_urlsafe(16)
