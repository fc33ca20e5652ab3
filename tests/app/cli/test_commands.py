"""The table of commands: help for each, at once, and completion in shells."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from raterlens.app.cli.commands import COMMANDS, MODULES, app
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
    own = import_module(f"raterlens.app.cli.{MODULES.get(name, f'{name}_command')}")
    assert (getattr(own, name).__doc__ or "").splitlines()[0] == COMMANDS[name]
    assert app[name].name == (name,)


def test_help_loads_no_command() -> None:
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(['--help']); "
        "sys.exit(','.join(m for m in sys.modules if m.endswith(('_command', '_commands'))) or None)"
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_its_options_are_completed(shell: str, capsys: Captured) -> None:
    assert main(["completion", shell]) == DONE
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    assert all(option in script for option in ("standard-errors", "min-sharpness", "halo"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_command_and_an_option(capsys: Captured) -> None:
    main(["completion", "bash"])
    ask = (
        "\nfor words in 'raterlens com' 'raterlens fit --hal'; do COMP_WORDS=($words); "
        "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ));"
        ' COMPREPLY=(); _raterlens; echo "${COMPREPLY[@]}"; done'
    )
    done = subprocess.run(
        ["bash", "-c", capsys.readouterr().out + ask], capture_output=True, text=True, check=True, timeout=60
    )
    assert [line.split() for line in done.stdout.splitlines()] == [["compare", "completion"], ["--halo"]]


def test_another_shell_is_refused(capsys: Captured) -> None:
    assert main(["completion", "tcsh"]) == AT_FAULT
    assert "tcsh" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["--version"], ["fit", "--modle", "x"], ["fitt"]]
)
def test_help_and_mistakes_are_answered_without_heavy_imports(arguments: list[str]) -> None:
    heavy = ("scipy", "polars", "numpy", "jinja2", "narwhals", "numba", "altair", "pandas", "pyarrow")
    probe = (
        "import sys; from raterlens.app.cli.main import main; main(sys.argv[1:]); "
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


SLOW_PARTS = tuple(f"scipy.{part}" for part in ("stats", "optimize", "interpolate", "integrate", "spatial"))


FOR_OTHER_FILES = (
    "sqlite3",
    "xml",
    "raterlens.reading.facets_control",
    "raterlens.output.excel",
)
FOR_OTHER_MODELS = ("raterlens.fitting.latent_class_task",)


@pytest.mark.parametrize("command", ["fit", "fit --out", "check"])
def test_a_command_imports_nothing_slow_that_it_does_not_need(
    table: Path, tmp_path: Path, command: str
) -> None:
    name, *out = command.split()
    spare = (
        "pandas",
        "pyarrow",
        "numba",
        "altair",
        "matplotlib",
        *SLOW_PARTS,
        *FOR_OTHER_FILES,
        *FOR_OTHER_MODELS,
    )
    if name == "check":
        spare = (*spare, "scipy", "jinja2", "narwhals")
    probe = (
        "import sys; from raterlens.app.cli.main import main; code = main(sys.argv[1:]); "
        f"sys.exit(code or ','.join(m for m in {spare} if m in sys.modules) or None)"
    )
    arguments = [name, str(table), *out, *[str(tmp_path / "results") for _ in out]]
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
