"""Tables that are open, dataframes, workbooks."""

import datetime as dt
import struct
import uuid
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.reading.formats.table import (
    Table,
    choice,
    is_plain,
    rows_of,
    series_of,
    suffix_of,
    table_of,
)
from raterlens.reading.formats.workbook import check_size, sheet_names
from raterlens.reading.read import read
from tests.support.reading_tables import LONG, assert_same

# -- Tables that are open, and dataframes --


def test_rows_of_other_types_are_text_and_noted() -> None:
    rows = rows_of([pl.Series("a", [1, 2]), pl.Series("b", [[1], None])])
    assert rows.frame.rows() == [(1, "[1]"), (2, None)]
    assert rows.notes == ("column 'b' holds values of type list: taken as text",)
    assert rows.place(1_233) == "row 1,234"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], True),
        (["a"], True),
        ([dt.date(2026, 1, 1)], True),
        ([dt.timedelta(1)], False),
        ([[1]], False),
    ],
)
def test_plain_types(values: list, expected: bool) -> None:
    assert is_plain(pl.Series(values).dtype) is expected


def test_values_of_several_types_stay_what_they_are() -> None:
    assert series_of("x", [1, None]).dtype == pl.Int64
    mixed = series_of("x", [1, "a"])
    assert mixed.dtype == pl.Object
    assert mixed.to_list() == [1, "a"]


def test_a_table_takes_the_columns_asked_for() -> None:
    table = table_of("t", pl.DataFrame({"a": [1], "b": [2], "c": [3]}))
    assert table.columns == ("a", "b", "c")
    assert table.take(["c", "a"]).frame.rows() == [(3, 1)]
    with pytest.raises(InputError, match="t has more than one column named 'a'; give each column a name"):
        Table("t", ("a", "b", "a"), table.take)


def test_one_name_of_several() -> None:
    assert choice("sheet", None, ["June"], "x.xlsx") == "June"
    with pytest.raises(InputError, match=r"'x.db' has no table in it"):
        choice("table", None, [], "x.db")
    with pytest.raises(InputError, match="2 tables: 'a', 'b'; say which, for example table='a'") as several:
        choice("table", None, ["a", "b"], "x.db")
    with pytest.raises(OptionError, match=r"unknown table in 'x.db' 'aa'") as unknown:
        choice("table", "aa", ["a", "b"], "x.db")
    assert several.value.option == unknown.value.option == "table"


def test_the_user_says_what_a_file_is() -> None:
    assert suffix_of(Path("x.CSV"), ReadConfig()) == ".csv"
    assert suffix_of(Path("x.log"), ReadConfig(format=".JSONL")) == ".jsonl"


def test_mixed_types_in_a_pandas_column_become_text_and_are_noted() -> None:
    frame = pd.DataFrame(
        {"student": [1, 2, 3], "rater": pd.Series([1, "1", "2"], dtype=object), "score": [0, 1, 1]}
    )
    ratings = read(frame)
    assert ratings.raters.to_list() == ["1", "2"]
    assert "column 'rater' holds values of type int and str: taken as text" in ratings.notes


def test_integers_that_pandas_made_floats_are_integers_again() -> None:
    ratings = read(pd.DataFrame({"student": [7, None, 8], "rater": [1, 2, 1], "score": [0, 1, 1]}))
    assert ratings.students.to_list() == [7, 8]
    assert ratings.students.dtype == pl.Int64
    assert "1 of 3 rows left out: no student or rater label" in ratings.notes


def test_pandas_text_is_read_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pyarrow(*_: object) -> None:
        raise ModuleNotFoundError("pyarrow")

    frame = LONG.to_pandas()
    monkeypatch.setattr("narwhals.Series.to_polars", no_pyarrow)
    assert_same(read(frame), read(LONG))


