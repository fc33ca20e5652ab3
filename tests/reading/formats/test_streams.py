"""Standard input and compressed files."""

import bz2
import io
import sys
from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.base.errors import InputError
from raterlens.reading.formats.streams import plain_file
from tests.support.reading_files import FILES


@pytest.fixture(scope="module")
def essays(small: rl.Ratings) -> pl.DataFrame:
    return small.table().with_columns(pl.col("score").cast(pl.Int64))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_standard_input(
    kind: str,
    essays: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    content = FILES[kind](essays, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-", *(["--format", kind] if kind != "csv" else [])]) == 0
    assert f"{len(essays)} ratings of 60 students by 5 raters" in capsys.readouterr().out


def test_standard_input_that_is_not_what_was_said(
    essays: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    content = FILES["xlsx"](essays, tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check", "-"]) == 2
    message = capsys.readouterr().err
    assert "'standard input.csv' is not a text table" in message
    assert "--format xlsx" in message


def test_standard_input_can_be_packed(
    essays: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(essays.write_csv().encode())))
    assert rl.read(rl.pack("-", tmp_path / "x.rlpack")).n_ratings == len(essays)


def test_a_copy_is_gone_afterwards_and_a_plain_file_is_itself(tmp_path: Path) -> None:
    (tmp_path / "x.csv.bz2").write_bytes(bz2.compress(b"student,rater\n"))
    with plain_file(tmp_path / "x.csv.bz2", None) as copy:
        assert copy.name == "x.csv"
        assert copy.read_bytes() == b"student,rater\n"
    assert not copy.exists()
    with plain_file(tmp_path / "y.csv", None) as same:
        assert same == tmp_path / "y.csv"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_what_is_not_compressed_is_said(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.csv{suffix}"
    path.write_bytes(b"student,rater\n1,a\n")
    with pytest.raises(InputError, match="cannot be decompressed"), plain_file(path, None):
        pass


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(
        InputError, match="standard input is closed; pipe a table into the command, or name a file"
    ):
        rl.read("-")
