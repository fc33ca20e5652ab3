"""Result of every format: column names at once, and the rows of chosen columns on demand; any dataframe as one."""

import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from raterlens.base.arrays import Mask
from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError, choose
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.config import ReadConfig
from raterlens.config.limits import UNFOLDED, UNFOLDED_TIMES
from raterlens.ratings.coded import Backend
from raterlens.reading.read_plan import Finding
from raterlens.reading.vocabulary import roles_named

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the columns asked for."""

    frame: pl.DataFrame
    place: Callable[[int], str]
    """Where a row of the frame stands for the user: "line 7" of a text file, else "row 6"."""
    notes: tuple[str, ...] = ()

    def without(self, rows: Mask) -> "Rows":
        """The others."""
        place, kept = self.place, np.flatnonzero(~rows)
        return replace(self, frame=self.frame.filter(~rows), place=lambda row: place(int(kept[row])))


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open: the names are known, the rows are not read yet."""

    name: str
    columns: tuple[str, ...]
    take: Callable[[Sequence[str]], Rows]
    backend: Backend = "polars"
    labels: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)
    """Words for the codes of a column: for students, raters and items; scores stay numbers."""
    notes: tuple[str, ...] = ()
    roles: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Where the file itself says so: the column of a role (student, rater, item, facets)."""
    findings: tuple[Finding, ...] = ()
    """Findings from opening the file."""
    settled: bool = False
    """Whether `roles` has all that there are: a role that it lacks has no column."""
    in_memory: bool = False
    """Whether it is a dataframe of a program, which is told about repeated ratings, not asked."""
    two_headers: bool = False
    """Whether the names are joined from two header rows."""

    query: pl.LazyFrame | None = None
    """The table as a query, where its rows need not all be in memory at once."""
    large: bool = False
    """Whether columns of labels are better taken one at a time."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Roles that a title above the table names: "Examiner: A. Smith"."""
    top: tuple[Mapping[str, object], ...] = ()
    """The first rows, where they are at hand without reading the others."""

    def __post_init__(self) -> None:
        doubled = [column for column, times in Counter(self.columns).items() if times > 1 and column]
        if doubled:
            what = f"{self.name} has more than one column named {listed(doubled)}"
            raise InputError(what, "give each column a name of its own, in a header line", value=doubled)


FEWEST_TYPED, MOST_TYPED = 6, 100_000
"""Rows of a table that may have been put together by hand."""


def _rows_by_hand(table: Table) -> Rows | None:
    """All that a small table holds."""
    if table.query is not None or table.large:
        return None
    try:
        rows = table.take(table.columns)
    except InputError:  # a bad value in a column that may not be needed; the reader of that column reports it
        return None
    return rows if FEWEST_TYPED <= rows.frame.height <= MOST_TYPED else None


def without_headers(table: Table) -> Table:
    """The table without header rows further down, as files have them that were put one under the other."""
    if (rows := _rows_by_hand(table)) is None:
        return table
    texts = [name for name in table.columns if name and rows.frame[name].dtype == pl.String]
    if len(texts) < 2:
        return table
    again = rows.frame.select(
        pl.all_horizontal((pl.col(name).str.strip_chars() == name).fill_null(True) for name in texts)
        & (pl.sum_horizontal(pl.col(name).is_not_null() for name in texts) > 1)
    ).to_series()
    if not again.any():
        return table
    found = Finding(f"{counted(int(again.sum()), 'row')} with the names of the columns again", "left out")
    headers = again.to_numpy()
    return replace(
        table, take=lambda wanted: table.take(wanted).without(headers), findings=(*table.findings, found)
    )


def with_cells_filled(table: Table) -> Table:
    """The table with labels in the blank cells under them, where each stands once above its rows, as merged cells do.

    Only columns left of what every row has: there a blank cell belongs to the label above.
    """
    if (rows := _rows_by_hand(table)) is None:
        return table
    frame, filled = rows.frame, list[str]()
    for name in table.columns:
        column = frame[name]
        if not column.null_count():
            if column.n_unique() == len(column):
                continue  # numbers of rows
            break
        labels = frame.select(*filled, name).fill_null(strategy="forward").filter(column.is_not_null())
        if column[0] is None or 3 * column.null_count() < len(column) or labels.is_duplicated().any():
            break
        frame = frame.with_columns(pl.col(name).forward_fill())
        filled.append(name)
    after = frame.select(pl.all().exclude(filled)) if filled else frame
    if not filled or not any(10 * column.null_count() <= len(column) for column in after.get_columns()):
        return table
    found = Finding(f"{listed(filled)}: blank cells under a label", "read as the label above")

    def take(wanted: Sequence[str]) -> Rows:
        taken = table.take([*wanted, *(name for name in filled if name not in wanted)])
        return replace(taken, frame=taken.frame.with_columns(pl.col(filled).forward_fill()).select(wanted))

    return replace(table, take=take, findings=(*table.findings, found))


