"""JSON on standard output, and files that appear when they are whole."""

import os
import sys
import tempfile
from collections.abc import Callable
from json import dumps, loads
from pathlib import Path

from raterlens.errors import OptionError


def print_json(text: str) -> None:
    """Characters beyond ASCII are escaped where stdout could not carry them."""
    universal = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    print(text if universal else dumps(loads(text)))


def write_whole(out: Path, write: Callable[[Path], object]) -> None:
    """Write a file, which appears when it is whole."""
    try:
        with tempfile.TemporaryDirectory(prefix=".raterlens-", dir=out.absolute().parent) as draft:
            write(Path(draft, out.name))
            os.replace(Path(draft, out.name), out)
    except OSError as error:
        raise OptionError(
            f"cannot write {str(out)!r}: {error.strerror}",
            "give a file you may write to",
            value=str(out),
            option="out",
        ) from error
