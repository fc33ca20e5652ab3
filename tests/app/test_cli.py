"""The command line, as a person meets it: commands, bad input, odd terminals, closed pipes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from raterlens.app import commands
from raterlens.app.cli import AT_FAULT, DONE, FAILED, INTERRUPTED, main
from raterlens.app.options import Columns, Model, Output, command_line
from raterlens.app.progress import watching
from raterlens.writing import FILES, FLAGS

Captured = pytest.CaptureFixture[str]

RUN = "from raterlens.app.cli import main; raise SystemExit(main())"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program as its own process."""
    command = [sys.executable, "-W", "error", "-c", RUN, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, env=os.environ | environment, timeout=120, check=False
    )


@pytest.fixture(scope="session")
def ratings() -> pl.DataFrame:
    """60 students, 4 raters of whom one is severe, 3 items; one row a rating."""
    rng = np.random.default_rng(7)
    student, rater, item = (
        a.ravel() for a in np.meshgrid(np.arange(60), np.arange(4), np.arange(3), indexing="ij")
    )
    ability, severity = rng.normal(0, 1.5, 60), np.array([0.0, 0.3, -0.5, 2.0])
    chance = 1 / (1 + np.exp(-ability[student] + severity[rater]))
    names = np.array(["Ann", "Bob", "Cid", "Dot"])
    table = {"student": student, "rater": names[rater], "item": item, "score": rng.binomial(1, chance)}
    return pl.DataFrame(table)


