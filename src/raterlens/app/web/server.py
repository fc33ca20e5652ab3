"""The web app, assembled and started: `raterlens serve`."""

import secrets
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from raterlens.app.web import fit_pages as fits
from raterlens.app.web import table_pages as tables
from raterlens.app.web.pages import HANDLERS, HERE, error_page
from raterlens.app.web.security import Guard
from raterlens.app.web.sessions import AppState
from raterlens.app.web.settings import LOOPBACK, Settings
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.output.report.assets import script, style

KINDS = {".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}

ASSETS: dict[str, str] = {
    "report.css": style(),
    "report.js": script(),
    **{path.name: path.read_text(encoding="utf-8") for path in (HERE / "static").iterdir()},
}
"""Static files by name: nothing that a client sends becomes a path."""


def make_app(settings: Settings) -> Guard:
    """The whole app behind its guard."""
    state = AppState(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with state.open():
            yield

    app = Starlette(
        routes=[*tables.ROUTES, *fits.ROUTES, Route("/static/{name}", asset)],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.raterlens = state
    return Guard(app, settings, error_page)


def serve(settings: Settings, *, open_browser: bool = False) -> None:
    """Listen until interrupted; print the address."""
    with _listening(settings) as listener:
        settings = _with_token(settings, listener.getsockname()[1])
        address = _address(settings)
        print(f"Raterlens is running at {address}", flush=True)
        print("Press Ctrl+C to stop it and remove everything that was uploaded.", flush=True)
        if open_browser:
            # only where asked for
            import webbrowser

            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            make_app(settings),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=settings.ending,
        )
        uvicorn.Server(config).run(sockets=[listener])


async def asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    return Response(ASSETS[name], media_type=KINDS[Path(name).suffix])


def _with_token(settings: Settings, port: int) -> Settings:
    shared = settings.host not in LOOPBACK
    return replace(settings, port=port, token=secrets.token_urlsafe(24) if shared else None)


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except (OSError, OverflowError) as error:
        raise OptionError(
            f"cannot listen on {settings.host} port {settings.port}: {error}",
            Message("give another port with ", Option("port"), ", or ", Option("port", 0), " for a free one"),
            value=settings.port,
            option="port",
        ) from error


def _address(settings: Settings) -> str:
    any_address = settings.host in ("0.0.0.0", "::")
    host = socket.gethostname() if any_address else settings.host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/{token}"
