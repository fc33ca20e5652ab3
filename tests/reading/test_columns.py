"""Which column plays which role, and tables with a column per rater made long."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import OptionError
from raterlens.base.text import worded
from raterlens.config import ReadConfig, pattern_fields
from raterlens.reading.columns import resolve_layout
from raterlens.reading.formats.table import table_of
from raterlens.reading.read import read
from raterlens.reading.read_plan import ReadPlan
from raterlens.reading.wide_layouts import FIELDS, is_grid, likely_pattern, split_names
from tests.support.reading_tables import LONG, assert_same, by_rows


@pytest.mark.parametrize("separator", ["_", " ", ".", "-", ":", "/", "|"])
def test_a_grid_of_raters_and_items_is_seen(separator: str) -> None:
    columns = ["student", *(f"{r}{separator}{i}" for r in ("Ann", "Bob") for i in ("style", "plot"))]
    assert likely_pattern(columns) == f"{{rater}}{separator}{{item}}"
    assert likely_pattern(["student", f"Ann{separator}style", f"Bob{separator}plot"]) is None


def test_the_split_with_fewest_labels_is_taken() -> None:
    columns = ["Ann Lee style", "Ann Lee plot", "Bob Ray style"]
    found = split_names("{rater} {item}", FIELDS, columns)
    assert found == {
        "Ann Lee style": ("Ann Lee", "style"),
        "Ann Lee plot": ("Ann Lee", "plot"),
        "Bob Ray style": ("Bob Ray", "style"),
    }
    assert is_grid(found)


def test_characters_of_regular_expressions_are_plain() -> None:
    pattern = "{item} (by {rater}.)"
    assert split_names(pattern, pattern_fields(pattern), ["plot (by Ann.)", "plot by Ann"]) == {
        "plot (by Ann.)": ("plot", "Ann")
    }


@pytest.mark.parametrize(
    ("student", "rater", "item", "score"),
    [
        ("student", "rater", "item", "score"),
        ("Student ID", "Rater.Name", "Item_No", "SCORE"),
        ("person", "judge", "criterion", "rating"),
        ("pid", "annotator", "task", "label"),
        ("examineeId", "marker", "question", "y"),
        ("candidate_number", "grader", "trait", "verdict"),
        ("response_id", "scorer", "dimension", "mark"),
        ("subject", "examiner", "aspect", "Passed"),
    ],
)
def test_usual_names_are_recognised_and_said(student: str, rater: str, item: str, score: str) -> None:
    names = dict(zip(LONG.columns, (student, rater, item, score), strict=True))
    ratings = read(LONG.rename(names).with_columns(comment=pl.lit("")), duplicates="keep")
    assert_same(ratings, read(LONG, duplicates="keep"))
    assert ratings.notes == tuple(f"{role} column: {name!r} (recognised)" for role, name in names.items())


def test_a_usual_name_goes_before_a_less_usual_one() -> None:
    notes = read(LONG.with_columns(response=pl.lit("an essay"), grade=pl.lit("B"))).notes
    assert "student column: 'student' (recognised)" in notes
    assert "score column: 'score' (recognised)" in notes


def test_columns_given_are_not_noted_nor_recognised_for_another_role() -> None:
    frame = LONG.rename({"item": "task"})
    ratings = read(frame, student="student", rater=["rater", "task"], score="score", duplicates="keep")
    assert ratings.items.to_list() == ["all"]
    assert ratings.notes == ("no item column: all ratings are of one item, 'all'",)


@pytest.mark.parametrize(
    ("more", "alternative"),
    [({}, "items=('score', 'Global rating')"), ({"item": ["x", "y"] * 2}, "score='Global rating'")],
)
def test_a_second_column_of_scores_is_named(more: dict[str, list[str]], alternative: str) -> None:
    frame = pl.DataFrame(
        {
            "student": [1, 1, 2, 2],
            "rater": [*"abab"],
            **more,
            "score": [9, 17, 12, 4],
            "Global rating": [2, 4, 4, 1],
        }
    )
    said = f"'Global rating' could be a score, too: not used (otherwise: {alternative})"
    assert said in map(str, read(frame).notes)
    assert said not in map(str, read(frame, score="score").notes)


def test_several_columns_are_their_combination() -> None:
    ratings = read(LONG, rater=["rater", "item"])
    pairs = {f"{rater}:{item}" for rater, item in zip(LONG["rater"], LONG["item"], strict=True)}
    assert ratings.raters.to_list() == sorted(pairs)
    assert by_rows(ratings) == sorted((s, f"{r}:{i}", "all", y) for s, r, i, y in LONG.rows())


def test_a_combination_of_other_types_is_their_text_and_lacks_a_label_where_a_part_does() -> None:
    frame = pl.DataFrame(
        {
            "student": [1, 2, 3, 4],
            "judge": [10, 9, 10, 9],
            "day": [dt.date(2026, 1, 1), None, dt.date(2026, 1, 2), dt.date(2026, 1, 1)],
            "score": [0, 1, 0, 1],
        }
    )
    ratings = read(frame, rater=["judge", "day"])
    assert ratings.raters.to_list() == ["10:2026-01-01", "10:2026-01-02", "9:2026-01-01"]
    assert ratings.students.to_list() == [1, 3, 4]
    assert read(frame, rater=["judge"]).raters.to_list() == [9, 10]


def test_a_combination_that_lacks_a_part_is_left_out_and_said() -> None:
    """People have no prompt version: without this note they would seem to have been read."""
    prompts = pl.Series(["v1", "v1", None, None])
    frame = pl.DataFrame({"student": [1, 2, 1, 2], "judge": ["a", "a", "Ann", "Ann"], "score": [0, 1, 1, 0]})
    notes = read(frame.with_columns(prompt=prompts), rater=["judge", "prompt"]).notes
    assert "2 of 4 rows left out: no student or rater label; a label takes each of 'judge', 'prompt'" in notes


FRAME = pl.DataFrame({"student": [1], "rater": [2], "reader": [3], "task": [4], "score": [1]})
TABLE = table_of("t", FRAME)


def test_the_user_goes_before_the_file_and_the_file_before_usual_names() -> None:
    told = replace(TABLE, roles={"rater": "reader", "facets": ["task", "rater"]})
    _, by_name, _ = resolve_layout(TABLE, ReadPlan.of(ReadConfig()))
    table, by_file, _ = resolve_layout(told, ReadPlan.of(ReadConfig()))
    _, by_user, _ = resolve_layout(told, ReadPlan.of(ReadConfig(rater="task")))
    assert (by_name.rater, by_name.item) == (("rater",), ("task",))
    assert (by_file.rater, by_file.facets) == (("reader",), ("task", "rater"))
    assert (by_user.rater, by_user.facets) == (("task",), ("rater",))
    note = next(note for note in table.notes if note.startswith("rater"))
    assert note == "rater: 'reader' (from the file; override with rater=)"
    assert worded(note, lambda option: f"--{option.name}").endswith("override with --rater)")


def test_columns_of_raters_become_rows() -> None:
    wide = table_of("t", pl.DataFrame({"student": [1, 2], "Ann x": [0, 1], "Bob x": [1, 1], "Bob y": [0, 0]}))
    table, roles, _ = resolve_layout(
        wide, ReadPlan.of(ReadConfig(wide="{rater} {item}", items=["Ann x", "Bob x"]))
    )
    rows = table.take(roles.columns).frame.rows()
    assert rows == [(1, "Ann", "x", "0"), (1, "Bob", "x", "1"), (2, "Ann", "x", "1"), (2, "Bob", "x", "1")]
    assert table.query is None


def test_a_column_has_one_role() -> None:
    with pytest.raises(OptionError, match="column 'rater' is given for student and rater; give each role"):
        resolve_layout(TABLE, ReadPlan.of(ReadConfig(student="rater", rater="rater")))


ROWS = [
    ("Ida", "Ann", "plot", 1),
    ("Ida", "Ann", "style", 2),
    ("Ida", "Bob", "style", 0),
    ("Jo", "Ann", "plot", 0),
    ("Jo", "Ann", "style", 1),
    ("Jo", "Bob", "plot", 2),
    ("Jo", "Bob", "style", 1),
]
TWO_ROWS: list[list[Any]] = [
    ["Student", "Class", "Ann", None, "Bob", None, None],
    [None, None, "style", "plot", "style", "plot", "Remarks"],
    ["Ida", "A", 2, 1, 0, None, "late"],
    ["Jo", "B", 1, 0, 1, 2, None],
]


def rows(ratings: rl.Ratings) -> list[tuple[Any, ...]]:
    return sorted(ratings.table().select("student", "rater", "item", "score").rows())


def workbook(folder: Path, lines: list[list[Any]], *merged: str) -> Path:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(folder / "marks.xlsx")
    return folder / "marks.xlsx"


def test_two_header_rows_with_merged_cells(tmp_path: Path) -> None:
    ratings = read(workbook(tmp_path, TWO_ROWS, "A1:A2", "B1:B2", "C1:D1", "E1:F1"))
    assert rows(ratings) == ROWS
    assert "4 columns read as '{rater}: {item}': raters 'Ann', 'Bob'; items 'style', 'plot'" in ratings.notes
    assert any(
        "read as '{rater}: {item}' (otherwise: wide='{item}: {rater}')" in note for note in ratings.notes
    )


def test_titles_above_and_a_table_that_begins_elsewhere(tmp_path: Path) -> None:
    shifted: list[list[Any]] = [["Marks of June"], [], *([None, *line] for line in TWO_ROWS)]
    assert rows(read(workbook(tmp_path, shifted))) == ROWS


def test_the_other_way_round(tmp_path: Path) -> None:
    turned = [
        ["Student", "style", None, "plot", None],
        [None, "Ann", "Bob", "Ann", "Bob"],
        ["Ida", 2, 0, 1, None],
        ["Jo", 1, 1, 0, 2],
    ]
    assert rows(read(workbook(tmp_path, turned), wide="{item}: {rater}")) == ROWS


def test_the_upper_label_written_in_every_column(tmp_path: Path) -> None:
    spelled: list[list[Any]] = [
        ["Student", "Ann", "Ann", "Bob", "Bob"],
        ["", "style", "plot", "style", "plot"],
    ]
    assert rows(read(workbook(tmp_path, [*spelled, ["Ida", 2, 1, 0, None], ["Jo", 1, 0, 1, 2]]))) == ROWS


def test_two_header_rows_in_csv(tmp_path: Path) -> None:
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in line) for line in TWO_ROWS)
    (tmp_path / "marks.csv").write_text(text)
    assert rows(read(tmp_path / "marks.csv")) == ROWS
    (tmp_path / "marks.csv").write_text(text.replace("B,1,0", "B,1,nice"))
    with pytest.raises(rl.RaterlensError, match=r"score 'nice'.*line 4, column 'Ann: plot', is not a number"):
        read(tmp_path / "marks.csv")


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{rater} {item}", "{rater} {item}"),
        ("{rater}_{item}", "{rater}_{item}"),
        ("{item} ({rater})", "{item} ({rater})"),
        ("Mark of {rater} for {item}", "Mark of {rater} for {item}"),
    ],
)
def test_one_header_row_and_a_pattern(pattern: str, name: str) -> None:
    frame = pl.DataFrame({"student": ["Ida", "Jo"]})
    for rater in ("Ann", "Bob"):
        for item in ("style", "plot"):
            known = {(s, r, i): y for s, r, i, y in ROWS}
            scores = [known.get((s, rater, item)) for s in ("Ida", "Jo")]
            frame = frame.with_columns(pl.Series(name.format(rater=rater, item=item), scores))
    frame = frame.with_columns(pl.Series("Remark", ["late", None]))
    assert rows(read(frame, wide=pattern)) == ROWS


def test_names_of_two_words_go_to_the_rater() -> None:
    frame = pl.DataFrame(
        {"student": [1, 2], "Ann Lee style": [0, 1], "Ann Lee plot": [1, 0], "Bob Ray style": [1, 1]}
    )
    ratings = read(frame, wide="{rater} {item}")
    assert ratings.raters.to_list() == ["Ann Lee", "Bob Ray"]
    assert ratings.items.to_list() == ["plot", "style"]


def test_a_column_for_each_rater_only() -> None:
    frame = pl.DataFrame(
        {"student": [1, 1, 2], "task": ["x", "y", "x"], "Mark Ann": [0, 1, 1], "Mark Bob": [1, None, 0]}
    )
    ratings = read(frame, wide="Mark {rater}")
    assert rows(ratings) == [
        (1, "Ann", "x", 0),
        (1, "Ann", "y", 1),
        (1, "Bob", "x", 1),
        (2, "Ann", "x", 1),
        (2, "Bob", "x", 0),
    ]


def test_a_pattern_is_suggested(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "marks.csv").write_text("student,Ann_x,Ann_y,Bob_x,Bob_y\n1,0,1,1,0\n2,1,1,0,0\n")
    assert main(["check", str(tmp_path / "marks.csv")]) == 2
    assert "--wide '{rater}_{item}'" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "marks.csv"), "--wide", "{rater}_{item}"]) == 0
    assert "8 ratings of 2 students by 2 raters on 2 items" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("Ann", "does not hold {rater} or {item}"),
        ("{rater}{judge}", "does not hold {rater} or {item}"),
        ("{rater} {rater}", "once each"),
        ("{rater}/{item}", "no column fits wide='{rater}/{item}'; the columns are: 'student', 'Ann style'"),
    ],
)
def test_patterns_that_do_not_work(pattern: str, what: str) -> None:
    with pytest.raises(rl.RaterlensError) as caught:
        read(pl.DataFrame({"student": [1, 2], "Ann style": [0, 1]}), wide=pattern)
    assert what in str(caught.value)


def test_groups_of_columns_that_are_no_raters_stay_as_they_are(tmp_path: Path) -> None:
    lines = [
        ["Pupil", None, "Judged", None],
        ["student", "class", "rater", "score"],
        ["Ida", "A", "Ann", 1],
        ["Jo", "B", "Bob", 0],
    ]
    path = workbook(tmp_path, lines)
    ratings = read(path, student="Pupil: student", rater="Judged: rater", score="Judged: score")
    assert rows(ratings) == [("Ida", "Ann", "all", 1), ("Jo", "Bob", "all", 0)]


def test_a_header_with_a_gap_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",student,rater,score\n0,s,a,0\n1,t,b,1\n")
    assert read(tmp_path / "x.csv").n_ratings == 2
    (tmp_path / "x.csv").write_text("student,rater,score,\ns,a,nice,x\nt,b,poor,y\n")
    with pytest.raises(rl.RaterlensError, match="'nice'"):
        read(tmp_path / "x.csv")


def test_a_question_that_few_answers_share_is_no_item_by_the_printed_options_either() -> None:
    judges = {
        f"judge_{letter}": [place * number % 3 % 2 for place in range(12)]
        for number, letter in enumerate("abc", 1)
    }
    table = pl.DataFrame(
        {
            "id": [f"x{place}" for place in range(12)],
            "question": [f"q{place // 2}" for place in range(12)],
            **judges,
        }
    )
    recognised = rl.read(table)
    said = rl.read(table, student="id", items=list(judges), wide="{rater}")
    assert recognised.n_items == said.n_items == 1
    assert recognised.table().equals(said.table())
    assert rl.read(table, student="id", item="question", items=list(judges), wide="{rater}").n_items == 6
