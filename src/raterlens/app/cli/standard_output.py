"""Standard output and error: JSON, pipes that are closed early, terminals that lack a character."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from json import dumps, loads


def print_json(text: str) -> None:
    """Characters beyond ASCII are escaped where stdout could not carry them."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    try:
        print(text if universal else dumps(loads(text)), flush=True)
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Whoever was reading (`| head`) has seen enough: the command goes on, silently, to its own exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replace_unencodable() -> None:
    """Show an escape for each character that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
