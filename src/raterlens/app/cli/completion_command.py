"""`raterlens completion`: commands and options that a shell completes."""

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="bash, zsh or fish.")], /
) -> None:
    """Print what makes a shell complete commands and options: bash, zsh or fish."""
    from raterlens.app.cli.commands import app  # which names this command

    print(app.generate_completion(shell=shell))
