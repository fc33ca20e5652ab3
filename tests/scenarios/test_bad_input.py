"""Bad input: one message on stderr, exit code 2, nothing written."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from raterlens.app.cli.main import AT_FAULT, main
from tests.support.command_line import Captured, run

HEADER = "student,rater,item,score\n"
GOOD = HEADER + "1,A,x,1\n1,B,x,0\n2,A,x,0\n2,B,x,1\n"

BAD_FILES: dict[str, tuple[str | bytes, Sequence[str], str]] = {
    "empty file": ("", (), "empty"),
    "header only": (HEADER, (), "no rows"),
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe", (), "bad.csv"),
    "ragged rows": (GOOD + "3,A,x,1,9,9\n", (), "6"),
    "wrong encoding": ("student,rater,item,score\n1,J\x81rgen,x,1\n2,A,x,0\n".encode("latin-1"), (), "utf-8"),
    "unknown encoding": (GOOD, ("--encoding", "klingon"), "klingon"),
    "missing column": (GOOD, ("--rater", "judge"), "judge"),
    "doubled column": ("student,rater,item,score,score\n1,A,x,1,0\n2,A,x,0,1\n", (), "score"),
    "text score": (GOOD + "3,A,x,good\n", (), "good"),
    "fractional score": (GOOD + "3,A,x,2.51\n", (), "2.51"),
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


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (GOOD, ("--starts", "0"), "--starts 0 is not possible; give a whole number from 1 to 1,000"),
        (GOOD, ("--resume",), "name it with --checkpoint"),
        (
            GOOD,
            ("--model", "hrm", "--item-slopes"),
            "takes no --item-slopes; leave it out, or use --model gmf",
        ),
        (GOOD, ("--reference", "max corrected", "--no-standard-errors"), "leave out --no-standard-errors"),
        (GOOD + "3,A,x,2\n", ("--model", "probit"), "for example --cut 2, or use --model gmf"),
        (GOOD, ("--cut", "5"), "(score < --cut 5)"),
        (HEADER + "1,,x,1\n2,,x,0\n", (), "fill it in, or name another with --rater"),
        (GOOD, ("--covariates", "bad.csv"), "no such file: 'bad.csv'"),
    ],
)
def test_options_are_named_as_they_are_typed(
    content: str, options: Sequence[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    at_fault(capsys, ["fit", path, *options], message)
