"""Tables as people keep them: workbooks with several sheets, names in two columns."""

import html
import re
import shlex
from io import BytesIO
from pathlib import Path

import polars as pl
from openpyxl import Workbook

from raterlens.app.cli.main import main
from raterlens.app.web.form import read_config
from raterlens.app.web.tasks import check, preview
from raterlens.app.web.tasks import fit as fit_table
from raterlens.fitting.api import load
from raterlens.fitting.fit import Fit
from tests.support.web_clients import LONG, ORIGIN, send

RATINGS = [line.split(",") for line in LONG.splitlines()]
ROLES = ("student", "rater", "item", "score")


def workbook(**sheets: list[list[str]]) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def test_the_sheet_that_looks_like_ratings_is_taken_and_another_can_be_chosen(visitor):
    key = [["item", "meaning"], ["a", "first"], ["bb", "second"]]
    fewer = [row for row in RATINGS if row[1] != "R2"]
    sent = send(visitor, workbook(Empty=[], Key=key, Ratings=RATINGS), "panel.xlsx")
    assert '<option value="Ratings" selected>' in visitor.get(sent.headers["location"]).text
    sent = send(visitor, workbook(Empty=[], Key=key, Ratings=RATINGS, Fewer=fewer), "panel.xlsx")
    where = sent.headers["location"]
    assert "Please check:</strong> 2 sheets laid out alike" in visitor.get(where).text
    assert visitor.post(f"{where}/sheet", data={"sheet": "Ratings"}, headers=ORIGIN).status_code == 303
    roles = {f"role-{place}": role for place, role in enumerate(ROLES)}
    assert "by 3 raters" in visitor.post(f"{where}/check", data=roles, headers=ORIGIN).text
    turned = visitor.post(f"{where}/sheet", data={"sheet": "Fewer"}, headers=ORIGIN)
    assert turned.headers["location"] == where
    assert '<option value="Fewer" selected>' in visitor.get(where).text
    assert "by 2 raters" in visitor.post(f"{where}/check", data=roles, headers=ORIGIN).text
    unknown = visitor.post(f"{where}/sheet", data={"sheet": "<b>"}, headers=ORIGIN)
    assert unknown.status_code == 404
    assert "&lt;b&gt;" in unknown.text
    empty = visitor.post(f"{where}/sheet", data={"sheet": "Empty"}, headers=ORIGIN)
    assert empty.status_code == 422
    assert "is empty" in empty.text


def test_a_book_of_one_sheet_asks_for_none(visitor):
    where = send(visitor, workbook(Only=RATINGS), "panel.xlsx").headers["location"]
    assert "Use this sheet" not in visitor.get(where).text


def test_the_command_in_the_report_does_the_same(tmp_path: Path, monkeypatch):
    """Where a student has two columns, one with a comma in its name, each row several scores, on a second sheet."""
    drawn = pl.DataFrame(RATINGS[1:], schema=ROLES, orient="row").pivot("item", index=["student", "rater"])
    students = drawn["student"].str.slice(1).cast(pl.Int64)
    rows = zip(students % 4, students // 4, drawn["rater"], drawn["a"], drawn["bb"], strict=True)
    header = ["class, year", "seat", "rater", "a", "bb"]
    path = tmp_path / "by class.xlsx"
    path.write_bytes(workbook(Notes=[["nothing"]], Marks=[header, *map(list, rows)]))
    roles = dict(zip(header, ("student", "student", "rater", "score", "score"), strict=True))
    chosen = {
        "path": str(path),
        "name": path.name,
        "read": read_config(roles, {}, sheet="Marks").given(),
    }
    assert "of 12 students by 3 raters on 2 items" in check(**chosen, progress=print)["data"]
    (tmp_path / "app").mkdir()
    fit_table(**chosen, fit={"model": "tfm"}, folder=str(tmp_path / "app"), progress=lambda said: None)
    assert same_again(tmp_path, "app", monkeypatch).n_students == 12


def same_again(folder: Path, app: str, monkeypatch) -> Fit:
    """Run the command that the report names, where the files are; what it fits is what the app did."""
    report = (folder / app / "report.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"<pre[^>]*>(raterlens fit .*?)</pre>", report)
    monkeypatch.chdir(folder)
    assert main(shlex.split(html.unescape(command))[1:]) == 0
    again, here = load(folder / "results" / "fit.json"), load(folder / app / "fit.json")
    assert again.raters.equals(here.raters)
    return again


def test_a_column_for_each_rater_is_guessed_fitted_and_told(tmp_path: Path, monkeypatch):
    """Names of raters above scores; then with criteria below them. Numbers of students are no scores."""
    drawn = pl.DataFrame(RATINGS[1:], schema=ROLES, orient="row").with_columns(pl.col("student").str.slice(1))
    one = drawn.filter(item="a").pivot("rater", index="student", values="score")
    both = drawn.pivot(["rater", "item"], index="student", values="score")
    above = [None, *(r for r in ("R0", "R1", "R2") for _ in range(2))]
    below = ["student", *("a", "bb") * 3]
    for name, rows, size in (
        ("one", [one.columns, *one.rows()], "36 ratings of 12 students by 3 raters on 1 item"),
        ("two", [above, below, *both.rows()], "72 ratings of 12 students by 3 raters on 2 items"),
    ):
        path = tmp_path / f"{name}.xlsx"
        path.write_bytes(workbook(Marks=[list(row) for row in rows]))
        seen = preview(str(path), path.name, None, print)
        wide = seen["patterns"][seen["spread"]]
        chosen = {
            "path": str(path),
            "name": path.name,
            "read": read_config(seen["roles"], {}, wide=wide).given(),
        }
        assert check(**chosen, progress=print)["data"] == size
        (tmp_path / name).mkdir()
        fit_table(**chosen, fit={"model": "tfm"}, folder=str(tmp_path / name), progress=lambda said: None)
        same_again(tmp_path, name, monkeypatch)
