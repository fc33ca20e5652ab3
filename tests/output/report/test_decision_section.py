"""The decisions of a report: words, picture and tables, and nothing where nothing was decided."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.output.report.page import Document, render
from raterlens.output.report.page_tables import decision_section, page_tables


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
