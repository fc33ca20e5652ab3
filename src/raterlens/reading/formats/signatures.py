"""What a file is by its first bytes, whatever its name says."""

from dataclasses import dataclass
from pathlib import Path

from raterlens.errors import InputError

TEXT = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".facets")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")


@dataclass(frozen=True, slots=True)
class Kind:
    """A binary format: its name, the extensions it goes by, and what stands at `offset` of every such file."""

    name: str
    suffixes: tuple[str, ...]
    marks: tuple[bytes, ...]
    offset: int = 0

    def fits(self, start: bytes) -> bool:
        return start[self.offset :].startswith(self.marks)


# Stata before version 13 has no better mark than its release number and the byte order.
_OLD_STATA = tuple(
    bytes([release, order]) for release in (104, 105, 108, 110, 111, 113, 114, 115) for order in (1, 2)
)
KINDS = (
    Kind("a parquet file", (".parquet",), (b"PAR1",)),
    Kind("an Excel or OpenDocument workbook", (".xlsx", ".xlsm", ".xlsb", ".ods"), (b"PK\x03\x04",)),
    Kind("an old Excel workbook", (".xls",), (OLE,)),
    Kind("an SPSS file", (".sav", ".zsav"), (b"$FL2", b"$FL3")),
    Kind("a Stata file", (".dta",), (b"<stata_dta>", *_OLD_STATA)),
    Kind("an SQLite database", (".sqlite", ".sqlite3", ".db"), (b"SQLite format 3\0",)),
    Kind("a DuckDB database", (".duckdb", ".db"), (b"DUCK",), offset=8),
    Kind("an R data file", (".rda", ".rdata"), (b"RDX", b"RDA", *COMPRESSED)),
    Kind("an R object", (".rds",), (b"X\n", b"A\n", *COMPRESSED)),
)


def check_kind(path: Path, suffix: str) -> None:
    """Refuse a file whose first bytes are not those of its extension."""
    with path.open("rb") as file:
        start = file.read(16)
    own = [kind for kind in KINDS if suffix in kind.suffixes]
    if any(kind.fits(start) for kind in own) or (not own and suffix not in TEXT):
        return
    if own and not start:
        raise InputError(f"{path.name!r} is an empty file; write the table again")
    if suffix == ".xlsx" and start.startswith(OLE):
        raise InputError(
            f"{path.name!r} is protected by a password, or an old Excel workbook called .xlsx; open it in Excel and "
            "save it as xlsx without a password"
        )
    other = next((kind for kind in KINDS if kind.fits(start)), None)
    if not own and other is None:
        return
    is_not = (
        f"is not {own[0].name}: it begins with {start[:4]!r}"
        if own
        else f"is not a text table: it is {other.name}"
        if other
        else ""
    )
    advice = (
        f"rename it to end in {other.suffixes[0]}, or give format={other.suffixes[0][1:]!r}"
        if other
        else "if it is a text table, rename it to .csv; otherwise write it again"
    )
    raise InputError(f"{path.name!r} {is_not}; {advice}")
