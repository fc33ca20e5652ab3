"""Where tables come from: a file, by its extension, or a dataframe. A format is one function in `READERS`."""

import os
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from raterlens.errors import InputError
from raterlens.reading.formats.delimited import read_delimited
from raterlens.reading.formats.frames import read_frame
from raterlens.reading.formats.parquet import read_parquet
from raterlens.reading.formats.table import Rows, Table

__all__ = ["READERS", "Rows", "Table", "open_table"]

READERS: dict[str, Callable[[Path, str], Table]] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".txt": read_delimited,
    ".parquet": read_parquet,
}


def open_table(source: object, encoding: str = "utf-8") -> Table:
    """Open a path or a dataframe: its column names now, its rows when asked for."""
    if not isinstance(source, str | os.PathLike):
        return read_frame(source)
    path = Path(os.fsdecode(source)).expanduser()
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give the path of one file in it")
    if not path.exists():
        raise InputError(f"no such file: {str(path)!r}; {_hint(path)}")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path.name!r} has the unknown extension {path.suffix!r}; "
            f"those known are {', '.join(READERS)}: save the table as one of them"
        )
    try:
        return reader(path, encoding)
    except OSError as error:
        raise InputError(
            f"cannot read {str(path)!r}: {error.strerror}; check that you may open it"
        ) from error


def _hint(path: Path) -> str:
    neighbours = os.listdir(path.parent) if path.parent.is_dir() else []
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"
