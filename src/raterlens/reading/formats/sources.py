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
from bisect import bisect_right
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
    damaged,
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
    other = next((known for known in (*own, *formats) if known.fits(start)), None)
    if other in own or (other is None and not own[0].marks):
        return other or own[0]
    if not start:
        raise InputError(f"{path.name!r} is an empty file", "write the table again", value=start)
    if suffix == ".xlsx" and start.startswith(OLE):
        what = f"{path.name!r} is protected by a password, or an old Excel workbook called .xlsx"
        raise InputError(what, "open it in Excel and save it as xlsx without a password")
    seen = f"it begins with {start[:4]!r}" if own[0].marks or other is None else f"it is {other.name}"
    remedy = "if it is a text table, rename it to .csv; otherwise write it again"
    if other is not None:
        rename = f"rename it to end in {other.suffixes[0]}, or give "
        remedy = Message(rename, Option("format", other.suffixes[0][1:]))
    raise InputError(f"{path.name!r} is not {own[0].name}: {seen}", remedy, value=start, option="format")


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
            try:
                with OPEN[suffix](source) as stream, path.open("wb") as file:
                    unfold(source, stream, file)
            except InputError:
                raise
            except Exception as error:  # of the package that unpacks, whichever that is
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # the system's, not the file's
                raise damaged(source.name, f"it cannot be decompressed: {error}") from error
        yield path


def _unzipped(source: Path, folder: Path) -> list[Path]:
    """The tables of an archive, in a folder."""
    check_archive(source)
    faults = (BadZipFile, NotImplementedError, RuntimeError, zlib.error)
    with refusing(source.name, *faults), ZipFile(source) as archive:
        archive.extractall(folder)
    if found := files_in(folder, SUFFIXES):
        return found
    what = f"{source.name!r} has no table in it"
    raise InputError(what, "put a csv or another table into it", value=str(source))


_ZIP = b"PK\x03\x04"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
# Stata before version 13 has no better mark than its release number and the byte order.
_STATA = (104, 105, 108, 110, 111, 113, 114, 115)
_OLD_STATA = tuple(bytes([release, order]) for release in _STATA for order in (1, 2))
_BOOKS = (".xlsx", ".xlsm", ".xlsb", ".ods")
_OTHERS = "formats.other_programs"

CONTROL_FILE = Format("a control file of FACETS", (".facets",), "facets_study:read_control")
FORMATS = (
    Format("a text table", (".csv", ".tsv", ".txt"), "formats.delimited:read_delimited"),
    Format("a parquet file", (".parquet",), "formats.parquet:read_parquet", (b"PAR1",)),
    Format("an Excel or OpenDocument workbook", _BOOKS, "formats.workbook:read_workbook", (_ZIP,)),
    Format("an old Excel workbook", (".xls",), "formats.workbook:read_workbook", (OLE,)),
    Format("an SPSS file", (".sav", ".zsav"), f"{_OTHERS}:read_spss_or_stata", (b"$FL2", b"$FL3")),
    Format("a Stata file", (".dta",), f"{_OTHERS}:read_spss_or_stata", (b"<stata_dta>", *_OLD_STATA)),
    Format("an R data file", (".rda", ".rdata"), f"{_OTHERS}:read_r", (b"RDX", b"RDA", *_COMPRESSED)),
    Format("an R object", (".rds",), f"{_OTHERS}:read_r", (b"X\n", b"A\n", *_COMPRESSED)),
    Format("a JSON file", (".jsonl", ".ndjson", ".json"), "formats.json_files:read_json"),
    Format("a log of Inspect AI", (".eval",), "formats.json_files:read_archived_log", (_ZIP,)),
    CONTROL_FILE,
    Format(
        "an SQLite database",
        (".sqlite", ".sqlite3", ".db"),
        f"{_OTHERS}:read_sqlite",
        (b"SQLite format 3\0",),
    ),
    Format("a DuckDB database", (".duckdb", ".db"), f"{_OTHERS}:read_duckdb", (b"DUCK",), offset=8),
)
SUFFIXES = tuple(dict.fromkeys(suffix for known in FORMATS for suffix in known.suffixes))
WITHIN = "::"
"""Between a file and the table in it: ratings.db::essays."""


