"""The workbook: what a spreadsheet program reads back from it."""

from dataclasses import replace

import openpyxl
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import OptionError
from raterlens.output import excel as workbook

HOSTILE = ["=cmd()", "+1+1", "@SUM(A1)", "https://example.org", "\tx", "a\x00b"]


@pytest.fixture(scope="module")
def fit():
    ratings = rl.simulate(students=60, raters=6, items=2, seed=4).ratings
    found = rl.fit(ratings, model="gmf")
    tables = {**found.tables, "raters": found.table("raters").with_columns(rater=pl.Series(HOSTILE))}
    return replace(found, tables=tables, warnings=("=1+1 is no formula",), ratings=None)


@pytest.fixture(scope="module")
def book(fit, tmp_path_factory):
    return openpyxl.load_workbook(fit.to_excel(tmp_path_factory.mktemp("excel") / "results.xlsx"))


def test_sheets_and_headings(book):
    assert book.sheetnames == ["Raters", "Items", "Students", "Warnings"]
    heads = [cell.value for cell in book["Raters"][1]]
    assert heads[:5] == ["Rater", "Verdict", "Standard", "Sharpness, in words", "Costs most"]
    assert heads[5:8] == ["Capability", "Capability from", "Capability to"]
    assert {"Severity", "Severity (s.e.)", "Discrimination", "Ratings", "Next step"} <= set(heads)


def test_numbers_are_numbers_and_the_most_capable_come_first(book, fit):
    sheet = book["Raters"]
    place = [cell.value for cell in sheet[1]].index("Capability")
    shown = [row[place].value for row in sheet.iter_rows(min_row=2)]
    assert shown == pytest.approx(sorted(fit.table("raters")["kappa"], reverse=True))
    assert sheet.cell(2, place + 1).number_format == "0.00"
    assert book["Students"].max_row == 61


def test_labels_are_text_whatever_they_look_like(book):
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type in ("s", "n")
                assert cell.hyperlink is None
    assert {cell.value for cell in book["Raters"]["A"][1:]} == {*HOSTILE[:-1], "a·b"}
    assert book["Warnings"]["B2"].value == "=1+1 is no formula"


def test_headings_stay_and_capability_is_coloured(book):
    assert [sheet.freeze_panes for sheet in book] == ["B2", "B2", "B2", "A2"]
    (ranges,) = book["Raters"].conditional_formatting
    (rule,) = ranges.rules
    assert rule.type == "colorScale"
    assert [point.val for point in rule.colorScale.cfvo] == [0.0, 0.7, 1.0]
    assert book["Raters"].column_dimensions["A"].width > 10


def test_missing_numbers_are_empty_cells(fit, tmp_path):
    table = fit.table("raters").with_columns(kappa_low=pl.lit(float("nan")))
    path = replace(fit, tables={**fit.tables, "raters": table}).to_excel(tmp_path / "x.xlsx")
    sheet = openpyxl.load_workbook(path)["Raters"]
    assert sheet["G2"].value is None


def test_more_rows_than_excel_has_are_refused():
    ratings = rl.simulate(students=8, raters=3, items=1).ratings
    with pytest.raises(OptionError, match=r"8 students, but an Excel sheet has room for 5; leave Excel out"):
        workbook.check_excel(ratings, most=5)
    workbook.check_excel(ratings, most=8)


def test_without_the_package_it_is_said_what_to_install(monkeypatch, fit, tmp_path):
    monkeypatch.setattr(workbook, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'raterlens\[excel\]'"):
        fit.to_excel(tmp_path / "x.xlsx")


def test_the_command_writes_it_beside_the_rest(tmp_path, capsys):
    path, out = tmp_path / "ratings.csv", tmp_path / "out"
    ratings = rl.simulate(students=40, raters=3, items=2, seed=1).ratings
    columns = {
        "student": ratings.student,
        "rater": ratings.rater,
        "item": ratings.item,
        "score": ratings.score,
    }
    pl.DataFrame(columns).write_csv(path)
    assert main(["fit", str(path), "--xlsx"]) == 2
    assert "name the folder with --out DIR" in capsys.readouterr().err
    assert main(["fit", str(path), "--xlsx", "--out", str(out), "--quiet"]) == 0
    assert openpyxl.load_workbook(out / "results.xlsx")["Raters"].max_row == 4
    assert (
        main(["fit", str(path), "--xlsx", "--out", str(out), "--quiet", "--decide", "0.5", "--remark", "2"])
        == 0
    )
    book = openpyxl.load_workbook(out / "results.xlsx")
    assert book.sheetnames == [
        "Raters",
        "Items",
        "Students",
        "Interactions",
        "Decisions",
        "Accuracy",
        "Mark again",
        "Flags",
        "Unexpected ratings",
        "Bias",
        "Pairs of raters",
        "Warnings",
    ]
    assert "Probability of pass" in [cell.value for cell in book["Decisions"][1]]
    assert (out / "raters.csv").exists()


def test_a_fit_that_knows_its_ratings_writes_what_users_of_facets_look_for(tmp_path):
    ratings = rl.simulate(students=60, raters=4, items=2, thresholds=[-1.0, 1.0], seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    book = openpyxl.load_workbook(fit.to_excel(tmp_path / "results.xlsx"))
    assert book.sheetnames[3:] == [
        "Flags",
        "Unexpected ratings",
        "Bias",
        "Pairs of raters",
        "Scores",
        "Warnings",
    ]
    head = [cell.value for cell in book["Raters"][1]]
    assert {"Infit", "Infit (z)", "Outfit", "Point-measure correlation", "Fair average"} <= set(head)
    infit = {row[0].value: row[head.index("Infit")].value for row in book["Raters"].iter_rows(min_row=2)}
    wanted = fit.diagnose().table("raters")
    assert infit == pytest.approx(dict(wanted.select("rater", "infit").iter_rows()))
    assert [cell.value for cell in book["Scores"]["C"][1:]] == [
        int((ratings.score == k).sum()) for k in range(3)
    ]
