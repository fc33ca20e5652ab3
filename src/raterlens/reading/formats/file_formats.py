"""Where tables come from: a file, by its extension, or a dataframe. A file format is one entry of `FORMATS`."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path

from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError, choose
from raterlens.base.text import Message, Option, shortened
from raterlens.config import ReadConfig
from raterlens.ratings.packed import SUFFIX as PACKED
from raterlens.reading.formats.lazy_table import Table, suffix_of
from raterlens.reading.formats.openers import (
    open_control,
    open_duckdb,
    open_frame,
    open_inspect,
    open_json,
    open_r,
    open_spss_or_stata,
    open_sqlite,
    open_text,
    open_workbook,
)
from raterlens.reading.formats.parquet import read_folder, read_parquet
from raterlens.reading.formats.several_files import files_in, matching, stacked
from raterlens.reading.formats.signatures import OLE, Format, format_of
from raterlens.reading.formats.streams import STANDARD_INPUT, plain_file

_ZIP = b"PK\x03\x04"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
# Stata before version 13 has no better mark than its release number and the byte order.
_OLD_STATA = tuple(
    bytes([release, order]) for release in (104, 105, 108, 110, 111, 113, 114, 115) for order in (1, 2)
)

FORMATS = (
    Format("a text table", (".csv", ".tsv", ".txt"), open_text),
    Format("a parquet file", (".parquet",), read_parquet, (b"PAR1",)),
    Format(
        "an Excel or OpenDocument workbook",
        (".xlsx", ".xlsm", ".xlsb", ".ods"),
        open_workbook,
        (_ZIP,),
    ),
    Format("an old Excel workbook", (".xls",), open_workbook, (OLE,)),
    Format("an SPSS file", (".sav", ".zsav"), open_spss_or_stata, (b"$FL2", b"$FL3")),
    Format("a Stata file", (".dta",), open_spss_or_stata, (b"<stata_dta>", *_OLD_STATA)),
    Format("an R data file", (".rda", ".rdata"), open_r, (b"RDX", b"RDA", *_COMPRESSED)),
    Format("an R object", (".rds",), open_r, (b"X\n", b"A\n", *_COMPRESSED)),
    Format("a JSON file", (".jsonl", ".ndjson", ".json"), open_json),
    Format("a log of Inspect AI", (".eval",), open_inspect, (_ZIP,)),
    Format("a control file of FACETS", (".facets",), open_control),
    Format("an SQLite database", (".sqlite", ".sqlite3", ".db"), open_sqlite, (b"SQLite format 3\0",)),
    Format("a DuckDB database", (".duckdb", ".db"), open_duckdb, (b"DUCK",), offset=8),
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
        yield source if isinstance(source, Table) else open_frame(source)
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
            option="format",
        )
    found = format_of(path, suffix, FORMATS)
    return open_control(path, config) if is_control_file(path, config) else found.read(path, config)


def _hint(path: Path) -> str:
    neighbours = os.listdir(path.parent) if path.parent.is_dir() else []
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"
