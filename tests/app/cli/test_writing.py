"""Files that appear when they are whole, and JSON on any terminal."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from raterlens.app.cli.writing import print_json, write_whole
from raterlens.errors import OptionError


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "x.txt"
    write_whole(out, lambda path: path.write_text("first"))

    def fail(path: Path) -> None:
        path.write_text("seco")
        raise OSError(28, "No space left on device")

    with pytest.raises(OptionError, match="No space left on device; give a file you may write to"):
        write_whole(out, fail)
    assert out.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_json_is_escaped_where_stdout_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"rater": "Åsa"}, ensure_ascii=False)
    for encoding, shown in (("ascii", b'{"rater": "\\u00c5sa"}\n'), ("utf-8", f"{text}\n".encode())):
        bytes_out = BytesIO()
        stream = TextIOWrapper(bytes_out, encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        print_json(text)
        stream.flush()
        assert bytes_out.getvalue() == shown
