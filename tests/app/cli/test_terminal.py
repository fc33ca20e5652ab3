"""Terminals of every kind."""

import json
from pathlib import Path

import polars as pl
import pytest

from raterlens.app.cli.main import DONE, main
from tests.support.command_line import Captured, run


@pytest.fixture
def foreign(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    """Labels that a plain terminal cannot show, or must not obey."""
    names = {"Ann": "Åsa 王", "Bob": "[red]Bob[/red]", "Cid": "Cid\x1b[2J", "Dot": "D" * 90}
    path = tmp_path / "foreign.csv"
    ratings.with_columns(pl.col("rater").replace(names)).write_csv(path)
    return path


@pytest.mark.parametrize(
    "terminal",
    [
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "30"},
        {"COLUMNS": "5", "TERM": "dumb"},
        pytest.param({"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1"}, marks=pytest.mark.nightly),
        pytest.param(
            {"PYTHONIOENCODING": "utf-8", "FORCE_COLOR": "1", "COLUMNS": "300"}, marks=pytest.mark.nightly
        ),
    ],
    ids=lambda terminal: " ".join(f"{key}={value}" for key, value in terminal.items()),
)
def test_odd_terminals(foreign: Path, terminal: dict[str, str]) -> None:
    done = run("fit", foreign, **terminal)
    assert (done.returncode, done.stderr) == (DONE, b"")
    assert b"\x1b[2J" not in done.stdout


def test_labels_are_not_markup(foreign: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    main(["fit", str(foreign)])
    shown = capsys.readouterr().out
    assert "[red]Bob[/red]" in shown
    assert "Åsa 王" in shown


def test_json_survives_a_plain_terminal(foreign: Path) -> None:
    done = run("fit", foreign, "--json", PYTHONIOENCODING="ascii")
    assert done.stderr == b""
    assert "Åsa 王" in json.loads(done.stdout)["tables"]["raters"]["rater"]
