"""Code in pages: find it, run it in order in an empty folder, collect what it shows.

The ```python blocks of a page share their names, as in a notebook; their output is what they print and the value of a
last expression. ```console blocks hold commands after "$ "; one that fails ends the page, unless "$ echo $?" follows.
"""

import ast
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import polars as pl

FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WIDTH = "90"
"""Columns of a terminal that fit on a page."""
EXAMPLES = Path(__file__).parents[1] / "examples"
_SHELL = set("|<>;&$*`")


class BlockError(Exception):
    """A block did not run; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    code: str
    end: int
    """Where the block ends in its page."""
    line: int


def blocks(page: str) -> list[Block]:
    """All blocks of a page that can be run."""
    return [
        Block(found[1], found[2], found.end(), page.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(page)
    ]


def outputs(page: str, name: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page's blocks in `folder`; give each with what it shows."""
    known: dict[str, object] = {"__name__": "__main__"}
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)
    with pl.Config():  # settings for tables end with the page
        for block in blocks(page):
            with chdir(folder), redirect_stdout(io.StringIO()) as shown:
                try:
                    if block.kind == "python":
                        _python(block, name, known)
                    else:
                        _console(block)
                except Exception as error:
                    where = f"{name}, line {block.line}"
                    raise BlockError(f"{where}: {type(error).__name__}: {error}\n{block.code}") from error
            yield block, shown.getvalue().rstrip()


def with_outputs(page: str, shown: Iterable[str]) -> str:
    """The page with what each of its blocks shows behind it."""
    parts, last = [], 0
    for block, text in zip(blocks(page), shown, strict=True):
        parts.append(page[last : block.end])
        if text:
            parts.append(f'\n\n```{{.text .output title="Output"}}\n{text}\n```')
        last = block.end
    return "".join([*parts, page[last:]])


def _python(block: Block, name: str, known: dict[str, object]) -> None:
    # Empty lines first, so that a traceback names the line of the page.
    tree = ast.parse("\n" * block.line + block.code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), known)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), known)
        if value is not None:
            print(value)


def _console(block: Block) -> None:
    code = 0
    commands = [line[2:] for line in block.code.splitlines() if line.startswith("$ ")]
    for place, command in enumerate(commands):
        if command == "echo $?":
            print(code)
            continue
        code = _run(command)
        asked = commands[place + 1 : place + 2] == ["echo $?"]
        if code and not asked:
            raise BlockError(f"`{command}` ended with exit code {code}")


def _run(command: str) -> int:
    words = shlex.split(command)
    if words[0] == "raterlens" and not _SHELL & set(command):
        from raterlens.app.cli.main import main  # in this process: saves a second each

        with patch.dict(os.environ, COLUMNS=WIDTH):
            return main(words[1:])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        text=True,
        capture_output=True,
        env={**os.environ, "PATH": path, "COLUMNS": WIDTH},
        check=False,
    )
    print(done.stdout, end="")
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode
