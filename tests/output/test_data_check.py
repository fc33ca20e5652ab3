"""`rl.check`: what the command `check` says, from Python."""

import json
from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, main
from raterlens.base.errors import InputError, OptionError


@pytest.fixture
def halves() -> pl.DataFrame:
    """Two panels that share no student, and ratings of the same student, rater and item twice."""
    table = rl.simulate(students=40, raters=4, items=1, seed=2).ratings.table()
    upper = pl.col("student") > "S20"
    return table.filter(upper == (pl.col("rater") > "R2"))


def test_python_says_what_the_command_says(
    halves: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "halves.csv"
    pl.concat([halves, halves.head(3)]).write_csv(path)
    code = main(["check", str(path), "--json"])
    said = json.loads(capsys.readouterr().out)
    found = rl.check(path)
    assert found.ratings.n_ratings == said["n_ratings"]
    assert list(found.warnings) == said["warnings"]
    assert [str(question) for question in found.questions] == said["questions"]
    assert found.request.command() == said["command"]
    assert (code == AT_FAULT) == bool(found.questions)
    assert any("cannot be compared" in text or "no student" in text for text in found.warnings)


def test_it_prints_for_people(halves: pl.DataFrame) -> None:
    shown = str(rl.check(halves))
    assert shown.startswith("80 ratings of 40 students by 4 raters on 1 item\n")
    assert "Cautions\n - " in shown


def test_what_cannot_be_read_is_refused(halves: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        rl.check(tmp_path / "none.csv")
    with pytest.raises(OptionError, match="have been read"):
        rl.check(rl.read(halves), cut=1)
