"""`raterlens serve`: options checked, then the web app started."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option

NEEDED = ("starlette", "uvicorn", "python_multipart")
"""Packages of the extra `web`."""


@Parameter(name="*")
@dataclass(frozen=True)
class Limits:
    """Where to listen, and how much to allow."""

    port: Annotated[int, Parameter(help="Port to listen on; 0 picks a free one.")] = 8765
    host: Annotated[str, Parameter(help="Address to listen on; another one lets other machines in.")] = (
        "127.0.0.1"
    )
    open: Annotated[bool, Parameter(negative=(), show_default=False, help="Open it in a browser.")] = False
    max_megabytes: Annotated[float, Parameter(help="Maximum upload size (MB).")] = 200
    max_rows: Annotated[int, Parameter(help="Maximum rows per table.")] = 5_000_000
    max_memory: Annotated[
        float | None, Parameter(help="Maximum memory per fit (GB); default: half of the machine's.")
    ] = None
    fits: Annotated[int | None, Parameter(help="Fits at a time; default: one per core.")] = None


DEFAULT_LIMITS = Limits()


def serve(*, limits: Limits = DEFAULT_LIMITS) -> None:
    """Use Raterlens in a browser: drop in a table, see which raters need attention."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise OptionError(
            f"the web app needs {', '.join(missing)}", "install the extra: pip install 'raterlens[web]'"
        )
    _check(limits)
    # heavy, so not before it is needed
    from raterlens.app.web.server import serve as run
    from raterlens.app.web.settings import GIGABYTE, MEGABYTE, Settings

    settings = Settings(
        host=limits.host,
        port=limits.port,
        max_bytes=int(limits.max_megabytes * MEGABYTE),
        max_rows=limits.max_rows,
    )
    if limits.max_memory is not None:
        settings = replace(settings, max_memory=int(limits.max_memory * GIGABYTE))
    if limits.fits is not None:
        settings = replace(settings, fits_at_once=limits.fits)
    run(settings, open_browser=limits.open)


def _check(limits: Limits) -> None:
    for name, most in (
        ("port", 65_535),
        *((name, None) for name in ("max_megabytes", "max_rows", "max_memory", "fits")),
    ):
        value = getattr(limits, name)
        if value is None or (0 <= value <= most if most else value > 0):
            continue
        raise OptionError(
            Message(Option(name, value), " is out of range"),
            f"give a number from 0 to {most}" if most else "give a number above 0",
            value=value,
            option=name,
        )
