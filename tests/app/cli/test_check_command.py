"""`raterlens check`: the data and the design alone; `tests/export/test_gate.py` has the gate."""

from pathlib import Path

import polars as pl

from raterlens.app.cli.main import AT_FAULT, DONE, main
from tests.support.command_line import Captured


def test_check_reads_and_examines_only(table: Path, capsys: Captured) -> None:
    assert main(["check", str(table)]) == DONE
    shown = capsys.readouterr().out
    assert "720 ratings of 60 students by 4 raters on 3 items" in shown
    assert "Student column: 'student' (recognised)" in shown
    assert "log-likelihood" not in shown


def test_check_names_groups_that_share_no_student(
    ratings: pl.DataFrame, tmp_path: Path, capsys: Captured
) -> None:
    apart = ratings.filter((pl.col("student") < 30) == pl.col("rater").is_in(["Ann", "Bob"]))
    apart.write_csv(tmp_path / "apart.csv")
    assert main(["check", str(tmp_path / "apart.csv")]) == DONE
    assert "2 groups that share no student" in " ".join(capsys.readouterr().out.split())


def test_several_columns_make_a_student(ratings: pl.DataFrame, tmp_path: Path, capsys: Captured) -> None:
    half = ratings.with_columns(day=pl.col("item") % 2)
    half.write_csv(tmp_path / "days.csv")
    assert main(["check", str(tmp_path / "days.csv"), "--student", "student,day"]) == DONE
    assert "of 120 students" in capsys.readouterr().out


def test_options_of_a_fit_need_a_bound(table: Path, capsys: Captured) -> None:
    for option in (["--model", "tfm"], ["--covariance", "sandwich"], ["--confident"]):
        assert main(["check", str(table), *option]) == AT_FAULT
        assert (
            "no bound is set to judge raters by; add one, such as --min-sharpness 0.5"
            in capsys.readouterr().err
        )
