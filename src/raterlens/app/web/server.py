"""The web app, assembled, guarded and started: `raterlens serve`.

Before any page: the Host must be ours (a name that an attacker points at 127.0.0.1 is not), a token is asked for where
one is set, and whatever changes something must come from our own pages (Origin).
"""

import secrets
import socket
import threading
from asyncio import wait_for
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from socket import gethostname
from urllib.parse import urlencode, urlsplit

import uvicorn
from starlette import types
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from raterlens.app.web.form import PageError
from raterlens.app.web.pages import HANDLERS, HERE, ROUTES, error_page
from raterlens.app.web.sessions import AppState
from raterlens.app.web.settings import LOOPBACK, Settings
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.output.report.assets import script, style

READING = ("GET", "HEAD")

UPLOAD = "/tables"
"""The one address that takes large bodies, and limits them itself."""

FORM = 1_000_000
"""Maximum bytes in the body of any other request."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers then send our own forms with Origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

ErrorPage = Callable[[Request, PageError], Awaitable[Response]]


class Guard:
    """Wraps the whole app: every request passes through it."""

    def __init__(self, app: ASGIApp, settings: Settings, error_page: ErrorPage) -> None:
        self._app, self._settings, self._error_page = app, settings, error_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: types.Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if scope["path"] == UPLOAD:
            receive = _within(receive, self._settings.upload_timeout)
        request = Request(scope, receive)
        try:
            response = self.admit(request)
        except PageError as refused:
            response = await self._error_page(request, refused)
        await (response or self._app)(scope, receive, send_safely)

    def admit(self, request: Request) -> Response | None:
        """Refuse, answer, or (None) let the app answer."""
        if not own_host(request.headers.get("host", ""), self._settings.host):
            raise PageError(
                f"Raterlens does not answer to this address, {request.headers.get('host', '')!r}; open the one that "
                "was printed when it was started",
                421,
            )
        entry = self._enter(request)
        if request.method not in READING and not same_origin(request):
            raise PageError("this request did not come from a page of Raterlens; go back and try again", 403)
        if request.method not in READING and request.url.path != UPLOAD and not _small(request):
            raise PageError("this form is larger than any that Raterlens sends; go back and try again", 413)
        return entry

    def _enter(self, request: Request) -> Response | None:
        token, cookie = self._settings.token, f"{self._settings.cookie}-token"
        if token is None:
            return None
        given = request.query_params.get("token")
        if given is not None and request.method in READING and _same(given, token):
            rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
            answer = RedirectResponse(f"{request.url.path}{'?' * bool(rest)}{urlencode(rest)}", 303)
            answer.set_cookie(cookie, token, httponly=True, samesite="strict", path="/")
            return answer
        if _same(request.cookies.get(cookie, ""), token):
            return None
        raise PageError(
            "this Raterlens needs a token; open the whole address, with ?token=..., that was printed when it was "
            "started",
            401,
        )


def _within(receive: Receive, seconds: float) -> Receive:
    """Give up on a body if nothing arrives for this long."""

    async def soon() -> types.Message:
        try:
            return await wait_for(receive(), seconds)
        except TimeoutError:
            raise PageError(
                f"nothing more of the upload arrived for {seconds:g} seconds; try again", 408
            ) from None

    return soon


def _small(request: Request) -> bool:
    length = request.headers.get("content-length", "0")
    return "transfer-encoding" not in request.headers and length.isdigit() and int(length) <= FORM


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())


def own_host(header: str, bound: str) -> bool:
    """Whether a Host header is ours: loopback, or, when bound elsewhere, that name, this machine's or a bare address.

    Rebinding needs a name whose address the attacker can change, so bare addresses are safe. Any port will do: it may
    have been forwarded.
    """
    with suppress(ValueError):
        name = urlsplit(f"//{header}").hostname or ""
        if name in LOOPBACK:
            return True
        if bound not in LOOPBACK:
            return name in (bound.lower(), gethostname().lower()) or bool(ip_address(name))
    return False


def same_origin(request: Request) -> bool:
    """Whether the browser says that the request came from our own pages; without this information, it did not."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{request.url.scheme}://{request.headers.get('host', '')}"


KINDS = {".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}

ASSETS: dict[str, str] = {
    "report.css": style(),
    "report.js": script(),
    **{path.name: path.read_text(encoding="utf-8") for path in (HERE / "static").iterdir()},
}
"""Static files by name: nothing that a client sends becomes a path."""


def make_app(settings: Settings) -> Guard:
    """Make the app, behind its guard."""
    state = AppState(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with state.open():
            yield

    app = Starlette(
        routes=[*ROUTES, Route("/static/{name}", asset)], exception_handlers=HANDLERS, lifespan=lifespan
    )
    app.state.raterlens = state
    return Guard(app, settings, error_page)


def serve(settings: Settings, *, open_browser: bool = False) -> None:
    """Listen until interrupted; print the address."""
    with _listening(settings) as listener:
        shared, port = settings.host not in LOOPBACK, listener.getsockname()[1]
        settings = replace(settings, port=port, token=secrets.token_urlsafe(24) if shared else None)
        host = gethostname() if settings.host in ("0.0.0.0", "::") else settings.host
        token = f"?token={settings.token}" if settings.token else ""
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/{token}"
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


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except (OSError, OverflowError) as error:
        raise OptionError(
            f"cannot listen on {settings.host} port {settings.port}: {error}",
            Message("give another port with ", Option("port"), ", or ", Option("port", 0), " for a free one"),
            value=settings.port,
        ) from error
