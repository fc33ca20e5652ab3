"""`raterlens convert`: ratings from one kind of file to another."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from raterlens.app.cli.options import Columns
from raterlens.errors import OptionError, choose
from raterlens.text import counted

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".facets": "facets"}


def convert(file: Path, out: Path, to: str | None, columns: Columns) -> str:
    """Write the ratings of a file as another kind of file; return what was done."""
    kind = kind_of(out, to)
    from raterlens.reading.reader import read

    return write_ratings(read(file, **columns.arguments()), out, kind)


def kind_of(out: Path, to: str | None = None) -> str:
    """What kind of file to write, where that can be done."""
    kind = to or SUFFIXES.get(out.suffix.lower(), "")
    if not kind:
        raise OptionError(
            f"{out.name!r} does not say what to write; add --to {', --to '.join(SUFFIXES.values())}"
        )
    choose("kind of file", kind, SUFFIXES.values())
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise OptionError(f"cannot write {str(out)!r}: give a file in a folder that exists")
    return kind


def write_ratings(ratings: "Ratings", out: Path, kind: str) -> str:
    """Write the file; return what was done."""
    put(out, lambda path: _writers()[kind](ratings, path))
    return f"{counted(ratings.n_ratings, 'rating')} written to {out} ({kind})"


def put(out: Path, write: Callable[[Path], None]) -> None:
    """Write a file, which appears when it is whole."""
    try:
        with tempfile.TemporaryDirectory(prefix=".raterlens-", dir=out.absolute().parent) as draft:
            write(Path(draft, out.name))
            os.replace(Path(draft, out.name), out)
    except OSError as error:
        raise OptionError(
            f"cannot write {str(out)!r}: {error.strerror}; give a file you may write to"
        ) from error


def _writers() -> "dict[str, Callable[[Ratings, Path], None]]":
    from raterlens.reading.facets.control_writer import write_facets

    return {
        "csv": lambda ratings, path: ratings.table().write_csv(path),
        "tsv": lambda ratings, path: ratings.table().write_csv(path, separator="\t"),
        "parquet": lambda ratings, path: ratings.table().write_parquet(path),
        "jsonl": lambda ratings, path: ratings.table().write_ndjson(path),
        "facets": lambda ratings, path: write_facets(ratings, path, title=path.stem),
    }
