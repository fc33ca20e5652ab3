"""State of a running server: visitors with their tables and fits, and workers, in one temporary folder."""

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request

from raterlens.app.web.form import PageError
from raterlens.app.web.jobs import Job, Limits, Pool
from raterlens.app.web.settings import Settings
from raterlens.base.threads import available_cores

READING, SLOW_READING = 2, 4
"""Maximum number of previews, checks and comparisons at a time, and of slow ones in addition."""

SWEEP = 60.0
"""Seconds between checks for idle sessions."""


@dataclass(slots=True, eq=False)
class Table:
    """An uploaded file. Its name is shown and never opened."""

    id: str
    name: str
    path: Path
    preview: dict[str, Any]
    """Findings of `tasks.preview`."""
    roles: dict[str, str]
    """The role of each column, as last chosen."""
    spread: str = "item"
    """Meaning of score columns: see `tasks.patterns`."""
    given: dict[str, str] = field(default_factory=dict)
    """The fields of the form, as last sent."""


@dataclass(slots=True, eq=False)
class FitJob:
    """A fit: asked for, running or done."""

    id: str
    number: int
    table: Table
    model: str
    folder: Path
    job: Job

    @property
    def short(self) -> str:
        """A name that is unique within a session."""
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
    fits: dict[str, FitJob] = field(default_factory=dict)
    counted: int = 0
    """Number of fits so far, including removed ones: no number is used twice."""
    tentative: bool = True
    """Whether none of its tables has been read as ratings yet: such a session makes room for others."""

    @property
    def busy(self) -> bool:
        return any(not fitted.job.ended for fitted in self.fits.values())

    def new_folder(self) -> Path:
        folder = self.folder / new_id()
        folder.mkdir()
        return folder

    def take(self, table: Table) -> None:
        """Add an uploaded table, with its folder."""
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
            raise PageError(
                f"{len(self._all)} people are already using this Raterlens, its limit; try again later", 503
            )
        session = Session(new_id(), self._root / new_id(), self._clock())
        session.folder.mkdir()
        self._all[session.id] = session
        return session

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Yield a folder for an upload: it belongs to no session, and is removed unless `Session.take` moved it."""
        folder = self._root / new_id()
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _give_up_oldest(self) -> bool:
        """Remove a session to make room: the oldest without a readable table, otherwise the one idle for longest, if
        that is long enough. Return whether there was one."""
        idle = sorted((session for session in self if not session.busy), key=lambda session: session.used)
        long = [session for session in idle[:1] if self._clock() - session.used > self._settings.grace_period]
        for session in [session for session in idle if session.tentative][:1] or long:
            self.remove(session)
            return True
        return False

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
    """Make an id of 128 random bits, which cannot be guessed."""
    return secrets.token_urlsafe(16)


class AppState:
    """Visitors and workers. `open` starts them, and leaves nothing behind."""

    sessions: Sessions
    quick: Pool
    fits: Pool

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        root = Path(tempfile.mkdtemp(prefix="raterlens-"))  # readable by its owner only
        given = self.settings
        too_long = TOO_LONG.format(f"{given.max_reading:g} seconds", "max-reading")
        reading = Limits(READING, given.max_waiting, given.max_reading, given.job_memory, too_long)
        reading = replace(reading, slow=given.slow, slow_places=SLOW_READING)
        too_long = TOO_LONG.format(f"{given.max_minutes:g} minutes", "max-minutes")
        places = given.fits or available_cores()
        fitting = Limits(places, given.max_waiting, given.max_minutes * 60, given.job_memory, too_long)
        self.sessions = Sessions(root, given)
        self.quick, self.fits = Pool(root, reading), Pool(root, fitting)
        await self.quick.warm()
        await self.fits.warm()
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            await self.quick.close()
            await self.fits.close()
            shutil.rmtree(root, ignore_errors=True)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            self.sessions.sweep()

    def visitor(self, request: Request) -> Session | None:
        return self.sessions.find(request.cookies.get(self.settings.cookie))

    def table(self, request: Request) -> tuple[Session, Table]:
        """Return the table that the address names, if it is the visitor's own."""
        session = self.visitor(request)
        return _own(session, {} if session is None else session.tables, request, "table")

    def fitted(self, request: Request) -> tuple[Session, FitJob]:
        """Return the fit that the address names, if it is the visitor's own."""
        session = self.visitor(request)
        return _own(session, {} if session is None else session.fits, request, "fit")

    async def stop(self, jobs: list[Job]) -> None:
        for job in jobs:
            if not job.ended:
                await self.fits.cancel(job)


Thing = TypeVar("Thing")


def _own(
    session: Session | None, things: dict[str, Thing], request: Request, what: str
) -> tuple[Session, Thing]:
    found = things.get(request.path_params["id"])
    if session is None or found is None:
        raise PageError(
            f"this {what} is no longer here: it was removed, or Raterlens was restarted; go to the start page and "
            "upload the file again",
            404,
        )
    return session, found


TOO_LONG = (
    "this takes longer than {}, the limit here; use part of the data or a simpler model, use raterlens fit on the "
    "command line, or raise the limit: raterlens serve --{} N"
)
