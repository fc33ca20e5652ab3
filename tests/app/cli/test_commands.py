"""The table of commands: help for each."""

import pytest

from raterlens.app.cli.commands import EPILOGUES
from raterlens.app.cli.main import DONE, main
from tests.support.command_line import Captured


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], *([command.__name__, "--help"] for command in EPILOGUES)]
)
def test_help_has_examples(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == DONE
    shown = capsys.readouterr().out
    assert "Usage: raterlens" in shown
    assert {"demo", "study"} & set(arguments) or "Examples:" in shown


def test_version(capsys: Captured) -> None:
    from importlib.metadata import version

    assert main(["--version"]) == DONE
    assert capsys.readouterr().out.strip() == version("raterlens")
