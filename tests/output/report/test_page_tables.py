"""Tables of the page."""

import polars as pl

from raterlens.output.report.page import Document
from raterlens.output.report.page_tables import MOST_STUDENTS, page_tables, shown
from tests.support.report_fits import made


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
