"""Lines, names, fields, ranges and numbers of control files."""

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.facets.syntax import Line, fields, lines_of, name_of, numbers, span, values


def test_lines_keep_their_numbers_and_lose_comments() -> None:
    text = 'Title = a ; note\n; all of it\n\n1 = "Smith; Ann" ; note\n'
    assert [(line.number, line.text) for line in lines_of(text, "x")] == [
        (1, "Title = a"),
        (4, '1 = "Smith; Ann"'),
    ]


@pytest.mark.parametrize(
    ("text", "known", "value"),
    [
        ("Non-centered = 1", "noncentered", "1"),
        ("T = Essays", "title", "Essays"),
        ("rating (or partial credit) scale = Mark,R3", "rating scale", "Mark,R3"),
        ("Inter-rater=2", "interrater", "2"),
        ("Arrange = m", "", "m"),
    ],
)
def test_names_are_known_by_their_first_letters(text: str, known: str, value: str) -> None:
    found = name_of(Line(1, text, "x"))
    assert found is not None
    assert (found[0], found[2]) == (known, value)


def test_fields_and_values() -> None:
    assert fields('7 = "Smith, Ann", 0.5') == ["7", "Smith, Ann", "0.5"]
    assert values("1, 2,\t3") == ["1", "2", "", "3"]
    assert values("1  2 3") == ["1", "2", "3"]
    assert values('1 "Smith Ann" 3') == ["1", "Smith Ann", "3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", range(3, 4)), ("1-5", range(1, 6)), ("2_4", range(2, 5)), ("3-1", range(3, 2)), ("a", None)],
)
def test_ranges(text: str, expected: range | None) -> None:
    assert span(text) == expected


def test_numbers_of_facets() -> None:
    line = Line(4, "Positive = 1,x", "study.txt")
    assert numbers(line, "1, 3 4") == [1, 3, 4]
    with pytest.raises(
        InputError, match=r"'study.txt', line 4: '1,x' should be numbers of facets; write them"
    ):
        numbers(line, "1,x")
