"""JSON on any terminal."""

import json
import sys
from io import BytesIO, TextIOWrapper

import pytest

from raterlens.app.cli.standard_output import print_json


def test_json_is_escaped_where_stdout_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"rater": "Åsa"}, ensure_ascii=False)
    for encoding, shown in (("ascii", b'{"rater": "\\u00c5sa"}\n'), ("utf-8", f"{text}\n".encode())):
        bytes_out = BytesIO()
        stream = TextIOWrapper(bytes_out, encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        print_json(text)
        stream.flush()
        assert bytes_out.getvalue() == shown
