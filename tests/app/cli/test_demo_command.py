"""`raterlens demo`."""

from pathlib import Path

import pytest

from raterlens.app.cli.main import DONE, main
from raterlens.output.folder import FILES, FLAGS
from tests.support.command_line import Captured


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == DONE
    assert str(Path("raterlens-demo") / "report.html") in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "raterlens-demo").iterdir()) == sorted([*FILES, FLAGS])
