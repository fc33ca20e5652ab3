"""Markdown: numbers as printed, tables aligned."""

import math

from raterlens.studies.markdown import page, table, with_error


def test_a_table_has_a_heading_an_alignment_and_rows():
    assert table(["Rater", "κ̄"], [["AM", "0.83"]]) == "| Rater | κ̄ |\n| --- | ---: |\n| AM | 0.83 |"


def test_errors_stand_behind_their_numbers():
    assert with_error(-0.0004, 0.0021) == "0.000 ± 0.002"
    assert with_error(math.nan, 0.1) == "– ± 0.100"


def test_a_page_leaves_out_what_is_empty():
    assert page("# Title", "", "Text. ") == "# Title\n\nText.\n"
