"""raterlens next: what whom to let mark."""

from pathlib import Path

import polars as pl

import raterlens as rl
from raterlens.app.cli.main import main
from tests.support.command_line import Captured


def test_next_readings_on_the_screen_and_in_a_file(tmp_path: Path, capsys: Captured) -> None:
    ratings, out = tmp_path / "ratings.csv", tmp_path / "next.csv"
    drawn = rl.simulate(students=80, raters=5, items=2, raters_per_student=2, seed=1).ratings
    drawn.table().write_csv(ratings)
    assert main(["next", str(ratings), "--budget", "12", "--capacity", "4"]) == 0
    shown = capsys.readouterr().out
    assert "12 readings: the mean standard error of kappa is expected to fall from" in shown
    assert "and 2 more" in shown
    fit = rl.fit(drawn, reference="perfect", halo="none")
    fit.save(tmp_path / "fit.json")
    given = ["--fit", str(tmp_path / "fit.json"), "--budget", "12", "--capacity", "4", "--out", str(out)]
    assert main(["next", str(ratings), *given]) == 0
    table = pl.read_csv(out)
    assert table.columns == ["student", "rater", "gain"]
    assert table["rater"].value_counts()["count"].max() == 4
    assert table.select("student", "rater").equals(
        rl.next_marks(fit, drawn, 12, capacity=4).table.select("student", "rater")
    )


def test_a_budget_of_nothing_is_refused(tmp_path: Path, capsys: Captured) -> None:
    ratings = tmp_path / "ratings.csv"
    rl.simulate(students=40, raters=3, items=2, seed=1).ratings.table().write_csv(ratings)
    assert main(["next", str(ratings), "--budget", "0"]) == 2
    assert "budget is 0; give a whole number of at least 1" in capsys.readouterr().err
