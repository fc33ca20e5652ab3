"""Header rows, titles above a table, remarks below it."""

import pytest

from raterlens.reading.formats.header_rows import header_row, is_upper, joined, named, separator_of, trimmed

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


TABLE = "student;rater;score\na;x;1,5\nb;y;2,0\n"


def test_the_separator_that_makes_even_rows() -> None:
    assert separator_of(TABLE.encode()) == ";"
    assert separator_of(b"Marks, June, 2026\n" + TABLE.encode()) == ";"
    assert separator_of(b"a\tb\n1,2\t3\n", prefer="\t") == "\t"


@pytest.mark.parametrize("above", ["Marks of June\n", "# one\n# two\n", "Exam;June;\n\n", "\n\nMarks\n\n"])
def test_lines_above_become_blank_so_that_lines_keep_their_numbers(above: str) -> None:
    text, (finding,) = trimmed((above + TABLE).encode(), ";")
    assert isinstance(text, bytes)
    assert text == b"\n" * above.count("\n") + TABLE.encode()
    assert finding.observed.endswith(")")
    assert "above the header" in finding.observed


@pytest.mark.parametrize(
    "below", ["\nSource: office\n", "# the end\n", "\nRemarks\n", "Printed by the office\n"]
)
def test_remarks_below(below: str) -> None:
    text, (finding,) = trimmed((TABLE + below).encode(), ";")
    assert isinstance(text, bytes)
    assert text.rstrip() == TABLE.encode().rstrip()
    assert "below the table" in finding.observed


@pytest.mark.parametrize("below", ["c\n", "c;z\n", "7\n"])
def test_a_row_cut_short_is_no_remark(below: str) -> None:
    assert trimmed((TABLE + below).encode(), ";") == ((TABLE + below).encode(), [])


def test_prose_is_left_alone() -> None:
    text = b"A letter.\n\nDear all, here are\nthe marks, at last, as promised\n"
    assert trimmed(text, ",") == (text, [])
