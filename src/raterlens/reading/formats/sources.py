"""Where tables come from: a file, by its extension and first bytes, several files or sheets together, or a dataframe.

A file format is one entry of `FORMATS`.
"""

import bz2
import glob
import gzip
import lzma
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import polars as pl

from raterlens.base.errors import InputError, choose
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.ratings.packed import SUFFIX as PACKED
from raterlens.reading.formats.nested import json_columns
from raterlens.reading.formats.parquet import read_folder
from raterlens.reading.formats.table import (
    Rows,
    Table,
    check_archive,
    read_frame,
    refusing,
    require,
    suffix_of,
    unfold,
    unreadable,
)
from raterlens.reading.formats.tool_exports import FLAT
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import (
    is_identifier,
    is_total,
    like_item,
    like_rater,
    roles_named,
    tier,
)

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


def _unzipped(source: Path, folder: Path) -> list[Path]:
    """The tables of an archive, in a folder."""
    check_archive(source)
    with (
        refusing(source.name, BadZipFile, NotImplementedError, RuntimeError, zlib.error),
        ZipFile(source) as archive,
    ):
        archive.extractall(folder)
    if found := files_in(folder, SUFFIXES):
        return found
    raise InputError(
        f"{source.name!r} has no table in it", "put a csv or another table into it", value=str(source)
    )


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

CONTROL_FILE = Format("a control file of FACETS", (".facets",), "facets_study:read_control")
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
    Format(
        "an SPSS file", (".sav", ".zsav"), "formats.other_programs:read_spss_or_stata", (b"$FL2", b"$FL3")
    ),
    Format(
        "a Stata file", (".dta",), "formats.other_programs:read_spss_or_stata", (b"<stata_dta>", *_OLD_STATA)
    ),
    Format(
        "an R data file", (".rda", ".rdata"), "formats.other_programs:read_r", (b"RDX", b"RDA", *_COMPRESSED)
    ),
    Format("an R object", (".rds",), "formats.other_programs:read_r", (b"X\n", b"A\n", *_COMPRESSED)),
    Format("a JSON file", (".jsonl", ".ndjson", ".json"), "formats.json_files:read_json"),
    Format("a log of Inspect AI", (".eval",), "formats.json_files:read_archived_log", (_ZIP,)),
    CONTROL_FILE,
    Format(
        "an SQLite database",
        (".sqlite", ".sqlite3", ".db"),
        "formats.other_programs:read_sqlite",
        (b"SQLite format 3\0",),
    ),
    Format(
        "a DuckDB database", (".duckdb", ".db"), "formats.other_programs:read_duckdb", (b"DUCK",), offset=8
    ),
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
        if path.suffix.lower() == ".zip" and path.is_file() and config.format is None:
            with TemporaryDirectory() as folder, _together(_unzipped(path, Path(folder)), config) as table:
                yield table
            return
        with plain_file(path, config.format) as file:
            yield _opened(file, config)
    except OSError as error:
        raise unreadable(path, error) from error


def _several(source: str | os.PathLike[str]) -> list[Path]:
    """The files of a pattern, or of a folder that holds no parquet files."""
    path = Path(os.fsdecode(source)).expanduser()
    try:
        if path.is_dir():
            if all((path / name).is_file() for name in ("fit.json", "report.html")):
                raise InputError(
                    f"{str(path)!r} holds the results of a fit, not ratings",
                    "give the file of ratings; to compare fits: raterlens compare ONE/fit.json OTHER/fit.json",
                    value=str(path),
                )
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
            yield joined_files(tables, Path(shared).name or shared, config)


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


def is_control_file(path: Path, config: ReadConfig) -> bool:
    """Whether the path leads to a control file of FACETS, by what the user says or by what is in it."""
    suffix = suffix_of(path, config)
    if suffix != ".txt" or not path.is_file():
        return suffix == ".facets"
    from raterlens.reading.facets_control import is_control  # other files do without

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
    table = (CONTROL_FILE if is_control_file(path, config) else found).read(path, config)
    known = {*config.taken("student", "rater", "score")} & {*table.columns}
    if json_columns(table.top) or (not known and any(map(set(table.columns).issuperset, FLAT))):
        from raterlens.reading.formats.json_files import table_of_records  # JSON is seldom needed here

        spread = table_of_records(table.take(table.columns).frame.to_dicts(), path.name)
        return replace(spread, findings=(*table.findings, *spread.findings))
    return table


def _hint(path: Path) -> str:
    neighbours = os.listdir(path.parent) if path.parent.is_dir() else []
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"


ALL_SHEETS = "*"
"""Name of the request to read sheets together."""
SHEET = "sheet"
"""The column that then says which."""
SHARED = 0.5
"""Share of its students that a sheet has in common with the others, if all are of one exam."""


