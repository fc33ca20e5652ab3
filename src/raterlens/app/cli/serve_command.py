"""`raterlens serve`: check the options, then start the web app."""

from dataclasses import fields
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from raterlens.app.cli.options import ServerOptions
from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option

NEEDED = ("starlette", "uvicorn", "python_multipart")
"""Packages of the extra `web`."""


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
    chosen = server_settings(settings)
    # heavy, so not before it is needed
    from raterlens.app.web.server import serve as run

    run(chosen, open_browser=open)


def server_settings(options: ServerOptions) -> Settings:
    """Check the limits that were asked for."""
    given = {one.name: getattr(options, one.name) for one in fields(Settings) if "help" in one.metadata}
    for one in fields(Settings):
        value, least, most = given.get(one.name), one.metadata.get("least"), one.metadata.get("most")
        if value is None or least is None or least <= value <= (most or value):
            continue
        raise OptionError(
            Message(Option(one.name, value), " is out of range"),
            f"give a number of at least {least:g}"
            if most is None
            else f"give a number from {least} to {most:,}",
            value=value,
            option=one.name,
        )
    return Settings(**given)
