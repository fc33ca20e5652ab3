"""`raterlens serve`: options checked, then the web app started."""

from dataclasses import replace
from importlib.util import find_spec

from raterlens.errors import OptionError

NEEDED = ("starlette", "uvicorn", "python_multipart")
"""What the extra `web` brings."""


def serve(
    host: str,
    port: int,
    open_browser: bool,
    max_megabytes: float,
    max_rows: int,
    max_memory: float | None,
    fits: int | None,
) -> None:
    """Listen until interrupted."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise OptionError(
            f"the web app needs {', '.join(missing)}; install the extra: pip install 'raterlens[web]'"
        )
    for option, value, ok in (
        ("--port", port, 0 <= port <= 65_535),
        ("--max-megabytes", max_megabytes, max_megabytes > 0),
        ("--max-rows", max_rows, max_rows > 0),
        ("--max-memory", max_memory, max_memory is None or max_memory > 0),
        ("--fits", fits, fits is None or fits > 0),
    ):
        if not ok:
            raise OptionError(
                f"{option} {value} is out of range; give {RANGES.get(option, 'a number above 0')}"
            )
    from raterlens.app.web.server import serve as run
    from raterlens.app.web.settings import GIGABYTE, MEGABYTE, Settings

    settings = Settings(host=host, port=port, max_bytes=int(max_megabytes * MEGABYTE), max_rows=max_rows)
    if max_memory is not None:
        settings = replace(settings, max_memory=int(max_memory * GIGABYTE))
    run(settings if fits is None else replace(settings, fits_at_once=fits), open_browser=open_browser)


RANGES = {"--port": "a number from 0 to 65535"}
