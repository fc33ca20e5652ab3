"""From data to pages: one set of templates, and a message for whatever is refused."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from raterlens.app.web.phrases import TABLE, WORDS
from raterlens.app.web.refusals import RefusedError
from raterlens.text import counted, number, sentence

if TYPE_CHECKING:
    from raterlens.app.web.state import Office

HERE = Path(__file__).parent

_templates = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,  # whatever a label holds is shown, never run
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(number=number, sentence=sentence, counted=counted)
_templates.globals.update(words=WORDS, choices=TABLE, version=version("raterlens"))


def page(request: Request, template: str, status: int = 200, **data: Any) -> Response:
    """A page, or a part of one for htmx."""
    office: Office = request.app.state.office
    content = _templates.get_template(template).render(
        session=office.visitor(request), settings=office.settings, **data
    )
    return HTMLResponse(content, status)


def wants_part(request: Request) -> bool:
    """Whether htmx asked, and will put the answer into the page that is open."""
    return "hx-request" in request.headers


async def complain(request: Request, refusal: RefusedError) -> Response:
    """The same clear message as on the command line, as a page or a part of one."""
    template = "part_message.html" if wants_part(request) else "message.html"
    content = _templates.get_template(template).render(
        message=sentence(str(refusal)), title=WORDS.app.problem, session=None, settings=None
    )
    return HTMLResponse(content, refusal.status)
