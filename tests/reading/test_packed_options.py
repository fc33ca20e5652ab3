"""Options that packed ratings cannot follow any more are refused, never passed over."""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import OptionError

TABLE = pl.DataFrame({"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 3, 2, 1]})


@pytest.mark.parametrize(
    "options",
    [
        {"bands": [2]},
        {"map": "3=1"},
        {"wide": "{rater}"},
        {"as_written": True},
        {"table": "x"},
        {"encoding": "cp1252"},
        {"format": "csv"},
        {"draw": "epoch"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_was_settled_when_packing_is_refused_afterwards(
    options: dict[str, object], tmp_path: Path
) -> None:
    path = rl.pack(TABLE, tmp_path / "x.rlpack")
    with pytest.raises(OptionError, match="when it was packed"):
        rl.read(path, **options)


@pytest.mark.parametrize(
    "option",
    ["--piece", "--known", "--trusted-column", "--draw", "--population-by"],
    ids=lambda option: option[2:],
)
def test_packing_says_what_packed_files_do_not_hold(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "r.csv"
    TABLE.with_columns(essay=pl.lit(1)).write_csv(table)
    assert main(["pack", str(table), "--out", str(tmp_path / "r.rlpack"), option, "essay"]) == 2
    assert "packed files hold ratings only" in capsys.readouterr().err
    assert not (tmp_path / "r.rlpack").exists()


def test_labels_that_differ_in_blanks_within_are_one_rater() -> None:
    raters = ["Ann  Lee", "ann lee", "Bob"] * 4
    table = pl.DataFrame(
        {"student": [n // 3 for n in range(12)], "rater": raters, "score": [n % 2 for n in range(12)]}
    )
    ratings = rl.read(table, duplicates="keep")
    assert ratings.n_raters == 2
    assert any("look like the same rater" in note for note in ratings.notes)
