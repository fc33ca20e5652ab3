"""Columns and layouts: roles, wide tables, known answers."""

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
from raterlens.base.text import Option, worded
from raterlens.config import ReadConfig, pattern_fields
from raterlens.reading.columns import resolve_layout
from raterlens.reading.formats.table import table_of
from raterlens.reading.profiles import ColumnSample
from raterlens.reading.read import read, read_with_plan
from raterlens.reading.read_plan import ReadPlan
from raterlens.reading.wide_layouts import (
    FIELDS,
    is_grid,
    likely_pattern,
    one_per_rater,
    score_columns,
    split_names,
    swapped_pattern,
)
from tests.support.reading_tables import LONG, assert_same, by_rows

# -- Which column plays which role, and tables with a column per rater made long --


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


# -- Meanings of columns of scores --


def look(**columns: list[object]) -> tuple[list[str], ColumnSample]:
    frame = pl.DataFrame(columns, strict=False)
    return frame.columns, ColumnSample(table_of("t", frame))


def test_totals_and_other_numbers_are_no_scores() -> None:
    names, seen = look(
        a=[1, 2, 0, 3], b=[2, 0, 1, 3], sum_=[3, 2, 1, 6], age=[11, 12, 12, 11], Mean=[1.5, 1, 0.5, 3]
    )
    found = score_columns(names, seen, raters=False)
    scores, findings = found.names, found.findings
    assert scores == ["a", "b"]
    assert [finding.note for finding in findings] == [
        "'sum_', 'Mean': left out (the sum or mean of other columns)"
    ]


def test_names_of_judges_and_of_people() -> None:
    for names in (["gpt-4o", "claude"], ["Judge 1", "Judge 2"], ["Ann", "Bob"]):
        columns, seen = look(**{name: [0, 1, 1] for name in names})
        found = one_per_rater(columns, seen)
        assert (found.wide, found.items) == ("{rater}", tuple(names))
        assert all(finding.certain for finding in found.findings)


@pytest.mark.parametrize(
    ("names", "certain"),
    [(["Mark AM", "Mark BE"], True), (["Rater 1", "Rater 2"], True), (["AM", "BE"], False)],
)
@pytest.mark.parametrize("rows", [2, 3])
def test_scores_of_few_rows_that_happen_to_number_them(names: list[str], certain: bool, rows: int) -> None:
    frame = pl.DataFrame({"Student": [*"xyz"], names[0]: [1, 2, 3], names[1]: [2, 2, 1]}).head(rows)
    ratings, plan = read_with_plan(frame, ReadConfig())
    assert ratings.n_ratings == 2 * rows
    assert ratings.n_raters == 2
    assert bool(plan.questions) is not certain
    assert certain or "'AM' may only number the rows" in plan.questions[0].observed


def test_a_column_that_numbers_the_rows_is_no_score() -> None:
    names, seen = look(row=[1, 2, 3, 4, 5], AM=[2, 2, 5, 1, 0], BE=[2, 3, 5, 1, 0])
    assert score_columns(names, seen, raters=True).names == ["AM", "BE"]


def test_criteria_are_no_raters() -> None:
    columns, seen = look(content=[0, 1, 1], style=[1, 1, 0])
    assert one_per_rater(columns, seen).wide is None


def test_marks_on_different_scales_are_asked_about() -> None:
    columns, seen = look(Ann=[0, 1, 5], Bob=[10, 20, 15])
    (finding,) = one_per_rater(columns, seen).findings
    assert not finding.certain


def test_grids_in_either_order() -> None:
    for names, pattern in (
        (["R1_Q1", "R1_Q2", "R2_Q1", "R2_Q2"], "{rater}_{item}"),
        (["style (Ann)", "plot (Ann)", "style (Bob)", "plot (Bob)"], "{item} ({rater})"),
    ):
        columns, seen = look(**{name: [0, 1, 2] for name in names})
        found = one_per_rater(columns, seen)
        assert found.wide == pattern
        assert found.findings[-1].certain
    columns, seen = look(**{name: [0, 1, 2] for name in ("N_S", "N_T", "E_S", "E_T")})
    found = one_per_rater(columns, seen)
    assert not found.findings[-1].certain
    assert found.findings[-1].alternative is not None
    assert found.findings[-1].alternative.value == "{item}_{rater}" == swapped_pattern("{rater}_{item}")


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["Adj A R1", "Adj B R1", "Adj C R1", "Adj A R2", "Adj B R2", "Adj C R2"], "Adj {rater} {item}"),
        (["GA_1", "MK_1", "TS_1", "GA_2", "MK_2", "TS_2"], "{rater}_{item}"),
        (["style_r1", "plot_r1", "style_r2", "plot_r2"], "{item}_{rater}"),
    ],
)
def test_a_round_beside_the_rater_is_no_rater(names: list[str], pattern: str) -> None:
    columns, seen = look(**{name: [0, 1, 2] for name in names})
    found = one_per_rater(columns, seen)
    assert (found.wide, found.items) == (pattern, tuple(names))
    assert found.findings[-1].alternative is not None


def test_places_in_each_round_are_ranks() -> None:
    rows = [
        (dance, f"c{n}", judge, (n * k + j) % 5 + 1)
        for k, dance in enumerate("xy", 1)
        for n in range(5)
        for j, judge in enumerate(("Ann", "Bob"))
    ]
    frame = pl.DataFrame(rows, schema=["item", "student", "rater", "score"], orient="row")
    _, plan = read_with_plan(frame, ReadConfig())
    assert [option.name for question in plan.questions for option in question.options] == ["best"]


def test_a_panel_by_letters_with_its_rounds_is_asked_about() -> None:
    rows = [(dance, start) for dance in ("slow", "quick", "tango") for start in range(20, 30)]
    frame = pl.DataFrame({"tánc": [dance for dance, _ in rows], "rajt": [start for _, start in rows]})
    scores = {judge: [(k * n + n // 3) % 5 for n in range(30)] for k, judge in enumerate("ABCD", 1)}
    ratings, plan = read_with_plan(
        frame.with_columns(**{k: pl.Series(v) for k, v in scores.items()}), ReadConfig()
    )
    assert (ratings.n_students, ratings.n_raters, ratings.n_items) == (10, 4, 3)
    assert [option for question in plan.questions for option in question.options][-2:] == [
        Option("student", "rajt"),
        Option("item", "tánc"),
    ]


def test_a_grid_takes_in_a_column_with_a_word_among_its_scores() -> None:
    names = ["R1 x", "R1 y", "R2 x", "R2 y"]
    columns, seen = look(**{name: ["0", "1", "2"] for name in names} | {"R2 y": ["1", "ill", "late"]})
    assert one_per_rater(columns, seen).items == tuple(names)


def test_with_a_rater_columns_are_items_unless_they_belong_to_the_student() -> None:
    students = [n // 2 for n in range(12)]
    frame = pl.DataFrame(
        {
            "student": students,
            "rater": list("ab") * 6,
            "school": [n % 3 for n in students],
            "p": [0, 1, 2] * 4,
            "q": [1, 0, 2, 2, 0, 1] * 2,
        }
    )
    _, plan = read_with_plan(frame, ReadConfig())
    assert plan.config.items == ("p", "q")
