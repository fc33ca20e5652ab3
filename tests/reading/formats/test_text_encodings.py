"""Encodings recognised by their bytes."""

from pathlib import Path

import pytest

from raterlens.reading.formats.text_encodings import encoding_of, is_utf8
from raterlens.reading.reader import read

TEXT = "Prüfling;Prüfer;Punkte\nÄnne;Zoë;1\nBörge;Zoë;0\nÄnne;Max;1\nBörge;Max;1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_same_ratings_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    ratings = read(tmp_path / "x.csv")
    assert ratings.students.to_list() == ["Börge", "Änne"]
    assert any(encoding in note for note in ratings.notes) == (not encoding.startswith("utf-8"))


def test_a_character_between_two_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raterlens.reading.formats.text_encodings.PIECE", 3)
    (tmp_path / "x").write_bytes("aäöü€".encode())
    assert is_utf8(tmp_path / "x")
    (tmp_path / "x").write_bytes("aäöü€".encode()[:-1])
    assert not is_utf8(tmp_path / "x")


def test_binary_files_and_bytes_that_cp1252_has_not_are_left_to_be_refused(tmp_path: Path) -> None:
    for data in (b"\x89PNG\0\0\0", b"a\x81\x8d"):
        (tmp_path / "x").write_bytes(data)
        assert encoding_of(tmp_path / "x") == ("utf-8", [])
