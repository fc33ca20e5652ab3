"""From data to pages: one set of templates, and a message for whatever is refused."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from raterlens.app.web.refusals import RefusedError
from raterlens.app.web.state import app_state
from raterlens.app.web.words import TABLE, WORDS
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
_templates.globals.update(words=WORDS, choices=TABLE, models=list(MODELS), version=__version__)


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


async def refusal_page(request: Request, refusal: RefusedError) -> Response:
    """The message, as a page or a part of one."""
    template = "part_message.html" if wants_part(request) else "message.html"
    content = _templates.get_template(template).render(
        message=sentence(str(refusal)),
        field=refusal.field,
        title=WORDS.app.problem,
        session=None,
        settings=None,
    )
    return HTMLResponse(content, refusal.status)
