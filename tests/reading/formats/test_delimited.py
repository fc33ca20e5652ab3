"""Text tables as people send them, and those that polars alone would refuse or misread."""

from pathlib import Path

import pytest

from raterlens.errors import RaterlensError
from raterlens.reading.reader import read


def test_quotes_and_line_breaks_inside_fields(tmp_path: Path) -> None:
    text = 'student,rater,score,remark\n1,"BE, Ms",0,"two\nlines"\n2,"say ""AM""",1,x\n'
    (tmp_path / "x.csv").write_text(text)
    assert read(tmp_path / "x.csv").raters.to_list() == ["BE, Ms", 'say "AM"']


def test_a_stray_quote_is_part_of_the_label(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('student,rater,score\n1,O"Neill,0\n\n2,5" nail,1\n3,,1\n')
    ratings = read(tmp_path / "x.csv")
    assert ratings.raters.to_list() == ['5" nail', 'O"Neill']
    assert "1 of 3 rows left out: no student or rater label" in ratings.notes


def test_blank_lines_are_not_rows(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("student,rater,score\n1,a,0\n\n2,b,1\n,,\n\n")
    assert not any("left out" in note for note in read(tmp_path / "x.csv").notes)


def test_empty_column_names_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",student,rater,score,,\n0,1,a,0,,\n1,2,b,1,,\n")
    assert read(tmp_path / "x.csv").n_ratings == 2


TABLE = "student;rater;score\n1;a;0\n2;b;1\n"


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ("Marks of June\n", "1 row above the header left out: 'Marks of June'"),
        ("Marks of June;;\n\n", "1 row above the header left out: 'Marks of June'"),
        (
            "Marks of June;\n;;\nby two markers\n",
            "2 rows above the header left out: 'Marks of June', 'by two markers'",
        ),
    ],
)
def test_titles_above_the_header_are_left_out(above: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(above + TABLE)
    ratings = read(tmp_path / "x.csv")
    assert ratings.score.tolist() == [0, 1]
    assert any(note.startswith(said) for note in ratings.notes), ratings.notes
    (tmp_path / "x.csv").write_text(above + TABLE.replace("1\n", "poor\n"))
    line = above.count("\n") + 3
    with pytest.raises(RaterlensError, match=f"score 'poor' in column 'score', line {line}, is not a number"):
        read(tmp_path / "x.csv")


def test_prose_is_no_title(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("A letter.\n\nDear all, here are\nthe marks, at last, as promised\n")
    with pytest.raises(RaterlensError, match=r"its first line, 'A letter\.', has no comma"):
        read(tmp_path / "x.csv")
