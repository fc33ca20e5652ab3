"""Progress, on a terminal only."""

import sys
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace

import pytest

from raterlens.app.cli.main import DONE, main
from raterlens.app.cli.progress import STAGES, Watch, watching


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with watching("reading") as silent:
        assert silent.on_iteration is None
        silent.enter("fitting")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with watching("reading", unless=True) as silent:
        assert silent.on_iteration is None
    assert screen.getvalue() == ""
    with watching("reading", "[bold]a.csv"):
        pass
    assert "reading [bold]a.csv" in screen.getvalue()


def test_the_bar_follows_the_optimiser_and_never_goes_back() -> None:
    watch, seen = Watch(), []
    watch.enter("fitting")
    for gradient in (40.0, 3.0, 0.1, 1e-6):
        watch._iteration(SimpleNamespace(stage="mml", iteration=3, loglik=-3297.7, gradient=gradient))
        seen.append(watch.done)
    assert all(less < more for less, more in pairwise(seen))
    assert seen[0] == STAGES["reading"]
    assert seen[-1] == STAGES["reading"] + STAGES["fitting"]
    watch.enter("testing assumptions")
    at = watch.done
    watch.enter("fitting")
    assert watch.done == at


def test_a_fit_goes_through_all_stages(table, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = []
    monkeypatch.setattr(Watch, "enter", lambda watch, stage, of="": entered.append(stage))
    assert main(["fit", str(table), "--out", str(tmp_path / "results")]) == DONE
    assert list(dict.fromkeys(entered)) == [
        "fitting",
        "standard errors",
        "testing assumptions",
        "diagnosing",
        "writing",
    ]
