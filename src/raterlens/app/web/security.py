"""Who may ask, and what a browser may do with the answer.

Before any page: the Host must be ours (a name that an attacker points at 127.0.0.1 is not), a token is asked for where
one is set, and whatever changes something must come from our own pages (Origin).
"""

import secrets
from asyncio import wait_for
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from socket import gethostname
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from raterlens.app.web.page_words import PageError
from raterlens.app.web.settings import LOOPBACK, Settings

READING = ("GET", "HEAD")

UPLOAD = "/tables"
"""The one address that takes large bodies, and limits them itself."""

FORM = 1_000_000
"""Bytes in any other."""

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
    """The only way in: wraps the whole app."""

    def __init__(self, app: ASGIApp, settings: Settings, error_page: ErrorPage) -> None:
        self._app, self._settings, self._error_page = app, settings, error_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
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
        if not _same(request.cookies.get(cookie, ""), token):
            raise PageError(
                "this Raterlens needs a token; open the whole address, with ?token=..., that was printed when it was "
                "started",
                401,
            )
        return None


def _within(receive: Receive, seconds: float) -> Receive:
    """Give up a body of which nothing arrives for so long."""

    async def soon() -> Message:
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
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    if name in LOOPBACK:
        return True
    return bound not in LOOPBACK and (name in (bound.lower(), gethostname().lower()) or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(request: Request) -> bool:
    """Whether a browser says that the request came from our own pages; silence is not enough."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{request.url.scheme}://{request.headers.get('host', '')}"
