"""Files by extension and first bytes; databases; packages that they need."""

import bz2
import io
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.sources import (
    FORMATS,
    OLE,
    SUFFIXES,
    format_of,
    is_control_file,
    located,
    plain_file,
)
from raterlens.reading.read import read
from raterlens.reading.read_plan import UncertainError
from tests.reading.corpus.truth import workbook
from tests.support.reading_files import FILES

# -- Files by extension and first bytes, compressed ones, standard input --


@pytest.fixture(scope="module")
def essays(small: rl.Ratings) -> pl.DataFrame:
    return small.table().with_columns(pl.col("score").cast(pl.Int64))


@pytest.fixture(scope="module")
def fitted(essays: pl.DataFrame) -> rl.Fit:
    return rl.fit(read(essays), model="gmf", standard_errors=False)


@pytest.mark.parametrize("kind", FILES)
def test_the_same_ratings_give_identical_estimates(
    kind: str, essays: pl.DataFrame, fitted: rl.Fit, tmp_path: Path
) -> None:
    fit = rl.fit(read(FILES[kind](essays, tmp_path)), model="gmf", standard_errors=False)
    assert fit.loglik == fitted.loglik
    assert fit.raters["kappa"].to_list() == fitted.raters["kappa"].to_list()
    assert fit.raters["rater"].cast(pl.String).to_list() == fitted.raters["rater"].cast(pl.String).to_list()


def test_a_format_that_the_extension_does_not_say(essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES["jsonl"](essays, tmp_path).rename(tmp_path / "verdicts.log")
    assert read(path, format="jsonl").n_ratings == len(essays)


def test_every_suffix_has_a_format_and_none_two_of_the_same_mark():
    for suffix in SUFFIXES:
        own = [known for known in FORMATS if suffix in known.suffixes]
        assert len({known.marks for known in own}) == len(own)


def test_a_folder_of_results_is_not_read_as_ratings(tmp_path: Path) -> None:
    for name in ("raters.csv", "fit.json", "report.html"):
        (tmp_path / name).write_text("student,rater,score\n1,A,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds the results of a fit.*raterlens compare"):
        rl.read(tmp_path)


@pytest.mark.parametrize("suffix", ["docx", "parquet2"])
def test_an_unknown_format_is_named(suffix: str, essays: pl.DataFrame) -> None:
    with pytest.raises(rl.RaterlensError, match=f"unknown format '{suffix}'") as refused:
        read(essays, format=suffix)
    assert refused.value.option == "format"


def test_a_table_within_a_file() -> None:
    config = ReadConfig()
    with pytest.raises(rl.RaterlensError, match=r"no such file: 'nowhere\.db'"):
        located("nowhere.db::essays", config)


def test_a_control_file_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.txt", "Facets = 3\nModels = ?,?,?,R3\n", True),
        ("b.txt", "student,rater,score\n", False),
        ("c.facets", "", True),
        ("d.csv", "Facets = 3\nModels = ?,?,?,R3\n", False),
    ):
        (tmp_path / name).write_text(text)
        assert is_control_file(tmp_path / name, ReadConfig()) is expected


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(InputError, match=r"no such file: .*; (give|check) the "):
        rl.read(name)


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


