"""A cell far away is refused before a reader lays out everything up to it."""

import zipfile
from pathlib import Path

import openpyxl
import pytest

from raterlens.errors import InputError
from raterlens.reading.formats.sheet_size import check_size
from raterlens.reading.reader import read

RATINGS = (["student", "rater", "score"], [1, "a", 0], [2, "b", 1])


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "near"
    far = book.create_sheet("far & away")
    for row in RATINGS:
        book.active.append(row)
        far.append(row)
    far["XFD1048576"] = 1
    book.save(tmp_path / "marks.xlsx")
    return tmp_path / "marks.xlsx"


def test_one_far_cell(workbook: Path) -> None:
    with pytest.raises(InputError, match="to row 1,048,576 and column 16,384, and has only 10 cells; delete"):
        read(workbook, table="far & away")
    assert read(workbook, table="near").n_ratings == 2


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


def test_what_is_no_workbook_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "x.xls").write_bytes(b"old")
    check_size(tmp_path / "x.xls", "one")
    with zipfile.ZipFile(tmp_path / "x.xlsb", "w") as book:
        book.writestr("xl/workbook.bin", b"binary")
    check_size(tmp_path / "x.xlsb", "one")
