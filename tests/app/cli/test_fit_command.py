"""`raterlens fit` and `raterlens demo`: from a file to results."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from benchmarks.truth.planted_faults import panel
from raterlens.app.cli.main import AT_FAULT, DONE, main
from raterlens.fitting.run import sample_for_diagnostics
from raterlens.output.folder import FILES, FLAGS
from raterlens.output.report.reproduce import Request
from tests.support.command_line import Captured

DIAGNOSED_PANEL = ("unexpected.csv", "bias.csv", "pairs.csv")
"""Files of a panel with several items and common work."""


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
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*FILES, FLAGS, "interactions.csv", *DIAGNOSED_PANEL]
    )
    raters = pl.read_csv(out / "raters.csv")
    assert raters["rater"].to_list() == ["Ann", "Bob", "Cid", "Dot"]
    assert {"kappa", "kappa_low", "kappa_high", "rho", "eta"} <= set(raters.columns)
    assert f"raterlens fit {table}" in (out / "report.html").read_text(encoding="utf-8")


def test_a_report_has_a_title_and_is_compared_with_the_last_one(
    table: Path, tmp_path: Path, capsys: Captured
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["fit", str(table), "--out", str(first), "--quiet", "--model", "gmf"]) == DONE
    options = ["--model", "gmf", "--title", "Essays, June", "--previous", str(first / "fit.json")]
    assert main(["fit", str(table), "--out", str(second), "--quiet", *options]) == DONE
    page = (second / "report.html").read_text(encoding="utf-8")
    assert "<title>Essays, June: " in page
    assert "No rater’s standard or sharpness has changed beyond chance (4 raters compared)." in page
    one, two = (pl.read_csv(folder / "raters.csv") for folder in (first, second))
    assert_frame_equal(one, two, abs_tol=1e-4)  # it began from the earlier one
    steps = [
        json.loads((folder / "fit.json").read_text())["optimiser"]["iterations"] for folder in (first, second)
    ]
    assert steps[1] < steps[0]
    assert "start=rl.load(" in page
    assert main(["fit", str(table), *options]) == AT_FAULT
    assert "--out DIR" in capsys.readouterr().err


def test_decisions_are_shown_and_written(table: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "results"
    rows = pl.read_csv(table)
    table = tmp_path / "some.csv"
    rows.filter((pl.col("rater") != "Ann") | (pl.col("student").rank("dense") % 2 == 0)).write_csv(table)
    assert main(["fit", str(table), "--decide", "0.5", "--remark", "4", "--out", str(out)]) == DONE
    shown = capsys.readouterr().out
    assert "Of 60 decisions, " in shown
    assert "4 further marks of " in shown
    decided, marks = (pl.read_csv(out / f"{name}.csv") for name in ("decisions", "remark"))
    assert decided.height == 60
    assert {"raw", "fair", "fair_se", "grade", "p_fail", "p_pass", "safe"} <= set(decided.columns)
    assert marks.height == 4
    assert pl.read_csv(out / "accuracy.csv")["method"].to_list() == [
        "posterior",
        "posterior",
        "Rudner",
        "Lee",
    ]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "--decide 0.5 --remark 4" in page
    assert 'id="decisions"' in page
    scope: dict[str, Any] = {}
    exec(Request(file=str(table), decide="0.5", remark=4).call(), scope)
    again, plan = scope["decisions"].table, scope["remark"].table
    np.testing.assert_allclose(again["p_pass"], decided["p_pass"])
    assert plan["rater"].to_list() == marks["rater"].to_list()
    assert main(["fit", str(table), "--out", str(out), "--quiet"]) == DONE
    assert not (out / "decisions.csv").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--decide", "3"], "a cut at 3, but scores go from 0 to 1; give a mean score between them"),
        (["--remark", "5"], "--remark plans marks for decisions; give the cut as well, such as --decide 1.5"),
        (["--decide", "0.5", "--model", "hrm"], "model 'hrm' has no ability to decide by; fit --model gmf"),
    ],
)
def test_decisions_that_cannot_be_are_refused(
    table: Path, capsys: Captured, options: list[str], says: str
) -> None:
    assert main(["fit", str(table), *options]) == AT_FAULT
    assert says in capsys.readouterr().err


def test_what_it_means_comes_before_who(table: Path, capsys: Captured) -> None:
    main(["fit", str(table)])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.index("would change between pass and fail") < shown.index("Verdict")
    assert "p < 0.001" in shown or "p = 0." in shown


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
    assert "40 raters in between not shown; add --all" in " ".join(shown.split())
    assert sum(line.startswith("R0") for line in shown.splitlines()) == 20
    main(["fit", str(tmp_path / "large.csv"), "--model", "tfm", "--all"])
    assert sum(line.startswith("R0") for line in capsys.readouterr().out.splitlines()) == 60


@pytest.fixture(scope="module")
def dated() -> pl.DataFrame:
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


def test_drift_and_bias_are_tested_and_written(dated: pl.DataFrame, tmp_path: Path, capsys):
    dated.write_csv(tmp_path / "ratings.csv")
    out = tmp_path / "results"
    options = ["--time", "day", "--groups", "school", "--out", str(out)]
    assert main(["fit", str(tmp_path / "ratings.csv"), *options]) == 0
    flags = pl.read_csv(out / "flags.csv")
    assert flags.filter(rater="R01", effect="drift").height == 1
    change = pl.read_csv(out / "change.csv")
    assert change.height == 12
    bias = pl.read_csv(out / "bias.csv")
    assert bias.columns[:3] == ["rater", "of", "level"]
    bias = bias.filter(of="school")
    assert bias.height == 24
    assert (bias["n"].sum(), set(bias["level"])) == (
        dated["score"].drop_nulls().len(),
        {"north", "south"},
    )
    drift = pl.read_csv(out / "drift.csv").filter(rater="R01")
    assert drift["eta"][-1] > drift["eta"][0] + 0.5
    said = " ".join(capsys.readouterr().out.split())  # lines break where the terminal ends
    assert "logits more severe since 2024-0" in said
    again = ["--time", "day", "--previous", str(out / "fit.json"), "--out", str(tmp_path / "again")]
    assert main(["fit", str(tmp_path / "ratings.csv"), *again]) == 0
    assert "Since the previous fit" in capsys.readouterr().out
    alarms = pl.read_csv(tmp_path / "again" / "alarms.csv")
    assert alarms.sort("evidence")["rater"][-1] == "R01"


def test_columns_at_fault_are_named(dated: pl.DataFrame, tmp_path: Path, capsys):
    path = tmp_path / "ratings.csv"
    strange = pl.lit("week 1") + pl.col("day").str.slice(6)
    dated.with_columns(day=strange, country=pl.lit("NL")).write_csv(path)
    for options, message in (
        (["--time", "dya"], "no column 'dya'"),
        (["--time", "day"], "neither a number nor a date"),
        (["--groups", "school,"], "--groups 'school,' has an empty name"),
        (["--groups", "school,school"], "'school' is given more than once for --time and --groups"),
        (["--groups", "item"], "'item' looks like the item column"),
        (["--groups", "country"], "column 'country' is 'NL' in every row"),
    ):
        assert main(["fit", str(path), *options, "--out", str(tmp_path / "results")]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "results").exists()


def test_a_saved_fit_is_the_same_from_python(table: Path, tmp_path: Path) -> None:
    assert main(["fit", str(table), "--out", str(tmp_path / "out"), "--quiet"]) == DONE
    rl.fit(rl.read(table)).save(tmp_path / "python.json")
    assert (tmp_path / "out" / "fit.json").read_bytes() == (tmp_path / "python.json").read_bytes()


def test_anchors_and_covariates_come_from_files(
    ratings: pl.DataFrame, table: Path, tmp_path: Path, capsys: Captured
) -> None:
    main(["fit", str(table), "--out", str(tmp_path / "first"), "--quiet"])
    first = rl.load(tmp_path / "first" / "fit.json")
    ratings.filter(pl.col("student") < 40).write_csv(tmp_path / "part.csv")
    anchored = [str(tmp_path / "part.csv"), "--anchors", str(tmp_path / "first" / "fit.json")]
    assert main(["fit", *anchored, "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)["tables"]["raters"]
    np.testing.assert_allclose(found["eta"], first.raters["eta"], atol=1e-9)
    pl.DataFrame({"rater": ["Ann", "Bob", "Cid", "Dot"], "years": [1, 2, 9, 4]}).write_csv(
        tmp_path / "known.csv"
    )
    assert main(["fit", str(table), "--covariates", str(tmp_path / "known.csv"), "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["tables"]["covariates"]["term"] == ["intercept", "years"]
    assert main(["fit", str(table), "--anchors", "nowhere.json"]) == AT_FAULT
    assert "no such file: 'nowhere.json'" in capsys.readouterr().err


def test_options_that_a_control_file_does_not_take(tmp_path: Path, capsys: Captured) -> None:
    ratings = rl.simulate(students=20, raters=3, items=2, seed=1).ratings
    rl.write_facets(ratings, tmp_path / "study.txt")
    assert main(["fit", str(tmp_path / "study.txt"), "--items", "a,b"]) == AT_FAULT
    message = capsys.readouterr().err
    assert "'study.txt' is a FACETS control file" in message
    assert "leave out --items" in message


def test_diagnostics_of_very_many_ratings_are_made_from_a_sample() -> None:
    ratings = rl.simulate(students=200, raters=5, items=2, seed=2).ratings
    besides = {"groups": {"item": ratings.items.gather(ratings.item)}}
    whole, same, nothing = sample_for_diagnostics(ratings, besides)
    assert (whole, same, nothing) == (ratings, besides, ())
    some, cut, cautions = sample_for_diagnostics(ratings, besides, most=1000, sample=500)
    assert 0 < some.n_ratings < ratings.n_ratings
    assert len(cut["groups"]["item"]) == some.n_ratings
    assert f"diagnostics use {some.n_ratings:,} of 2,000 ratings" in cautions[0]


TERMINATED_WHEN_READ = """
import os, signal, sys
from raterlens.app.cli.start import command
import raterlens.fitting.run
def end(*_):
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
raterlens.fitting.run.fit_with_assumptions = end
raise SystemExit(command())
"""


def test_sigterm_says_what_was_saved_and_leaves_no_draft(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    command = [sys.executable, "-c", TERMINATED_WHEN_READ, "fit", str(table), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        143,
        ["raterlens: ended by SIGTERM; nothing was saved. With --checkpoint FILE a fit can be resumed"],
    )
    assert not list(tmp_path.glob(".raterlens-*"))
    assert not out.exists()


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == DONE
    assert str(Path("raterlens-demo") / "report.html") in capsys.readouterr().out
    written = sorted(path.name for path in (tmp_path / "raterlens-demo").iterdir())
    assert written == sorted([*FILES, FLAGS, "interactions.csv", *DIAGNOSED_PANEL])


def test_several_files_are_read_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = rl.load_example().table()
    for name, part in (("a.csv", table[:400]), ("b.csv", table[400:800])):
        part.write_csv(name)
    assert main(["check", "a.csv", "b.csv"]) == 0
    assert "raterlens fit a.csv b.csv" in capsys.readouterr().out
    assert main(["fit", "a.csv", "b.csv", "--out", "out", "--quiet"]) == 0
    assert rl.load("out/fit.json").raters["n"].sum() == 800
    report = Path("out/report.html").read_text()
    assert "raterlens fit a.csv b.csv" in report
    assert "rl.read([&#39;a.csv&#39;, &#39;b.csv&#39;])" in report


def test_a_checkpoint_is_kept_until_the_results_are_written(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill during diagnosis or writing loses nothing of a long fit."""
    out, kept = tmp_path / "results", tmp_path / "so-far"
    words = ["fit", str(table), "--out", str(out), "--quiet", "--checkpoint", str(kept)]

    def interrupted(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("raterlens.fitting.run.write_results", interrupted)
        assert main(words) == 130
    assert kept.exists()
    assert not out.exists()
    assert main([*words, "--resume"]) == 0
    assert not kept.exists()
    assert (out / "fit.json").exists()
