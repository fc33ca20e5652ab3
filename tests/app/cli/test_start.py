"""The command as it is started: an interrupt at any time is one line."""

import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from raterlens.app.cli import start

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


def test_the_command_starts_here() -> None:
    (command,) = entry_points(group="console_scripts", name="raterlens")
    assert command.load() is start.command
