"""`raterlens convert`: ratings from one kind of file to another."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from raterlens.app.cli.options import EVERYTHING_RECOGNISED, File, ReadOptions, read_config
from raterlens.base.drafts import write_whole
from raterlens.base.errors import OptionError, choose
from raterlens.base.text import counted

if TYPE_CHECKING:
    from raterlens.ratings.coded import Ratings

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".facets": "facets"}

Target = Annotated[Path, Parameter(help="File to write: one row per rating, or a FACETS control file.")]
Kind = Annotated[
    str | None,
    Parameter(help=f"{', '.join(SUFFIXES.values())}; by default, what the file name of --out says."),
]


def convert(
    file: File, /, *, out: Target, to: Kind = None, columns: ReadOptions = EVERYTHING_RECOGNISED
) -> None:
    """Write the ratings to another kind of file."""
    kind, config = kind_of(out, to), read_config(columns)
    # heavy, so not before it is needed
    from raterlens.reading.reader import read

    print(write_ratings(read(file, **config.given()), out, kind))


def kind_of(out: Path, to: str | None = None) -> str:
    """What kind of file to write, where that can be done."""
    kind = to or SUFFIXES.get(out.suffix.lower(), "")
    if not kind:
        raise OptionError(
            f"{out.name!r} does not say what kind of file to write",
            f"add --to {', --to '.join(SUFFIXES.values())}",
            value=out.name,
            option="to",
        )
    choose("kind of file", kind, SUFFIXES.values())
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise OptionError(
            f"cannot write {str(out)!r}", "give a file in an existing folder", value=str(out), option="out"
        )
    return kind


def write_ratings(ratings: "Ratings", out: Path, kind: str) -> str:
    """Write the file; return what was done."""
    write_whole(out, lambda path: _writers()[kind](ratings, path))
    return f"{counted(ratings.n_ratings, 'rating')} written to {out} ({kind})"


def _writers() -> "dict[str, Callable[[Ratings, Path], None]]":
    # heavy, so not before it is needed
    from raterlens.reading.facets.control_writer import write_facets

    return {
        "csv": lambda ratings, path: ratings.table().write_csv(path),
        "tsv": lambda ratings, path: ratings.table().write_csv(path, separator="\t"),
        "parquet": lambda ratings, path: ratings.table().write_parquet(path),
        "jsonl": lambda ratings, path: ratings.table().write_ndjson(path),
        "facets": lambda ratings, path: write_facets(ratings, path, title=path.stem),
    }
