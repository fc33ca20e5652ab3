"""Mishaps that are nobody's fault, or our own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from polars.exceptions import PanicException

from raterlens.app.cli import fit_command
from raterlens.app.cli.main import AT_FAULT, DONE, FAILED, GATE_FAILED, INTERRUPTED, main
from tests.support.command_line import RUN, Captured, small_table

LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    small_table().write_csv(path)
    return path


def broken(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_bug_says_how_to_report_it(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(RuntimeError("unlucky")))
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
    monkeypatch.setattr(fit_command, "request_of", broken(OSError(28, "No space left on device")))
    assert main(["fit", str(table)]) == FAILED
    message = capsys.readouterr().err
    assert "No space left on device" in message
    assert "bug in Raterlens" not in message


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("libsqlite3.so.0: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_not_called_a_bug(
    error: Exception, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(error))
    assert main(["fit", str(table)]) == FAILED
    assert capsys.readouterr().err.startswith("raterlens: not enough memory")


def test_a_library_that_panics_is_one_message(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(PanicException("index out of bounds")))
    monkeypatch.delenv("RATERLENS_DEBUG", raising=False)
    assert main(["fit", str(table)]) == FAILED
    assert "PanicException: index out of bounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"), [(["fit"], FAILED), (["judge", "--trusted", "A"], FAILED), (["fit", "--help"], DONE)]
)
def test_an_address_space_of_one_gibibyte(words: list[str], code: int, table: Path) -> None:
    """Libraries would abort."""
    command = [sys.executable, "-c", f"{LIMITED}; {RUN}", *words[:1], str(table), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith(
            "raterlens: not enough memory: this process may use 1,024 MiB of address"
        )
        assert done.stderr.count("\n") == 1


def test_interrupt(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(KeyboardInterrupt()))
    assert main(["fit", str(table)]) == INTERRUPTED
    assert capsys.readouterr().err == "raterlens: interrupted\n"


def test_closed_stderr_leaves_stdout_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["fit", str(tmp_path / "nowhere.csv")]) == AT_FAULT
    assert capsys.readouterr().out == ""


def test_closed_pipe_is_quiet_and_keeps_the_exit_code(table: Path) -> None:
    gate = ["check", "--min-ratings", "1000000", "--json"]
    for words, code in ((["fit"], DONE), (["fit", "--json"], DONE), (gate, GATE_FAILED)):
        command = [sys.executable, "-c", RUN, words[0], str(table), *words[1:]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        assert (process.wait(timeout=120), complaint) == (code, b"")
