"""`raterlens check`: the data and the design alone; `tests/output/test_gate.py` has the gate."""

import json
import shlex
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


STRANGE = """Marks of June

Student;Ann;Bob;Cleo;Mean
a;55;61;70;62
b;80;75;88;81
c;31;42;38;37
d;66;64;71;67
Total;232;242;267;247
"""


def test_what_is_asked_comes_with_the_command_that_accepts_it(tmp_path: Path, capsys: Captured) -> None:
    """From a strange file to a report in two commands."""
    (tmp_path / "strange.csv").write_text(STRANGE)
    assert main(["check", str(tmp_path / "strange.csv")]) == 2
    told = capsys.readouterr().out
    for words in (
        "12 ratings of 4 students by 3 raters",
        "Please confirm or change",
        "looks like a total",
        "5 bands",
    ):
        assert words in told
    command = shlex.split(next(line for line in told.splitlines() if line.startswith("raterlens fit")))
    assert main([*command[1:], "--out", str(tmp_path / "results")]) == 0
    assert (tmp_path / "results" / "report.html").exists()
    capsys.readouterr()
    assert main(["fit", str(tmp_path / "strange.csv"), "--out", str(tmp_path / "other")]) == 2
    assert f"To accept all of it: {shlex.join(command)} --out" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_the_proposal_as_json(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "strange.csv").write_text(STRANGE)
    assert main(["check", str(tmp_path / "strange.csv"), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["n_ratings"] == 12
    assert "--bands" in told["command"]
    assert len(told["questions"]) == 1


def test_a_file_that_is_understood_ends_with_the_command_that_says_everything(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "plain.csv").write_text("student,rater,verdict\n1,a,good\n2,a,bad\n1,b,good\n2,b,good\n")
    assert main(["check", str(tmp_path / "plain.csv")]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.endswith("plain.csv --student student --rater rater --score verdict --map good=1,bad=0")
