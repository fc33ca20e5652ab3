"""raterlens simulate: a file of ratings, and the truth behind them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main


def test_ratings_and_their_truth(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ratings, truth = tmp_path / "ratings.parquet", tmp_path / "truth.csv"
    design = ["--students", "400", "--raters", "6", "--items", "4", "--raters-per-student", "3"]
    assert main(["simulate", *design, "--seed", "5", "--truth", str(truth), "--out", str(ratings)]) == 0
    assert "4,800 ratings written to" in capsys.readouterr().out
    expected = rl.simulate(students=400, raters=6, items=4, raters_per_student=3, seed=5)
    assert rl.read(ratings).score.tolist() == expected.ratings.score.tolist()
    table = pl.read_csv(truth)
    np.testing.assert_allclose(table["kappa"], expected.truth.kappa)
    # The files fit together: estimates go with the truth.
    found = rl.fit(ratings).raters.join(table, on="rater", suffix="_true")
    assert np.corrcoef(found["kappa"], found["kappa_true"])[0, 1] > 0.9


def test_ordered_scores(tmp_path: Path) -> None:
    out = tmp_path / "marks"
    assert main(["simulate", "--categories", "5", "--to", "csv", "--out", str(out)]) == 0
    assert rl.read(out, format="csv").n_categories == 5


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--out", "ratings.txt"], "does not say what kind of file to write; add --to csv"),
        (["--out", "nowhere/ratings.csv"], "give a file in an existing folder"),
        (["--out", "a.csv", "--categories", "1"], "--categories 1; give 2"),
        (["--out", "a.csv", "--categories", "4", "--model", "hrm"], "leave out --categories"),
        (["--out", "a.csv", "--truth", "a.csv"], "a csv file of its own"),
        (["--out", "a.csv", "--truth", "a.parquet"], "a csv file of its own"),
        (["--out", "a.csv", "--students", "1"], "give a whole number of at least 2"),
        (["--out", "a.csv", "--raters", "3", "--raters-per-student", "4"], "more than the 3 raters"),
        (["--out", "a.csv", "--model", "rasch"], "'rasch'"),
    ],
)
def test_what_cannot_be_drawn(
    arguments: list[str],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *arguments]) == 2
    assert what in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
