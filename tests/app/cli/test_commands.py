"""The table of commands: help for each."""

import subprocess
import sys
from importlib import import_module

import pytest

from raterlens.app.cli.commands import COMMANDS, app
from raterlens.app.cli.main import AT_FAULT, DONE, main
from tests.support.command_line import Captured


@pytest.mark.parametrize("arguments", [[], ["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help_has_examples(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == DONE
    shown = capsys.readouterr().out
    assert "Usage: raterlens" in shown
    assert {"demo", "study"} & set(arguments) or "Examples:" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    own = import_module(f"raterlens.app.cli.{name}_command")
    assert (getattr(own, name).__doc__ or "").splitlines()[0] == COMMANDS[name]
    assert app[name].name == (name,)


def test_help_loads_no_command() -> None:
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(['--help']); "
        "sys.exit(','.join(m for m in sys.modules if m.endswith('_command')) or None)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_version(capsys: Captured) -> None:
    from importlib.metadata import version

    assert main(["--version"]) == DONE
    assert capsys.readouterr().out.strip() == version("raterlens")


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--items", "1.5"],
        ["plan", "--common", "-0.5"],
        ["next", "x.csv", "--budget", "2.5"],
        ["fit", "x.csv", "--starts", "1.5"],
        ["simulate", "--out", "x.csv", "--students", "9.99"],
    ],
)
def test_a_whole_number_is_not_rounded(words: list[str], capsys: Captured) -> None:
    assert main(words) == AT_FAULT
    said = capsys.readouterr().err
    assert f"{words[-2]}: '{words[-1]}' is not a whole number" in said
    assert said.count("\n") == 1


def test_a_whole_number_may_be_written_with_a_point() -> None:
    _, bound, _ = app.parse_args(["next", "x.csv", "--budget", "2.0"])
    assert bound.arguments["budget"] == 2
