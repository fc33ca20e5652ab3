"""Columns recognised by their names and by what they hold; known answers."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.base.text import Option
from raterlens.config import ReadConfig
from raterlens.reading.columns import resolve_layout
from raterlens.reading.formats.table import Table, table_of
from raterlens.reading.profiles import ColumnSample, profile, sampled
from raterlens.reading.read import read, read_with_plan
from raterlens.reading.read_plan import Finding, ReadPlan, UncertainError
from tests.support.known_tables import TABLE, answers

# -- Columns recognised by their names and by what they hold --


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1, 0], "scores"),
        (["2,5", "3", "absent", "1", "2", "3"], "scores"),
        (["good", "bad"], "scores"),
        (["👍", "👎"], "scores"),
        ([55, 71.5, 80], "marks"),
        ([101, 205, 333], "numbers"),
        (["2026-01-01", "2026-01-02"], "dates"),
        (["Ann", "Bob"], "labels"),
        (
            ["a long sentence about something that was written", "and another one, which is about as long"],
            "text",
        ),
        ([None, "-"], "blank"),
    ],
)
def test_kinds(values: list[Any], kind: str) -> None:
    assert profile(pl.Series("x", values, strict=False)).kind == kind


def test_numbers_in_part() -> None:
    assert profile(pl.Series("x", ["1", "see me", "late", "2", "ill"])).partly
    assert not profile(pl.Series("x", ["see me", "late"])).partly


def test_rows_from_all_over_a_table() -> None:
    frame = pl.DataFrame({"x": range(10_000)})
    some = sampled(table_of("t", frame), 100)["x"]
    assert len(some) <= 100
    assert some[0] == 0
    assert some[-1] >= 9_900
    query = Table("t", ("x",), lambda wanted: pytest.fail("read whole"), query=frame.lazy())
    assert sampled(query, 80)["x"].to_list()[::79] == [0, 9_999]


def test_a_school_is_no_score() -> None:
    frame = pl.DataFrame(
        {"student": [n // 2 for n in range(20)], "school": [n // 4 for n in range(20)], "mark": range(20)}
    )
    look = ColumnSample(table_of("t", frame))
    assert look.depends("school", "student")
    assert not look.depends("mark", "student")


def recognised(frame: pl.DataFrame) -> dict[str, Any]:
    """The roles by which a table is read."""
    given = read_with_plan(frame, ReadConfig())[1].config.given()
    return {role: given[role] for role in ("student", "rater", "item", "score") if role in given}


def questions(frame: pl.DataFrame) -> tuple[Finding, ...]:
    return read_with_plan(frame, ReadConfig())[1].questions


def test_usual_names_do_without_a_look_at_the_rows() -> None:
    columns = ("student", "rater", "item", "score", "comment")
    table = Table("t", columns, lambda wanted: (_ for _ in ()).throw(AssertionError("looked")))
    _, roles, _ = resolve_layout(table, ReadPlan.of(ReadConfig(as_written=True)))
    assert (roles.student, roles.rater, roles.item, roles.scores) == tuple((role,) for role in columns[:4])


def test_an_identifier_goes_before_free_text() -> None:
    prose = [f"a rather long answer to the question, the number of which is {n // 2}" for n in range(8)]
    frame = pl.DataFrame(
        {
            "response": prose,
            "sample_id": [n // 2 for n in range(8)],
            "judge": list("ab") * 4,
            "verdict": ["pass", "fail", "pass", "pass"] * 2,
        }
    )
    assert recognised(frame) == {"student": "sample_id", "rater": "judge", "score": "verdict"}
    assert recognised(frame.drop("sample_id"))["student"] == "response"


def test_a_task_is_what_is_rated_where_nothing_else_is() -> None:
    frame = pl.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": [0, 1, 1, 1]})
    assert recognised(frame) == {"student": "task", "rater": "worker", "score": "label"}


def test_names_that_would_all_do_are_asked_about() -> None:
    frame = pl.DataFrame(
        {
            "student": [1, 1, 2, 2, 3, 3],
            "person": [4, 5, 5, 6, 6, 4],
            "rater": [1, 2] * 3,
            "score": [0, 1, 1, 0, 1, 1],
        }
    )
    (question,) = questions(frame)
    assert "'student' could be the student, and so could 'person'" in question.observed
    assert question.alternative == Option("student", "person")
    twice = frame.with_columns(student_id=pl.Series([*"xxyyzz"]), person=None)
    assert recognised(twice)["student"] in ("student", "student_id")
    assert not questions(twice)


def test_answers_of_several_models_are_asked_about() -> None:
    frame = pl.DataFrame(
        {
            "question_id": [1, 1, 2, 2] * 2,
            "model": ["a", "b"] * 4,
            "judge": ["x"] * 4 + ["y"] * 4,
            "score": [0, 1] * 4,
        }
    )
    (question,) = questions(frame)
    assert question.options == (Option("student", ("question_id", "model")),)


def test_labels_that_most_students_have_are_items() -> None:
    rows = [(s, r, part) for s in range(6) for r in "xyz" for part in ("12", "22")]
    frame = pl.DataFrame(rows, schema=["candidate", "marker", "module"], orient="row")
    frame = frame.with_columns(mark=pl.int_range(pl.len()) % 4)
    assert recognised(frame)["item"] == "module"
    (question,) = questions(frame)
    assert question.alternative == Option("student", ("candidate", "module"))


FRAME = pl.DataFrame(
    {"a": [n // 3 for n in range(12)], "b": ["gpt-4o", "claude", "llama"] * 4, "c": [0, 1, 1, 0] * 3}
).with_columns(a=pl.format("s{}", "a"))


def test_labels_of_judges_are_certain_where_all_else_is_known() -> None:
    frame = FRAME.rename({"a": "student", "c": "score"})
    assert recognised(frame)["rater"] == "b"
    assert not questions(frame)


def test_roles_by_content_alone_are_a_question() -> None:
    assert recognised(FRAME) == {"student": "a", "rater": "b", "score": "c"}
    (question,) = questions(FRAME)
    assert question.observed == "no column is named for the student and the rater and the score"


def test_what_belongs_to_the_student_is_no_rater() -> None:
    frame = pl.DataFrame(
        {
            "student": [n // 2 for n in range(12)],
            "school": [f"x{n // 4}" for n in range(12)],
            "score": [0, 1] * 6,
        }
    )
    with pytest.raises(InputError, match="no rater column recognised"):
        read(frame)


SWAPPED = pl.DataFrame(
    [(s, r, i, (s + r * i + i) % 2) for s in range(3) for r in range(2) for i in range(40)],
    schema=["sample", "rater", "question", "score"],
    orient="row",
)


def test_weak_names_are_asked_about_with_roles_turned_round() -> None:
    with pytest.raises(UncertainError, match="3 students and 40 items look swapped") as caught:
        read(SWAPPED)
    assert caught.value.proposal is not None
    ratings = read(SWAPPED, **caught.value.proposal.config.given())
    assert (ratings.n_students, ratings.n_items) == (40, 3)


def test_plain_names_and_what_the_user_says_are_only_remarked_on() -> None:
    notes = read(SWAPPED.rename({"sample": "student"})).notes
    assert "3 students and 40 items: are the student and the item column swapped?" in notes
    assert read(SWAPPED, student="sample").n_students == 3


def test_a_column_given_for_another_role_does_not_name_the_student():
    rows = [(f"S{n}", school, f"R{r}", (n + r) % 2) for n in range(8) for school in "AB" for r in range(2)]
    table = pl.DataFrame(rows, schema=["student", "school", "rater", "score"], orient="row")
    with pytest.raises(UncertainError, match="occurs with several 'school'"):
        read(table)
    assert read(table, facets=["school"], duplicates="keep").n_students == 8


def test_a_school_noted_at_random_does_not_name_the_student():
    rows = [(f"S{n}", (n + r) % 3, f"R{r}", (n * r) % 2) for n in range(9) for r in range(3)]
    table = pl.DataFrame(rows, schema=["student", "school", "rater", "score"], orient="row")
    assert read(table).n_students == 9


@pytest.mark.parametrize("wrong", ["nope", False])
def test_a_student_column_that_is_not_there_is_refused(wrong):
    table = {"student": ["a", "b", "a", "b"], "rater": ["x", "x", "y", "y"], "item": ["i"] * 4}
    with pytest.raises(InputError, match=f"no column '{wrong}' for student"):
        read(pl.DataFrame(table | {"score": [0, 1, 1, 0]}), student=wrong)


# -- Known answers and trusted raters --

GOLD = pl.DataFrame({"student": ["a", "b", "c"], "item": ["i", "j", "j"], "definitive": [2, 0, 1]})


def test_a_column_and_a_table_say_the_same(tmp_path: Path) -> None:
    column = rl.read(
        TABLE.with_columns(gold=pl.Series([2, None, None, 0, None, 1, None, None])), known="gold"
    )
    GOLD.write_csv(tmp_path / "gold.csv")
    for known in (GOLD, GOLD.to_pandas(), tmp_path / "gold.csv", str(tmp_path / "gold.csv")):
        assert answers(rl.read(TABLE.drop("gold"), known=known)) == answers(column)
    assert "3 known answers of 3 students" in column.notes


def test_answers_are_read_as_scores_are() -> None:
    words = TABLE.with_columns(
        score=pl.Series(["good", "bad"] * 4),
        gold=pl.Series(["good", "", "bad", "bad", None, "good", None, None]),
    )
    found = rl.read(words.with_columns(item=pl.lit("i")), known="gold", map="good=1,bad=0")
    assert answers(found) == {("a", "i", 1), ("b", "i", 0), ("c", "i", 1)}
    cut = rl.read(TABLE, known="gold", cut=2)
    assert answers(cut) == {("a", "i", 1), ("b", "j", 0), ("c", "j", 0), ("d", "i", 0)}


def test_a_column_per_judge_beside_the_answers() -> None:
    wide = pl.DataFrame(
        {"answer": ["p", "q", "s"], "gpt": [1, 0, 1], "claude": [1, 1, 0], "human": [1, 0, None]}
    )
    found = rl.read(wide, student="answer", known="human", wide="{rater}")
    assert found.raters.to_list() == ["claude", "gpt"]
    assert answers(found) == {("p", "all", 1), ("q", "all", 0)}


def test_a_row_without_a_rating_may_hold_an_answer() -> None:
    table = TABLE.with_columns(score=pl.Series([None, 1, 2, 0, 1, 1, 2, 0]), item=pl.lit("i"))
    assert ("a", "i", 2) in answers(rl.read(table, known="gold", item="item"))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (
            [2, 1, None, 0, None, 1, 1, None],
            "the known answer for student 'a' is 1 at row 2, but 2 elsewhere; give one answer for all rows",
        ),
        ([1, None, None, 1, None, 1, 1, None], "all 4 known answers are 1; add some with another answer"),
        ([None] * 8, "no known answer found: the column is empty; fill in the right score where it is known"),
    ],
)
def test_what_says_nothing_or_contradicts_itself_is_refused(known: list[int | None], message: str) -> None:
    table = TABLE.drop("item").with_columns(gold=pl.Series(known, dtype=pl.Int64))
    with pytest.raises(RaterlensError) as refused:
        rl.read(table, known="gold")
    assert message in str(refused.value)
    assert refused.value.option == "known"


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (
            GOLD.with_columns(student=pl.Series(["a", "b", "z"])),
            "known answers for 1 student without a rating, the first at row 3: 'z'",
        ),
        (GOLD.drop("item"), "has no column 'item'"),
        (GOLD.with_columns(note=pl.lit("")), "has 2 columns that could be the answers"),
    ],
)
def test_tables_that_do_not_fit_are_refused(gold: pl.DataFrame, message: str) -> None:
    with pytest.raises(RaterlensError, match=message):
        rl.read(TABLE.drop("gold"), known=gold)


def test_one_answer_for_several_items_and_packing_are_refused(tmp_path: Path) -> None:
    essays = pl.DataFrame({"student": [1, 2], "rater": ["x", "x"], "i": [0, 1], "j": [1, 1], "gold": [1, 0]})
    with pytest.raises(
        RaterlensError, match="a row has scores of 2 items, and one answer does not say of which"
    ):
        rl.read(essays, items=["i", "j"], known="gold")
    rl.pack(TABLE, tmp_path / "t.rlpack")
    with pytest.raises(RaterlensError, match="leave it out, or pack again"):
        rl.read(tmp_path / "t.rlpack", known="gold")


def marked(**marks: object) -> pl.DataFrame:
    table = rl.simulate(students=40, raters=5, items=2, seed=1).ratings.table()
    names = sorted(table["rater"].unique())
    said = dict(zip(names, ["yes", "no", None, "No", "TRUE"], strict=True)) | marks
    return table.with_columns(expert=pl.col("rater").replace_strict(said, return_dtype=pl.String))


def test_marks_are_read_and_do_what_naming_the_raters_does() -> None:
    table = marked()
    ratings = rl.read(table, trusted_column="expert")
    names = sorted(table["rater"].unique())
    assert ratings.trusted == (names[0], names[4])
    assert ratings.table().columns == ["student", "rater", "item", "score"]
    by_column = rl.fit(ratings, model="gmf", halo="none")
    by_name = rl.fit(table.drop("expert"), model="gmf", trusted=[names[0], names[4]], halo="none")
    assert by_column.config == by_name.config
    assert by_column.raters.equals(by_name.raters)
    assert rl.fit(
        table, model="gmf", trusted_column="expert", trusted=[names[1]], halo="none"
    ).config.trusted == (names[1],)


def test_whoever_is_left_of_them_stays_trusted() -> None:
    table = marked()
    ratings = rl.read(table, trusted_column="expert")
    assert ratings.subset(ratings.rater != 0).trusted == ratings.trusted[1:]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.with_columns(expert=pl.lit("perhaps")), "'perhaps' at row 1, neither yes nor no"),
        (lambda t: t.with_columns(expert=pl.lit("no")), "marks nobody as trusted"),
        (
            lambda t: t.with_columns(expert=pl.int_range(pl.len()) % 2),
            "is not trusted at row 1, but trusted at row",
        ),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_place(change, said) -> None:
    with pytest.raises(InputError, match=said) as refused:
        rl.read(change(marked()), trusted_column="expert")
    assert refused.value.option == "trusted_column"


def test_the_command_takes_the_column(tmp_path, capsys) -> None:
    marked().write_csv(tmp_path / "marks.csv")
    asked = ["fit", str(tmp_path / "marks.csv"), "--trusted-column", "expert", "--halo", "none", "--json"]
    assert main(asked) == 0
    assert '"trusted"' in capsys.readouterr().out


def test_marks_and_pieces_are_named_when_packing(tmp_path) -> None:
    packed = rl.pack(marked().drop("expert"), tmp_path / "b.rlpack")
    for option in ("trusted_column", "piece"):
        with pytest.raises(OptionError, match="ratings were read when it was packed"):
            rl.read(packed, **{option: "expert"})
