"""`raterlens fit --time --groups`: columns besides the model, tested for drift and bias and written."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.planted_faults import panel
from raterlens.app.cli.main import main
from raterlens.errors import InputError
from raterlens.ratings.grouping_columns import times


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """The first rater is 1.5 logits more severe from the middle on; rows in any order, some without a score."""
    ratings = panel(2, "drift")
    frame = pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater),
            "item": ratings.items.gather(ratings.item),
            "score": pl.Series(ratings.score, dtype=pl.Int64),
            "day": [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in np.arange(ratings.n_ratings) // 40],
            "school": np.array(["north", "south"])[ratings.student % 2],
        }
    )
    frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    blank = pl.int_range(pl.len()) % 50 == 7
    return frame.with_columns(score=pl.when(blank).then(None).otherwise("score"))


def test_drift_and_bias_are_tested_and_written(table: pl.DataFrame, tmp_path: Path, capsys):
    table.write_csv(tmp_path / "ratings.csv")
    out = tmp_path / "results"
    options = ["--time", "day", "--groups", "school", "--out", str(out)]
    assert main(["fit", str(tmp_path / "ratings.csv"), *options]) == 0
    flags = pl.read_csv(out / "flags.csv")
    assert flags.filter(rater="R01", effect="drift").height == 1
    change = pl.read_csv(out / "change.csv")
    assert change.height == 12
    bias = pl.read_csv(out / "bias.csv")
    assert bias.columns[:3] == ["rater", "of", "level"]
    assert bias.height == 24
    assert (bias["n"].sum(), set(bias["level"])) == (
        table["score"].drop_nulls().len(),
        {"north", "south"},
    )
    drift = pl.read_csv(out / "drift.csv").filter(rater="R01")
    assert drift["eta"][-1] > drift["eta"][0] + 0.5
    said = " ".join(capsys.readouterr().out.split())  # lines break where the terminal ends
    assert "logits more severe since about 2024-0" in said


def test_columns_at_fault_are_named(table: pl.DataFrame, tmp_path: Path, capsys):
    path = tmp_path / "ratings.csv"
    strange = pl.lit("week 1") + pl.col("day").str.slice(6)
    table.with_columns(day=strange, country=pl.lit("NL")).write_csv(path)
    for options, message in (
        (["--time", "dya"], "no column 'dya'"),
        (["--time", "day"], "neither a number nor a date"),
        (["--groups", "school,"], "--groups 'school,' has an empty name"),
        (["--groups", "school,school"], "'school' is given more than once for --time and --groups"),
        (["--groups", "item"], "by its name it is the column of items"),
        (["--groups", "country"], "column 'country' is 'NL' in every row"),
    ):
        assert main(["fit", str(path), *options, "--out", str(tmp_path / "results")]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "results").exists()


def test_times_sort_as_times():
    assert times(pl.Series("t", ["10", "9", "2"])).arg_sort().to_list() == [2, 1, 0]
    assert times(pl.Series("t", ["2024-05-31 09:30:00"])).dtype == pl.Datetime
    with pytest.raises(InputError, match=r"'week 2' in the column of times"):
        times(pl.Series("t", ["1", "week 2"]))
