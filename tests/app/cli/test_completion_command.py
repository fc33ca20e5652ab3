"""`raterlens completion`: what shells are told."""

import shutil
import subprocess

import pytest

from raterlens.app.cli.commands import COMMANDS
from raterlens.app.cli.main import AT_FAULT, DONE, main
from tests.support.command_line import Captured


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
