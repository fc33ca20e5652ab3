"""The command line, as a person meets it: what works."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raterlens.app.cli.main import DONE, main
from raterlens.app.cli.options import Columns, Model, Output, as_options, command_line
from raterlens.export.folder import FILES, FLAGS
from tests.support.command_line import Captured


def test_fit_shows_the_table_and_writes_the_results(table: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "results"
    assert main(["fit", str(table), "--out", str(out)]) == DONE
    shown = capsys.readouterr()
    assert shown.err == ""
    for expected in (
        "720 ratings of 60 students by 4 raters on 3 items",
        "Dot",
        "log-likelihood",
        "report.html",
    ):
        assert expected in shown.out
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, FLAGS])
    raters = pl.read_csv(out / "raters.csv")
    assert raters["rater"].to_list() == ["Ann", "Bob", "Cid", "Dot"]
    assert {"kappa", "kappa_low", "kappa_high", "rho", "eta"} <= set(raters.columns)
    assert f"raterlens fit {table}" in (out / "report.html").read_text(encoding="utf-8")


def test_table_is_sorted_by_capability(table: Path, capsys: Captured) -> None:
    main(["fit", str(table), "--json"])
    raters = json.loads(capsys.readouterr().out)["tables"]["raters"]
    by_kappa = [name for _, name in sorted(zip(raters["kappa"], raters["rater"], strict=True), reverse=True)]
    main(["fit", str(table)])
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in by_kappa]
    assert shown == by_kappa


def test_json_is_the_only_output_and_equals_the_file(table: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "results"
    assert main(["fit", str(table), "--json", "--out", str(out)]) == DONE
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out == (out / "fit.json").read_text(encoding="utf-8") + "\n"
    fit = json.loads(shown.out)
    expected = {"model", "method", "link", "loglik", "sigma", "alpha", "converged", "n_parameters"}
    assert expected <= set(fit)
    assert (fit["model"], fit["method"], fit["link"], fit["converged"]) == ("gmf", "mml", "logit", True)


def test_quiet_prints_nothing(table: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["fit", str(table), "--quiet", "--out", str(tmp_path / "results")]) == DONE
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "results" / "report.html").exists()


def test_wide_table_composite_rater_and_cut(ratings: pl.DataFrame, tmp_path: Path, capsys: Captured) -> None:
    wide = ratings.pivot("item", index=["student", "rater"], values="score")
    wide = wide.rename({"0": "a", "1": "b", "2": "c"}).with_columns(
        pl.col("a", "b", "c") * 3, topic=pl.lit("x, y")
    )
    wide.rename({"student": "pid", "topic": "the,topic"}).write_csv(tmp_path / "wide.csv")
    options = ["--student", "pid", "--rater", 'rater,"the,topic"', "--items", "a, b,c", "--cut", "3"]
    assert main(["fit", str(tmp_path / "wide.csv"), *options, "--json"]) == DONE
    composite = json.loads(capsys.readouterr().out)
    assert composite["tables"]["raters"]["rater"] == ["Ann:x, y", "Bob:x, y", "Cid:x, y", "Dot:x, y"]
    ratings.write_csv(tmp_path / "long.csv")
    main(["fit", str(tmp_path / "long.csv"), "--json"])
    assert json.loads(capsys.readouterr().out)["loglik"] == pytest.approx(composite["loglik"], abs=1e-9)


@pytest.mark.parametrize(
    "option", [("--model", "tfm"), ("--method", "laplace"), ("--method", "hl"), ("--link", "probit")]
)
def test_options_reach_the_fit(table: Path, capsys: Captured, option: tuple[str, str]) -> None:
    assert main(["fit", str(table), *option, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)[option[0][2:]] == option[1]


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


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    pytest.importorskip("raterlens.simulation.example", reason="the bundled example is not there yet")
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == DONE
    assert str(Path("raterlens-demo") / "report.html") in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "raterlens-demo").iterdir()) == sorted([*FILES, FLAGS])


def test_large_panel_shows_both_ends(tmp_path: Path, capsys: Captured) -> None:
    rng = np.random.default_rng(3)
    rater, student = (
        np.repeat(np.arange(60), 20),
        (np.repeat(np.arange(60), 20) * 3 + np.tile(np.arange(20), 60)) % 150,
    )
    score = rng.normal(0, 1, 1200) < rng.normal(0, 1.5, 150)[student]
    table = {"student": student, "rater": [f"R{r:03d}" for r in rater], "score": score.astype(int)}
    pl.DataFrame(table).write_csv(tmp_path / "large.csv")
    assert main(["fit", str(tmp_path / "large.csv"), "--model", "tfm"]) == DONE
    shown = capsys.readouterr().out
    assert "40 raters between are not shown; find everyone with --all" in " ".join(shown.split())
    assert sum(line.startswith("R0") for line in shown.splitlines()) == 20
    main(["fit", str(tmp_path / "large.csv"), "--model", "tfm", "--all"])
    assert sum(line.startswith("R0") for line in capsys.readouterr().out.splitlines()) == 60


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["fit", "--help"], ["check", "--help"], ["demo", "--help"]]
)
def test_help_has_examples(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == DONE
    shown = capsys.readouterr().out
    assert "Usage: raterlens" in shown
    assert "demo" in arguments or "Examples:" in shown


def test_version(capsys: Captured) -> None:
    from importlib.metadata import version

    assert main(["--version"]) == DONE
    assert capsys.readouterr().out.strip() == version("raterlens")


def test_command_for_the_report_gives_the_same_fit() -> None:
    columns = Columns(student="pid", rater="rater,topic", items="a,b", cut=3.0)
    line = command_line(Path("my essays.csv"), columns, Model(model="tfm"), Output(out=Path("results")))
    assert line == (
        "raterlens fit 'my essays.csv' --student pid --rater rater,topic --items a,b --cut 3 "
        "--model tfm --method mml --out results"
    )


def test_several_columns_make_a_student(ratings: pl.DataFrame, tmp_path: Path, capsys: Captured) -> None:
    half = ratings.with_columns(day=pl.col("item") % 2)
    half.write_csv(tmp_path / "days.csv")
    assert main(["check", str(tmp_path / "days.csv"), "--student", "student,day"]) == DONE
    assert "of 120 students" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("name it with student=; the columns are", "name it with --student; the columns are"),
        ("(encoding='cp1252' for most)", "(--encoding cp1252 for most)"),
        ("give wide='{rater} {item}'", "give --wide '{rater} {item}'"),
        ("give student=['student', 'epoch']", "give --student student,epoch"),
        ("shrink=True with 2 raters", "--shrink with 2 raters"),
        ("passes (score >= cut=3), so", "passes (score >= cut=3), so"),
        ("the column 'cut=3'", "the column 'cut=3'"),
    ],
)
def test_messages_name_options_instead_of_arguments(message: str, shown: str) -> None:
    assert as_options(message) == shown
