"""A column that marks whom you trust."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError, OptionError
from raterlens.config import ReadConfig
from raterlens.reading.packing import pack_ratings


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
    by_column = rl.fit(ratings, halo="none")
    by_name = rl.fit(table.drop("expert"), trusted=[names[0], names[4]], halo="none")
    assert by_column.config == by_name.config
    assert by_column.raters.equals(by_name.raters)
    assert rl.fit(table, trusted_column="expert", trusted=[names[1]], halo="none").config.trusted == (
        names[1],
    )


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


def test_packed_files_hold_neither_marks_nor_pieces(tmp_path) -> None:
    table = marked()
    with pytest.raises(OptionError, match="nobody whom you trust"):
        pack_ratings(table, tmp_path / "a.rlpack", ReadConfig(trusted_column="expert"))
    packed = rl.pack(table.drop("expert"), tmp_path / "b.rlpack")
    for option in ("trusted_column", "piece"):
        with pytest.raises(OptionError, match="ratings were read when it was packed"):
            rl.read(packed, **{option: "expert"})