def test_column_names_need_not_be_text() -> None:
    frame = pd.DataFrame([[1, 5, 0], [2, 5, 1]])
    assert read(frame, student="0", rater="1", score="2").students.to_list() == [1, 2]
    assert read(frame, student=0, rater=1, items=[2]).students.to_list() == [1, 2]  # type: ignore[arg-type, list-item]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([uuid.UUID(int=1), uuid.UUID(int=2)], [str(uuid.UUID(int=1)), str(uuid.UUID(int=2))]),
        (pd.period_range("2026-01", periods=2, freq="M"), ["2026-01", "2026-02"]),
        ([(1, 2), (1, 3)], ["(1, 2)", "(1, 3)"]),
    ],
)
def test_labels_that_no_column_type_fits_become_text_and_are_noted(values: object, text: list[str]) -> None:
    ratings = read(pd.DataFrame({"student": values, "rater": ["a", "b"], "score": [0, 1]}))
    assert ratings.students.to_list() == text
    assert any(note.endswith("taken as text") for note in ratings.notes)


def test_pyarrow_strings_are_plain_text() -> None:
    table = pa.table({"student": ["1", "2"], "rater": ["a", "b"], "score": [0, 1]})
    assert read(table).students.dtype == pl.String


@pytest.mark.parametrize("kind", [pa.decimal128(20, 2), pa.decimal256(60, 2)])
def test_decimals_are_numbers_and_no_library_complains(
    kind: pa.DataType, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pa.table(
        {"student": ["1", "2"], "rater": ["a", "b"], "score": pa.array([Decimal(0), Decimal(1)], kind)}
    )
    assert read(table).score.tolist() == [0, 1]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "broken",
    [
        LONG.lazy().select("nothing"),
        LONG.lazy().with_columns(score=pl.lit("x").cast(pl.Int64)),
        pl.scan_csv("no such file.csv"),
    ],
)
def test_a_broken_lazy_frame(broken: pl.LazyFrame) -> None:
    with pytest.raises(InputError, match=r"the lazy table cannot be read .*; collect it yourself"):
        read(broken)


# -- Workbooks, and how far their cells reach --


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "June"
    row: list[Any]
    for row in (["student", "rater", "score"], [1, "a", 0], [2, "b", 1]):
        book.active.append(row)
    july = book.create_sheet("July")
    for row in (
        ["Marks of July"],
        [],
        [None, "student", "rater", "score"],
        [None, 3, "c", 0],
        [],
        [None, 4, "d", 1],
    ):
        july.append(row)
    book.create_sheet("Notes")
    book.save(tmp_path / "marks.xlsx")
    return tmp_path / "marks.xlsx"


def test_the_first_sheet_and_another(workbook: Path) -> None:
    june, july, all_ = (read(workbook, table=table) for table in ("June", "July", "*"))
    assert june.raters.to_list() == ["a", "b"]
    assert july.raters.to_list() == ["c", "d"]
    assert all_.raters.to_list() == ["a", "b", "c", "d"]
    assert "1 row above the header ('Marks of July'): left out" in july.notes
    with pytest.raises(
        rl.RaterlensError, match=r"2 sheets laid out alike \('June', 'July'\).*accept it with table='\*'"
    ):
        read(workbook)
    with pytest.raises(rl.RaterlensError, match="did you mean 'July'"):
        read(workbook, table="july")
    with pytest.raises(rl.RaterlensError, match=r"sheet 'Notes' of 'marks.xlsx' is empty; choose another"):
        read(workbook, table="Notes")