MELTED = ("variable", "value")
"""Columns of a table that pandas or R melted: the names of its columns, and what stood in them."""


def unmelted(table: Table) -> Table:
    """The table that was melted: one column for each label of `variable`."""
    if not set(MELTED) <= set(table.columns) or (rows := _rows_by_hand(table)) is None:
        return table
    frame = rows.frame
    left = [name for name in table.columns if name not in MELTED and frame[name].n_unique() < frame.height]
    if not left or frame.select(*left, MELTED[0]).is_duplicated().any() or frame[MELTED[0]].null_count():
        return table
    wide = frame.pivot(MELTED[0], index=left, values=MELTED[1])
    found = Finding(
        f"a melted table, with the names of {wide.width - len(left)} columns in 'variable'", "a column each"
    )
    return replace(table_of(table.name, wide), findings=(*table.findings, found))


def suffix_of(path: Path, config: ReadConfig) -> str:
    """The format of a file: as the user says, else by its extension."""
    return f".{config.format.lower().removeprefix('.')}" if config.format else path.suffix.lower()


def is_plain(dtype: pl.DataType) -> bool:
    """Whether values of this type can be sorted, and written as text, as they are."""
    if dtype.is_numeric() or isinstance(dtype, pl.Boolean | pl.String | pl.Categorical | pl.Enum | pl.Null):
        return True
    return dtype.is_temporal() and not isinstance(dtype, pl.Duration)


def choice(
    what: str,
    asked: str | None,
    names: Sequence[str],
    file: str,
    columns: Callable[[str], Iterable[str]] = lambda name: (),
) -> str:
    """The name asked for, or the only one there is; of several, the one whose columns look most like ratings is
    suggested."""
    if not names:
        raise InputError(f"{file!r} has no {what} in it", "check that it is the right file")
    if asked is not None:
        return choose(f"{what} in {file!r}", asked, names, option="table")
    if len(names) > 1:
        likely = Option("table", max(names, key=lambda name: len(roles_named(columns(name)))))
        several = f"{file!r} has {len(names)} {what}s: {listed(names)}"
        raise InputError(several, Message("say which, for example ", likely), value=list(names))
    return names[0]


def table_of(name: str, frame: pl.DataFrame) -> Table:
    """A frame in memory as a table."""
    return Table(name, tuple(frame.columns), lambda wanted: rows_of([frame[column] for column in wanted]))


def series_of(name: str, values: Sequence[object]) -> pl.Series:
    """A column of Python's own values; of several types, as objects."""
    types = {type(value) for value in values if value is not None}
    simple = len(types) <= 1 and types <= {str, int, float, bool}
    return pl.Series(name, values, dtype=None if simple else pl.Object)


def rows_of(columns: Sequence[pl.Series]) -> Rows:
    """Make rows of a table without lines, counted from 1. Lists, objects and the like become their text."""
    notes, plain = list[str](), dict[str, pl.Series]()
    for column in columns:
        if not is_plain(column.dtype):
            values = column.to_list()
            types = sorted({type(value).__name__ for value in values if value is not None})
            notes.append(f"column {column.name!r} holds values of type {' and '.join(types)}: taken as text")
            text = [None if value is None else str(value) for value in values]
            column = pl.Series(column.name, text, dtype=pl.String)
        plain[column.name] = column
    # By name: of a list, polars would name a column without one.
    return Rows(pl.DataFrame(plain), lambda row: f"row {row + 1:,}", tuple(notes))


def whole(column: pl.Series) -> pl.Series:
    """7.0 is the label 7 for programs that know only one kind of number."""
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    integers = column.cast(pl.Int64, strict=False)
    same = integers.null_count() == column.null_count() and bool((integers == column).all())
    return integers if same else column


NAME = "the table"