def chosen_sheet(tables: Mapping[str, Table], names: Sequence[str], file: str) -> Table:
    """The sheet with the ratings, or sheets of one rater each together, and what to say about it."""
    alike = _alike(tables)
    if len(alike) > 1 and (together := _sheets_together(alike, file)) is not None:
        return together
    known = {name: len(roles_named(table.columns)) for name, table in tables.items()}
    if max(known.values()) < 2:  # names do not tell
        known = {name: _cells(table) for name, table in tables.items()}
    best = max(tables, key=lambda name: known[name])
    if best == names[0] or known[best] == known.get(names[0], 0):
        best = names[0] if names[0] in tables else best
        note = Message(
            f"sheet {best!r}, the first of {len(names)} ({listed(names)}); choose another with ",
            Option("table"),
        )
        return replace(tables[best], notes=(note, *tables[best].notes))
    finding = Finding(
        f"{len(names)} sheets ({listed(names)})",
        f"{best!r} read, which has the ratings",
        (Option("table", best),),
        alternative=Option("table", names[0]),
    )
    return replace(tables[best], findings=(finding, *tables[best].findings))


def _cells(table: Table) -> int:
    """The size of a table."""
    return len(table.columns) * table.take(table.columns[:1]).frame.height


def joined_sheets(tables: Mapping[str, Table], file: str) -> Table:
    """All sheets that are laid out alike, one under the other, with a column `sheet`."""
    alike = _alike(tables)
    joined, first = _stacked(alike, file, SHEET, list(alike)), next(iter(alike.values()))
    return replace(joined, columns=(SHEET, *first.columns), two_headers=first.two_headers)


def _stacked(tables: Mapping[str, Table], name: str, label: str, called: Sequence[str]) -> Table:
    """One table under the other, with a column that says which; a column that one of them lacks is empty there."""
    columns = tuple(dict.fromkeys(column for table in tables.values() for column in table.columns))
    if label in columns:
        raise InputError(
            f"the tables of {name!r} have a column {label!r} of their own", "give it another name"
        )

    def take(wanted: Sequence[str]) -> Rows:
        parts = {
            which: _part(table, text, label, wanted)
            for (which, table), text in zip(tables.items(), called, strict=True)
        }
        frame = pl.concat([rows.frame for rows in parts.values()], how="diagonal_relaxed")
        ends = list(accumulate(rows.frame.height for rows in parts.values()))

        def place(row: int) -> str:
            part = next(number for number, end in enumerate(ends) if row < end)
            which, rows = list(parts.items())[part]
            at = rows.place(row - ends[part] + rows.frame.height)
            return f"{'sheet ' if label == SHEET else ''}{which!r}, {at}"

        notes = tuple(dict.fromkeys(note for rows in parts.values() for note in rows.notes))
        return Rows(frame.select(wanted), place, notes)

    findings = tuple(dict.fromkeys(finding for table in tables.values() for finding in table.findings))
    notes = tuple(dict.fromkeys(note for table in tables.values() for note in table.notes))
    return Table(name, (*columns, label), take, findings=findings, notes=notes)


def _part(table: Table, which: str, label: str, wanted: Sequence[str]) -> Rows:
    own = [column for column in wanted if column in table.columns] or list(table.columns[:1])
    rows = table.take(own)
    named = pl.lit(which).alias(label)
    missing = [pl.lit(None).alias(column) for column in wanted if column not in (*own, label)]
    return replace(rows, frame=rows.frame.with_columns(named, *missing).select(wanted))


