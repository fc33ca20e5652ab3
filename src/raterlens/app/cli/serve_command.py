"""`raterlens serve`: check the options, then start the web app."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from raterlens.app.cli.options import option_record
from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError

NEEDED = ("starlette", "uvicorn", "python_multipart")
"""Packages of the extra `web`."""

if TYPE_CHECKING:
    ServerOptions = Settings
else:
    ServerOptions = option_record(Settings, Group("Server", sort_key=1))


def serve(
    *,
    settings: ServerOptions = ServerOptions(),
    open: Annotated[bool, Parameter(negative=(), show_default=False, help="Open it in a browser.")] = False,
) -> None:
    """Use Raterlens in a browser: drop in a table, see which raters need attention."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise OptionError(
            f"the web app needs {', '.join(missing)}", "install the extra: pip install 'raterlens[web]'"
        )
    chosen = Settings(**vars(settings))
    # heavy, so not before it is needed
    from raterlens.app.web.server import serve as run

    run(chosen, open_browser=open)
