"""Plain data for a page."""

import json

import numpy as np
import polars as pl

from raterlens.output.report.page_tables import coded, embedded, rounded, thousandths

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