def _alike(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The largest group of sheets with the same columns, in any order; a sheet of averages is none of them."""
    groups: dict[frozenset[str], dict[str, Table]] = {}
    for name, table in tables.items():
        if not is_total(name) and not _summary(name):
            groups.setdefault(frozenset(table.columns), {})[name] = table
    return max(groups.values(), key=len, default=dict(tables))


def _summary(name: str) -> bool:
    return name.strip().casefold() in (
        "summary",
        "overview",
        "übersicht",
        "zusammenfassung",
        "all",
        "alle",
        "results",
    )


def _sheets_together(alike: dict[str, Table], file: str) -> Table | None:
    columns = next(iter(alike.values())).columns
    roles = roles_named(columns)
    joined = joined_sheets(alike, file)
    options: tuple[Option, ...] = (Option("table", ALL_SHEETS),)
    seen = f"{len(alike)} sheets laid out alike ({listed(alike)})"
    together = same_students(alike, columns)
    again = "item" not in roles and not _one_row_each(alike, columns)
    if "rater" in roles or ("student" in roles and (again or not together)):
        finding = Finding(
            seen, "read together", options, alternative=Option("table", next(iter(alike))), certain=False
        )
        return replace(joined, findings=(finding, *joined.findings))
    if not together:
        return None
    people, things = (2 * sum(map(kind, alike)) > len(alike) for kind in (like_rater, like_item))
    others = [name for name in columns if tier(name, "student") is None]
    role = "item" if things and not people else "rater"
    spoken = people or things or "score" in roles or any(map(like_item, others))
    finding = Finding(
        seen, f"read together, the sheet name is the {role}", (*options, Option(role, SHEET)), certain=spoken
    )
    return replace(joined, findings=(finding, *joined.findings), roles={role: SHEET})


def _one_row_each(alike: Mapping[str, Table], columns: Sequence[str]) -> bool:
    """Whether no sheet has two rows of a student: its name can say who rated."""
    column = _naming(columns)
    labels = (table.take([column]).frame[column].drop_nulls() for table in alike.values())
    return all(len(label) == label.n_unique() for label in labels)


def _naming(columns: Sequence[str]) -> str:
    """The first column that names students, else the first of all."""
    named = (name for name in columns if tier(name, "student") is not None or is_identifier(name))
    return next(named, columns[0])


def same_students(alike: Mapping[str, Table], columns: Sequence[str]) -> bool:
    """Whether the sheets are about the same people, by the first column that names them."""
    column = _naming(columns)
    first, *others = (
        set(table.take([column]).frame[column].drop_nulls().cast(pl.String).str.strip_chars())
        for table in alike.values()
    )
    return all(len(first & other) >= SHARED * min(len(first), len(other)) > 0 for other in others)


FILE = "file"


def matching(pattern: str) -> list[Path]:
    """The files that a pattern names, in their order."""
    return [path for name in sorted(glob.glob(pattern, recursive=True)) if (path := Path(name)).is_file()]


def files_in(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The tables of a folder and of those within it."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    return [path for path in found if not path.name.startswith((".", "_", "~"))]


def joined_files(tables: Mapping[str, Table], name: str, config: ReadConfig) -> Table:
    """All files one under the other, with a column `file`."""
    joined = _stacked(tables, name, FILE, _file_labels(tables))
    roles = next(iter(tables.values())).roles
    asked = list(_meaning(tables, joined.columns[:-1], roles, config))
    if any(option.name == "rater" for finding in asked for option in finding.options):
        roles = {**roles, "rater": FILE}
    seen = Finding(
        f"{counted(len(tables), 'file')} ({listed(tables, 4)})", f"read together, with a column {FILE!r}"
    )
    return replace(
        joined,
        roles=roles,
        findings=(seen, *asked, *joined.findings),
        settled=all(table.settled for table in tables.values()),
    )


def _file_labels(names: Iterable[str]) -> list[str]:
    """The names of files without their extensions or, where folders tell them apart, those of the folders.

    Examples
    --------
    >>> _file_labels(["a/x.csv", "a/y.csv"]), _file_labels(["a/x.csv", "b/x.csv"])
    (['x', 'y'], ['a', 'b'])
    """
    paths = list(map(Path, names))
    ways = ([path.stem for path in paths], [str(path.parent) for path in paths])
    whole = [str(path.with_suffix("")) for path in paths]
    return next((labels for labels in ways if len(set(labels)) == len(paths)), whole)


def _meaning(
    tables: Mapping[str, Table], columns: Sequence[str], roles: Mapping[str, object], config: ReadConfig
) -> Iterator[Finding]:
    """Whether files are raters, or hold the answers of a model each."""
    rated = "rater" in roles or any(tier(column, "rater") is not None for column in columns)
    alike = len({frozenset(table.columns) for table in tables.values()}) == 1
    if not rated and config.rater is None and config.wide is None and config.markers is None and alike:
        own = [column for column in columns if tier(column, "score") is not None or like_item(column)]
        if own and same_students(tables, columns):
            yield Finding(
                f"no rater column in {counted(len(tables), 'file')} about the same students",
                "the name of the file read as the rater",
                (Option("rater", FILE),),
                certain=False,
            )
    if "student" in roles and "rater" in roles and config.student is None:
        keys = [str(roles[role]) for role in ("student", "rater", "item") if role in roles]
        seen = [set(table.take(keys).frame.select(keys).rows()) for table in tables.values()]
        if len(set.union(*seen)) < sum(map(len, seen)):
            yield Finding(
                "the same students, rated by the same raters, in several files",
                "each file read as answers of its own",
                (Option("student", (str(roles["student"]), FILE)),),
                alternative=Option("student", str(roles["student"])),
                certain=False,
            )
