"""Standard input and compressed files, as plain files while they are read."""

import bz2
import gzip
import lzma
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from raterlens.base.errors import InputError
from raterlens.reading.formats.optional_packages import require

STANDARD_INPUT = "-"


def _zstandard(path: Path) -> IO[bytes]:
    opened: IO[bytes] = require("zstandard", "zst", path.name).open(path, "rb")
    return opened


OPEN: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zstandard,
}


@contextmanager
def plain_file(source: Path, format: str | None) -> Iterator[Path]:
    """The path itself, or that of a copy, gone afterwards: of standard input ("-"), or of what is compressed."""
    suffix = source.suffix.lower()
    if str(source) != STANDARD_INPUT and suffix not in OPEN:
        yield source
        return
    with TemporaryDirectory() as folder:
        if str(source) == STANDARD_INPUT:
            path = Path(folder, f"standard input.{format or 'csv'}")
            if sys.stdin is None or sys.stdin.closed:
                raise InputError("standard input is closed", "pipe a table into the command, or name a file")
            _keep(sys.stdin.buffer, path)
        else:
            path = Path(folder, source.stem)
            _decompress(source, OPEN[suffix], path)
        yield path


def _decompress(source: Path, open_: Callable[[Path], Any], path: Path) -> None:
    try:
        with open_(source) as stream:
            _keep(stream, path)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise _damaged(source, error) from error
    except Exception as error:
        if type(error).__module__.startswith("zstandard") or type(error).__name__ == "ZstdError":
            raise _damaged(source, error) from error
        raise


def _damaged(source: Path, error: Exception) -> InputError:
    return InputError(
        f"{source.name!r} cannot be decompressed ({error}): it is cut short, or not what its extension "
        f"{source.suffix!r} says",
        "copy or compress it again",
        value=str(source),
    )


def _keep(stream: IO[bytes], path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
