"""Separators, titles, comments and remarks around a table."""

import pytest

from raterlens.reading.formats.surroundings import separator_of, trimmed

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
    assert finding.seen.endswith(")")
    assert "above the header" in finding.seen


@pytest.mark.parametrize(
    "below", ["\nSource: office\n", "# the end\n", "\nRemarks\n", "Printed by the office\n"]
)
def test_remarks_below(below: str) -> None:
    text, (finding,) = trimmed((TABLE + below).encode(), ";")
    assert isinstance(text, bytes)
    assert text.rstrip() == TABLE.encode().rstrip()
    assert "below the table" in finding.seen


@pytest.mark.parametrize("below", ["c\n", "c;z\n", "7\n"])
def test_a_row_cut_short_is_no_remark(below: str) -> None:
    assert trimmed((TABLE + below).encode(), ";") == ((TABLE + below).encode(), [])


def test_prose_is_left_alone() -> None:
    text = b"A letter.\n\nDear all, here are\nthe marks, at last, as promised\n"
    assert trimmed(text, ",") == (text, [])
