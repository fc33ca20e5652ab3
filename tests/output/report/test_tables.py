"""The page's tables, decisions and numbers of raters, as plain data."""

import json

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.findings import panel_findings
from raterlens.output.report.opening import panel_rows
from raterlens.output.report.page import Document, render
from raterlens.output.report.page_tables import (
    MOST_STUDENTS,
    coded,
    decision_section,
    embedded,
    page_tables,
    rounded,
    shown,
    thousandths,
)
from raterlens.output.report.rater_pages import ABILITIES, rater_data
from tests.support.report_fits import MakeFit, made

# -------------------------------------------------------------------------------------- tables of the page


def test_empty_columns_are_left_out_and_headings_are_words():
    table = pl.DataFrame({"item": ["a", "b"], "delta": [0.12346, -1.0], "infit": [float("nan")] * 2})
    found = shown(table, ("item", "delta", "infit", "outfit"))
    assert found["columns"] == ["item", "delta"]
    assert found["headings"] == ["Item", "Difficulty"]
    assert found["numeric"] == [False, True]
    assert found["values"] == [["a", "b"], [0.1235, -1.0]]


def test_a_page_has_a_limited_number_of_students():
    found = page_tables(made(2, n_students=MOST_STUDENTS + 5), None, None, Document())["students"]
    assert found["height"] == MOST_STUDENTS


# ----------------------------------------------------------------------------------- plain data for a page


HOSTILE = "</script><!-- & \u2028\u2029"


def test_json_cannot_end_its_script_and_reads_back():
    text = embedded({"rater": HOSTILE})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"rater": HOSTILE}


def test_missing_numbers_are_null():
    assert rounded(pl.Series([1.23456, None, float("nan")])) == [1.2346, None, None]
    assert thousandths(np.array([[0.1234, np.nan]])) == [[123, None]]


def test_repeated_texts_are_stored_once():
    known, codes = coded(["b", "a", "b"])
    assert known == ["b", "a"]
    assert [known[code] for code in codes] == ["b", "a", "b"]


# ------------- the decisions of a report: words, picture and tables, and nothing where nothing was decided


@pytest.fixture(scope="module")
def study():
    ratings = rl.simulate(
        students=60, raters=4, items=3, raters_per_student=2, thresholds=[-0.5, 0.5], seed=8
    ).ratings
    fit = rl.fit(ratings, model="gmf")
    decided = fit.decisions(ratings, cut=[0.8, 1.3])
    return fit, ratings, Document(decisions=decided, remark=fit.remark(ratings, cut=decided, budget=7))


def test_words_picture_and_tables(study):
    fit, _, document = study
    found, tables = decision_section(document), page_tables(fit, None, None, document)
    assert found is not None
    assert found["lead"] == "Grades begin at mean scores of 0.8, 1.3 by the average rater."
    assert found["words"] == document.decisions.words()
    assert found["plan"] == document.remark.words()
    wide, narrow = found["picture"]
    assert wide.count("<circle") + wide.count("<path") > 60
    assert 'viewBox="0 0 360 ' in narrow
    assert tables["remark"]["height"] == 7
    sure = tables["decisions"]["values"][tables["decisions"]["columns"].index("sure")]
    assert sure == sorted(sure)
    assert tables["exam"]["values"][0] == [
        "Fair result, given all ratings",
        "Raw result, given all ratings",
        "Fair result, Rudner’s method",
        "Raw result, Lee’s method (same raters again)",
    ]


def test_the_page_has_the_section_where_something_was_decided(study):
    fit, ratings, document = study
    page = render(fit, ratings=ratings, document=document)
    assert '<section id="decisions">' in page
    assert '<a href="#decisions">Decisions about students</a>' in page
    assert "What to mark again" in page
    without = render(fit, ratings=ratings)
    assert 'id="decisions"' not in without
    assert "#decisions" not in without
    assert decision_section(Document()) is None


def test_a_report_from_python_has_it_too(study, tmp_path):
    fit, ratings, document = study
    path = fit.report(tmp_path / "report.html", ratings, decisions=document.decisions, remark=document.remark)
    assert "What to mark again" in path.read_text(encoding="utf-8")


def test_one_cut_is_a_pass(study):
    fit, ratings, _ = study
    only = Document(decisions=fit.decisions(ratings, cut=1.0))
    found = decision_section(only)
    assert found is not None
    assert found["lead"] == "A student passes from a mean score of 1 by the average rater."
    assert found["plan"] == []
    assert "remark" not in page_tables(fit, None, None, only)


def test_everybody_with_the_same_result_has_a_picture():
    """Two raters who contradict each other on every student: the cut is where all of them are."""
    passed_by_a = [0, 1, 1, 1]
    rows = [(f"S{s}", "A", a) for s, a in enumerate(passed_by_a)] + [
        (f"S{s}", "B", 1 - a) for s, a in enumerate(passed_by_a)
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))
    fit = rl.fit(ratings, model="tfm")  # whose slopes are never 0
    decided = fit.decisions(ratings, cut=0.5)
    assert decided.table["fair"].round(6).n_unique() == 1
    found = decision_section(Document(decisions=decided))
    assert found is not None
    assert "nan" not in found["picture"][0]


# ----------------------------------------------------------------------- the numbers behind a rater's page


def test_curves_and_what_if_are_those_of_the_fit(make_fit: MakeFit):
    fit = make_fit(5)
    found = panel_findings(fit)
    rows = panel_rows(fit, found)
    data = rater_data(fit, found, rows)
    for place, rater in enumerate(rows["rater"]):
        curve = fit.capability(theta=ABILITIES.tolist()).filter(rater=rater)["kappa"]
        assert np.allclose(np.array(data["curve"]["kappa"][place]) / 1000, curve, atol=5.1e-4)
        known = fit.what_if(rater, severity=np.linspace(*data["what_if"]["severity"], 81))
        assert np.allclose(
            np.array(data["what_if"]["kappa"][place]) / 1000, known.curve["kappa"], atol=5.1e-4
        )
        assert abs(data["what_if"]["best"][place] - known.best_severity) < 0.006
        assert data["feedback"][place].startswith(f"Dear {rater},")
