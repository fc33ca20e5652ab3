"""Every command in docs/files.md works on such a file, and the page names every extension."""

import re
import shlex
from pathlib import Path

import openpyxl
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.reading.formats.sources import SUFFIXES
from tests.support.reading_files import FILES

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = re.findall(r"`raterlens fit ([^`]*?)`", (DOCS / "files.md").read_text())
FRAME = pl.DataFrame(
    {"student": ["a", "a", "b", "b"], "rater": ["r", "s", "r", "s"], "item": ["i"] * 4, "score": [0, 1, 1, 1]}
)
WIDE = [["student", "Ann style", "Ann plot", "Bob style"], ["a", 0, 1, 1], ["b", 1, 1, 0]]


def make(command: str) -> None:
    """The file that a command names, in the current folder."""
    name, *further = shlex.split(command)
    name = name.partition("::")[0]
    if further and not further[0].startswith("-"):
        for each in (name, *further):
            FRAME.with_columns(student=pl.lit(each) + pl.col("student")).write_ndjson(each)
    elif name.endswith(".xlsx"):
        book = openpyxl.Workbook()
        sheet = book.create_sheet("June") if "June" in command else book.active
        for row in WIDE if "wide" in command else [FRAME.columns, *FRAME.rows()]:
            sheet.append(row)
        book.save(name)
    elif name == "study.txt":
        rl.write_facets(rl.read(FRAME), name)
    elif name == "ratings/":
        Path(name).mkdir()
        FRAME.write_parquet("ratings/part.parquet")
    elif "*" in name:
        Path(name).parent.mkdir()
        for each in ("a", "b"):
            own = FRAME.with_columns(student=pl.lit(each) + pl.col("student"))
            own.write_ndjson(Path(name).with_name(f"{each}.jsonl"))
    else:
        kinds = {"RData": "rda", "gz": "csv.gz", "db": "sqlite"}
        suffix = name.rpartition(".")[2]
        made = FILES[kinds.get(suffix, suffix)](FRAME, Path.cwd())
        made.rename(name)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = command.replace("::ratings", "::essays")  # what the writers of `files.py` call their table
    make(command)
    assert main(["check", *shlex.split(command)]) == 0


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 10


def test_every_extension_is_named() -> None:
    page = (DOCS / "files.md").read_text()
    assert [suffix for suffix in SUFFIXES if not re.search(rf"\b{suffix[1:]}\b", page, re.IGNORECASE)] == []
