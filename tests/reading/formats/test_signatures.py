"""What a file is by its first bytes."""

from pathlib import Path

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.file_formats import FORMATS
from raterlens.reading.formats.signatures import OLE, format_of

SQLITE, DUCKDB = b"SQLite format 3\0", b"12345678DUCK0000"


@pytest.mark.parametrize(
    ("suffix", "start", "name"),
    [
        (".csv", b"student,rater\n", "a text table"),
        (".db", SQLITE, "an SQLite database"),
        (".db", DUCKDB, "a DuckDB database"),
        (".xls", OLE, "an old Excel workbook"),
        (".dta", b"<stata_dta>", "a Stata file"),
        (".dta", bytes([114, 1]), "a Stata file"),
    ],
)
def test_the_format_that_fits(suffix: str, start: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(start + b"...")
    assert format_of(tmp_path / "x", suffix, FORMATS).name == name


@pytest.mark.parametrize(
    ("suffix", "start", "message"),
    [
        (
            ".csv",
            b"PAR1",
            "is not a text table: it is a parquet file; rename it to end in .parquet, or give format=",
        ),
        (".json", SQLITE, "is not a JSON file: it is an SQLite database; rename it to end in .sqlite"),
        (
            ".sav",
            b"stud",
            "is not an SPSS file: it begins with b'stud'; if it is a text table, rename it to .csv",
        ),
        (".sqlite", DUCKDB, "is not an SQLite database: it begins with b'1234'; rename it to end in .duckdb"),
        (".xlsx", OLE, "is protected by a password"),
        (".parquet", b"", "is an empty file; write the table again"),
    ],
)
def test_what_a_file_is_not(suffix: str, start: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(start)
    with pytest.raises(InputError) as refused:
        format_of(tmp_path / "x", suffix, FORMATS)
    assert message in str(refused.value)
