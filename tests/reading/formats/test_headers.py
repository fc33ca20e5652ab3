"""Where a table begins, and names from two rows."""

import pytest

from raterlens.reading.formats.headers import header_row, is_upper, joined, named

UPPER, LOWER = ["Student", "Ann", None, "Bob", None], [None, "style", "plot", "style", "plot"]
BELOW = ["Ida", "2", "1", "0", None]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a", "b"]], 0),
        ([["Marks", None], [None, None], ["a", "b"]], 2),
        ([["Marks", " "], ["a", "b"]], 1),
        ([["only"], ["one"]], 0),
        ([["Exam", "June", "", ""], ["a", "b", "c", "d"]], 1),
        (
            [
                ["Title"],
                [None, "Ann", None, "Bob", None],
                ["id", "x", "y", "x", "y"],
                ["S", "1", "2", "3", "4"],
            ],
            1,
        ),
    ],
)
def test_titles_above_the_header(rows: list, expected: int) -> None:
    assert header_row(rows) == expected


def test_two_rows_are_a_header_where_the_upper_spans_the_lower() -> None:
    assert is_upper(UPPER, LOWER, BELOW)
    assert is_upper(["Student", "Ann", "Ann", "Bob", "Bob"], LOWER, BELOW)
    # A lower row with numbers is data, and so is one over words.
    assert not is_upper(UPPER, ["Ida", "2", "1", "0", "1"], BELOW)
    assert not is_upper(UPPER, LOWER, ["Ida", "good", "bad", "good", None])
    assert not is_upper([None, "student", "rater", "score"], ["0", "s", "a", "0"], ["1", "t", "b", "1"])


def test_the_upper_label_is_carried_over_gaps() -> None:
    assert joined(UPPER, LOWER) == ["Student", "Ann: style", "Ann: plot", "Bob: style", "Bob: plot"]


def test_columns_without_a_name_go_by_their_place() -> None:
    assert named(["", "rater", ""]) == ["column 1", "rater", "column 3"]
