"""Progress, on a terminal only."""

import sys
from io import StringIO
from types import SimpleNamespace

import pytest

from raterlens.app.cli.progress import watching


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with watching("reading") as silent:
        assert silent is None
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with watching("reading", unless=True) as silent:
        assert silent is None
    assert screen.getvalue() == ""
    with watching("reading [bold]a.csv"):
        pass
    assert "reading [bold]a.csv" in screen.getvalue()
    with watching("reading") as report:
        assert report is not None
        report(SimpleNamespace(stage="mml", iteration=3, loglik=-3297.7409))
    assert "mml: step 3, log-likelihood -3,297.7409" in screen.getvalue()