def read_frame(source: Any) -> Table:
    """Open a dataframe: polars as it is, every other kind through narwhals."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        lazy = source.lazy()
        with _answering():
            columns = tuple(lazy.collect_schema().names())

        def rows(wanted: Sequence[str]) -> Rows:
            with _answering():
                return rows_of(lazy.select(wanted).collect().get_columns())

        return Table(NAME, columns, rows, in_memory=True)
    # Imported on first need: files and polars frames do without it.
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source)
        names = {str(column): column for column in frame.columns}
    except DuplicateError as error:
        twice = "; ".join(line.strip("- ") for line in str(error).splitlines()[1:])
        what = f"{NAME} has doubled column names: {twice}"
        raise InputError(what, "give each column a name of its own") from error
    except TypeError as error:
        what = f"cannot read a table from an object of type {type(source).__name__!r}"
        remedy = "give the path of a file or a dataframe (polars, pandas, pyarrow)"
        raise InputError(what, remedy, value=source) from error

    def take(wanted: Sequence[str]) -> Rows:
        chosen = frame.select(*(nw.col(names[name]) for name in wanted))
        if isinstance(chosen, nw.LazyFrame):
            with _answering():
                chosen = chosen.collect(backend="polars")
        return rows_of([_column(chosen.get_column(names[name]), name) for name in wanted])

    pandas, pyarrow = frame.implementation.is_pandas(), frame.implementation.is_pyarrow()
    backend: Backend = "pandas" if pandas else "pyarrow" if pyarrow else "polars"
    return Table(NAME, tuple(map(str, frame.columns)), take, backend, in_memory=True)


@contextmanager
def _answering() -> Iterator[None]:
    """A lazy frame is a query: what is wrong with it shows when it is asked."""
    try:
        yield
    except (PolarsError, OSError) as error:
        what = f"the lazy table cannot be read ({type(error).__name__}: {shortened(reason(error))})"
        raise InputError(what, "collect it yourself to see the fault") from error


def _column(series: "nw.Series[Any]", name: str) -> pl.Series:
    if series.implementation.is_pyarrow() and str(series.dtype) == "Unknown":
        return _by_value(series, name)  # decimals of 256 bits, at which polars panics
    try:
        column = series.to_polars().alias(name)
    except (ValueError, TypeError, NotImplementedError, ImportError, PolarsError, PanicException):
        # Values of several types in one pandas column, pandas text without pyarrow, or a type that polars has not.
        return _by_value(series, name)
    if not is_plain(column.dtype):
        return _by_value(series, name)
    # pandas has no missing integers: 1, 2, missing arrives as 1.0, 2.0, NaN.
    return whole(column) if column.null_count() else column


def _by_value(series: "nw.Series[Any]", name: str) -> pl.Series:
    missing = series.is_null().to_list()
    values = [None if gone else value for gone, value in zip(missing, series.to_list(), strict=True)]
    return series_of(name, values)


def require(package: str, extra: str, file: str) -> Any:
    """Import a package on first need, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        remedy = f"run: pip install 'raterlens[{extra}]', or save the table as csv"
        raise InputError(
            f"to read {file!r} the package {package} is needed", remedy, value=package
        ) from error


@contextmanager
def refuse_changes(path: Path) -> Iterator[None]:
    """Raise where a file changes while it is read in the block, whatever came of it."""
    before = path.stat()
    try:
        yield
    finally:
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise InputError(
                f"{path.name!r} changed while it was read", "try again once it is written", value=str(path)
            )


def damaged(name: str, why: object) -> InputError:
    """A file that cannot be read, and why its reader says so."""
    said = reason(why) if isinstance(why, BaseException) else str(why)
    said = " ".join(said.removeprefix("calamine error: ").split())
    return InputError(
        f"{name!r} is damaged or cut short ({said})", "copy it again, or save the table as csv", value=name
    )


@contextmanager
def refusing(name: str, *errors: type[BaseException]) -> Iterator[None]:
    """Turn what a reader raises within the block into a refusal of the file."""
    try:
        yield
    except errors as error:
        raise damaged(name, error) from error


def read_whole(path: Path) -> bytes:
    """The content of a file that nobody writes to meanwhile."""
    with refuse_changes(path):
        return path.read_bytes()


def read_text(path: Path, encoding: str) -> str:
    """The content of a text file without a byte order mark."""
    try:
        return decoded(read_whole(path), path.name, encoding)
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot read {str(path)!r}: {reason(error)}", "check that you may open it", value=str(path)
    )


def decoded(content: bytes, name: str, encoding: str) -> str:
    """The text of a file; raise where it has another encoding."""
    try:
        return content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{content[error.start]:02x} at position {error.start:,} (line {line:,})"
        cp1252 = (Option("encoding", "cp1252"), " for most files from Excel)")
        remedy = Message("save the file as UTF-8, or give its encoding (", *cp1252)
        what = f"{name!r} is not {encoding}: {byte} does not belong there"
        raise InputError(what, remedy, value=encoding) from error


def check_unfolded(name: str, packed: int, unfolded: int) -> None:
    """Raise where a compressed file holds far more than its size lets expect."""
    if unfolded > max(UNFOLDED, UNFOLDED_TIMES * packed):
        what = f"{name!r} has {packed / 1e6:,.1f} MB, but unfolds to {unfolded / 1e6:,.0f} MB or more"
        remedy = "if it is one, unpack it and save it as csv"
        raise InputError(f"{what}, as no table of ratings does", remedy, value=unfolded)


def unfold(source: Path, stream: IO[bytes], file: IO[bytes] | None = None) -> None:
    """Decompress piece by piece, to a file or only to see how much there is; raise once it is far too much."""
    packed, unfolded = source.stat().st_size, 0
    while piece := stream.read(1 << 22):
        unfolded += len(piece)
        check_unfolded(source.name, packed, unfolded)
        if file is not None:
            file.write(piece)


def check_archive(path: Path) -> None:
    """Raise where the directory of an archive (a workbook, a log) says that it unfolds to far more than its size."""
    try:
        with zipfile.ZipFile(path) as archive:
            unfolded = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error):
        return  # not an archive, or damaged: its reader says what is wrong
    check_unfolded(path.name, path.stat().st_size, unfolded)
