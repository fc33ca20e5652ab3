"""Text tables: encodings, quotes, header rows."""

import csv
import io
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from raterlens.base.errors import RaterlensError
from raterlens.config import ReadConfig
from raterlens.reading.formats.delimited import has_quotes, swallowed, well_quoted
from raterlens.reading.formats.encodings import encoding_of, is_utf8
from raterlens.reading.formats.header_rows import column_names, header_row, is_upper, separator_of, trimmed
from raterlens.reading.read import read

# -- Text tables --


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
        ("Marks of June\n", "1 row above the header ('Marks of June'): left out"),
        ("Marks of June;;\n\n", "1 row above the header ('Marks of June'): left out"),
        (
            "Marks of June;\n;;\nby two markers\n",
            "2 rows above the header ('Marks of June', 'by two markers'): left out",
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


SIX = ["s0,r0,0", "s0,r1,1", "s0,r2,1", "s1,r0,1", "s1,r1,0", "s1,r2,0"]


def test_a_misplaced_quote_is_refused_by_line(tmp_path: Path) -> None:
    quoted = ['"' + line.replace(",", '","') + '"' for line in SIX]
    quoted[0] = quoted[0].replace('"s0"', '"s"0"')
    quoted[2] = quoted[2].removeprefix('"')
    (tmp_path / "x.csv").write_text("\n".join(["student,rater,score", *quoted, ""]))
    with pytest.raises(
        RaterlensError, match=r"'x\.csv' cannot be read from line 2 on.*write a quote inside quotes twice"
    ):
        read(tmp_path / "x.csv")


def test_a_label_that_swallowed_rows_is_refused_by_line(tmp_path: Path) -> None:
    lines = [SIX[0], '"' + SIX[1], SIX[2], SIX[3].replace("s1", 's1"'), *SIX[4:]]
    (tmp_path / "x.csv").write_text("\n".join(["student,rater,score", *lines, ""]))
    with pytest.raises(
        RaterlensError, match="column 'student', line 3: a quoted field holds what looks like rows"
    ):
        read(tmp_path / "x.csv")


def test_rows_in_a_column_that_is_not_used_are_noted(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        'student,rater,score,remark\n1,a,0,"good\n1,b,1,bad"\n2,a,1,"two\nlines"\n'
    )
    ratings = read(tmp_path / "x.csv")
    assert ratings.n_ratings == 2
    assert [note for note in ratings.notes if "quoted" in note] == [
        "column 'remark', line 2: a quoted field holds what looks like rows of the table; if they are, look for a "
        "quote that is opened there by mistake"
    ]


def test_line_breaks_in_free_text_are_no_news_and_in_labels_are(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        'student,rater,score,remark\n1,a,0,"two\n\nlines"\n1,"b\nc",1,\n2,"b\nc",1,\n'
    )
    ratings = read(tmp_path / "x.csv")
    assert ratings.n_ratings == 3
    assert [note for note in ratings.notes if "line" in note] == [
        "1 rater label with a line break, the first at line 5: 'b\\nc'; if it is not meant, mend the file there"
    ]


def test_a_first_line_that_is_a_row_is_asked_about(tmp_path: Path) -> None:
    rows = [(f"t{n}", f"w{k}", n * k % 2) for n in range(6) for k in (1, 2, 3)]
    (tmp_path / "x.tsv").write_text("".join(f"{a}\t{b}\t{c}\n" for a, b, c in rows))
    with pytest.raises(RaterlensError, match=r"no header row: the first one, 't0', 'w1', '0', looks like"):
        read(tmp_path / "x.tsv")
    ratings = read(tmp_path / "x.tsv", student="column 1", rater="column 2", score="column 3")
    assert sorted(ratings.table().select("student", "rater", "score").rows()) == rows
    (tmp_path / "x.tsv").write_text("".join(f"{a}\t{b}\t{c}\n" for a, b, c in [*rows, ("t9", "w1", "poor")]))
    with pytest.raises(RaterlensError, match="line 19, is not a number"):
        read(tmp_path / "x.tsv", student="column 1", rater="column 2", score="column 3")


def strictly_read(text: str) -> bool:
    """As RFC 4180 has it: the strict reader takes it, and no quote stands in a field that does not begin with one."""
    inside = False
    for before, character in zip("\n" + text, text, strict=False):
        if character == '"':
            if not inside and before not in ',\n"':
                return False
            inside = not inside
    try:
        return bool(list(csv.reader(io.StringIO(text, newline=""), strict=True))) or not text
    except csv.Error:
        return False


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_every_short_text_is_judged_as_by_the_strict_reader(piece: int) -> None:
    for letters in product('a,"\n', repeat=5):
        text = "".join(letters)
        assert well_quoted(text.encode(), ",", piece) == strictly_read(text), text


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbf"a";"b"\n')
    assert well_quoted(tmp_path / "x.csv", ";")
    assert has_quotes(tmp_path / "x.csv", piece=2)
    assert not has_quotes(b"a;b")


@pytest.mark.parametrize(
    ("field", "place", "found"),
    [
        ("a,b,c\nd", 0, True),
        ("a,b,c\nd,e,f\ng", 0, True),
        ("b,c\r\nd,e", 1, True),
        ("b,c\nd,", 1, True),
        ("b,c\nd", 1, False),
        ("c\nd,e,f", 2, True),
        ("two\nlines", 0, False),
        ("two\nlines", 2, False),
    ],
)
def test_a_field_that_reads_as_rows(field: str, place: int, found: bool) -> None:
    # Of three columns: what follows the quote ends its row, and what precedes the closing quote begins another.
    assert swallowed(pl.Series(["x", field, None]), place, 3, ",") == (1 if found else None)


TEXT = "Prüfling;Prüfer;Punkte\nÄnne;Zoë;1\nBörge;Zoë;0\nÄnne;Max;1\nBörge;Max;1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_same_ratings_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    ratings = read(tmp_path / "x.csv")
    assert ratings.students.to_list() == ["Börge", "Änne"]
    assert any(encoding in note for note in ratings.notes) == (not encoding.startswith("utf-8"))


def test_a_character_between_two_pieces(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("aäöü€".encode())
    assert is_utf8(tmp_path / "x", piece=3)
    (tmp_path / "x").write_bytes("aäöü€".encode()[:-1])
    assert not is_utf8(tmp_path / "x", piece=3)


def test_binary_files_and_bytes_that_cp1252_has_not_are_left_to_be_refused(tmp_path: Path) -> None:
    for data in (b"\x89PNG\0\0\0", b"a\x81\x8d"):
        (tmp_path / "x").write_bytes(data)
        assert encoding_of(tmp_path / "x") == ("utf-8", [])


# -- Header rows, titles above a table, remarks below it --

UPPER, LOWER = ["Student", "Ann", "", "Bob", ""], ["", "style", "plot", "style", "plot"]
BELOW = ["Ida", "2", "1", "0", ""]


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
    assert not is_upper(UPPER, LOWER, ["Ida", "good", "bad", "good", ""])
    assert not is_upper(["", "student", "rater", "score"], ["0", "s", "a", "0"], ["1", "t", "b", "1"])


def names_of(*rows: list[str | None]) -> tuple[list[str], int]:
    header = column_names(rows, ReadConfig())
    return header.names, header.rows


def test_the_upper_label_is_carried_over_gaps() -> None:
    expected = ["Student", "Ann: style", "Ann: plot", "Bob: style", "Bob: plot"]
    assert names_of([*UPPER], [*LOWER], [*BELOW]) == (expected, 2)


def test_three_rows_are_joined_and_totals_keep_their_place() -> None:
    rows: list[list[str | None]] = [
        ["Student", "Ann", None, None, None, None, "Bob", None, None, None, None, "Sum"],
        [None, "Essay 1", None, "Essay 2", None, "Total", "Essay 1", None, "Essay 2", None, "Total", None],
        [None, "style", "plot", "style", "plot", None, "style", "plot", "style", "plot", None, None],
        ["Ida", "2", "1", "0", "3", "6", "1", "1", "2", "2", "6", "12"],
    ]
    names, height = names_of(*rows)
    assert height == 3
    assert names[:6] == [
        "Student",
        *(f"Ann: Essay {k}: {c}" for k in (1, 2) for c in ("style", "plot")),
        "Ann: Total",
    ]
    assert names[-2:] == ["Bob: Total", "Sum"]
    # A title above a header of two rows is not a third.
    assert header_row([["Marks", "June", "", "", ""], UPPER, LOWER, BELOW]) == 1


def test_columns_without_a_name_go_by_their_place() -> None:
    assert names_of([None, "rater", None], ["1", "a", "2"]) == (["column 1", "rater", "column 3"], 1)


TABLE_HEADER_ROWS = "student;rater;score\na;x;1,5\nb;y;2,0\n"


def test_the_separator_that_makes_even_rows() -> None:
    assert separator_of(TABLE_HEADER_ROWS.encode()) == ";"
    assert separator_of(b"Marks, June, 2026\n" + TABLE_HEADER_ROWS.encode()) == ";"
    assert separator_of(b"a\tb\n1,2\t3\n", prefer="\t") == "\t"


@pytest.mark.parametrize("above", ["Marks of June\n", "# one\n# two\n", "Exam;June;\n\n", "\n\nMarks\n\n"])
def test_lines_above_become_blank_so_that_lines_keep_their_numbers(above: str) -> None:
    text, (finding,), _ = trimmed((above + TABLE_HEADER_ROWS).encode(), ";")
    assert isinstance(text, bytes)
    assert text == b"\n" * above.count("\n") + TABLE_HEADER_ROWS.encode()
    assert finding.observed.endswith(")")
    assert "above the header" in finding.observed


@pytest.mark.parametrize(
    "below", ["\nSource: office\n", "# the end\n", "\nRemarks\n", "Printed by the office\n"]
)
def test_remarks_below(below: str) -> None:
    text, (finding,), _ = trimmed((TABLE_HEADER_ROWS + below).encode(), ";")
    assert isinstance(text, bytes)
    assert text.rstrip() == TABLE_HEADER_ROWS.encode().rstrip()
    assert "below the table" in finding.observed


@pytest.mark.parametrize("below", ["c\n", "c;z\n", "7\n"])
def test_a_row_cut_short_is_no_remark(below: str) -> None:
    assert trimmed((TABLE_HEADER_ROWS + below).encode(), ";") == (
        (TABLE_HEADER_ROWS + below).encode(),
        [],
        {},
    )


def test_prose_is_left_alone() -> None:
    text = b"A letter.\n\nDear all, here are\nthe marks, at last, as promised\n"
    assert trimmed(text, ",") == (text, [], {})
