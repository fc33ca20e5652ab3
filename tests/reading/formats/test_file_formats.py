"""The same ratings in every kind of file give identical estimates; what only some kinds have is kept."""

import io
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.reading.reader import read
from tests.support.reading_files import FILES


@pytest.fixture(scope="module")
def essays(small: rl.Ratings) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "student": small.students.gather(small.student),
            "rater": small.raters.gather(small.rater),
            "item": small.items.gather(small.item),
            "score": small.score.astype("int64"),
        }
    )


@pytest.fixture(scope="module")
def fitted(essays: pl.DataFrame) -> rl.Fit:
    return rl.fit(read(essays), standard_errors=False)


@pytest.mark.parametrize("kind", FILES)
def test_the_same_ratings_give_identical_estimates(
    kind: str, essays: pl.DataFrame, fitted: rl.Fit, tmp_path: Path
) -> None:
    fit = rl.fit(read(FILES[kind](essays, tmp_path)), standard_errors=False)
    assert fit.loglik == fitted.loglik
    assert fit.raters["kappa"].to_list() == fitted.raters["kappa"].to_list()
    assert fit.raters["rater"].cast(pl.String).to_list() == fitted.raters["rater"].cast(pl.String).to_list()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_standard_input(
    kind: str,
    essays: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    content = FILES[kind](essays, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-", *(["--format", kind] if kind != "csv" else [])]) == 0
    assert f"{len(essays)} ratings of 60 students by 5 raters" in capsys.readouterr().out


def test_standard_input_that_is_not_what_was_said(
    essays: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    content = FILES["xlsx"](essays, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-"]) == 2
    message = capsys.readouterr().err
    assert "'standard input.csv' is not a text table" in message
    assert "--format xlsx" in message


def test_a_format_that_the_extension_does_not_say(essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES["jsonl"](essays, tmp_path).rename(tmp_path / "verdicts.log")
    assert read(path, format="jsonl").n_ratings == len(essays)


# Sheets and tables


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "June"
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
    june, july = read(workbook), read(workbook, table="July")
    assert june.raters.to_list() == ["a", "b"]
    assert "sheet 'June', the first of 3 ('June', 'July', 'Notes'); choose another with table=" in june.notes
    assert july.raters.to_list() == ["c", "d"]
    assert "2 rows above the header left out: 'Marks of July'" in july.notes
    with pytest.raises(rl.RaterlensError, match="did you mean 'July'"):
        read(workbook, table="july")
    with pytest.raises(rl.RaterlensError, match=r"sheet 'Notes' of 'marks.xlsx' is empty; choose another"):
        read(workbook, table="Notes")


def test_a_bad_score_has_the_row_number_that_excel_shows(workbook: Path) -> None:
    book = openpyxl.load_workbook(workbook)
    book["July"]["D6"] = "good"
    book.save(workbook)
    with pytest.raises(rl.RaterlensError, match=r"score 'good' in column 'score', row 6, is not a number"):
        read(workbook, table="July")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_among_others(kind: str, essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES[kind](essays, tmp_path)
    statement = "CREATE TABLE other (x INTEGER)"
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.execute(statement)
    with pytest.raises(rl.RaterlensError, match=r"2 tables: 'essays', 'other'; say which.*table='essays'"):
        read(path)
    assert read(path, table="essays").n_ratings == len(essays)
    assert read(f"{path}::essays").n_ratings == len(essays)
    with pytest.raises(rl.RaterlensError, match=r"unknown table in .*did you mean 'essays'"):
        read(f"{path}::esays")


# Labels


def test_value_labels_name_people_and_scores_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 7], "score": [0.0, 1, 9]})
    words = {"rater": {1: "Ann", 2: "Bob"}, "score": {0: "fail", 1: "pass", 9: "absent"}}
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels=words, missing_ranges={"score": [9]}
    )
    ratings = read(tmp_path / "x.sav")
    assert ratings.raters.to_list() == ["Ann", "Bob"]
    assert ratings.students.to_list() == [1, 2]
    assert ratings.score.tolist() == [0, 1]
    assert "1 of 3 ratings left out: no score" in ratings.notes
    assert "column 'rater': value labels of the file are used ('1 = Ann', '2 = Bob')" in ratings.notes

    pyreadstat.write_dta(frame.replace(9, 2), tmp_path / "x.dta", variable_value_labels=words)
    assert read(tmp_path / "x.dta").raters.to_list() == ["7", "Ann", "Bob"]


def test_two_people_with_the_same_label_stay_two(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 3], "score": [0.0, 1, 1]})
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels={"rater": {1: "Ann", 2: "Ann", 3: "Bob"}}
    )
    assert read(tmp_path / "x.sav").raters.to_list() == ["Ann (1)", "Ann (2)", "Bob"]


def test_records_within_records(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"sample": {"id": 1}, "judge": {"name": "m", "version": 2}, "verdict": true}\n\n'
        '{"sample": {"id": 2}, "judge": {"name": "n"}, "verdict": false}\n'
    )
    ratings = read(tmp_path / "x.jsonl", student="sample.id", rater="judge.name", score="verdict")
    assert ratings.raters.to_list() == ["m", "n"]
    assert ratings.score.tolist() == [1, 0]


def test_json_values_of_several_types(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"student": 1, "rater": "a", "score": "1"}, {"student": "x", "rater": "b", "score": 0}]'
    )
    assert read(tmp_path / "x.json").students.to_list() == ["1", "x"]
