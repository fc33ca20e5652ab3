"""Where tables come from: a file, by its extension, or a dataframe. A format is one function in `READERS`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from raterlens.errors import InputError, choose
from raterlens.ratings.packed_file import SUFFIX
from raterlens.reading.facets import is_control, read_control
from raterlens.reading.formats.databases import read_database
from raterlens.reading.formats.dataframes import read_frame
from raterlens.reading.formats.delimited import read_delimited
from raterlens.reading.formats.inspect_log import read_inspect
from raterlens.reading.formats.json_records import read_json
from raterlens.reading.formats.lazy_table import Opening, Rows, Table
from raterlens.reading.formats.parquet import read_folder, read_parquet
from raterlens.reading.formats.signatures import check_kind
from raterlens.reading.formats.spool import STANDARD_INPUT, plain_file
from raterlens.reading.formats.statistical_packages import read_r, read_spss_or_stata
from raterlens.reading.formats.workbook import WORKBOOKS, read_workbook

__all__ = ["READERS", "Opening", "Rows", "Table", "located", "open_table"]

Reader = Callable[[Path, Opening], Table]


READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_delimited),
    ".parquet": read_parquet,
    **dict.fromkeys(WORKBOOKS, read_workbook),
    **dict.fromkeys((".sav", ".zsav", ".dta"), read_spss_or_stata),
    **dict.fromkeys((".rda", ".rdata", ".rds"), read_r),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), read_json),
    ".eval": read_inspect,
    ".facets": read_control,
    **dict.fromkeys((".sqlite", ".sqlite3", ".duckdb", ".db"), read_database),
}
WITHIN = "::"
"""Between a file and the table in it: ratings.db::essays."""


@contextmanager
def open_table(source: object, opening: Opening) -> Iterator[Table]:
    """Open a path or a dataframe: its column names now, its rows when asked for."""
    if opening.format is not None:
        choose("format", opening.format.lower().removeprefix("."), [suffix[1:] for suffix in READERS])
    if not isinstance(source, str | os.PathLike):
        yield source if isinstance(source, Table) else read_frame(source)
        return
    path, opening = located(Path(os.fsdecode(source)).expanduser(), opening)
    try:
        with plain_file(path, opening.format) as file:
            yield _opened(file, opening)
    except OSError as error:
        raise InputError(
            f"cannot read {str(path)!r}: {error.strerror}; check that you may open it"
        ) from error


def located(path: Path, opening: Opening) -> tuple[Path, Opening]:
    """The file that is there, and how to open it; of `ratings.db::essays` the two parts."""
    if str(path) == STANDARD_INPUT or path.exists():
        return path, opening
    file, within, table = str(path).rpartition(WITHIN)
    if within and Path(file).exists():
        return Path(file), Opening(opening.encoding, table, opening.format)
    raise InputError(f"no such file: {file or str(path)!r}; {_hint(Path(file or path))}")


def _opened(path: Path, opening: Opening) -> Table:
    if path.is_dir():
        return read_folder(path, opening)
    suffix = opening.suffix(path)
    reader = READERS.get(suffix)
    if reader is None:
        raise InputError(
            f"{path.name!r} has the unknown extension {suffix!r}; those known are "
            f"{', '.join((*READERS, SUFFIX))}: save the table as one of them, or say what it is with format="
        )
    check_kind(path, suffix)
    return read_control(path, opening) if is_control_file(path, opening) else reader(path, opening)


def is_control_file(path: Path, opening: Opening) -> bool:
    """Whether the path leads to a control file of FACETS, by what the user says or by what is in it."""
    suffix = opening.suffix(path)
    return suffix == ".facets" or (suffix == ".txt" and path.is_file() and is_control(path, opening.encoding))


def _hint(path: Path) -> str:
    neighbours = os.listdir(path.parent) if path.parent.is_dir() else []
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {near[0]!r}?" if near else "check the spelling and the folder you are in"
