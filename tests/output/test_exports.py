"""Exports besides the folder and the report: checks, workbooks, FACETS tables, xarray."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, main
from raterlens.base.errors import InputError, OptionError
from raterlens.diagnostics.findings import panel_findings
from raterlens.output import excel as workbook
from raterlens.output.report.english import heading
from raterlens.output.result_tables import result_tables
from tests.support.facets_files import anchored

# ---------------------------------------------------------- `rl.check`: what the command `check` says, from Python


@pytest.fixture
def halves() -> pl.DataFrame:
    """Two panels that share no student, and ratings of the same student, rater and item twice."""
    table = rl.simulate(students=40, raters=4, items=1, seed=2).ratings.table()
    upper = pl.col("student") > "S20"
    return table.filter(upper == (pl.col("rater") > "R2"))


def test_python_says_what_the_command_says(
    halves: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "halves.csv"
    pl.concat([halves, halves.head(3)]).write_csv(path)
    code = main(["check", str(path), "--json"])
    said = json.loads(capsys.readouterr().out)
    found = rl.check(path)
    assert found.ratings.n_ratings == said["n_ratings"]
    assert list(found.warnings) == said["warnings"]
    assert [str(question) for question in found.questions] == said["questions"]
    assert found.request.command() == said["command"]
    assert (code == AT_FAULT) == bool(found.questions)
    assert any("cannot be compared" in text or "no student" in text for text in found.warnings)


def test_it_prints_for_people(halves: pl.DataFrame) -> None:
    shown = str(rl.check(halves))
    assert shown.startswith("80 ratings of 40 students by 4 raters on 1 item\n")
    assert "Cautions\n - " in shown


def test_what_cannot_be_read_is_refused(halves: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        rl.check(tmp_path / "none.csv")
    with pytest.raises(OptionError, match="have been read"):
        rl.check(rl.read(halves), cut=1)


# ----------------------------------------------------- the workbook: what a spreadsheet program reads back from it


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


def test_the_workbook_has_the_tables_of_the_folder(tmp_path):
    """Fair results beside the students, and the tables that only some models have."""
    drawn = rl.simulate(students=60, raters=5, items=2, seed=4).ratings
    table = drawn.table().with_columns(school=pl.col("student").str.slice(-1))
    ratings = rl.read(table, group="school")
    fit = rl.fit(ratings, model="gmf")
    book = openpyxl.load_workbook(fit.to_excel(tmp_path / "results.xlsx", ratings))
    assert [cell.value for cell in book["Groups"][1]] == ["Group", "Students", "Ability", "Ability (s.e.)"]
    tables = result_tables(fit, panel_findings(fit, ratings))
    heads = [cell.value for cell in book["Students"][1]]
    assert heads == [heading(name) for name in tables["students"].columns]
    assert {"fair", "infit"} <= set(tables["students"].columns)


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


# --------------------------------------------------------------------------------- results laid out as FACETS does


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings


def test_fit_uses_anchors_and_prints_tables(
    panel: rl.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Items", {"I1": -0.5, "I2": 0.2, "I3": 0.8})
    assert main(["fit", str(path), "--model", "tfm", "--facets-tables"]) == 0
    shown = capsys.readouterr().out
    items = shown[shown.index("Table 7.3.1") :].splitlines()[3:6]
    assert {line.split()[10]: float(line.split()[4]) for line in items} == {"I1": -0.5, "I2": 0.2, "I3": 0.8}


def test_tables_are_on_the_scale_of_the_predictor(panel: rl.Ratings, tmp_path: Path) -> None:
    """Student minus rater minus item is the predictor itself, anchored or not."""
    for raters in ({}, {"R1": (None, 0.5), "R2": (None, -0.2)}):
        fit = rl.fit(panel, "tfm", anchors=rl.Anchors(raters=raters))
        blocks = rl.facets_tables(fit, panel).split("Table 7.")[1:]
        first = [dict(_measures(block)) for block in blocks]
        student, rater, item = "S07", "R2", "I3"
        shown = first[0][student] - first[1][rater] - first[2][item]
        theta = fit.students.filter(student=student)["theta"].item()
        eta = fit.raters.filter(rater=rater)["eta"].item()
        delta = fit.items.filter(item=item)["delta"].item()
        assert shown == pytest.approx(fit.sigma * theta - eta - delta + fit.alpha, abs=0.02)
        if raters:
            assert first[1]["R1"] == 0.5


def _measures(block: str) -> list[tuple[str, float]]:
    rows = [line.split() for line in block.splitlines()[3:]]
    return [(row[10], float(row[4])) for row in rows if len(row) == 11]


def test_tables_need_logits(panel: rl.Ratings) -> None:
    fit = rl.fit(panel, "gmf", link="probit", scale="graded", standard_errors=False)
    with pytest.raises(rl.RaterlensError, match="in logits"):
        rl.facets_tables(fit, panel)


def test_tables_4_6_8_and_13_are_those_of_the_diagnosis(panel: rl.Ratings) -> None:
    fit = rl.fit(panel, "tfm")
    found, shown = fit.diagnose(), rl.facets_tables(fit, panel)
    parts = {part.split()[0]: part.splitlines() for part in shown.split("\nTable ")[1:]}
    assert list(parts) == ["4.1", "6.0", "7.1.1", "7.2.1", "7.3.1", "8.1", "13.1.1"]
    unexpected = found.table("unexpected").row(0, named=True)
    first = parts["4.1"][3].split()
    assert first[4:] == [unexpected["student"], unexpected["rater"], unexpected["item"]]
    assert float(first[2]) == pytest.approx(unexpected["z"], abs=0.06)
    ruler = [line for line in parts["6.0"] if line.startswith("|")][1:]
    assert sum(line.count("*") for line in ruler) == panel.n_students
    severity = {row["rater"]: row["eta"] for row in fit.raters.iter_rows(named=True)}
    for line in ruler:
        at, _, raters, _ = line.strip("|").split("|")
        assert all(abs(severity[name] - float(at)) <= 0.1251 for name in raters.split())
    assert sum(len(line.strip("|").split("|")[2].split()) for line in ruler) == panel.n_raters
    counts = [int(line.split()[1]) for line in parts["8.1"][3:6]]
    assert counts == [int((panel.score == k).sum()) for k in range(3)]
    assert len([line for line in parts["13.1.1"][3:] if line]) == panel.n_raters * panel.n_items


# ------------- estimates as other tools want them: xarray, the kind of dataframe that came in, progress as it goes


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    found = rl.simulate(students=60, raters=4, items=2, seed=4).ratings
    return found.table()


def test_a_dataset_has_every_estimate_under_its_label(table, tmp_path):
    fit = rl.fit(table, model="gmf")
    found = fit.to_xarray()
    assert dict(found.sizes) == {"rater": 4, "item": 2, "student": 60}
    for name in ("raters", "items", "students"):
        kept = fit.table(name)
        label = kept.columns[0]
        for column in (c for c in kept.columns if c.endswith("_se") or c == "kappa_low"):
            one = found[column].sel({label: kept[label][-1]}).item()
            assert one == kept[column][-1]
    assert found["n_rater"].sum() == found["n_student"].sum() == fit.n_ratings
    assert found.attrs["loglik"] == fit.loglik
    assert "kappa" in found[["kappa", "kappa_se"]].to_dataframe()


def test_without_xarray_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(OptionError, match=r"raterlens\[xarray\]"):
        rl.fit(table, "tfm", standard_errors=False).to_xarray()


@pytest.mark.parametrize(
    ("convert", "kind"),
    [(pl.DataFrame, pl.DataFrame), (pl.DataFrame.to_pandas, pd.DataFrame), (pl.DataFrame.to_arrow, pa.Table)],
)
def test_the_same_kind_of_frame_comes_out(table, convert, kind):
    source = convert(table)
    fit = rl.fit(source, model="gmf")
    tables = [fit.raters, fit.items, fit.students, fit.capability(), fit.advice(), fit.score(source)]
    tables.append(rl.gate(fit, min_kappa=0.5).checks)
    assert [type(each) for each in tables] == [kind] * len(tables)
    np.testing.assert_allclose(
        np.asarray(fit.raters["kappa"]), rl.fit(table, model="gmf").table("raters")["kappa"]
    )


@pytest.mark.parametrize(
    "options", [{}, {"method": "laplace"}, {"method": "hl"}, {"model": "hrm", "starts": 1}]
)
def test_progress_is_told_at_every_iteration(table, options):
    seen: list[Any] = []
    fit = rl.fit(table, progress=seen.append, standard_errors=False, **{"model": "gmf"} | options)
    assert len(seen) >= 2
    assert all(isinstance(step.stage, str) and step.iteration >= 0 for step in seen)
    if fit.method != "hl":  # whose objective is another one than the log-likelihood it is reported with
        assert seen[-1].loglik == pytest.approx(fit.loglik, abs=0.5)
    assert seen[-1].loglik >= seen[0].loglik


def test_a_fit_can_be_stopped_from_its_progress(table):
    class Enough(Exception):  # noqa: N818
        pass

    def stop(step):
        raise Enough

    with pytest.raises(Enough):
        rl.fit(table, model="gmf", progress=stop)
