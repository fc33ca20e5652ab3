"""Where tables come from: a file, by its extension and first bytes, or a dataframe.

A file format is one entry of `FORMATS`.
"""

import bz2
import gzip
import lzma
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError, choose
from raterlens.base.text import Message, Option, shortened
from raterlens.config import ReadConfig
from raterlens.ratings.packed import SUFFIX as PACKED
from raterlens.reading.formats.parquet import read_folder
from raterlens.reading.formats.several_tables import files_in, matching, stacked
from raterlens.reading.formats.table import Table, read_frame, require, suffix_of, unfold

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Old Excel workbooks begin like this, and new ones that are protected by a password."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is called, the extensions it goes by, and the function that opens it, by its address: a
    format's module is loaded with its first file."""

    name: str
    """In a sentence: "a parquet file"."""
    suffixes: tuple[str, ...]
    address: str
    """module:function, within `raterlens.reading`."""
    marks: tuple[bytes, ...] = ()
    """Bytes at `offset` of every such file; none for text."""
    offset: int = 0

    def fits(self, start: bytes) -> bool:
        return bool(self.marks) and start[self.offset :].startswith(self.marks)

    def read(self, path: Path, config: ReadConfig) -> Table:
        """Open a file of this format."""
        module, _, function = self.address.partition(":")
        table: Table = getattr(import_module(f"raterlens.reading.{module}"), function)(path, config)
        return table


def format_of(path: Path, suffix: str, formats: Sequence[Format]) -> Format:
    """The format that goes by the extension and, where it has marks, begins as the file does."""
    with path.open("rb") as file:
        start = file.read(16)
    own = [known for known in formats if suffix in known.suffixes]
    fitting = next((known for known in own if known.fits(start)), None)
    if fitting is not None:
        return fitting
    other = next((known for known in formats if known.fits(start)), None)
    if not own[0].marks and other is None:
        return own[0]
    if own[0].marks and not start:
        raise InputError(f"{path.name!r} is an empty file", "write the table again", value=start)
    if suffix == ".xlsx" and start.startswith(OLE):
        raise InputError(
            f"{path.name!r} is protected by a password, or an old Excel workbook called .xlsx",
            "open it in Excel and save it as xlsx without a password",
        )
    raise InputError(
        f"{path.name!r} is not {own[0].name}: it begins with {start[:4]!r}"
        if own[0].marks or other is None
        else f"{path.name!r} is not {own[0].name}: it is {other.name}",
        "if it is a text table, rename it to .csv; otherwise write it again"
        if other is None
        else Message(
            f"rename it to end in {other.suffixes[0]}, or give ", Option("format", other.suffixes[0][1:])
        ),
        value=start,
        option="format",
    )


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
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            path = Path(folder, source.stem)
            _decompress(source, OPEN[suffix], path)
        yield path


def _decompress(source: Path, open_: Callable[[Path], Any], path: Path) -> None:
    try:
        with open_(source) as stream, path.open("wb") as file:
            unfold(source, stream, file)
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


_ZIP = b"PK\x03\x04"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
# Stata before version 13 has no better mark than its release number and the byte order.
_OLD_STATA = tuple(
    bytes([release, order]) for release in (104, 105, 108, 110, 111, 113, 114, 115) for order in (1, 2)
)

CONTROL_FILE = Format("a control file of FACETS", (".facets",), "facets.control_data:read_control")
FORMATS = (
    Format("a text table", (".csv", ".tsv", ".txt"), "formats.delimited:read_delimited"),
    Format("a parquet file", (".parquet",), "formats.parquet:read_parquet", (b"PAR1",)),
    Format(
        "an Excel or OpenDocument workbook",
        (".xlsx", ".xlsm", ".xlsb", ".ods"),
        "formats.workbook:read_workbook",
        (_ZIP,),
    ),
    Format("an old Excel workbook", (".xls",), "formats.workbook:read_workbook", (OLE,)),
    Format("an SPSS file", (".sav", ".zsav"), "formats.spss_stata_r:read_spss_or_stata", (b"$FL2", b"$FL3")),
    Format(
        "a Stata file", (".dta",), "formats.spss_stata_r:read_spss_or_stata", (b"<stata_dta>", *_OLD_STATA)
    ),
    Format(
        "an R data file", (".rda", ".rdata"), "formats.spss_stata_r:read_r", (b"RDX", b"RDA", *_COMPRESSED)
    ),
    Format("an R object", (".rds",), "formats.spss_stata_r:read_r", (b"X\n", b"A\n", *_COMPRESSED)),
    Format("a JSON file", (".jsonl", ".ndjson", ".json"), "formats.json_files:read_json"),
    Format("a log of Inspect AI", (".eval",), "formats.inspect_log:read_inspect", (_ZIP,)),
    CONTROL_FILE,
    Format(
        "an SQLite database",
        (".sqlite", ".sqlite3", ".db"),
        "formats.databases:read_sqlite",
        (b"SQLite format 3\0",),
    ),
    Format("a DuckDB database", (".duckdb", ".db"), "formats.databases:read_duckdb", (b"DUCK",), offset=8),
)
SUFFIXES = tuple(dict.fromkeys(suffix for known in FORMATS for suffix in known.suffixes))
WITHIN = "::"
"""Between a file and the table in it: ratings.db::essays."""


