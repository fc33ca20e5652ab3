"""JSON on standard output, which may be closed early."""

import os
import sys
from contextlib import suppress
from json import dumps, loads


def print_json(text: str) -> None:
    """Characters beyond ASCII are escaped where stdout could not carry them."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    try:
        print(text if universal else dumps(loads(text)), flush=True)
    except BrokenPipeError:
        abandon_stdout()


def abandon_stdout() -> None:
    """Whoever was reading (`| head`) has seen enough: the command goes on, silently, to its own exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