@contextmanager
def open_table(source: object, config: ReadConfig) -> Iterator[Table]:
    """Open a path or a dataframe: its column names now, its rows when asked for."""
    if config.format is not None:
        choose("format", config.format.lower().removeprefix("."), [suffix[1:] for suffix in SUFFIXES])
    with ExitStack() as stack:
        if (
            isinstance(source, list | tuple)
            and source
            and all(isinstance(one, str | os.PathLike) for one in source)
        ):
            files = [Path(os.fsdecode(one)).expanduser() for one in source]
        elif not isinstance(source, str | os.PathLike):
            yield source if isinstance(source, Table) else read_frame(source)
            return
        elif not (files := _several(source)):
            path, config = located(source, config)
            try:
                if path.suffix.lower() != ".zip" or not path.is_file() or config.format is not None:
                    yield _opened(stack.enter_context(plain_file(path, config.format)), config)
                    return
                files = _unzipped(path, Path(stack.enter_context(TemporaryDirectory())))
            except OSError as error:
                raise unreadable(path, error) from error
        shared = os.path.commonpath([path.parent for path in files]) if len(files) > 1 else ""
        tables = {
            str(path.relative_to(shared)) if shared else path.name: stack.enter_context(
                open_table(path, config)
            )
            for path in files
        }
        name = Path(shared).name or shared
        yield joined_files(tables, name, config) if len(tables) > 1 else next(iter(tables.values()))


def _several(source: str | os.PathLike[str]) -> list[Path]:
    """The files of a pattern, or of a folder that holds no parquet files."""
    path = Path(os.fsdecode(source)).expanduser()
    try:
        if path.is_dir():
            if all((path / name).is_file() for name in ("fit.json", "report.html")):
                what = f"{str(path)!r} holds the results of a fit, not ratings"
                compare = "to compare fits: raterlens compare ONE/fit.json OTHER/fit.json"
                raise InputError(what, f"give the file of ratings; {compare}", value=str(path))
            return [] if any(path.rglob("*.parquet")) else files_in(path, SUFFIXES)
        if path.exists() or not set("*?[") & set(str(path)):
            return []
        return [
            found for name in sorted(glob.glob(str(path), recursive=True)) if (found := Path(name)).is_file()
        ]
    except (OSError, ValueError):  # a name that no file can have
        return []


