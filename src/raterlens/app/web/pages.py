"""From data to pages: one set of templates, and a message for whatever goes wrong."""

import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response

from raterlens.app.web import form
from raterlens.app.web.page_words import TABLE, WORDS, PageError, page_error
from raterlens.app.web.sessions import app_state
from raterlens.base.errors import RaterlensError
from raterlens.base.text import counted, number, sentence
from raterlens.models.registry import MODELS
from raterlens.version import __version__

HERE = Path(__file__).parent

_templates = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,  # whatever a label holds is shown, never run
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(number=number, sentence=sentence, counted=counted)
_templates.globals.update(words=WORDS, choices=TABLE, models=list(MODELS), version=__version__, form=form)


def page(request: Request, template: str, status: int = 200, **data: Any) -> Response:
    """A page, or a part of one for htmx."""
    state = app_state(request)
    content = _templates.get_template(template).render(
        session=state.visitor(request), settings=state.settings, **data
    )
    return HTMLResponse(content, status)


def wants_part(request: Request) -> bool:
    """Whether htmx asked, and will put the answer into the page that is open."""
    return "hx-request" in request.headers


async def error_page(request: Request, error: PageError) -> Response:
    """The message, as a page or a part of one."""
    template = "part_message.html" if wants_part(request) else "message.html"
    content = _templates.get_template(template).render(
        message=sentence(str(error)),
        field=error.field,
        title=WORDS.app.problem,
        session=None,
        settings=None,
    )
    return HTMLResponse(content, error.status)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, PageError)
    return await error_page(request, error)


async def _explain(request: Request, error: Exception) -> Response:
    assert isinstance(error, RaterlensError)
    return await error_page(request, page_error(error))


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        400: f"the upload was incomplete ({error.detail}); try again",
        404: f"there is no page {request.url.path[:80]!r}; go to the start page",
        405: "this address cannot be opened directly; go to the start page",
    }
    return await error_page(request, PageError(words.get(error.status_code, error.detail), error.status_code))


async def _disconnected(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # which nobody reads


async def _bug(request: Request, error: Exception) -> Response:
    print(f"raterlens: {type(error).__name__}: {error}", file=sys.stderr)
    return await error_page(
        request,
        PageError(
            f"unexpected error ({type(error).__name__}). This is a bug in Raterlens, not in your data; go back and try "
            "again",
            500,
        ),
    )


HANDLERS: dict[Any, Any] = {
    PageError: _refuse,
    RaterlensError: _explain,
    ClientDisconnect: _disconnected,
    HTTPException: _unknown,
    Exception: _bug,
}
"""By the kind of error, the page that it is answered with."""
