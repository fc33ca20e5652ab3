"""What becomes of errors: one message, an exit code, and options as a shell writes them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from raterlens.app.cli import main as cli
from raterlens.app.cli.main import AT_FAULT, FAILED, bug_message, main
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from tests.support.command_line import RUN, Captured, small_table


def raising(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)


def test_errors_name_options_as_flags(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    remedy = Message("give ", Option("item_slopes", True), " or ", Option("rater", ["judge", "topic 1"]))
    raising(OptionError(Message(Option("cut", 3), " is too high"), remedy), monkeypatch)
    assert main(["fit"]) == AT_FAULT
    assert capsys.readouterr().err == (
        "raterlens: --cut 3 is too high; give --item-slopes or --rater 'judge,topic 1'\n"
    )


def test_other_errors_are_told_apart(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert bug_message(MemoryError()).startswith("not enough memory")
    assert "could not finish" in bug_message(OSError("disk"))
    raising(ZeroDivisionError("by zero"), monkeypatch)
    monkeypatch.delenv("RATERLENS_DEBUG", raising=False)
    assert main([]) == FAILED
    assert "ZeroDivisionError: by zero). This is a bug in Raterlens" in capsys.readouterr().err


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_gate_keeps_its_exit_code_when_nobody_reads_on(how: list[str], tmp_path: Path) -> None:
    small_table().write_csv(tmp_path / "x.csv")
    command = [sys.executable, "-c", RUN, "check", str(tmp_path / "x.csv"), "--max-severity", "0.1", *how]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, b"Broken" in done.stderr) == (3, False)


def test_missing_charts_are_named_and_other_missing_modules_are_bugs(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    raising(ModuleNotFoundError("No module named 'altair'", name="altair"), monkeypatch)
    assert main(["plot"]) == AT_FAULT
    assert (
        capsys.readouterr().err
        == "raterlens: charts are not installed; run: pip install 'raterlens[charts]'\n"
    )
    raising(ModuleNotFoundError("No module named 'numpy'", name="numpy"), monkeypatch)
    assert main(["plot"]) == FAILED
