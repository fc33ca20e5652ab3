"""Known answers and trusted raters."""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, OptionError, RaterlensError
from tests.support.known_tables import TABLE, answers

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
