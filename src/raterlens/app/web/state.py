"""Everything a running server has: its settings, its visitors and its workers, in one work folder."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from raterlens.app.web.jobs import Job, Pool
from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.sessions import Fitted, Session, Sessions, Table
from raterlens.app.web.settings import Settings

QUICK = 2
"""Previews, checks and comparisons at a time; they do not wait for fits."""

SWEEP = 60.0
"""Seconds between checks for idle sessions."""


class AppState:
    """Visitors and workers. `open` starts them, and leaves nothing behind."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sessions: Sessions
        self.quick: Pool
        self.fits: Pool

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        root = Path(tempfile.mkdtemp(prefix="raterlens-"))  # readable by its owner only
        self.sessions = Sessions(root, self.settings)
        self.quick = Pool(root, QUICK, self.settings.max_waiting, self.settings.max_memory)
        self.fits = Pool(
            root, self.settings.fits_at_once, self.settings.max_waiting, self.settings.max_memory
        )
        await self.quick.warm()
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            await self.quick.close()
            await self.fits.close()
            shutil.rmtree(root, ignore_errors=True)

    def visitor(self, request: Request) -> Session | None:
        return self.sessions.find(request.cookies.get(self.settings.cookie))

    def remember(self, response: Response, session: Session) -> Response:
        """Set the session cookie; scripts cannot read it, and other sites cannot make a browser send it."""
        response.set_cookie(self.settings.cookie, session.id, httponly=True, samesite="strict", path="/")
        return response

    def table(self, request: Request) -> tuple[Session, Table]:
        """The table that the address names, if it is the visitor's own."""
        session = self.visitor(request)
        table = session.tables.get(request.path_params["id"]) if session else None
        if session is None or table is None:
            raise _gone("table")
        return session, table

    def fitted(self, request: Request) -> tuple[Session, Fitted]:
        """The fit that the address names, if it is the visitor's own."""
        session = self.visitor(request)
        fitted = session.fits.get(request.path_params["id"]) if session else None
        if session is None or fitted is None:
            raise _gone("fit")
        return session, fitted

    async def stop(self, jobs: list[Job]) -> None:
        for job in jobs:
            if not job.ended:
                await self.fits.cancel(job)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            self.sessions.sweep()


def app_state(request: Request) -> AppState:
    """The state of the app that a request came to."""
    found: AppState = request.app.state.raterlens
    return found


def _gone(what: str) -> RefusedError:
    return RefusedError(
        f"this {what} is no longer here: it was removed, or Raterlens was restarted; go to the start page and upload "
        "the file again",
        404,
    )