def located(source: str | os.PathLike[str], config: ReadConfig) -> tuple[Path, ReadConfig]:
    """The file that is there, and how to read it; of `ratings.db::essays` the two parts."""
    path = Path(os.fsdecode(source)).expanduser()
    try:
        if str(path) == STANDARD_INPUT or path.exists():
            return path, config
    except (OSError, ValueError) as error:  # a name that no file can have
        what = f"no such file: {shortened(str(path))}"
        raise InputError(what, "give the path of a file", value=str(path)) from error
    file, within, table = str(path).rpartition(WITHIN)
    if within and Path(file).exists():
        return Path(file), config.changed(table=table)
    named = Path(file or path)
    near = get_close_matches(named.name, os.listdir(named.parent) if named.parent.is_dir() else [], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"
    raise InputError(f"no such file: {file or str(path)!r}", hint, value=str(path))


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
        what = f"{path.name!r} has the unknown extension {suffix!r}"
        save = f"those known are {', '.join((*SUFFIXES, PACKED))}: save the table as one of them, or say what it is "
        raise InputError(what, Message(f"{save}with ", Option("format")), value=suffix)
    found = format_of(path, suffix, FORMATS)
    table = (CONTROL_FILE if is_control_file(path, config) else found).read(path, config)
    known = {*config.taken("student", "rater", "score")} & {*table.columns}
    if json_columns(table.top) or (not known and any(map(set(table.columns).issuperset, FLAT))):
        from raterlens.reading.formats.json_files import table_of_records  # JSON is seldom needed here

        spread = table_of_records(table.take(table.columns).frame.to_dicts(), path.name)
        return replace(spread, findings=(*table.findings, *spread.findings))
    return table


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
    if max(known.values()) < 2:  # names do not tell: the largest one
        known = {
            name: len(table.columns) * table.take(table.columns[:1]).frame.height
            for name, table in tables.items()
        }
    best = max(tables, key=lambda name: known[name])
    if best == names[0] or known[best] == known.get(names[0], 0):
        best = names[0] if names[0] in tables else best
        note = f"sheet {best!r}, the first of {len(names)} ({listed(names)}); choose another with "
        return replace(tables[best], notes=(Message(note, Option("table")), *tables[best].notes))
    finding = Finding(
        f"{len(names)} sheets ({listed(names)})",
        f"{best!r} read, which has the ratings",
        (Option("table", best),),
        alternative=Option("table", names[0]),
    )
    return replace(tables[best], findings=(finding, *tables[best].findings))


def joined_sheets(tables: Mapping[str, Table], file: str) -> Table:
    """All sheets that are laid out alike, one under the other, with a column `sheet`."""
    alike = _alike(tables)
    joined, first = _stacked(alike, file, SHEET, list(alike)), next(iter(alike.values()))
    return replace(joined, columns=(SHEET, *joined.columns[:-1]), two_headers=first.two_headers)


def _stacked(tables: Mapping[str, Table], name: str, label: str, called: Sequence[str]) -> Table:
    """One table under the other, with a column that says which; a column that one of them lacks is empty there."""
    columns = tuple(dict.fromkeys(column for table in tables.values() for column in table.columns))
    titles = set.intersection(*({*table.titles} for table in tables.values())) - {*columns}
    told = sorted(title for title in titles if len({table.titles[title] for table in tables.values()}) > 1)
    if label in columns:
        raise InputError(
            f"the tables of {name!r} have a column {label!r} of their own", "give it another name"
        )

    def take(wanted: Sequence[str]) -> Rows:
        parts = [
            table.take([column for column in wanted if column in table.columns] or table.columns[:1])
            for table in tables.values()
        ]
        frames = [
            rows.frame.with_columns(
                pl.lit(text).alias(label), *(pl.lit(table.titles[title]).alias(title) for title in told)
            )
            for rows, text, table in zip(parts, called, tables.values(), strict=True)
        ]
        ends = list(accumulate(frame.height for frame in frames))

        def place(row: int) -> str:
            part = bisect_right(ends, row)
            at = parts[part].place(row - ends[part] + frames[part].height)
            return f"{'sheet ' if label == SHEET else ''}{list(tables)[part]!r}, {at}"

        notes = tuple(dict.fromkeys(note for rows in parts for note in rows.notes))
        return Rows(pl.concat(frames, how="diagonal_relaxed").select(wanted), place, notes)

    findings = tuple(dict.fromkeys(finding for table in tables.values() for finding in table.findings))
    notes = tuple(dict.fromkeys(note for table in tables.values() for note in table.notes))
    return Table(name, (*columns, *told, label), take, findings=findings, notes=notes)


_SUMMARIES = ("summary", "overview", "übersicht", "zusammenfassung", "all", "alle", "results")


def _alike(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The largest group of sheets with the same columns, in any order; a sheet of averages is none of them."""
    groups: dict[frozenset[str], dict[str, Table]] = {}
    for name, table in tables.items():
        if not is_total(name) and name.strip().casefold() not in _SUMMARIES:
            groups.setdefault(frozenset(table.columns), {})[name] = table
    return max(groups.values(), key=len, default=dict(tables))


def _sheets_together(alike: dict[str, Table], file: str) -> Table | None:
    columns = next(iter(alike.values())).columns
    joined, together = joined_sheets(alike, file), same_students(alike, columns)
    roles = roles_named(joined.columns[1:])
    seen = f"{len(alike)} sheets laid out alike ({listed(alike)})"
    labels = (table.take([_naming(columns)]).frame.to_series().drop_nulls() for table in alike.values())
    again = "item" not in roles and not all(label.is_unique().all() for label in labels)
    options: tuple[Option, ...] = (Option("table", ALL_SHEETS),)
    if "rater" in roles or ("student" in roles and (again or not together)):
        one = Option("table", next(iter(alike)))
        titled = "rater" not in roles_named(columns) and "rater" in roles
        finding = Finding(seen, "read together", options, alternative=one, certain=titled)
        return replace(joined, findings=(finding, *joined.findings))
    if not together:
        return None
    people, things = (2 * sum(map(kind, alike)) > len(alike) for kind in (like_rater, like_item))
    others = [name for name in columns if tier(name, "student") is None]
    role = "item" if things and not people else "rater"
    spoken = people or things or "score" in roles or any(map(like_item, others))
    done = f"read together, the sheet name is the {role}"
    finding = Finding(seen, done, (*options, Option(role, SHEET)), certain=spoken)
    return replace(joined, findings=(finding, *joined.findings), roles={role: SHEET})


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
        own = any(tier(column, "score") is not None or like_item(column) for column in columns)
        if own and same_students(tables, columns):
            seen = f"no rater column in {counted(len(tables), 'file')} about the same students"
            yield Finding(
                seen, "the name of the file read as the rater", (Option("rater", FILE),), certain=False
            )
    if {"student", "rater"} <= roles.keys() and config.student is None:
        keys = [str(roles[role]) for role in ("student", "rater", "item") if role in roles]
        seen_rows = [set(table.take(keys).frame.select(keys).rows()) for table in tables.values()]
        if len(set.union(*seen_rows)) < sum(map(len, seen_rows)):
            student = str(roles["student"])
            yield Finding(
                "the same students, rated by the same raters, in several files",
                "each file read as answers of its own",
                (Option("student", (student, FILE)),),
                alternative=Option("student", student),
                certain=False,
            )