@pytest.fixture(scope="module")
def essays_piped(small: rl.Ratings) -> pl.DataFrame:
    return small.table().with_columns(pl.col("score").cast(pl.Int64))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_standard_input(
    kind: str,
    essays_piped: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    content = FILES[kind](essays_piped, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-", *(["--format", kind] if kind != "csv" else [])]) == 0
    assert f"{len(essays_piped)} ratings of 60 students by 5 raters" in capsys.readouterr().out


def test_standard_input_that_is_not_what_was_said(
    essays_piped: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    content = FILES["xlsx"](essays_piped, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-"]) == 2
    message = capsys.readouterr().err
    assert "'standard input.csv' is not a text table" in message
    assert "--format xlsx" in message


def test_standard_input_can_be_packed(
    essays_piped: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(essays_piped.write_csv().encode())))
    assert rl.read(rl.pack("-", tmp_path / "x.rlpack")).n_ratings == len(essays_piped)


def test_a_copy_is_gone_afterwards_and_a_plain_file_is_itself(tmp_path: Path) -> None:
    (tmp_path / "x.csv.bz2").write_bytes(bz2.compress(b"student,rater\n"))
    with plain_file(tmp_path / "x.csv.bz2", None) as copy:
        assert copy.name == "x.csv"
        assert copy.read_bytes() == b"student,rater\n"
    assert not copy.exists()
    with plain_file(tmp_path / "y.csv", None) as same:
        assert same == tmp_path / "y.csv"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_what_is_not_compressed_is_said(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.csv{suffix}"
    path.write_bytes(b"student,rater\n1,a\n")
    with pytest.raises(InputError, match="cannot be decompressed"), plain_file(path, None):
        pass


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(
        InputError, match="standard input is closed; pipe a table into the command, or name a file"
    ):
        rl.read("-")


OTHERS = {
    "parquet": ("delimited", "workbook", "json_files", "other_programs"),
    "csv": ("workbook", "json_files", "other_programs"),
}
PROBE = """
import sys
import raterlens as rl

rl.read(sys.argv[1])
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


@pytest.mark.parametrize("kind", OTHERS)
def test_reading_a_file_loads_no_other_format(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"ratings.{kind}"
    table = rl.load_example().table()
    table.write_parquet(path) if kind == "parquet" else table.write_csv(path)
    others = [f"raterlens.reading.formats.{name}" for name in OTHERS[kind]]
    others += ["raterlens.reading.facets_control", "sqlite3", "xml.etree"]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(path), *others], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


MARKS: list[list[Any]] = [["Student", "content", "style"], ["a", 1, 2], ["b", 0, 1], ["c", 2, 2]]


def test_one_sheet_per_rater_is_said_with_the_place_of_a_bad_score(tmp_path: Path) -> None:
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": MARKS})
    ratings = read(tmp_path / "x.xlsx")
    assert ratings.raters.to_list() == ["Ann", "Bob"]
    assert (
        "2 sheets laid out alike ('Ann', 'Bob'): read together, the sheet name is the rater" in ratings.notes
    )
    bad: list[list[Any]] = [*MARKS[:3], ["c", "nice", 1]]
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": bad})
    with pytest.raises(InputError, match="'nice' in column 'content', sheet 'Bob', row 4"):
        read(tmp_path / "x.xlsx", items=["content", "style"], table="*", rater="sheet")


def test_sheets_that_may_be_classes_are_asked_about(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["student", "rater", "score"], ["a", "x", 1], ["b", "y", 0]]
    workbook(tmp_path / "x.xlsx", {"A": rows, "B": rows})
    with pytest.raises(UncertainError, match="2 sheets laid out alike"):
        read(tmp_path / "x.xlsx")
    assert read(tmp_path / "x.xlsx", table="*").n_ratings == 4
    assert read(tmp_path / "x.xlsx", table="A").n_ratings == 2


def test_sheets_about_other_people_are_not_put_together(tmp_path: Path) -> None:
    other: list[list[Any]] = [["Student", "content", "style"], ["k", 1, 2], ["l", 0, 1]]
    workbook(tmp_path / "x.xlsx", {"Ann": MARKS, "Bob": other})
    with pytest.raises(InputError, match="no rater column"):
        read(tmp_path / "x.xlsx")


def test_a_column_called_sheet_is_in_the_way(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["sheet", "Student", "score"], ["1", "a", 1], ["1", "b", 0]]
    workbook(tmp_path / "x.xlsx", {"A": rows, "B": rows})
    with pytest.raises(InputError, match="have a column 'sheet' of their own"):
        read(tmp_path / "x.xlsx", table="*")


# -- A table of a database, by its name or the only one --


def execute(kind: str, path: Path, statement: str) -> None:
    """Change a database."""
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.execute(statement)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_among_others(kind: str, essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES[kind](essays, tmp_path)
    execute(kind, path, "CREATE TABLE authors (id INTEGER, name TEXT)")
    with pytest.raises(rl.RaterlensError, match=r"2 tables: .*'authors'.*; say which.*table='essays'"):
        read(path)
    assert read(path, table="essays").n_ratings == len(essays)
    assert read(f"{path}::essays").n_ratings == len(essays)
    with pytest.raises(rl.RaterlensError, match=r"unknown table in .*did you mean 'essays'"):
        read(f"{path}::esays")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_names_with_quotes_are_safe(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": [1, 2], "rater": ["a", "b"], "score": [0, 1]})
    path = FILES[kind](frame, tmp_path)
    execute(kind, path, 'ALTER TABLE essays RENAME TO "my ""essays"""')
    assert read(path, table='my "essays"').raters.to_list() == ["a", "b"]


def test_a_database_that_is_cut_short_or_damaged_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": range(3000), "rater": ["a", "b", "c"] * 1000, "score": [0, 1, 1] * 1000})
    path = FILES["sqlite"](frame, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1000])  # within the last page, which SQLite would fill with zeros
    with pytest.raises(InputError, match=rf"cut short \({len(whole) - 1000:,} of {len(whole):,} bytes"):
        read(path)
    path.write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    with pytest.raises(InputError, match="is damaged or cut short"):
        read(path)
    # SQLite quotes what it does not understand, and Python cannot decode the quotation.
    path.write_bytes(whole.replace(b"CREATE TABLE", b"CREATE T\xe5BLE"))
    with pytest.raises(InputError, match="is damaged or cut short"):
        read(path)


# -- Packages that only some formats need are loaded by those, and named where they are missing --

FRAME = pl.DataFrame({"student": [1, 2], "rater": ["a", "b"], "score": [0, 1]})


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("xlsx", "fastexcel", "excel"),
        ("sav", "pyreadstat", "stats"),
        ("dta", "pyreadstat", "stats"),
        ("rda", "rdata", "rda"),
        ("duckdb", "duckdb", "duckdb"),
        ("csv.zst", "zstandard", "zst"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    kind: str,
    package: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = FILES[kind](FRAME, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as refused:
        read(path)
    assert f"the package {package} is needed" in refused.value.what
    assert f"pip install 'raterlens[{extra}]'" in refused.value.remedy


def test_reading_imports_no_format_package() -> None:
    packages = ("fastexcel", "pyreadstat", "rdata", "duckdb", "zstandard", "pandas", "pyarrow")
    code = f"import raterlens.reading.read, sys; print(*[m for m in {packages} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("title", [["Examiner: {}"], ["Examiner", "{}"]], ids=["in a cell", "in two cells"])
def test_sheets_and_files_whose_titles_name_the_rater(title: list[str], tmp_path: Path) -> None:
    people = ["A. Smith", "B. Jones"]
    above = {name: [[cell.format(name) for cell in title], ["Date", "June"]] for name in people}
    workbook(tmp_path / "x.xlsx", {f"Sheet{n}": [*above[name], *MARKS] for n, name in enumerate(people)})
    assert read(tmp_path / "x.xlsx").raters.to_list() == people
    for n, name in enumerate(people):
        lines = [";".join(map(str, row)) for row in [*above[name], [], *MARKS]]
        (tmp_path / f"marks{n}.csv").write_text("\n".join(lines))
    assert read(sorted(tmp_path.glob("*.csv"))).raters.to_list() == people


def test_blanks_to_fill_in_name_nobody(tmp_path: Path) -> None:
    workbook(tmp_path / "x.xlsx", {"a": [["Examiner: ______"], *MARKS], "b": [["Examiner: ___"], *MARKS]})
    assert read(tmp_path / "x.xlsx").raters.to_list() == ["a", "b"]
