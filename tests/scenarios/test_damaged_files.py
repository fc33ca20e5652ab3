"""Empty, truncated, mislabelled and locked files of every kind: one clear message, exit code 2, no traceback."""

from pathlib import Path

import polars as pl
import pytest

from raterlens.app.cli.main import main
from tests.support.reading_files import FILES

FRAME = pl.DataFrame(
    {
        "student": [f"s{i % 40}" for i in range(400)],
        "rater": [f"r{i % 7}" for i in range(400)],
        "item": [f"i{i % 3}" for i in range(400)],
        "score": [(i * 7919 + i // 3) % 2 for i in range(400)],
    }
)
ONE_FILE = {kind: write for kind, write in FILES.items() if "parquet" not in kind}
# Text that ends early between two rows is a whole, shorter table: nothing can tell. Here it ends within a row.
CUT = {"csv": -9, "jsonl": -9}


def refused(path: Path, capsys: pytest.CaptureFixture, *options: str) -> str:
    assert main(["check", str(path), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    message = shown.err.strip()
    assert message.startswith("raterlens: ")
    assert "\n" not in message
    assert "unforeseen" not in message
    return message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_cut_short(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: CUT.get(kind, len(content) * 6 // 10)])
    message = refused(path, capsys)
    assert path.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst") in message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_empty(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    path.write_bytes(b"")
    message = refused(path, capsys)
    assert "empty file" in message or "cannot be decompressed" in message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_a_letter_under_another_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    path.write_text("Dear colleagues\nplease find the marks attached.\n")
    assert path.name in refused(path, capsys)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("xlsx", ".csv"),
        ("sav", ".csv"),
        ("dta", ".txt"),
        ("sqlite", ".jsonl"),
        ("duckdb", ".tsv"),
        ("rds", ".csv"),
    ]
    + [
        ("csv", suffix)
        for suffix in (".xlsx", ".sav", ".dta", ".db", ".duckdb", ".rds", ".rda", ".jsonl", ".json")
    ]
    + [("xlsx", ".sav"), ("sav", ".dta"), ("dta", ".xlsx"), ("sqlite", ".duckdb"), ("duckdb", ".sqlite")],
)
def test_mislabelled(kind: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path).rename(tmp_path / f"renamed{suffix}")
    message = refused(path, capsys)
    assert f"'renamed{suffix}'" in message
    assert "not" in message
    if kind in ("xlsx", "sav", "dta", "sqlite", "duckdb"):
        # What it really is, and the two ways out.
        assert "rename it to end in ." in message
        assert "--format " in message


def test_a_workbook_with_a_password(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    # Excel wraps an encrypted workbook in an OLE container, as old workbooks were.
    (tmp_path / "marks.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(1000))
    assert "protected by a password" in refused(tmp_path / "marks.xlsx", capsys)


def test_a_zip_that_is_no_workbook(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "marks.xlsx", "w") as archive:
        archive.writestr("letter.txt", "Dear all")
    assert "'marks.xlsx'" in refused(tmp_path / "marks.xlsx", capsys)


def test_a_folder_with_a_damaged_part(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = FILES["parquet folder"](FRAME, tmp_path)
    part = folder / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-10])
    assert "'part-1.parquet' is cut short" in refused(folder, capsys)
    part.write_text("student,rater,score\n")
    assert "'part-1.parquet' is not a parquet file" in refused(folder, capsys)


def test_a_folder_of_different_tables(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = FILES["parquet folder"](FRAME, tmp_path)
    FRAME.drop("score").write_parquet(folder / "part-1.parquet")
    assert "'parts'" in refused(folder, capsys)