def test_a_workbook_that_asks_for_a_later_unzip_is_read(workbook: Path) -> None:
    content = bytearray(workbook.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 84
    workbook.write_bytes(content)
    assert read(workbook, table="June").raters.to_list() == ["a", "b"]


def test_a_bad_score_has_the_row_number_that_excel_shows(workbook: Path) -> None:
    book = openpyxl.load_workbook(workbook)
    book["July"]["D6"] = "nice"
    book.save(workbook)
    with pytest.raises(rl.RaterlensError, match=r"score 'nice' in column 'score', row 6, is not a number"):
        read(workbook, table="July")


def test_sheets_are_listed_in_their_order(workbook: Path) -> None:
    assert sheet_names(workbook) == ["June", "July", "Notes"]


RATINGS: tuple[list, ...] = (["student", "rater", "score"], [1, "a", 0], [2, "b", 1])


@pytest.fixture
def far_workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "near"
    far = book.create_sheet("far & away")
    for row in RATINGS:
        book.active.append(row)
        far.append(row)
    far["XFD1048576"] = 1
    book.save(tmp_path / "marks.xlsx")
    return tmp_path / "marks.xlsx"


def test_one_far_cell(far_workbook: Path) -> None:
    with pytest.raises(InputError, match="to row 1,048,576 and column 16,384, and has only 10 cells; delete"):
        read(far_workbook, table="far & away")
    assert read(far_workbook, table="near").n_ratings == 2


def test_a_wide_table_that_is_filled_is_no_matter(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for _ in range(10):
        book.active.append([1] * 30)
    book.save(tmp_path / "wide.xlsx")
    check_size(tmp_path / "wide.xlsx", "Sheet", most=100)
    book.active["AZ1000"] = 1
    book.save(tmp_path / "wide.xlsx")
    with pytest.raises(InputError, match="row 1,000 and column 52, and has only 301 cells"):
        check_size(tmp_path / "wide.xlsx", "Sheet", most=100)


def opendocument(path: Path, rows: str) -> Path:
    table = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "content.xml",
            f'<o:document-content xmlns:o="{office}" xmlns:t="{table}"><o:body><o:spreadsheet>'
            f'<t:table t:name="one">{rows}</t:table></o:spreadsheet></o:body></o:document-content>',
        )
    return path


def test_a_far_cell_of_opendocument(tmp_path: Path) -> None:
    filled = '<t:table-cell o:value-type="float" o:value="1"/>'
    blank = '<t:table-cell t:number-columns-repeated="16383"/>'
    empty = f'<t:table-row t:number-rows-repeated="1048575">{blank}</t:table-row>'
    near = opendocument(tmp_path / "near.ods", f"<t:table-row>{filled}{blank}</t:table-row>{empty}")
    check_size(near, "one")
    far = opendocument(tmp_path / "far.ods", f"{empty}<t:table-row>{blank}{filled}</t:table-row>")
    with pytest.raises(InputError, match="row 1,048,576 and column 16,384, and has only 1 cell;"):
        check_size(far, "one")


def record(kind: int, content: bytes = b"") -> bytes:
    """A record of a binary workbook."""
    start = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    return start + bytes([len(content) & 0x7F | 0x80, len(content) >> 7]) + content


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def binary_sheet(cells: dict[tuple[int, int], str]) -> bytes:
    rows, columns = zip(*cells, strict=True)
    reach = struct.pack("<4I", min(rows), max(rows), min(columns), max(columns))
    parts = [record(129), record(148, reach), record(145)]
    for row in sorted(set(rows)):
        parts.append(record(0, struct.pack("<I", row) + bytes(13)))
        for (_, column), text in sorted(cell for cell in cells.items() if cell[0][0] == row):
            parts.append(record(6, struct.pack("<II", column, 0) + wide(text)))
    return b"".join([*parts, record(146), record(130)])


def binary_workbook(path: Path) -> Path:
    """Two sheets, `near` and `far`; the second has a cell at its end."""
    near = {(i, j): str(value) for i, row in enumerate(RATINGS) for j, value in enumerate(row)}
    sheets = {"near": near, "far": near | {(1_048_575, 16_383): "1"}}
    bundled = [record(156, bytes(8) + wide(f"rId{i}") + wide(name)) for i, name in enumerate(sheets)]
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        book.writestr(
            "xl/workbook.bin", b"".join([record(131), record(143), *bundled, record(144), record(132)])
        )
        links = "".join(
            f'<Relationship Id="rId{i}" Type="{relations}/worksheet" Target="worksheets/sheet{i}.bin"/>'
            for i in range(len(sheets))
        )
        book.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        )
        for i, cells in enumerate(sheets.values()):
            book.writestr(f"xl/worksheets/sheet{i}.bin", binary_sheet(cells))
    return path


def test_a_far_cell_of_a_binary_workbook(tmp_path: Path) -> None:
    path = binary_workbook(tmp_path / "marks.xlsb")
    assert read(path, table="near").raters.to_list() == ["a", "b"]
    with pytest.raises(InputError, match="to row 1,048,576 and column 16,384, and has only 10 cells; delete"):
        read(path, table="far")


def test_what_is_no_workbook_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "x.xls").write_bytes(b"old")
    check_size(tmp_path / "x.xls", "one")
    with zipfile.ZipFile(tmp_path / "x.xlsb", "w") as book:
        book.writestr("xl/workbook.bin", b"binary")
    check_size(tmp_path / "x.xlsb", "one")