@contextmanager
def open_table(source: object, config: ReadConfig) -> Iterator[Table]:
    """Open a path or a dataframe: its column names now, its rows when asked for."""
    if config.format is not None:
        choose("format", config.format.lower().removeprefix("."), [suffix[1:] for suffix in SUFFIXES])
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(one, str | os.PathLike) for one in source)
    ):
        with _together([Path(os.fsdecode(one)).expanduser() for one in source], config) as table:
            yield table
        return
    if not isinstance(source, str | os.PathLike):
        yield source if isinstance(source, Table) else read_frame(source)
        return
    if several := _several(source):
        with _together(several, config) as table:
            yield table
        return
    path, config = located(source, config)
    try:
        with plain_file(path, config.format) as file:
            yield _opened(file, config)
    except OSError as error:
        raise unreadable(path, error) from error


def _several(source: str | os.PathLike[str]) -> list[Path]:
    """The files of a pattern, or of a folder that holds no parquet files."""
    path = Path(os.fsdecode(source)).expanduser()
    try:
        if path.is_dir():
            return [] if any(path.rglob("*.parquet")) else files_in(path, SUFFIXES)
        return [] if path.exists() or not set("*?[") & set(str(path)) else matching(str(path))
    except (OSError, ValueError):  # a name that no file can have
        return []


@contextmanager
def _together(paths: Sequence[Path], config: ReadConfig) -> Iterator[Table]:
    """Several files as one table."""
    shared = os.path.commonpath([path.parent for path in paths]) if len(paths) > 1 else ""
    with ExitStack() as stack:
        tables = {
            str(path.relative_to(shared)) if shared else path.name: stack.enter_context(
                open_table(path, config)
            )
            for path in paths
        }
        if len(tables) == 1:
            yield next(iter(tables.values()))
        else:
            yield stacked(tables, Path(shared).name or shared, config)


def located(source: str | os.PathLike[str], config: ReadConfig) -> tuple[Path, ReadConfig]:
    """The file that is there, and how to read it; of `ratings.db::essays` the two parts."""
    path = Path(os.fsdecode(source)).expanduser()
    try:
        if str(path) == STANDARD_INPUT or path.exists():
            return path, config
    except (OSError, ValueError) as error:  # a name that no file can have
        name = shortened(str(path))
        raise InputError(f"no such file: {name}", "give the path of a file", value=str(path)) from error
    file, within, table = str(path).rpartition(WITHIN)
    if within and Path(file).exists():
        return Path(file), config.changed(table=table)
    raise InputError(f"no such file: {file or str(path)!r}", _hint(Path(file or path)), value=str(path))


def unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot read {str(path)!r}: {reason(error)}", "check that you may open it", value=str(path)
    )


def is_control_file(path: Path, config: ReadConfig) -> bool:
    """Whether the path leads to a control file of FACETS, by what the user says or by what is in it."""
    suffix = suffix_of(path, config)
    if suffix != ".txt" or not path.is_file():
        return suffix == ".facets"
    from raterlens.reading.facets import is_control  # other files do without

    return is_control(path, config.codec)


def _opened(path: Path, config: ReadConfig) -> Table:
    if path.is_dir():
        return read_folder(path, config)
    suffix = suffix_of(path, config)
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path.name!r} has the unknown extension {suffix!r}",
            Message(
                f"those known are {', '.join((*SUFFIXES, PACKED))}: save the table as one of them, or say what it is "
                "with ",
                Option("format"),
            ),
            value=suffix,
        )
    found = format_of(path, suffix, FORMATS)
    return (CONTROL_FILE if is_control_file(path, config) else found).read(path, config)


def _hint(path: Path) -> str:
    neighbours = os.listdir(path.parent) if path.parent.is_dir() else []
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"
