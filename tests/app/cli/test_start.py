"""The command as it is started: an interrupt at any time is one line."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from raterlens.app.cli import start
from tests.support.command_line import Captured

# The system delivers the interrupt while a module of the command is being loaded.
INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
from raterlens.app.cli.start import main

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "raterlens.app.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
raise SystemExit(main())
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
    assert done.stdout.split() == ["gc", *own]


def test_the_command_starts_here() -> None:
    (command,) = entry_points(group="console_scripts", name="raterlens")
    assert command.load() is start.command


# What libraries do at the end of a process.
AT_THE_END = """
import atexit, sys, threading, time
from raterlens.app.cli.start import command

def late():
    loaded.wait()
    time.sleep(1)
    print("a thread")

class Seen:
    def find_spec(self, name, path=None, target=None):
        if name == "raterlens.app.cli.commands":
            loaded.set()

loaded = threading.Event()
sys.meta_path.insert(0, Seen())
atexit.register(print, "registered")
threading.Thread(target=late).start()
command()
print("not reached")
"""


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("nothing-of-the-kind", 2)])
def test_what_is_left_to_be_done_at_the_end_is_done(argument: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, argument], capture_output=True, check=False, text=True
    )
    assert done.returncode == code
    said = done.stdout.splitlines()
    assert said[-1] == "registered"
    assert "a thread" in said
    assert "not reached" not in said
    assert len(done.stderr.splitlines()) == (code > 0)


@pytest.fixture
def collecting() -> Iterator[None]:
    """Of this process, as it was."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("collecting")
def test_it_runs_what_was_given(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "argv", ["raterlens", "fit", "nowhere.csv"])
    assert start.main() == 2
    assert "nowhere.csv" in capsys.readouterr().err


# At the end of a command.
SETTINGS = """
import gc, os, sys
from raterlens.app.cli.start import main

main()
frozen = gc.get_freeze_count() > 10_000
print(gc.isenabled(), gc.get_threshold()[0], frozen, os.environ["OPENBLAS_THREAD_TIMEOUT"], file=sys.stderr)
"""


@pytest.mark.parametrize("own", [None, "20"])
def test_garbage_is_looked_for_rarely_and_threads_wait_quietly_unless_told_otherwise(own: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    environment |= {} if own is None else {"OPENBLAS_THREAD_TIMEOUT": own}
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS, "--version"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stderr.split() == ["True", str(start.ALLOCATIONS), "True", own or start.SPIN]