@pytest.fixture
def table(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    ratings.write_csv(path)
    return path


# ------------------------------------------------------------------------------------------ what works


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
    pytest.importorskip("raterlens.studies.example", reason="the bundled example is not there yet")
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


# ------------------------------------------------------------------------------------------ bad input

HEADER = "student,rater,item,score\n"
GOOD = HEADER + "1,A,x,1\n1,B,x,0\n2,A,x,0\n2,B,x,1\n"

BAD_FILES: dict[str, tuple[str | bytes, Sequence[str], str]] = {
    "empty file": ("", (), "empty"),
    "header only": (HEADER, (), "no rows"),
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe", (), "bad.csv"),
    "ragged rows": (GOOD + "3,A,x,1,9,9\n", (), "6"),
    "wrong encoding": ("student,rater,item,score\n1,J\xfcrgen,x,1\n2,A,x,0\n".encode("latin-1"), (), "utf-8"),
    "unknown encoding": (GOOD, ("--encoding", "klingon"), "klingon"),
    "missing column": (GOOD, ("--rater", "judge"), "judge"),
    "doubled column": ("student,rater,item,score,score\n1,A,x,1,0\n2,A,x,0,1\n", (), "score"),
    "text score": (GOOD + "3,A,x,good\n", (), "good"),
    "fractional score": (GOOD + "3,A,x,0.5\n", (), "0.5"),
    "negative score": (GOOD + "3,A,x,-1\n", (), "-1"),
    "infinite score": (GOOD + "3,A,x,inf\n", (), "inf"),
    "ordered scores for a model of pass and fail": (GOOD + "3,A,x,7\n", ("--model", "probit"), "7"),
    "unknown scale": (GOOD, ("--scale", "likert"), "likert"),
    "all scores missing": (HEADER + "1,A,x,\n2,A,x,\n", (), "missing"),
    "one rating": (HEADER + "1,A,x,1\n", (), "1 rating"),
    "one student": (HEADER + "77,A,x,1\n77,B,x,0\n", (), "77"),
    "all pass": (HEADER + "1,A,x,1\n2,A,x,1\n", (), "all 2 ratings are passes"),
    "all fail": (HEADER + "1,A,x,0\n2,A,x,0\n", (), "all 2 ratings are fails"),
    "unknown model": (GOOD, ("--model", "gmff"), "did you mean 'gmf'?"),
    "unknown method": (GOOD, ("--method", "reml"), "reml"),
    "unknown link": (GOOD, ("--link", "logti"), "did you mean 'logit'?"),
    "unknown option": (GOOD, ("--modle", "gmf"), "--modle"),
    "cut that is no number": (GOOD, ("--cut", "high"), "high"),
    "cut that is not finite": (GOOD, ("--cut", "nan"), "nan"),
    "empty column name": (GOOD, ("--rater", "rater,"), "'rater,'"),
    "option without a value": (GOOD, ("--student",), "--student"),
}


def at_fault(capsys: Captured, arguments: Sequence[str | Path], seen: str) -> None:
    """Exit code 2, and one message that holds the value seen."""
    assert main([str(argument) for argument in arguments]) == AT_FAULT
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("raterlens: ")
    assert shown.err.count("raterlens: ") == 1
    assert "Traceback" not in shown.err
    assert seen in shown.err


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_table_or_option(case: str, tmp_path: Path, capsys: Captured) -> None:
    content, options, seen = BAD_FILES[case]
    path, out = tmp_path / "bad.csv", tmp_path / "results"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    at_fault(capsys, ["fit", path, "--out", out, *options], seen)
    assert sorted(tmp_path.iterdir()) == [path]


def test_no_such_file(tmp_path: Path, capsys: Captured) -> None:
    at_fault(capsys, ["fit", tmp_path / "nowhere.csv", "--out", tmp_path / "results"], "nowhere.csv")
    assert not (tmp_path / "results").exists()


def test_a_folder(tmp_path: Path, capsys: Captured) -> None:
    at_fault(capsys, ["fit", tmp_path], tmp_path.name)


def test_no_file_given(capsys: Captured) -> None:
    at_fault(capsys, ["fit"], "FILE")


def test_unknown_command(capsys: Captured) -> None:
    at_fault(capsys, ["fitt"], "fitt")


def test_out_is_checked_before_anything_is_read(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("mine")
    at_fault(capsys, ["fit", "nowhere.csv", "--out", tmp_path / "taken"], "taken")
    at_fault(capsys, ["fit", "nowhere.csv", "--out", tmp_path / "taken" / "below"], "below")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raterlens-demo").write_text("mine")
    at_fault(capsys, ["demo"], "raterlens-demo")
    assert (tmp_path / "taken").read_text() == "mine"


def test_bad_input_as_a_process(tmp_path: Path) -> None:
    done = run("fit", tmp_path / "nowhere.csv")
    assert (done.returncode, done.stdout) == (AT_FAULT, b"")
    assert done.stderr.count(b"\n") == 1


# ------------------------------------------------------------------- what is nobody's or our own fault


def broken(error: BaseException) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_a_bug_says_how_to_report_it(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(commands, "fit", broken(RuntimeError("unlucky")))
    monkeypatch.delenv("RATERLENS_DEBUG", raising=False)
    assert main(["fit", str(table)]) == FAILED
    message = capsys.readouterr().err
    assert "RuntimeError: unlucky" in message
    assert "RATERLENS_DEBUG=1" in message
    assert "Traceback" not in message
    monkeypatch.setenv("RATERLENS_DEBUG", "1")
    assert main(["fit", str(table)]) == FAILED
    assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_is_not_called_a_bug(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(commands, "fit", broken(OSError(28, "No space left on device")))
    assert main(["fit", str(table)]) == FAILED
    message = capsys.readouterr().err
    assert "No space left on device" in message
    assert "fault in Raterlens" not in message


def test_interrupt(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(commands, "fit", broken(KeyboardInterrupt()))
    assert main(["fit", str(table)]) == INTERRUPTED
    assert capsys.readouterr().err == "raterlens: interrupted\n"


def test_closed_stderr_leaves_stdout_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["fit", str(tmp_path / "nowhere.csv")]) == AT_FAULT
    assert capsys.readouterr().out == ""


def test_closed_pipe_is_quiet(table: Path) -> None:
    for options in ([], ["--json"]):
        command = [sys.executable, "-c", RUN, "fit", str(table), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        assert (process.wait(timeout=120), complaint) == (DONE, b"")


# ------------------------------------------------------------------------------------------- terminals


@pytest.fixture
def foreign(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    """Labels that a plain terminal cannot show, or must not obey."""
    names = {"Ann": "Åsa 王", "Bob": "[red]Bob[/red]", "Cid": "Cid\x1b[2J", "Dot": "D" * 90}
    path = tmp_path / "foreign.csv"
    ratings.with_columns(pl.col("rater").replace(names)).write_csv(path)
    return path


@pytest.mark.parametrize(
    "terminal",
    [
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "30"},
        {"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1"},
        {"COLUMNS": "5", "TERM": "dumb"},
        {"PYTHONIOENCODING": "utf-8", "FORCE_COLOR": "1", "COLUMNS": "300"},
    ],
    ids=lambda terminal: " ".join(f"{key}={value}" for key, value in terminal.items()),
)
def test_odd_terminals(foreign: Path, terminal: dict[str, str]) -> None:
    done = run("fit", foreign, **terminal)
    assert (done.returncode, done.stderr) == (DONE, b"")
    assert b"\x1b[2J" not in done.stdout


def test_labels_are_not_markup(foreign: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    main(["fit", str(foreign)])
    shown = capsys.readouterr().out
    assert "[red]Bob[/red]" in shown
    assert "Åsa 王" in shown


def test_json_survives_a_plain_terminal(foreign: Path) -> None:
    done = run("fit", foreign, "--json", PYTHONIOENCODING="ascii")
    assert done.stderr == b""
    assert "Åsa 王" in json.loads(done.stdout)["tables"]["raters"]["rater"]


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with watching("reading") as silent:
        assert silent is None
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with watching("reading", unless=True) as silent:
        assert silent is None
    assert screen.getvalue() == ""
    with watching("reading [bold]a.csv"):
        pass
    assert "reading [bold]a.csv" in screen.getvalue()
    with watching("reading") as report:
        assert report is not None
        report(SimpleNamespace(stage="mml", iteration=3, loglik=-3297.7409))
    assert "mml: step 3, log-likelihood -3,297.7409" in screen.getvalue()


# -------------------------------------------------------------------------------------------- start-up


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["--version"], ["fit", "--modle", "x"], ["fitt"]]
)
def test_help_and_mistakes_are_answered_without_heavy_imports(arguments: list[str]) -> None:
    heavy = ("scipy", "polars", "numpy", "jinja2", "narwhals", "numba", "altair", "pandas", "pyarrow")
    probe = (
        "import sys; from raterlens.app.cli import main; main(sys.argv[1:]); "
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("report", [False, True])
def test_a_fit_imports_no_dataframe_or_chart_library_it_does_not_need(
    table: Path, tmp_path: Path, report: bool
) -> None:
    spare = ("pandas", "pyarrow", "numba", "scipy.stats", "matplotlib", *(() if report else ("altair",)))
    probe = (
        "import sys; from raterlens.app.cli import main; code = main(sys.argv[1:]); "
        f"sys.exit(code or ','.join(m for m in {spare} if m in sys.modules) or None)"
    )
    arguments = ["fit", str(table), *(["--out", str(tmp_path / "results")] if report else [])]
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
