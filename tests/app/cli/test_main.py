"""Exit codes, messages, interrupts, and what reaches standard output."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raterlens.app.cli import main as cli
from raterlens.app.cli import start
from raterlens.app.cli.main import AT_FAULT, DONE, FAILED, bug_message, main, print_json
from raterlens.app.cli.serve_command import serve
from raterlens.app.web.settings import Settings
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.output.report.reproduce import as_flag
from tests.support.command_line import RUN, Captured, run, small_table


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


# The system delivers the interrupt while a module of the command is being loaded.
INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
from raterlens.app.cli.start import command

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "raterlens.app.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
raise SystemExit(command())
"""


def test_an_interrupt_while_modules_are_loaded_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING, "fit", "x.csv"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, b"raterlens: interrupted\n")


# Without what an environment loads at the start of Python.
LOADED_BEFORE = """
import sys
sys.path[:0] = sys.argv[1:]
before = {*sys.modules}
import raterlens.app.cli.start
print(*sorted({*sys.modules} - before))
"""


def test_nothing_else_is_loaded_before_an_interrupt_is_answered() -> None:
    place = str(Path(start.__file__).parents[3])
    command = [sys.executable, "-S", "-c", LOADED_BEFORE, place]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own = ["raterlens", "raterlens.app", "raterlens.app.cli", "raterlens.app.cli.start"]
    assert done.stdout.split() == own


COLLECTING = """
import gc
from raterlens.app.cli.start import command
command()
print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000)
"""


def test_loaded_modules_are_not_searched_for_garbage() -> None:
    command = [sys.executable, "-c", COLLECTING, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{start.ALLOCATIONS} True"


def test_the_command_starts_here() -> None:
    (command,) = entry_points(group="console_scripts", name="raterlens")
    assert command.load() is start.command


def test_json_is_escaped_where_stdout_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"rater": "Åsa"}, ensure_ascii=False)
    for encoding, shown in (("ascii", b'{"rater": "\\u00c5sa"}\n'), ("utf-8", f"{text}\n".encode())):
        bytes_out = BytesIO()
        stream = TextIOWrapper(bytes_out, encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        print_json(text)
        stream.flush()
        assert bytes_out.getvalue() == shown


def test_called_from_python_it_leaves_the_handling_of_signals_as_it_was(table: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    for words in (["--version"], ["check", str(table)], ["fit", "none.csv"]):
        main(words)
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


@pytest.mark.parametrize(
    "error", [TypeError("not a Polars data type"), InputError("'x.parquet' is damaged", "copy it again")]
)
@pytest.mark.parametrize(("number", "code", "said"), [(15, 143, "ended by SIGTERM"), (2, 130, "interrupted")])
def test_an_error_that_a_library_makes_of_a_signal_is_the_signal(
    error: Exception,
    number: int,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ended(*given: object, **named: object) -> None:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise error from None

    monkeypatch.setattr("raterlens.app.cli.main.app", ended)
    assert main(["fit", "x.csv"]) == code
    assert capsys.readouterr().err == f"raterlens: {said}\n"


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
        {"COLUMNS": "5", "TERM": "dumb"},
        pytest.param({"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1"}, marks=pytest.mark.nightly),
        pytest.param(
            {"PYTHONIOENCODING": "utf-8", "FORCE_COLOR": "1", "COLUMNS": "300"}, marks=pytest.mark.nightly
        ),
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


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"port": 70_000}, "--port 70000 is not possible; give a whole number from 0 to 65,535"),
        ({"max_rows": 0}, "--max-rows 0 is not possible; give a whole number of at least 1"),
        ({"max_memory": -1.0}, "--max-memory=-1 is not possible; give a number of at least 0.1"),
        ({"max_minutes": 0.0}, "--max-minutes 0 is not possible; give a number of at least 0.01"),
        ({"fits": 0}, "--fits 0 is not possible; give a whole number of at least 1"),
    ],
)
def test_limits_out_of_range(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        Settings(**limits)
    assert refused.value.worded(as_flag) == message


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raterlens.app.cli.serve_command.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'raterlens\[web\]'"):
        serve()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["studie1"], "unknown study 'studie1'; did you mean 'study1'?"),
        (
            ["noise", "--replications", "0"],
            "--replications 0 is not possible; give a whole number of at least 1",
        ),
        (["noise", "--workers", "0"], "--workers 0"),
        (["noise", "--seed", "-1"], "--seed=-1"),
        (["noise", "--data", "x.csv"], "the study 'noise' simulates its ratings"),
        (["writing"], "the study 'writing' needs the dataset data.cqc04; name the file with --data"),
        (["writing", "--data", "nothing.rda"], "no such file: 'nothing.rda'"),
    ],
)
def test_mistakes_are_answered_before_any_work(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["study", *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_help_lists_the_studies(capsys):
    assert main(["study", "--help"]) == 0
    text = capsys.readouterr().out
    for name in ("study1", "study2", "writing", "figures", "noise"):
        assert f"  {name}" in text


def test_a_study_writes_rows_page_and_figures(tmp_path, capsys):
    assert main(["study", "noise", "--replications", "1", "--workers", "1", "--out", str(tmp_path)]) == 0
    assert "noise.md" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()}
    files = {"noise.md", "noise.json", "noise.parquet", "noise-accuracy.csv", "noise.svg", "noise.png"}
    assert names == files
    assert "![" in (tmp_path / "noise.md").read_text(encoding="utf-8")
