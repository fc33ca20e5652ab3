"""The record of how a table is read."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.config import ReadConfig


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        (
            {"cut": "3"},
            "cut",
            "cut='3' is not a finite number; give the lowest passing score, for example cut=3",
        ),
        ({"cut": float("nan")}, "cut", "cut=nan is not a finite number"),
        ({"cut": 2**63}, "cut", "cut=9223372036854775808 is beyond any score"),
        ({"wide": False}, "wide", "wide=False; give text"),
        (
            {"items": ["a"], "score": "b"},
            "score",
            "both items=['a'] and score='b' are given; choose one: items= for",
        ),
        ({"items": "a", "item": "b"}, "item", "both items=['a'] and item='b' are given"),
        (
            {"score": ["a", "b"]},
            "score",
            "score=['a', 'b'] names several columns; where each item has a column",
        ),
        (
            {"wide": "{rater} {judge}"},
            "wide",
            "wide='{rater} {judge}' does not hold {rater} or {item} or both",
        ),
        ({"encoding": "utf-9"}, "encoding", "unknown encoding 'utf-9'; try 'utf-8', 'cp1252' or 'utf-16'"),
        ({"encoding": "hex"}, "encoding", "unknown encoding 'hex'"),
    ],
)
def test_what_cannot_be_read_so_is_refused_before_any_file_is_opened(options, option, message):
    with pytest.raises(OptionError) as caught:
        ReadConfig(**options)
    assert message in str(caught.value)
    assert caught.value.option == option


def test_columns_are_kept_as_text_and_the_lowest_pass_as_a_number():
    config = ReadConfig(student=0, rater=["rater", 1], score=["mark"], cut=3.0)  # type: ignore[list-item]
    assert (config.student, config.rater, config.score) == ("0", ("rater", "1"), "mark")
    assert repr(config.cut) == "3"
    assert config.names("rater") == ("rater", "1")
    assert config.names("student") == ("0",)
    assert config.names("items") == ()
    assert config.given() == {"student": "0", "rater": ("rater", "1"), "score": "mark", "cut": 3}


def test_items_may_go_with_a_column_of_items_where_raters_have_columns():
    assert ReadConfig(wide="Mark {rater}", items=["Mark Ann"], item="task").item == "task"


@pytest.mark.parametrize("encoding", ["utf-99", "hex", "punycode", "idna", "undefined", "", "a\0b"])
def test_what_is_no_encoding_of_files(encoding):
    with pytest.raises(OptionError, match="unknown encoding"):
        ReadConfig(encoding=encoding)
